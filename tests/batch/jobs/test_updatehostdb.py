"""updatehostdb: where each fact about a host comes from, and what an update keeps."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.batch.crawls import NOW, Row, crawl_at, datum, write_crawldb, write_segment

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import ROBOTS_CACHE, CrawlDir
from scoter.batch.fetchlists.traps import TRAPS_FILE
from scoter.batch.graph.tables import graph_tables
from scoter.batch.hosts.lookups import HostChecks, save_lookups
from scoter.batch.jobs.updatehostdb import HostdbResult, updatehostdb
from scoter.config import Config, load
from scoter.core.robots_cache import StoredRobots
from scoter.engine import Engine
from scoter.fetch.network.resolver import Answer, NotResolved, Resolved
from scoter.plugins.loading import installed
from scoter.store.robots_cache import SqliteRobotsCache
from scoter.store.tables import Table

DAY = timedelta(days=1)
NO_LOOKUPS = HostChecks(new=False, failed=False, known=False)
A, B = "https://a.org/", "http://b.org/"


class Names:
    """A resolver that knows some names, and which were asked for."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.asked: list[str] = []
        self.answers = dict(answers or {})

    async def resolve(self, host: str) -> Answer:
        self.asked.append(host)
        return self.answers.get(host, Resolved(("192.0.2.1",), 60.0))


MISSING = NotResolved("no such name", transient=False)
SILENT = NotResolved("timeout", transient=True)


def fetch(url: str, status: str = "success", code: int | None = 200, **columns: Any) -> Row:
    return {**datum(url, status), "fetch_time": NOW, "http_status": code, **columns}


def update(crawl: CrawlDir, engine: Engine, config: Config | None = None, **options: Any) -> HostdbResult:
    options = {"now": NOW, "resolver": Names(), **options}
    return updatehostdb(crawl, engine, config or load(), **options)


def hosts_of(crawl: CrawlDir) -> dict[str, Row]:
    with Table.open(crawl.hostdb, schemas.HOSTDB) as table:
        table.verify()
        rows = [row for batch in table.scan() for row in batch.to_pylist(maps_as_pydicts="strict")]
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert len({row["url"] for row in rows}) == len(rows)
    return {row["url"]: row for row in rows}


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    found = crawl_at(tmp_path / "crawl")
    rows = [datum(A), datum(f"{A}1"), datum(f"{A}2", "gone"), datum(f"{A}3", "duplicate"), datum(B, "unfetched")]
    write_crawldb(found, rows)
    return found


def test_urls_are_counted_by_host_and_status(engine: Engine, crawl: CrawlDir) -> None:
    done = update(crawl, engine)

    a, b = hosts_of(crawl).values()
    assert (done.hosts, done.hosts_before, done.segments) == (2, 0, ())
    assert {name: a[name] for name in ("urls", "pages", "fetched", "gone", "duplicate", "unfetched")} == {
        "urls": 4,
        "pages": 2,
        "fetched": 2,
        "gone": 1,
        "duplicate": 1,
        "unfetched": 0,
    }
    assert (a["url"], a["key"], a["homepage"], a["first_seen"]) == ("a.org", "org,a", A, NOW)
    assert (b["urls"], b["unfetched"], b["homepage"], b["latency_ms"], b["fetches"]) == (1, 1, None, None, 0)


def test_requests_are_counted_and_measured(engine: Engine, crawl: CrawlDir) -> None:
    times = [*range(1, 100), 2_000]
    fetches = [
        fetch(f"{A}{ms}", response_ms=ms, length=10 * ms, server="nginx", tls="TLSv1.3", ip="192.0.2.7") for ms in times
    ]
    failures = [
        fetch(B, "gone", 404, reason="not_found", length=5),
        fetch(f"{B}1", "retry", 503, reason="busy"),
        fetch(f"{B}2", "retry", None, reason="timeout"),
        fetch(f"{B}3", "retry", None, reason="tls"),
        fetch(f"{B}4", "gone", None, reason="robots_denied"),
        fetch(f"{B}5", "deferred", None),
    ]
    write_segment(crawl, "1", fetches=[*fetches, *failures])

    done = update(crawl, engine)

    a, b = hosts_of(crawl).values()
    latency = a["latency_ms"]
    assert done.segments == ("1",)
    assert (a["fetches"], a["answers"], a["bytes"]) == (100, 100, 10 * sum(times))
    assert (latency["count"], latency["min"], latency["max"]) == (100, 1, 2_000)
    assert latency["mean"] == pytest.approx(sum(times) / 100)
    for percentile, value in {"p50": 50, "p75": 75, "p95": 95, "p99": 99}.items():
        assert latency[percentile] == pytest.approx(value, rel=0.01)
        assert a["page_bytes"][percentile] == pytest.approx(10 * value, rel=0.01)
    assert (a["server"], a["tls"], a["ip"], a["last_seen"], a["last_fetch"]) == (
        *("nginx", "TLSv1.3", "192.0.2.7"),
        *(NOW, NOW),
    )
    names = ("fetches", "answers", "client_errors", "server_errors", "timeouts", "connection_failures", "robots_denied")
    assert [b[name] for name in names] == [5, 2, 1, 1, 1, 2, 1]


def test_segments_add_up_and_may_be_removed_afterwards(engine: Engine, crawl: CrawlDir) -> None:
    write_segment(crawl, "1", fetches=[fetch(f"{A}{ms}", response_ms=ms, length=1) for ms in (10, 20, 30)])
    update(crawl, engine)
    (crawl.segments / "1").rename(crawl.path / "removed")
    later = NOW + DAY
    write_segment(crawl, "2", fetches=[{**fetch(f"{A}4", response_ms=4_000, length=1), "fetch_time": later}])

    done = update(crawl, engine, now=later)
    again = update(crawl, engine, now=later)
    row = hosts_of(crawl)["a.org"]

    assert (done.segments, again.segments) == (("2",), ())
    assert (row["fetches"], row["bytes"], row["first_seen"], row["last_seen"]) == (4, 4, NOW, later)
    assert (row["latency_ms"]["count"], row["latency_ms"]["mean"], row["latency_ms"]["max"]) == (4, 1_015, 4_000)
    assert row["latency_ms"]["p50"] == pytest.approx(20, rel=0.01)
    update(crawl, engine, now=later, rebuild=True)
    assert hosts_of(crawl)["a.org"]["latency_ms"]["count"] == 1


def test_other_percentiles_are_computed_for_all_hosts(engine: Engine, crawl: CrawlDir) -> None:
    write_segment(crawl, "1", fetches=[fetch(f"{A}{ms}", response_ms=ms) for ms in range(1, 11)])
    update(crawl, engine)

    update(crawl, engine, load(overrides=["hostdb.percentiles=[10]"]))

    latency = hosts_of(crawl)["a.org"]["latency_ms"]
    assert latency.keys() == {"count", "sum", "mean", "min", "max", "p10"}
    assert latency["p10"] == pytest.approx(1, rel=0.02)


def test_homepage_is_where_the_root_redirects_to(engine: Engine, crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum("http://a.org/", "redir_perm"), datum(A, "redir_temp"), datum(f"{A}en/")])
    moves = [("http://a.org/", A), (A, f"{A}en"), (f"{A}en", f"{A}en/")]
    write_segment(crawl, "1", fetches=[fetch(source, "redir_temp", 302, redirect_to=to) for source, to in moves])

    update(crawl, engine)
    row = hosts_of(crawl)["a.org"]
    update(crawl, engine, now=NOW + DAY)

    assert (row["homepage"], row["homepage_chain"]) == (f"{A}en/", [A, f"{A}en", f"{A}en/"])
    assert hosts_of(crawl)["a.org"]["homepage_chain"] == row["homepage_chain"]


def test_redirect_loop_of_a_homepage_ends(engine: Engine, crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, "redir_temp")])
    moves = [(A, f"{A}x"), (f"{A}x", A)]
    write_segment(crawl, "1", fetches=[fetch(source, "redir_temp", 302, redirect_to=to) for source, to in moves])

    update(crawl, engine)

    assert len(hosts_of(crawl)["a.org"]["homepage_chain"]) == 6


def test_statistics_of_metadata_have_the_names_of_nutch(engine: Engine, crawl: CrawlDir) -> None:
    values = [("10", "text/html"), ("30", "text/html"), ("wrong", "image/png")]
    rows = [
        datum(f"{A}{number}", metadata=[("_rs_", ms), ("Content-Type", kind)])
        for number, (ms, kind) in enumerate(values)
    ]
    write_crawldb(crawl, [*rows, datum(B)])

    update(crawl, engine, load(overrides=["hostdb.percentiles=[50]"]))

    assert hosts_of(crawl)["a.org"]["statistics"] == {
        "min._rs_": 10,
        "max._rs_": 30,
        "avg._rs_": 20,
        "pct50._rs_": pytest.approx(10, rel=0.01),
        "Content-Type.text/html": 2,
        "Content-Type.image/png": 1,
    }
    assert hosts_of(crawl)["b.org"]["statistics"] is None


def test_no_fields_give_no_statistics(engine: Engine, crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A, metadata=[("_rs_", "10")])])

    update(crawl, engine, load(overrides=["hostdb.numeric_fields=[]", "hostdb.string_fields=[]"]))

    assert hosts_of(crawl)["a.org"]["statistics"] is None


def test_robots_traps_and_ranks_are_taken_over(engine: Engine, crawl: CrawlDir) -> None:
    body = b"User-agent: *\nCrawl-delay: 7\nDisallow: /\nSitemap: https://a.org/map.xml\n"
    with SqliteRobotsCache(crawl.path / ROBOTS_CACHE) as cache:
        for origin, found in (("https://a.org", body), ("http://a.org", None), ("http://b.org", None)):
            asyncio.run(cache.put(origin, StoredRobots(found, 0.0)))
    names = '["a.org/calendar/0", "a.org/shop?sort", "other.org/*"]'
    (crawl.path / TRAPS_FILE).write_text(f'{{"names": {names}, "rules": 1}}')
    tables = graph_tables(crawl, "host")
    node = {"url": "a.org", "key": "org,a", "id": 0, "inlinks": 3, "outlinks": 1, "score": 0.5, "pagerank": 0.25}
    for path, schema in ((tables.nodes, tables.node_schema), (tables.values, tables.value_schema)):
        with Table.write(path, schema, writer="test") as version:
            with version.part() as part:
                part.write(_batch([{name: node.get(name) for name in schema.names}], schema))
            version.commit()

    update(crawl, engine)

    a, b = hosts_of(crawl).values()
    assert (a["robots"], a["crawl_delay"], a["sitemaps"]) == ("disallowed", 7, ["https://a.org/map.xml"])
    assert (b["robots"], b["crawl_delay"], b["sitemaps"]) == ("none", None, None)
    assert (a["traps"], b["traps"]) == (2, 0)
    assert (a["inlinks"], a["score"], a["pagerank"], a["harmonic"], b["score"]) == (3, 0.5, 0.25, None, None)


def test_facts_that_are_not_renewed_are_kept(engine: Engine, crawl: CrawlDir) -> None:
    test_robots_traps_and_ranks_are_taken_over(engine, crawl)
    (crawl.path / ROBOTS_CACHE).unlink()

    update(crawl, engine, now=NOW + DAY)

    row = hosts_of(crawl)["a.org"]
    assert (row["crawl_delay"], row["sitemaps"], row["score"]) == (7, ["https://a.org/map.xml"], 0.5)


def test_only_hosts_that_did_not_answer_are_looked_up(engine: Engine, crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A), datum(B), datum("http://192.0.2.9/")])
    write_segment(crawl, "1", fetches=[fetch(A)])
    names = Names({"b.org": MISSING})

    done = update(crawl, engine, resolver=names)

    a, b = hosts_of(crawl)["a.org"], hosts_of(crawl)["b.org"]
    assert names.asked == ["b.org"]
    assert (done.found, done.missing, done.unanswered) == (0, 1, 0)
    assert (a["dns"], a["dns_failures"], a["last_check"]) == ("ok", 0, NOW)
    assert (b["dns"], b["dns_failures"], b["last_check"], b["next_check"]) == ("failed", 1, NOW, NOW + DAY)


@pytest.mark.slow
def test_failed_hosts_are_looked_up_again_after_ever_longer_times(engine: Engine, crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(B, "unfetched")])
    asked = []
    for day in range(8):
        names = Names({"b.org": MISSING})
        update(crawl, engine, now=NOW + day * DAY, resolver=names)
        asked.append(len(names.asked))
    failures = hosts_of(crawl)["b.org"]["dns_failures"]
    update(crawl, engine, now=NOW + 10 * DAY)
    row = hosts_of(crawl)["b.org"]

    assert asked == [1, 1, 0, 1, 0, 0, 1, 0]
    assert failures == 4
    assert (row["dns"], row["dns_failures"], row["next_check"]) == ("ok", 0, NOW + 11 * DAY)


def test_silent_name_server_changes_nothing(engine: Engine, crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A), datum(B)])
    update(crawl, engine, resolver=Names({"b.org": MISSING}))
    before = hosts_of(crawl)

    done = update(crawl, engine, now=NOW + 2 * DAY, resolver=Names({"a.org": SILENT, "b.org": SILENT}))

    assert (done.found, done.missing, done.unanswered) == (0, 0, 2)
    assert hosts_of(crawl) == before


def test_name_that_a_fetch_could_not_resolve_counts_as_failed(engine: Engine, crawl: CrawlDir) -> None:
    write_segment(
        crawl,
        "1",
        fetches=[
            fetch(A, "retry", None, reason="unresolved"),
            fetch(B, "gone", None, reason="unresolved"),
            fetch(f"{B}1", "gone", None, reason="unresolved"),
        ],
    )

    update(crawl, engine, checks=NO_LOOKUPS)
    update(crawl, engine, checks=NO_LOOKUPS)

    a, b = hosts_of(crawl).values()
    assert (a["dns"], a["dns_failures"]) == (None, 0)
    assert (b["dns"], b["dns_failures"], b["next_check"]) == ("failed", 1, NOW + DAY)


@pytest.mark.parametrize(
    ("checks", "asked"),
    [
        (HostChecks(new=True, failed=False, known=False), ["new.org"]),
        (HostChecks(new=False, failed=True, known=False, force=True), ["b.org"]),
        (HostChecks(new=False, failed=False, known=True, force=True), ["a.org"]),
        (NO_LOOKUPS, []),
    ],
)
def test_options_say_which_hosts_are_looked_up(
    engine: Engine, crawl: CrawlDir, checks: HostChecks, asked: list[str]
) -> None:
    write_crawldb(crawl, [datum(A), datum(B)])
    update(crawl, engine, resolver=Names({"b.org": MISSING}))
    write_crawldb(crawl, [datum(A), datum(B), datum("http://new.org/")])
    names = Names()

    update(crawl, engine, checks=checks, resolver=names)

    assert names.asked == asked


def test_dead_host_is_removed_when_the_crawldb_forgets_it(engine: Engine, crawl: CrawlDir) -> None:
    dead = Names({"b.org": MISSING})
    config = load(overrides=["hostdb.purge_failed_hosts_threshold=2"])
    for day in range(3):
        update(crawl, engine, config, now=NOW + 3 * day * DAY, resolver=dead)
    known = hosts_of(crawl).keys()
    write_crawldb(crawl, [datum(A)])

    update(crawl, engine, config, now=NOW + 20 * DAY, resolver=dead)

    assert known == {"a.org", "b.org"}
    assert hosts_of(crawl).keys() == {"a.org"}


def test_host_without_urls_keeps_its_record(engine: Engine, crawl: CrawlDir) -> None:
    write_segment(crawl, "1", fetches=[fetch(A, response_ms=10)])
    update(crawl, engine)
    write_crawldb(crawl, [datum(B)])

    update(crawl, engine)

    row = hosts_of(crawl)["a.org"]
    assert (row["urls"], row["fetched"], row["fetches"], row["latency_ms"]["min"]) == (0, 0, 1, 10)


def test_filters_and_normalisers_decide_what_counts(engine: Engine, crawl: CrawlDir, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("-\\.png$\n+.\n")
    write_crawldb(crawl, [datum(A), datum(f"{A}a.png"), datum("http://b.org/x.png")])
    config = load(
        overrides=["hostdb.url_filter=true", 'urlfilter.filters=["regex"]', f'urlfilter.regex_file="{rules}"']
    )

    update(crawl, engine, config)

    assert {name: row["urls"] for name, row in hosts_of(crawl).items()} == {"a.org": 1}


COUNTER = """
class Statuses:
    def __init__(self, config):
        pass
    def start(self, host):
        self.seen = [host]
    def add(self, url, datum):
        self.seen.append(f"{url.path}:{datum.status.name.lower()}")
    def finish(self):
        return {"seen": " ".join(self.seen)} if self.seen[0] == "a.org" else {}
"""


@pytest.fixture
def host_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a plug-in that writes down what it is told."""
    folder = tmp_path / "packages"
    info = folder / "counting-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "counting.py").write_text(COUNTER)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: counting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[scoter.hostprocessor]\nstatuses = counting:Statuses\n")
    monkeypatch.syspath_prepend(str(folder))
    installed.cache_clear()
    yield
    installed.cache_clear()
    sys.modules.pop("counting", None)


@pytest.mark.usefixtures("host_processor")
def test_plugin_gets_the_records_of_each_host_and_gives_metadata(engine: Engine, tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(f"{A}x", "fetched"), datum(f"{A}y", "gone"), datum(B, "unfetched")])

    update(crawl, engine, load(overrides=['hostdb.processors=["statuses"]']), checks=NO_LOOKUPS)

    found = hosts_of(crawl)
    assert found["a.org"]["metadata"] == {"seen": "a.org /x:fetched /y:gone"}
    assert not found["b.org"]["metadata"]


def test_empty_crawldb_gives_an_empty_hostdb(engine: Engine, tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "empty")
    write_crawldb(crawl, [])

    done = update(crawl, engine)

    assert done.hosts == 0
    assert hosts_of(crawl) == {}


def _batch(rows: list[Row], schema: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema=schema)


def test_lookups_end_when_their_time_is_over(tmp_path: Path) -> None:
    times = itertools.count()
    config = load(None, {}, ["hostdb.lookup_time_limit=3s", "hostdb.num_resolvers_threads=1"])
    names = Names()

    source, counts = save_lookups(
        [f"{name}.org" for name in "abcdefg"],
        config,
        tmp_path / "lookups.parquet",
        now=NOW,
        resolver=names,
        clock=lambda: float(next(times)),  # a second passes whenever somebody looks
    )

    assert (counts.found, counts.left) == (2, 5)
    assert len(names.asked) == 2
    assert sum(len(pq.read_table(file)) for file in source.files) == 2
