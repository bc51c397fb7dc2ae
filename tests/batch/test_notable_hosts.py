"""The hosts that the summary of a crawl names, and the sites of a hostdb whose sitemaps are read."""

from __future__ import annotations

from pathlib import Path

from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb, write_segment
from tests.batch.jobs.test_updatehostdb import MISSING, Names, fetch

from scoter.batch.hosts.notable import FAULTIEST, LARGEST, SLOWEST, notable_hosts
from scoter.batch.jobs.readhostdb import open_hostdb
from scoter.batch.jobs.updatehostdb import updatehostdb
from scoter.batch.urls.sitemap_starts import read_sites, save_hosts_as_sites
from scoter.config import load
from scoter.engine import Engine, source_of


def test_slowest_largest_and_most_faulty_hosts_are_named(engine: Engine, tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    fetches = [
        fetch(f"http://h{n}.org/{m}", response_ms=n * 10 + m, length=100 - n) for n in range(5) for m in range(2)
    ]
    failures = [fetch("http://h1.org/x", "gone", 404, reason="not_found")]
    segment = write_segment(crawl, "1", fetches=[*fetches, *failures])

    found = notable_hosts(engine, [segment])

    named = {why: [each.host for each in found if each.why == why] for why in (SLOWEST, LARGEST, FAULTIEST)}
    assert named == {
        SLOWEST: ["h4.org", "h3.org", "h2.org"],
        LARGEST: ["h0.org", "h1.org", "h2.org"],
        FAULTIEST: ["h1.org"],
    }
    assert found[0].value == 40.5


def test_few_hosts_or_none_do_not_stand_out(engine: Engine, tmp_path: Path) -> None:
    segment = write_segment(crawl_at(tmp_path / "crawl"), "1", fetches=[fetch("http://a.org/", response_ms=9)])

    assert notable_hosts(engine, [segment]) == ()
    assert notable_hosts(engine, []) == ()


def test_sites_of_a_hostdb_are_those_of_hosts_that_are_not_dead(engine: Engine, tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    urls = ["http://plain.org/", "https://safe.org/", "http://dead.org/", "http://new.org/page"]
    write_crawldb(crawl, [datum(url) for url in urls])
    updatehostdb(crawl, engine, load(), now=NOW, resolver=Names({"dead.org": MISSING}))

    with open_hostdb(crawl) as table:
        number = save_hosts_as_sites(engine, source_of(table), tmp_path / "sites.parquet")

    assert number == 3
    assert [start.url.text for start in read_sites(tmp_path / "sites.parquet")] == [
        "http://plain.org/robots.txt",
        "https://new.org/robots.txt",
        "https://safe.org/robots.txt",
    ]
