"""merge: whole crawls become one, in a command that can be interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, crawl_at, crawldb, datum, linkdb, write_crawldb, write_linkdb, write_segment
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs import merge as module
from scoter.batch.jobs.merge import ORDER_FILE, merge, merge_sources
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError

__all__ = ["run"]

A, B = "http://a.org/", "http://b.org/"
CONFIG = load(None, {}, [])


@pytest.fixture
def parts(tmp_path: Path) -> list[str]:
    """Two crawls, each with a crawldb, a segment that is applied to it, and a linkdb."""
    for name, url in (("1", A), ("2", B)):
        crawl = crawl_at(tmp_path / f"part{name}")
        write_segment(crawl, name, fetches=[datum(url, "success")])
        write_crawldb(crawl, [datum(url)], applied=[name])
        write_linkdb(crawl, {url: [(A, "a")]}, applied=[name])
    return [str(tmp_path / "part1"), str(tmp_path / "part2")]


def test_everything_is_merged_by_default(parts: list[str], tmp_path: Path, run: Run) -> None:
    done = run("merge", "out", *parts)
    again = run("merge", "out", *parts)

    assert (done.code, done.out) == (0, "Merged 2 crawls: 2 URLs, 2 pages in 1 segment, inlinks of 2 URLs\n")
    out = CrawlDir.open(tmp_path / "out")
    assert crawldb(out).keys() == linkdb(out).keys() == {A, B}
    assert [each.name for each in out.all_segments()] == ["2-001"]
    assert not (out.path / ORDER_FILE).exists()
    assert again.code == 2
    assert "already has a crawldb" in again.err


def test_only_what_is_named_is_merged(parts: list[str], tmp_path: Path, run: Run) -> None:
    done = run("merge", "out", *parts, "--crawldb", "--json")

    assert (done.code, json.loads(done.out)) == (0, {"urls": 2})
    out = CrawlDir.open(tmp_path / "out")
    assert (out.all_segments(), out.linkdb.exists()) == ([], False)


def test_crawls_without_linkdbs_are_merged_unless_these_are_asked_for(
    parts: list[str], tmp_path: Path, run: Run
) -> None:
    other = crawl_at(tmp_path / "part3")
    write_crawldb(other, [datum(B)])

    done = run("merge", "out", *parts, other.path)
    refused = run("merge", "out2", *parts, other.path, "--linkdb")

    assert (done.code, done.out) == (0, "Merged 3 crawls: 2 URLs, 2 pages in 1 segment\n")
    assert refused.code == 2
    assert "invertlinks" in refused.err
    assert not (tmp_path / "out2").exists()


def test_crawls_without_finished_segments_have_nothing_to_merge(tmp_path: Path, run: Run) -> None:
    crawl = crawl_at(tmp_path / "part")
    write_segment(crawl, "1", done=[])

    done = run("merge", "out", crawl.path, "--segments")

    assert done.code == 1
    assert "not completely fetched" in done.err
    assert not (tmp_path / "out").exists()


def test_interrupted_merge_is_continued_by_the_same_command_only(
    parts: list[str], tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = crawl_at(tmp_path / "out")
    sources = merge_sources(parts, (), CONFIG)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "mergelinkdb", interrupt)
        with pytest.raises(KeyboardInterrupt):
            merge(out, sources, engine, CONFIG, now=NOW)
    with pytest.raises(UsageError, match="already has a crawldb"):
        merge(out, merge_sources(parts[:1], (), CONFIG), engine, CONFIG, now=NOW)
    done = merge(out, sources, engine, CONFIG, now=NOW)

    assert (done.urls, done.segments, done.pages, done.linked_urls) == (2, ("2-001",), 2, 2)
    assert linkdb(out).keys() == {A, B}
