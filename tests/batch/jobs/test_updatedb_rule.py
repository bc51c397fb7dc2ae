"""The update rule by columns gives the result of the row function, in every case and on random rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batch.making import DAY, NOW, crawldb_of, fetch, known, link, make_crawl, make_segment, page
from tests.batch.truth import Told, assert_same, truth
from tests.effort import examples

from scoter.batch.crawldir.schemas import plugin_columns
from scoter.batch.jobs.updatedb import updatedb
from scoter.config import Config, load
from scoter.core.datum import DbStatus, FetchStatus, short_name
from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine
from scoter.plugins import chain

DB_STATUSES = [short_name(status) for status in DbStatus]
FETCH_STATUSES = [short_name(status) for status in FetchStatus]
A, B = b"a" * 16, b"b" * 16
CONFIGURATIONS = {
    "default, opic": [],
    "failed parses marked": ["parse.delete_failed_parse=true"],
    "adaptive, opic": ["db.schedule=adaptive", "parse.delete_failed_parse=true"],
    "mime-adaptive, depth and opic": [
        "db.schedule=mime-adaptive",
        'scoring.filters=["depth", "opic"]',
        'db.parsemeta_to_crawldb=["lang"]',
    ],
    "adaptive without sync, no scoring": [
        "db.schedule=adaptive",
        "db.fetch_schedule_adaptive_sync_delta=false",
        "scoring.filters=[]",
    ],
    "orphan, metadata of links": [
        'scoring.filters=["opic", "orphan", "urlmeta"]',
        'scoring.urlmeta_tags=["lang"]',
    ],
}
METADATA: Sequence[dict[str, str] | None] = (
    None,
    {"_ngt_": "1"},
    {"both": "old", "_ngt_": "1"},
    {"fixedInterval": "5000.9"},
    {"Content-Type": " Text/HTML ; charset=utf-8"},
    {"fixedInterval": "soon", "Content-Type": "application/pdf"},
)


def updated(path: Path, engine: Engine, config: Config, told: Told) -> dict[str, dict[str, Any]]:
    """Make a crawl of these rows, update it and return its crawldb."""
    extra = plugin_columns(chain("scoring", config))
    crawl = make_crawl(path, told.crawldb, extra=extra)
    segment = make_segment(crawl, fetches=told.fetches, pages=told.pages, links=told.links, extra=extra)
    updatedb(crawl, engine, config, [segment], now=NOW)
    return crawldb_of(crawl, extra)


def matrix() -> Told:
    """Return every old status and every fetch, with and without links, signatures, retries and modified times."""
    rows: dict[str, list[dict[str, Any]]] = {"crawldb": [], "fetches": [], "pages": [], "links": []}
    cases = itertools.product(
        [None, *DB_STATUSES],
        [None, *FETCH_STATUSES, "parse_failed"],
        (0, 2),
        ((None, None), (None, A), (A, A), (A, B), (A, None)),
        ((0, 2_592_000), (1, 0), (2, 100), (0, 9_000_000)),
        (None, NOW - 400 * DAY),
    )
    for number, (old, fetched, links, (before, after), (retries, interval), modified) in enumerate(cases):
        url = f"http://h{number % 7}.example/{number}"
        same: dict[str, Any] = {"interval": interval, "retries": retries, "score": 2.5}
        deep: dict[str, Any]
        if old is not None:
            more = same | {"fetch_time": NOW - 30 * DAY, "modified_time": modified, "signature": before}
            deep = {"depth": (None, 3, 7)[number % 3], "max_depth": (None, 9, 9)[number % 3]}
            deep["linked_time"] = (None, NOW - 20 * DAY, NOW - 35 * DAY, NOW - 50 * DAY, NOW - 30 * DAY)[number % 5]
            rows["crawldb"].append(known(url, old, metadata=METADATA[number % len(METADATA)], **more, **deep))
        if fetched is not None:
            status = "success" if fetched == "parse_failed" else fetched
            more = same | {"fetch_time": NOW - DAY / 7, "modified_time": (None, NOW - DAY)[number % 2]}
            deep = {"depth": (None, 4)[number % 2], "max_depth": (None, 9)[number % 2]}
            deep["linked_time"] = (None, NOW - 45 * DAY, NOW - 31 * DAY)[number % 3]
            rows["fetches"].append(fetch(url, status, metadata=METADATA[number % 5], **more, **deep))
            if fetched == "parse_failed" or (status == "success" and after is not None):
                failed = "failed" if fetched == "parse_failed" else "success"
                said = {"lang": "en", "left": "out"} if number % 2 else None
                rows["pages"].append(page(url, failed, signature=after, metadata=said))
        for each in range(links):
            deep = {"depth": (None, 2, 5)[(number + each) % 3], "max_depth": (None, 9, 12)[(number + each) % 3]}
            said = {"lang": f"from {each}"} if (number + each) % 3 else None
            score = (0.25, 0.5)[(number + each) % 2]
            rows["links"].append(link(f"http://from{each}.example/", url, score, metadata=said, **deep))
    return Told(**rows)


@pytest.mark.slow
@pytest.mark.parametrize("overrides", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_column_rule_equals_the_row_function_in_every_case(
    engine: Engine, tmp_path: Path, overrides: list[str]
) -> None:
    config, told = load(overrides=overrides), matrix()

    found = updated(tmp_path / "crawl", engine, config, told)

    assert len(found) > 6_000
    assert_same(found, truth(told, config, NOW))


MOMENTS = st.datetimes(datetime(1999, 1, 1), datetime(2050, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
SCORES = st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1e-300, float("inf"), float("nan")])
SECONDS = st.integers(0, 2**31 - 1) | st.integers(0, 100)
SIGNATURES = st.none() | st.sampled_from([A, B])
DEPTH_COLUMNS: st.SearchStrategy[dict[str, Any]] = st.just({}) | st.fixed_dictionaries(
    {"depth": st.integers(1, 5), "max_depth": st.integers(1, 9), "linked_time": st.none() | MOMENTS}
)
TEXTS = st.dictionaries(
    st.sampled_from(["_ngt_", "fixedInterval", "Content-Type", "lang", "é"]),
    st.sampled_from(["", "60", "1e9", "7e12", "-3", "1_0", "nan", "inf", "text/html", "Text/HTML;q=1", " 5", "5."]),
    max_size=3,
)
PLACES = [f"http://h{number}.example/p" for number in range(5)]


@st.composite
def data(draw: st.DrawFn) -> dict[str, Any]:
    """Return the columns of a record with random values."""
    return {
        "modified_time": draw(st.none() | MOMENTS),
        "retries": draw(st.integers(0, 5)),
        "interval": draw(SECONDS),
        "score": draw(SCORES),
        "signature": draw(SIGNATURES),
        "metadata": draw(st.none() | TEXTS),
        **draw(DEPTH_COLUMNS),
    }


@st.composite
def crawls(draw: st.DrawFn) -> Told:
    """Return a small crawl with random rows."""
    crawldb, fetches, pages = [], [], []
    for url in PLACES[:3]:
        if draw(st.booleans()):
            crawldb.append(known(url, draw(st.sampled_from(DB_STATUSES)), fetch_time=draw(MOMENTS), **draw(data())))
        for moment in draw(st.lists(MOMENTS, max_size=2, unique=True)):
            to = draw(st.none() | st.sampled_from(PLACES))
            status = draw(st.sampled_from(FETCH_STATUSES))
            fetches.append(fetch(url, status, to=to, fetch_time=moment, **draw(data())))
        if draw(st.booleans()):
            said = draw(st.none() | TEXTS)
            status = draw(st.sampled_from(["success", "failed", "redirect", "unsupported"]))
            pages.append(page(url, status, signature=draw(SIGNATURES), metadata=said))
    ends = st.tuples(st.sampled_from(PLACES), st.sampled_from(PLACES))
    links = [
        link(source, url, draw(SCORES), metadata=draw(st.none() | TEXTS), **draw(DEPTH_COLUMNS))
        for source, url in draw(st.lists(ends, max_size=12, unique=True))
    ]
    return Told(crawldb=crawldb, fetches=fetches, pages=pages, links=links)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with DuckDbEngine(tmp_path_factory.mktemp("engine"), 2**28, threads=1) as opened:
        yield opened


@settings(max_examples=examples(10), deadline=None)  # each builds and runs a query
@given(told=crawls(), overrides=st.sampled_from(list(CONFIGURATIONS.values())), most=st.sampled_from([1, 2, 10_000]))
def test_column_rule_equals_the_row_function_on_random_rows(
    embedded: Engine, told: Told, overrides: list[str], most: int
) -> None:
    config = load(overrides=[*overrides, f"db.update_max_inlinks={most}"])

    with TemporaryDirectory() as folder:
        found = updated(Path(folder) / "crawl", embedded, config, told)

    assert_same(found, truth(told, config, NOW))
