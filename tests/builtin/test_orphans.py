"""The scoring filter orphan: its rule on records, and in updates of a crawldb."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.batch.making import DAY, NOW, crawldb_of, fetch, known, link, make_crawl, make_segment

from scoter.batch.crawldir.schemas import plugin_columns
from scoter.batch.jobs.updatedb import updatedb
from scoter.builtin.orphans import OrphanScoring
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus, PartStatus
from scoter.core.url import canonical
from scoter.engine.duckdb import DuckDbEngine
from scoter.errors import UserError
from scoter.plugins import Setup, chain

URL = canonical("http://a.example/")
LINK = CrawlDatum(status=PartStatus.LINKED)
SECOND = timedelta(seconds=1)


def fetched(**extra: object) -> CrawlDatum:
    return CrawlDatum(status=DbStatus.FETCHED, extra=extra)


@pytest.mark.parametrize(
    ("since", "status"),
    [
        (30 * DAY, DbStatus.FETCHED),
        (30 * DAY + SECOND, DbStatus.GONE),
        (40 * DAY, DbStatus.GONE),
        (40 * DAY + SECOND, DbStatus.ORPHAN),
    ],
)
def test_status_follows_from_the_time_since_the_last_inlink(since: timedelta, status: DbStatus) -> None:
    scoring = OrphanScoring(Setup(load()))

    assert scoring.orphaned(URL, fetched(linked_time=NOW - since), NOW).status is status
    assert scoring.update(URL, None, fetched(linked_time=NOW - since), [], NOW).status is status


def test_inlink_resets_the_time_and_pages_without_inlinks_so_far_are_left_alone() -> None:
    scoring = OrphanScoring(Setup(load()))

    linked = scoring.update(URL, None, fetched(linked_time=NOW - 99 * DAY), [LINK], NOW)

    assert (linked.status, linked.extra) == (DbStatus.FETCHED, {"linked_time": NOW})
    assert scoring.update(URL, None, fetched(), [], NOW) == scoring.orphaned(URL, fetched(), NOW) == fetched()


def test_gone_time_must_not_exceed_orphan_time() -> None:
    with pytest.raises(UserError, match="orphan_mark_gone_after"):
        load(overrides=["scoring.orphan_mark_gone_after=50d"])


def test_updates_mark_pages_that_lost_their_inlinks_and_purge_orphans(tmp_path: Path) -> None:
    # given pages whose last inlinks are of different age
    config = load(overrides=['scoring.filters=["opic", "orphan"]', "db.update_purge_orphans=true"])
    extra = plugin_columns(chain("scoring", config))
    ages = {"seed": None, "fresh": 5, "old": 35, "older": 45, "again": 45}
    rows = [
        known(f"http://{name}.example/", "fetched", linked_time=None if age is None else NOW - age * DAY)
        for name, age in ages.items()
    ]
    crawl = make_crawl(tmp_path / "crawl", rows, extra=extra)
    page, linked = fetch("http://seed.example/"), link("http://seed.example/", "http://again.example/")
    first = make_segment(crawl, "20261115000001", fetches=[page], links=[linked], extra=extra)
    second = make_segment(crawl, "20261115000002", fetches=[fetch("http://new.example/")], extra=extra)

    # when one update finds a link to one of them, and the next none
    with DuckDbEngine(tmp_path / "engine", 2**28, threads=1) as engine:
        updatedb(crawl, engine, config, [first], now=NOW)
        after_first = {name: row["status"] for name, row in crawldb_of(crawl, extra).items()}
        updatedb(crawl, engine, config, [second], now=NOW + 31 * DAY)
    after_second = {name: row["status"] for name, row in crawldb_of(crawl, extra).items()}

    # then
    assert after_first == {
        "http://seed.example/": "fetched",
        "http://fresh.example/": "fetched",
        "http://old.example/": "gone",
        "http://older.example/": "orphan",
        "http://again.example/": "fetched",
    }
    assert after_second == {
        "http://seed.example/": "fetched",
        "http://fresh.example/": "gone",
        "http://old.example/": "orphan",
        "http://again.example/": "gone",
        "http://new.example/": "fetched",
    }
