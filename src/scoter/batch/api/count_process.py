"""Counts the hosts of a crawl: ``python -m scoter.batch.api.count_process CRAWL FOLDER``, with a temporary folder.

The counts are stored with the crawldb if it is writable, and printed as an Arrow stream in any case.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pyarrow as pa

from scoter.batch.api.host_tables import MAX_HOSTS
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.host_counts import current_host_counts
from scoter.engine.duckdb import DuckDbEngine

_MEMORY: Final = 512 * 2**20
_NICENESS: Final = 10


def main() -> None:
    os.nice(_NICENESS)
    crawl = CrawlDir.open(Path(sys.argv[1]))
    with DuckDbEngine(Path(sys.argv[2]), _MEMORY) as engine:
        counts = current_host_counts(crawl, engine, MAX_HOSTS)
    with pa.ipc.new_stream(sys.stdout.buffer, counts.schema) as stream:
        stream.write_table(counts)


if __name__ == "__main__":
    main()
