"""Merged segments record their sources: nothing is applied to a table twice, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batch.crawls import NOW, crawl_at, crawldb, datum, link, page, write_crawldb, write_segment

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment, SegmentOrigin
from scoter.batch.jobs import invertlinks, prune, readseg, updatedb
from scoter.batch.jobs.mergedb import mergedb
from scoter.batch.jobs.mergelinkdb import mergelinkdb
from scoter.batch.jobs.mergesegs import mergesegs
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError

CONFIG = load(None, {}, [])
A, B, D = "http://a.org/", "http://b.org/", "http://d.org/"


def part(path: Path, name: str, url: str, engine: Engine, *, is_in: bool = True) -> CrawlDir:
    """Make a crawl of one page with a link to D, applied to its crawldb and linkdb or not."""
    crawl = crawl_at(path)
    write_crawldb(crawl, [datum(url, "unfetched")])
    segment = write_segment(
        crawl,
        name,
        fetches=[datum(url, "success", http_status=200)],
        pages=[page(url)],
        links=[link(url, D, score=0.5)],
        generates=[datum(url, "unfetched", list=0)],
    )
    if is_in:
        updatedb.updatedb(crawl, engine, CONFIG, [segment], now=NOW)
        invertlinks.invertlinks(crawl, engine, CONFIG, [segment], now=NOW)
    return crawl


def merged(path: Path, segments: Sequence[Segment], engine: Engine, **options: Any) -> CrawlDir:
    crawl = crawl_at(path)
    mergesegs(crawl, segments, engine, CONFIG, now=NOW, **options)
    return crawl


def segments(*crawls: CrawlDir) -> list[Segment]:
    return [segment for crawl in crawls for segment in crawl.all_segments()]


@pytest.mark.parametrize("most", [None, 1])
def test_merged_crawldb_contains_the_merged_segments(engine: Engine, tmp_path: Path, most: int | None) -> None:
    parts = [part(tmp_path / "1", "1", A, engine), part(tmp_path / "2", "2", B, engine)]
    out = merged(tmp_path / "out", segments(*parts), engine, slice=most)
    mergedb(out, parts, engine, CONFIG, now=NOW)
    mergelinkdb(out, parts, engine, CONFIG, now=NOW)

    assert len(out.all_segments()) == (2 if most else 1)
    assert updatedb.pending(out) == []
    assert invertlinks.pending(out) == []
    assert {each.state for each in readseg.summarize_segments(out, out.all_segments())} == {"applied"}
    assert prune.prune(out, now=NOW, keep=0, dry_run=True).spared == ()
    with pytest.raises(UsageError, match="already in the crawldb"):
        updatedb.updatedb(out, engine, CONFIG, out.all_segments()[-1:], now=NOW)


def test_unapplied_slices_are_each_applied_once(engine: Engine, tmp_path: Path) -> None:
    parts = [part(tmp_path / "1", "1", A, engine, is_in=False), part(tmp_path / "2", "2", B, engine, is_in=False)]
    out = merged(tmp_path / "out", segments(*parts), engine, slice=1)
    mergedb(out, parts, engine, CONFIG, now=NOW)

    for left in (2, 1):
        assert len(updatedb.pending(out)) == left
        updatedb.updatedb(out, engine, CONFIG, updatedb.pending(out)[:1], now=NOW)

    assert updatedb.pending(out) == []
    found = crawldb(out)
    assert {url: row["status"] for url, row in found.items()} == {A: "fetched", B: "fetched", D: "unfetched"}
    assert found[D]["score"] == 1.0


def test_merging_again_keeps_the_origins(engine: Engine, tmp_path: Path) -> None:
    parts = [part(tmp_path / "1", "1", A, engine, is_in=False), part(tmp_path / "2", "2", B, engine, is_in=False)]
    sliced = merged(tmp_path / "sliced", segments(*parts), engine, slice=1)
    mergedb(sliced, parts, engine, CONFIG, now=NOW)
    updatedb.updatedb(sliced, engine, CONFIG, updatedb.pending(sliced), now=NOW)

    whole = merged(tmp_path / "whole", segments(sliced), engine)
    mergedb(whole, [sliced], engine, CONFIG, now=NOW)

    assert updatedb.pending(whole) == []


def test_partly_applied_merged_segment_is_rejected(engine: Engine, tmp_path: Path) -> None:
    known, unknown = part(tmp_path / "1", "1", A, engine), part(tmp_path / "2", "2", B, engine, is_in=False)
    with pytest.raises(UsageError, match="not in its crawldb, but others") as refusal:
        merged(tmp_path / "no", segments(known, unknown), engine)
    assert refusal.value.hint == f"Run: scoter updatedb {unknown.path} 2"

    # each in its own crawldb, but only one of these two is merged
    updatedb.updatedb(unknown, engine, CONFIG, segments(unknown), now=NOW)
    out = merged(tmp_path / "out", segments(known, unknown), engine)
    mergedb(out, [known], engine, CONFIG, now=NOW)

    with pytest.raises(UsageError, match=r"the merged segment 2-001 is partly in the crawldb, without 2"):
        updatedb.updatedb(out, engine, CONFIG, updatedb.pending(out), now=NOW)
    updatedb.updatedb(out, engine, CONFIG, updatedb.pending(out), now=NOW, force=True)
    assert updatedb.pending(out) == []


origins = st.recursive(
    st.builds(SegmentOrigin, st.sampled_from("abcdef")),
    lambda inner: st.builds(
        SegmentOrigin, st.sampled_from("uvwxyz"), st.lists(inner, min_size=1, max_size=3).map(tuple)
    ),
    max_leaves=8,
)


@given(origins, st.frozensets(st.sampled_from("abcdefuvwxyz")))
def test_origin_is_applied_by_its_own_name_or_by_every_leaf(origin: SegmentOrigin, applied: frozenset[str]) -> None:
    def leaves(each: SegmentOrigin) -> list[bool]:
        if each.name in applied:
            return [True]
        return [leaf for one in each.merged for leaf in leaves(one)] or [False]

    assert origin.is_in(applied) is all(leaves(origin))
    assert origin.is_partly_in(applied) is any(leaves(origin))
