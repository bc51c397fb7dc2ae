"""Segments written before the metadata columns existed, together with newer ones."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.batch.making import NOW, crawldb_of, fetch, known, link, make_crawl, make_segment, page, row

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.invertlinks import invertlinks
from scoter.batch.jobs.mergesegs import mergesegs
from scoter.batch.jobs.readseg import find_entries
from scoter.batch.jobs.sql import sql
from scoter.batch.jobs.updatedb import updatedb
from scoter.config import load
from scoter.engine import Engine
from scoter.store.tables import PartSet

CONFIG = load(None, {})
A, B, C = "http://a.org/", "http://a.org/b", "http://c.org/"
DAY = datetime(2026, 11, 3, tzinfo=UTC)
OLD_DATA = ("url", "key", "parse_status", "reason", "title", "language", "content_type", "encoding", "canonical")
OLD = {
    "parse_data": (*OLD_DATA, "noindex", "nofollow", "outlinks", "signature", "simhash", "metadata"),
    "parse_text": ("url", "key", "text", "main_text"),
    "crawl_parse": ("source", "url", "key", "host", "anchor", "rel", "score"),
}


def rows_of(segment: Segment) -> list[dict[str, Any]]:
    return [each for batch in segment.parse_data().scan() for each in batch.to_pylist()]


def old_segment(crawl: CrawlDir) -> Segment:
    """Make a segment whose files lack the metadata columns."""
    segment = make_segment(crawl, fetches=[fetch(A)])
    new = {"parse_data": segment.parse_data(), "parse_text": segment.parse_text(), "crawl_parse": segment.crawl_parse()}
    given = {
        "parse_data": page(A, title="Old", signature=b"old"),
        "parse_text": row(A, text="words"),
        "crawl_parse": link(A, B, 1.0),
    }
    for name, columns in OLD.items():
        for file in (segment.path / name).glob("*.parquet"):
            file.unlink()
        schema = pa.schema([new[name].schema.field(column) for column in columns])
        with PartSet(segment.path / name, schema).part("part-00001") as part:
            part.write(pa.RecordBatch.from_pylist([{column: given[name].get(column) for column in columns}], schema))
    return segment


def test_every_command_reads_segments_without_the_newer_columns(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = old_segment(crawl)

    (held,) = find_entries(CONFIG, [segment], A)
    with sql(crawl, memory_limit=2**28) as session:
        (asked,) = session.query("select title, text, markdown, headings, about, part_of from pages").rows
        (linked,) = session.query("select url, kind from outlinks").rows
    updatedb(crawl, engine, CONFIG, [segment], now=NOW)
    invertlinks(crawl, engine, CONFIG, [segment], now=NOW)

    assert held.parse_data is not None
    assert (held.parse_data["title"], held.parse_data["about"], held.parse_data["part_of"]) == ("Old", None, None)
    assert (asked["title"], asked["text"], asked["markdown"], asked["headings"]) == ("Old", "words", None, None)
    assert linked == {"url": B, "kind": None}
    assert crawldb_of(crawl)[A]["signature"] == b"old"


def test_merged_segments_have_the_columns_if_any_source_has_them(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(C)])
    old = old_segment(crawl)
    lists: dict[str, Any] = {
        "headings": [{"level": 1, "text": "Grey"}],
        "keywords": ["sea"],
        "published": DAY,
        "about": "{}",
    }
    new = make_segment(crawl, "20261116000000", fetches=[fetch(C)], pages=[page(C, title="New", **lists)])

    merged = CrawlDir.create(tmp_path / "merged", NOW)
    mergesegs(merged, [old, new], engine, CONFIG, now=NOW)

    found = [each for segment in merged.all_segments() for each in rows_of(segment)]
    by_title = {each["title"]: each for each in found}
    assert by_title["Old"]["headings"] is None
    assert {name: by_title["New"][name] for name in lists} == lists
