"""readdb: statistics, one record, the best URLs, and selected records."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import replace_file, write_rows
from scoter.batch.jobs.readdb import (
    QuantileBin,
    RecordFilter,
    bin_quantiles,
    host_statuses,
    quantiles,
    record,
    select,
    stats,
    top,
)
from scoter.config import load
from scoter.engine import Engine, TableSource
from scoter.errors import UserError
from scoter.plugins import Column, chain

CONFIG = load(None, {}, ["db.stats_score_quantiles=[0.5, 1.0]"])
DEEP = load(None, {}, ['scoring.filters=["opic", "depth"]'])
EARLY = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    found = crawl_at(tmp_path / "crawl")
    write_crawldb(
        found,
        [
            datum("http://a.org/", score=4.0, metadata=[("lang", "en")], signature=b"\x01\xff"),
            datum("http://a.org/new", "unfetched", score=1.0, fetch_time=EARLY, retries=2),
            datum("http://a.org/gone", "gone", score=0.0, interval=86_400),
            datum("http://b.org/é", score=2.0),
        ],
    )
    return found


def selected(crawl: CrawlDir, engine: Engine, **wanted: Any) -> list[str]:
    _, batches = select(crawl, engine, CONFIG, RecordFilter(**wanted), now=NOW)
    return [url for batch in batches for url in batch["url"].to_pylist()]


def test_statistics_count_every_url_once(crawl: CrawlDir, engine: Engine) -> None:
    found = stats(crawl, engine, CONFIG)

    assert found.urls == 4
    assert found.statuses == {"fetched": 2, "gone": 1, "unfetched": 1}
    assert found.retries == {0: 3, 2: 1}
    assert (found.hosts, found.top_hosts) == (2, {"a.org": 3, "b.org": 1})
    assert (found.score.least, found.score.most, found.score.mean) == (0.0, 4.0, 1.75)
    assert found.score_quantiles == pytest.approx({"p50": 1.5, "p100": 4.0})
    assert (found.fetch_time.least, found.interval.least, found.interval.most) == (EARLY, 86_400, 2_592_000)


def test_empty_crawldb_has_statistics(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "empty")
    write_crawldb(crawl, [])

    found = stats(crawl, engine, CONFIG)

    assert (found.urls, found.hosts, found.statuses, found.score_quantiles) == (0, 0, {}, {})
    assert found.score.least is None


def test_statistics_ignore_scores_that_are_not_finite(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "odd")
    scores = (float("nan"), float("inf"), float("-inf"), None, 2.0, -1e308)
    write_crawldb(crawl, [datum(f"http://a.org/{number}", score=score) for number, score in enumerate(scores)])

    found = stats(crawl, engine, CONFIG)

    assert found.urls == 6
    assert found.score_quantiles == {"p50": pytest.approx(-5e307), "p100": 2.0}


def test_missing_crawldb_suggests_inject(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no crawldb yet") as error:
        record(crawl_at(tmp_path / "none"), CONFIG, "http://a.org/")

    assert "scoter inject" in str(error.value)


def test_hosts_are_listed_with_statuses_largest_first(crawl: CrawlDir, engine: Engine) -> None:
    first, second = host_statuses(crawl, engine, CONFIG)

    assert (first["host"], first["urls"], first["fetched"], first["gone"], first["orphan"]) == ("a.org", 3, 1, 1, 0)
    assert second["host"] == "b.org"


def test_record_is_found_by_any_spelling_of_its_url(crawl: CrawlDir) -> None:
    found = record(crawl, CONFIG, "HTTP://B.org:80/x/../%C3%A9#here")

    assert found is not None
    assert found["score"] == 2.0
    assert record(crawl, CONFIG, "http://b.org/") is None


def test_record_has_the_columns_of_active_plugins_stored_or_not(tmp_path: Path) -> None:
    active = load(None, {}, ["scoring.filters=depth"])
    names = [column.name for column in schemas.plugin_columns(chain("scoring", active))]
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum("http://a.org/")])

    before = record(crawl, active, "http://a.org/")
    write_crawldb(crawl, [{**datum("http://a.org/"), names[0]: 3}], extra=[Column(names[0], "int32")])
    after = record(crawl, active, "http://a.org/")

    assert before is not None
    assert after is not None
    assert [before[name] for name in names] == [None] * len(names)
    assert after[names[0]] == 3


def test_top_urls_are_ordered_by_score_then_by_url(crawl: CrawlDir, engine: Engine) -> None:
    assert [row["url"] for row in top(crawl, engine, CONFIG, n=2)] == ["http://a.org/", "http://b.org/%C3%A9"]
    assert len(list(top(crawl, engine, CONFIG, n=9, min_score=1.0))) == 3
    with pytest.raises(UserError, match="--top-n: must be at least 1, not 0"):
        list(top(crawl, engine, CONFIG, n=0))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"status": "gone"}, ["http://a.org/gone"]),
        ({"status": "db_gone"}, ["http://a.org/gone"]),
        ({"retry": 2}, ["http://a.org/new"]),
        ({"regex": r"^http://b\.|'"}, ["http://b.org/%C3%A9"]),
        ({"expr": "score > 1 and metadata.lang == 'en'"}, ["http://a.org/"]),
        ({"expr": "fetch_time < now - 7d", "status": "gone"}, []),
        ({"sample": 0.0}, []),
        ({"sample": 1.0, "status": "gone"}, ["http://a.org/gone"]),
    ],
)
def test_records_must_meet_all_conditions(
    crawl: CrawlDir, engine: Engine, wanted: dict[str, Any], found: list[str]
) -> None:
    assert selected(crawl, engine, **wanted) == found


def test_expression_may_use_columns_of_active_plugins(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "deep")
    extra = schemas.plugin_columns(chain("scoring", DEEP))
    rows = [datum("http://a.org/", depth=1), datum("http://b.org/", depth=3), datum("http://c.org/")]
    write_crawldb(crawl, rows, extra=extra)

    _, batches = select(crawl, engine, DEEP, RecordFilter(expr="depth <= 2"), now=NOW)

    assert [url for batch in batches for url in batch["url"].to_pylist()] == ["http://a.org/"]
    with pytest.raises(UserError, match="depth is not a column"):
        select(crawl, engine, CONFIG, RecordFilter(expr="depth <= 2"), now=NOW)


def test_all_records_are_sorted_by_key(crawl: CrawlDir, engine: Engine) -> None:
    urls = selected(crawl, engine)

    assert urls == ["http://a.org/", "http://a.org/gone", "http://a.org/new", "http://b.org/%C3%A9"]


def test_sample_is_a_stable_subset(tmp_path: Path, engine: Engine) -> None:
    crawl = crawl_at(tmp_path / "many")
    write_crawldb(crawl, [datum(f"http://a.org/{number}") for number in range(400)])

    some = selected(crawl, engine, sample=0.25)

    assert 60 < len(some) < 140
    assert selected(crawl, engine, sample=0.25) == some
    assert set(some) < set(selected(crawl, engine, sample=0.5))


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"status": "fetchd"}, "Did you mean fetched"),
        ({"sample": 2.0}, "must be from 0 to 1, not 2.0"),
        ({"regex": "("}, "unmatched ("),
        ({"expr": "scor > 1"}, "did you mean score"),
    ],
)
def test_invalid_selection_is_rejected(crawl: CrawlDir, engine: Engine, wanted: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as error:
        selected(crawl, engine, **wanted)

    assert told in str(error.value)


def test_every_dump_format_has_the_same_records(crawl: CrawlDir, engine: Engine, tmp_path: Path) -> None:
    texts = {}
    for form in ("csv", "json", "parquet", "plain"):
        schema, batches = select(crawl, engine, CONFIG, RecordFilter(), now=NOW)
        out = io.BytesIO()
        assert write_rows(batches, schema, out, form) == 4
        texts[form] = out

    first = json.loads(texts["json"].getvalue().splitlines()[0])
    assert (first["url"], first["signature"], first["metadata"]) == ("http://a.org/", "01ff", {"lang": "en"})
    assert first["fetch_time"] == "2026-12-15T04:00:00Z"
    lines = texts["csv"].getvalue().decode().splitlines()
    assert len(lines) == 5
    assert lines[0].startswith("url,key,host,status")
    assert '"{""lang"":""en""}"' in lines[1]
    assert pq.read_table(texts["parquet"]).column_names == list(first)
    assert pq.read_table(texts["parquet"]).num_rows == 4
    assert texts["plain"].getvalue().decode().startswith("http://a.org/\n  key")


def test_failed_dump_keeps_the_existing_file(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    file.write_text("before")

    with pytest.raises(TypeError), replace_file(file) as out:
        out.writelines([b"half", None])  # type: ignore[list-item]

    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 1))
def test_quantiles_of_single_values_are_exact(values: list[float], share: float) -> None:
    ordered = sorted(values)
    rank = share * (len(ordered) - 1)
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)

    (found,) = bin_quantiles([QuantileBin(value, value, 1) for value in values], [share])

    assert found == pytest.approx(ordered[low] + (ordered[high] - ordered[low]) * (rank - low))


def test_quantiles_of_a_column_are_within_half_a_percent(tmp_path: Path, engine: Engine) -> None:
    scores = [number**3 / 1_000 - 5 for number in range(1, 2_000)] + [0.0] * 500
    ordered = sorted(scores)
    schema = pa.schema([("score", pa.float64())])
    pq.write_table(pa.table({"score": scores}, schema=schema), tmp_path / "scores.parquet")
    table = engine.read(TableSource(files=(str(tmp_path / "scores.parquet"),), schema=schema, defaults={}))

    found = quantiles(engine, table, "score", [0.1, 0.5, 0.99])

    exact = [ordered[round(share * (len(ordered) - 1))] for share in (0.1, 0.5, 0.99)]
    assert found == pytest.approx(exact, rel=0.005)
