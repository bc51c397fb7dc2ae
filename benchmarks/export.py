"""CPU time of exports and of the corpus, next to a bare loop over the same rows in the same run.

    python -m benchmarks.export --pages 40000

Creates a crawl of that many pages of 5 KB in two segments, with an archive, and runs each command on it in its own
process. The bare loop reads the texts and titles of the segments and writes them as JSON lines: no selection, no newest
version, no order, no digests. Exits with 1 if JSON lines or Markdown are written at less than 300 MB of text per minute
of CPU time.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, INFO_FILE, PARSED, Segment, SegmentInfo
from scoter.core.reply import Exchange
from scoter.core.url import canonical
from scoter.store.tables import PartSet, Table
from scoter.store.warc import ArchiveInfo, WarcPart

NOW = datetime(2026, 11, 15, tzinfo=UTC)
TEXT = 5_000
BATCH = 500
GOAL = 300.0
"""Megabytes of text per minute of CPU time."""
COMMANDS = {
    "jsonl": ("export", "--format", "jsonl"),
    "markdown": ("export", "--format", "markdown"),
    "csv": ("export", "--format", "csv"),
    "parquet": ("export", "--format", "parquet"),
    "sqlite": ("export", "--format", "sqlite"),
    "warc": ("export", "--format", "warc"),
    "wacz": ("export", "--format", "wacz"),
    "corpus": ("corpus", "--keep-duplicates"),
}
WITH_GOAL = ("jsonl", "markdown")
_DRAW = random.Random(1)
_WORDS = ["".join(_DRAW.choices("etaoinshrdlucmfwyp", k=_DRAW.randint(2, 9))) for _ in range(3_000)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=40_000)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--only", nargs="*", choices=COMMANDS, default=list(COMMANDS))
    said = parser.parse_args(arguments)
    missed = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        crawl = CrawlDir.create(folder / "crawl", NOW)
        megabytes = make(crawl, said.pages) / 1e6
        bare = cost([sys.executable, "-c", f"import sys; from benchmarks.export import bare; bare({name!r})"])[0]
        print(f"{said.pages:,} pages, {megabytes:,.0f} MB of text, memory {said.memory}")
        print(f"{'':<10}{'CPU s':>8}{'MB/min':>8}{'× bare':>8}{'peak MB':>9}")
        print(f"{'bare loop':<10}{bare:>8.1f}{megabytes / bare * 60:>8,.0f}{1:>8.1f}")
        for form in said.only:
            command, *options = COMMANDS[form]
            words = [command, str(crawl.path), str(folder / form), *options, "--quiet"]
            words += ["-D", f"engine.memory_limit={said.memory}"]
            seconds, peak = cost([sys.executable, "-m", "scoter.cli.main", *words])
            speed = megabytes / seconds * 60
            is_met = form not in WITH_GOAL or speed >= GOAL
            missed += [] if is_met else [form]
            verdict = "" if is_met else f"   MISSED: the goal is {GOAL:.0f}"
            print(f"{form:<10}{seconds:>8.1f}{speed:>8,.0f}{seconds / bare:>8.1f}{peak:>9,.0f}{verdict}")
    return 1 if missed else 0


def cost(words: list[str]) -> tuple[float, float]:
    """Run a command; return its CPU seconds and its peak memory in megabytes."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(words[0], words, os.environ, file_actions=quiet)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(words)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1_000


def bare(folder: str) -> None:
    """Write the titles and texts of the crawl as JSON lines, as simply as possible."""
    encode = msgspec.json.Encoder().encode
    with (Path(folder) / "bare.jsonl").open("wb") as out:
        for segment in sorted((Path(folder) / "crawl" / "segments").iterdir()):
            parts = [pq.ParquetFile(next((segment / name).glob("*.parquet"))) for name in ("parse_data", "parse_text")]
            batches = [
                part.iter_batches(BATCH, columns=columns)
                for part, columns in zip(parts, (["url", "title", "language"], ["text"]), strict=True)
            ]
            for data, texts in zip(*batches, strict=True):
                for row, text in zip(data.to_pylist(), texts.to_pylist(), strict=True):
                    out.write(encode({**row, **text}) + b"\n")


def make(crawl: CrawlDir, pages: int) -> int:
    """Write a crawl of two segments with their archives; return the bytes of its text."""
    urls = [canonical(f"http://host{number % 97}.example.org/pages/{number}.html") for number in range(pages)]
    known = {"status": "fetched", "fetch_time": NOW, "retries": 0, "interval": 86_400, "score": 1.0}
    rows = sorted((url.key, url.text, url.host) for url in urls)
    with Table.write(crawl.crawldb, schemas.CRAWLDB, writer="benchmark") as new:
        with new.part() as part:
            for start in range(0, pages, BATCH):
                found = [
                    {"key": key, "url": url, "host": host, **known} for key, url, host in rows[start : start + BATCH]
                ]
                part.write(_batch(found, new.schema))
        new.commit()
    return sum(_make_segment(crawl, f"2026111500000{half}", urls[half::2]) for half in (0, 1))


def _make_segment(crawl: CrawlDir, name: str, urls: Sequence[Any]) -> int:
    segment = Segment(crawl.segments / name)
    segment.path.mkdir(parents=True)
    about = SegmentInfo(created=NOW, lists=1, urls=len(urls))
    (segment.path / INFO_FILE).write_bytes(msgspec.json.encode(about))
    segment.content.mkdir()
    archive = WarcPart(segment.content, "part-00001", ArchiveInfo(software="benchmark"), opened=NOW)
    size = 0
    tables: tuple[PartSet, ...] = (segment.crawl_fetch(), segment.parse_data(), segment.parse_text())
    with (
        tables[0].part("part-00001") as fetches,
        tables[1].part("part-00001") as data,
        tables[2].part("part-00001") as texts,
    ):
        for start in range(0, len(urls), BATCH):
            chosen = urls[start : start + BATCH]
            words = [_text() for _ in chosen]
            size += sum(map(len, words))
            names = [{"url": url.text, "key": url.key, "host": url.host} for url in chosen]
            places = [archive.append(_exchange(url, text)) for url, text in zip(chosen, words, strict=True)]
            found = [
                {
                    **each,
                    "status": "success",
                    "fetch_time": NOW,
                    "http_status": 200,
                    "warc_file": place.file,
                    "warc_offset": place.offset,
                    "warc_length": place.length,
                }
                for each, place in zip(names, places, strict=True)
            ]
            fetches.write(_batch(found, tables[0].schema))
            page = {"parse_status": "success", "title": "A page", "language": "en", "content_type": "text/html"}
            data.write(_batch([{**each, **page} for each in names], tables[1].schema))
            rows = [{**each, "text": text} for each, text in zip(names, words, strict=True)]
            texts.write(_batch(rows, tables[2].schema))
    archive.finish()
    segment.finish(FETCHED)
    segment.finish(PARSED)
    return size


def _text() -> str:
    return "\n".join(" ".join(_sentence()) + "." for _ in range(TEXT // 500))


def _sentence() -> Iterator[str]:
    size = 0
    while size < 490:
        word = _DRAW.choice(_WORDS)
        size += len(word) + 1
        yield word


def _exchange(url: Any, text: str) -> Exchange:
    body = f"<html><title>A page</title><body><p>{text}</p></body></html>".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    fields = (("Content-Type", "text/html"), ("Content-Length", str(len(body))))
    return Exchange(
        url=url, started=NOW, request_head=b"GET / HTTP/1.1\r\n\r\n", response_head=head, status=200, headers=fields,
        body=body,
    )  # fmt: skip


def _batch(rows: Sequence[dict[str, Any]], schema: Any) -> Any:
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


if __name__ == "__main__":
    sys.exit(main())
