"""The previous version of a table: kept or removed after each job."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.batch.making import NOW, fetch, known, link, make_crawl, make_segment

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.dedup import dedup
from scoter.batch.jobs.inject import inject
from scoter.batch.jobs.invertlinks import invertlinks
from scoter.batch.jobs.updatedb import updatedb
from scoter.config import load
from scoter.engine import Engine
from scoter.store.tables import Table

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"


def versions(table: Path) -> int:
    return sum(each.is_dir() for each in table.iterdir())


@pytest.mark.parametrize(("is_kept", "expected"), [(True, 2), (False, 1)])
def test_jobs_keep_the_previous_version_only_with_preserve_backup(
    is_kept: bool, expected: int, engine: Engine, tmp_path: Path
) -> None:
    config = load(None, {}, [f"db.preserve_backup={str(is_kept).lower()}"])
    crawl = make_crawl(tmp_path / "crawl", [known(url, "fetched", signature=b"1") for url in (A, B)])

    inject(crawl, engine, config, [C], now=NOW)
    injected = versions(crawl.crawldb)
    updatedb(crawl, engine, config, [make_segment(crawl, fetches=[fetch(C)], links=[link(C, A)])], now=NOW)
    updated = versions(crawl.crawldb)
    dedup(crawl, engine, config, now=NOW)
    deduplicated = versions(crawl.crawldb)
    for name in ("20261115000001", "20261115000002"):
        segment = make_segment(crawl, name, fetches=[fetch(C)], links=[link(C, A)])
        invertlinks(crawl, engine, config, [segment], now=NOW)

    assert (injected, updated, deduplicated, versions(crawl.linkdb)) == (expected,) * 4


def test_version_in_use_is_removed_by_the_next_job(engine: Engine, tmp_path: Path) -> None:
    config = load(None, {}, ["db.preserve_backup=false"])
    crawl = make_crawl(tmp_path / "crawl", [known(A)])

    with Table.open(crawl.crawldb) as reading:
        inject(crawl, engine, config, [B], now=NOW)
        assert (versions(crawl.crawldb), reading.count()) == (2, 1)
    inject(crawl, engine, config, [C], now=NOW)

    assert versions(crawl.crawldb) == 1


def test_job_without_a_table_removes_no_backup(engine: Engine, tmp_path: Path) -> None:
    crawl = CrawlDir.create(tmp_path / "crawl", NOW)

    done = inject(crawl, engine, load(None, {}, ["db.preserve_backup=false"]), ["http://a.example/x.gif"], now=NOW)

    assert (done.new, done.filtered) == (0, 1)
