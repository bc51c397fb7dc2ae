"""A server for Schemathesis: ``python -m tests.batch.api.schema FOLDER [keys]`` prints its port and a token.

Its jobs do nothing, and its event streams end soon after they started.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvloop
from tests.batch.api.crawls import BatchBench
from tests.http.raw import serving
from tests.live.api.schema import soon_left


async def main(folder: Path, *, keys: bool) -> None:
    """Serve until this process is killed."""
    bench = BatchBench(folder, required=keys, program=["/bin/true"])
    bench.add_crawl()
    _, token = await bench.keys.create("schemathesis", ("admin",))
    async with serving(soon_left(bench.app)) as port:
        print(port, token, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), keys="keys" in sys.argv))
