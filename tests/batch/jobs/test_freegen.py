"""freegen: a segment of the URLs in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.making import MONTH, NOW, crawldb_of, known, make_crawl

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.freegen import freegen
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import UsageError

A, PHOTO = "http://a.org/", "http://b.org/x.jpg"


def test_segment_holds_each_url_once_as_a_new_record(tmp_path: Path, engine: Engine) -> None:
    # given a URL that the crawldb knows as fetched, and not due
    crawl = make_crawl(tmp_path / "crawl", [known(A, "fetched", score=9.0)])
    file = tmp_path / "urls"
    file.write_text(f"{A}\tnutch.score=2\n{PHOTO}\nnonsense\n{A}#again\tnutch.score=3\n")

    done = freegen(crawl, engine, load(None, {}, ["generate.max_count=1"]), [str(file)], now=NOW, lists=2)

    assert (list(done.segments.values()), done.not_urls, done.filtered) == ([2], 1, 0)
    segment = crawl.segment("")
    rows = {row["url"]: row for batch in segment.crawl_generate().scan() for row in batch.to_pylist()}
    assert {url: (row["status"], row["score"], row["interval"], row["fetch_time"]) for url, row in rows.items()} == {
        A: ("unfetched", 2.0, MONTH, NOW),
        PHOTO: ("unfetched", 1.0, MONTH, NOW),
    }
    assert (segment.info().made_by, segment.info().lists, segment.info().urls) == ("freegen", 2, 2)
    assert crawldb_of(crawl)[A]["score"] == 9.0


def test_filters_apply_only_if_requested(tmp_path: Path, engine: Engine) -> None:
    crawl = CrawlDir.create(tmp_path / "crawl", NOW)
    (tmp_path / "urls").write_text(PHOTO)
    config = load(None, {}, ["urlfilter.filters=suffix"])
    done = freegen(crawl, engine, config, [str(tmp_path / "urls")], now=NOW, filter=True)
    assert (done.segments, done.filtered) == ({}, 1)
    assert crawl.all_segments() == []


def test_url_instead_of_a_file_is_rejected(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(UsageError, match="no such file"):
        freegen(CrawlDir.create(tmp_path / "crawl", NOW), engine, load(None, {}, []), [A], now=NOW)
