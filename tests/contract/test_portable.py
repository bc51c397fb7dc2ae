"""Expressions that give the same result on every engine."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest
from tests.engine.rows import MAP, NOW, TIME, column, rows_of, source, stored

from scoter.engine import Engine
from scoter.engine.portable import (
    bucket,
    collect_sorted,
    double,
    first_rows,
    map_concat,
    map_without,
    micros,
    ratio,
    timestamp,
)

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("url", pa.utf8()),
        ("old", MAP),
        ("new", MAP),
        ("seen", TIME),
        ("seconds", pa.int32()),
        ("score", pa.float64()),
    ]
)
OLD_TIME = datetime(1969, 12, 31, 23, 59, 59, 250_000, tzinfo=UTC)
ROWS = [
    (0, "a", [("x", "1"), ("y", "2")], [("x", "9"), ("z", None)], NOW, 60, 1.5),
    (1, "b", None, [("q", "1")], OLD_TIME, -1, -1.5),
    (2, "c", [("x", None)], None, None, 5, 0.0),
    (3, "é", None, None, NOW, None, None),
    (4, "a", [], [("x", "1")], NOW, 2_592_000, 1.5),
]


@pytest.fixture
def rows(engine: Engine, tmp_path: Path) -> Any:
    made = [dict(zip(SCHEMA.names, row, strict=True)) for row in ROWS]
    return engine.read(source(stored(tmp_path / "rows.parquet", made, SCHEMA), schema=SCHEMA))


def test_map_concat_prefers_the_right_map_and_treats_null_as_empty(engine: Engine, rows: Any) -> None:
    both = column(engine, rows.select("id", both=map_concat(rows.old, rows.new)), "both", by=["id"])

    assert both == [{"x": "9", "y": "2", "z": None}, {"q": "1"}, {"x": None}, None, {"x": "1"}]


def test_map_without_removes_an_entry(engine: Engine, rows: Any) -> None:
    less = column(engine, rows.select("id", less=map_without(rows.old, "x")), "less", by=["id"])

    assert [each or None for each in less] == [{"y": "2"}, None, None, None, None]
    assert [each is None for each in less] == [False, True, False, True, False]


def test_micros_returns_whole_microseconds(engine: Engine, rows: Any) -> None:
    found = rows_of(engine, rows.select("id", m=micros(rows.seen), n=rows.seen == timestamp(NOW)).order_by("id"))

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    now = (NOW - epoch) // timedelta(microseconds=1)
    assert [row["m"] for row in found] == [now, -750_000, None, now, now]
    assert [row["n"] for row in found] == [True, False, None, True, True]


def test_bucket_depends_on_the_md5_of_the_text(engine: Engine, rows: Any) -> None:
    for count in (1, 7, 100_000):
        found = column(engine, rows.select("id", b=bucket(rows.url, count)), "b", by=["id"])

        assert found == [int(hashlib.md5(row[1].encode()).hexdigest()[:7], 16) % count for row in ROWS]


def test_ratio_by_zero_is_null(engine: Engine, rows: Any) -> None:
    found = rows.select("id", a=ratio(rows.seconds, rows.score), b=ratio(rows.id, rows.id))

    assert column(engine, found, "a", by=["id"]) == [40.0, 1 / 1.5, None, None, 1_728_000.0]
    assert column(engine, found, "b", by=["id"]) == [None, 1.0, 1.0, 1.0, 1.0]


def test_double_literal_is_a_double(engine: Engine, rows: Any) -> None:
    found = rows.select("id", a=double(0.1) + double(0.2), b=double(1e300) * rows.id)

    assert column(engine, found, "a", by=["id"])[0] == 0.1 + 0.2
    assert column(engine, found, "b", by=["id"])[2] == 2e300


def test_first_rows_selects_by_order_within_a_group(engine: Engine, rows: Any) -> None:
    best = first_rows(rows, ["url"], [rows.score.desc(), rows.id.desc()])
    one = rows.mutate(all=1)
    two = first_rows(one, ["all"], [one.score.desc(), one.id], most=2)

    assert sorted(column(engine, best, "id")) == [1, 2, 3, 4]
    assert sorted(column(engine, two, "id")) == [0, 4]
    assert list(best.columns) == SCHEMA.names


def test_nulls_sort_last_in_either_direction(engine: Engine, rows: Any) -> None:
    assert column(engine, rows.order_by([rows.score, rows.id]), "id") == [1, 2, 0, 4, 3]
    assert column(engine, rows.order_by([rows.score.desc(), rows.id]), "id") == [0, 4, 2, 1, 3]


def test_collect_sorted_returns_sorted_lists(engine: Engine, rows: Any) -> None:
    found = collect_sorted(rows, ["url"], "ids", {"neg": -rows.id, "seen": rows.url})

    lists = {row["url"]: row["ids"] for row in rows_of(engine, found)}
    assert lists["a"] == [{"neg": -4, "seen": "a"}, {"neg": 0, "seen": "a"}]
    assert {url: len(each) for url, each in lists.items()} == {"a": 2, "b": 1, "c": 1, "é": 1}


def test_null_is_neither_equal_nor_unequal(engine: Engine, rows: Any) -> None:
    assert sorted(column(engine, rows.filter(rows.score != 1.5), "id")) == [1, 2]
    assert sorted(column(engine, rows.filter((rows.score == 1.5) | rows.score.isnull()), "id")) == [0, 3, 4]
    assert sorted(column(engine, rows.filter(~rows.seconds.isin([60, 5])), "id")) == [1, 4]
    assert column(engine, rows.select("id", c=ibis.coalesce(rows.score, double(7))), "c", by=["id"])[3] == 7.0
