"""sitemap: a site with slow or endless sitemaps delays no other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.batch.jobs.test_sitemap import HOST, Sites, index, listing, read, serving
from tests.batch.making import NOW, crawldb_of, known, make_crawl

from scoter.batch.crawldir.directory import CrawlDir, StopRequest
from scoter.batch.jobs.crawl import CrawlLimits, CrawlProgress
from scoter.batch.jobs.crawl import crawl as run_crawl
from scoter.batch.jobs.sitemap import SitemapReading
from scoter.batch.urls import sitemaps
from scoter.config import load
from scoter.engine import Engine

GOOD = "http://b.org"


class EndlessMaps(dict[str, bytes | str]):
    """a.org asks for a delay of 25 seconds and has an index of 300 indexes, each of which is such an index."""

    def get(self, url: str, default: object = None) -> bytes | str | None:  # type: ignore[override]
        path = url.removeprefix(HOST)
        if path == "/robots.txt":
            return f"User-agent: *\nCrawl-delay: 25\nSitemap: {HOST}/maps/"
        if path.startswith("/maps/"):
            return index(*(f"{path}{number}/" for number in range(300)))
        return super().get(url)


@pytest.fixture
def web() -> Iterator[Sites]:
    with serving(Sites()) as sites:
        yield sites


@pytest.fixture
def hostile(web: Sites) -> Sites:
    web.files = EndlessMaps({f"{GOOD}/sitemap.xml": listing("/1", "/2"), f"{GOOD}/1": "one", f"{GOOD}/2": "two"})
    return web


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return make_crawl(tmp_path / "crawl", [known(f"{HOST}/"), known(f"{GOOD}/")])


@pytest.mark.slow  # starts workers
def test_crawl_fetches_other_hosts_while_a_site_has_endless_sitemaps(
    crawl: CrawlDir, engine: Engine, hostile: Sites
) -> None:
    config = load(None, {}, hostile.settings("sitemap.wait=0s", "fetch.processes=1", "fetch.max_hold=1s"))
    shown: list[CrawlProgress] = []

    done = run_crawl(crawl, engine, config, rounds=CrawlLimits(most=1, sitemaps="once"), on_progress=shown.append)

    before = hostile.asked[: hostile.asked.index(f"{GOOD}/2")]
    assert len([url for url in before if url.startswith(HOST)]) < 5
    assert done.sitemaps is not None
    assert list(done.sitemaps.unread) == ["not_in_time"]
    assert any(each.sitemaps is not None for each in shown)


def test_stop_is_honoured_during_a_delay(crawl: CrawlDir, engine: Engine, hostile: Sites) -> None:
    config = load(None, {}, hostile.settings())
    stopping = StopRequest()
    reading = SitemapReading(crawl, engine, config, is_stopping=lambda: bool(stopping))
    stopping.by = "a test"
    began = time.monotonic()

    reading.run(reading.of_crawldb, now=NOW)

    assert time.monotonic() - began < 20
    assert set(crawldb_of(crawl)) >= {f"{GOOD}/1", f"{GOOD}/2"}


@pytest.mark.parametrize("limit", ["site_time_limit", "time_limit"])
def test_what_is_not_read_within_the_time_limit_is_reported(
    crawl: CrawlDir, engine: Engine, hostile: Sites, limit: str
) -> None:
    done = read(crawl, engine, hostile, settings=(f"sitemap.{limit}=1s",))

    assert done.new == 2
    assert list(done.unread) == [limit]
    assert f"sitemap.{limit}" in done.problems[0].why


def test_suspended_reading_continues_with_what_is_left(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    paths = [f"/{number}.xml" for number in range(3)]
    web.files = {
        f"{HOST}/robots.txt": "User-agent: *\nCrawl-delay: 1\nSitemap: /all.xml",
        f"{HOST}/all.xml": index(*paths),
        **{f"{HOST}{path}": listing(f"{path}/page") for path in paths},
    }
    config = load(None, {}, web.settings("sitemap.wait=0s"))
    reading = SitemapReading(crawl, engine, config)

    first = reading.run(reading.of_crawldb, now=NOW, may_suspend=True)
    left = reading.sites_left
    last = reading.run(lambda folder, known: (), now=NOW)

    assert (left, reading.sites_left) == (1, 0)
    assert first.new < last.new == 3
    assert [web.asked.count(HOST + path) for path in paths] == [1, 1, 1]
    assert reading.result().unread == {}


def test_site_whose_sitemaps_repeat_themselves_is_not_read_to_the_end(
    crawl: CrawlDir, engine: Engine, web: Sites
) -> None:
    paths = [f"/{number}.xml" for number in range(200)]
    web.files = {f"{HOST}/sitemap.xml": index(*paths), **{HOST + path: listing("/same") for path in paths}}

    done = read(crawl, engine, web)

    assert done.new == 1
    assert 200 - 2 * sitemaps.MAX_REPEATS < done.unread["repeats"] < 200


def test_empty_sitemaps_are_no_repeats(crawl: CrawlDir, engine: Engine, web: Sites) -> None:
    paths = [f"/{number}.xml" for number in range(50)]
    web.files = {f"{HOST}/sitemap.xml": index(*paths), **{HOST + path: listing() for path in paths}}
    web.files[HOST + paths[-1]] = listing("/last")

    done = read(crawl, engine, web)

    assert (done.new, done.sitemaps, dict(done.unread)) == (1, 51, {})
