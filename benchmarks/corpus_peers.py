"""The corpus pipelines of datatrove and trafilatura, run by ``benchmarks.corpus`` in an environment that has them.

python benchmarks/corpus_peers.py {datatrove,trafilatura} WARC_FOLDER OUT
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LEAST_WORDS = 50


def with_trafilatura(archive: Path, out: Path) -> None:
    """Extract every page, as trafilatura's own command does, with its removal of repeated segments."""
    import trafilatura
    from warcio.archiveiterator import ArchiveIterator

    out.mkdir()
    with (out / "texts.jsonl").open("w", encoding="utf-8") as written:
        for file in sorted(archive.glob("*.warc.gz")):
            with file.open("rb") as opened:
                for record in ArchiveIterator(opened):
                    if record.rec_type != "response":
                        continue
                    content = record.content_stream().read()
                    text = trafilatura.extract(content, deduplicate=True, include_comments=False)
                    if text and len(text.split()) >= LEAST_WORDS:
                        url = record.rec_headers.get_header("WARC-Target-URI")
                        written.write(json.dumps({"url": url, "text": text}) + "\n")


def with_datatrove(archive: Path, out: Path) -> None:
    """Run the steps of FineWeb, except the filter by language, whose model would have to be downloaded."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupBuckets
    from datatrove.pipeline.extractors import Trafilatura
    from datatrove.pipeline.filters import (
        C4QualityFilter,
        FineWebQualityFilter,
        GopherQualityFilter,
        GopherRepetitionFilter,
    )
    from datatrove.pipeline.readers import JsonlReader, WarcReader, warc
    from datatrove.pipeline.writers import JsonlWriter

    read = warc.process_record

    def read_as_html(record: Any) -> Any:
        # The archive does not identify payloads. datatrove would guess, and take a third of the pages for plain text.
        record.rec_headers.replace_header("WARC-Identified-Payload-Type", "text/html")
        return read(record)

    warc.process_record = read_as_html
    steps = {
        name: str(out.parent / f"datatrove-{name}") for name in ("kept", "signatures", "buckets", "remove", "logs")
    }
    config = MinhashConfig(num_buckets=14, hashes_per_bucket=8, n_grams=5)
    pipelines = (
        [
            WarcReader(str(archive), glob_pattern="*.warc.gz"),
            Trafilatura(favour_precision=True, timeout=120),
            GopherRepetitionFilter(),
            GopherQualityFilter(),
            C4QualityFilter(filter_no_terminal_punct=False),
            FineWebQualityFilter(),
            JsonlWriter(steps["kept"], compression=None),
        ],
        [JsonlReader(steps["kept"]), MinhashDedupSignature(output_folder=steps["signatures"], config=config)],
        [MinhashDedupBuckets(input_folder=steps["signatures"], output_folder=steps["buckets"], config=config)],
        [MinhashDedupCluster(input_folder=steps["buckets"], output_folder=steps["remove"], config=config)],
        [
            JsonlReader(steps["kept"]),
            MinhashDedupFilter(input_folder=steps["remove"]),
            JsonlWriter(str(out), compression=None),
        ],
    )
    for number, pipeline in enumerate(pipelines):
        tasks = config.num_buckets if number == 2 else 1
        LocalPipelineExecutor(pipeline, tasks=tasks, workers=1, logging_dir=f"{steps['logs']}/{number}").run()


if __name__ == "__main__":
    run = {"datatrove": with_datatrove, "trafilatura": with_trafilatura}[sys.argv[1]]
    run(Path(sys.argv[2]), Path(sys.argv[3]))
