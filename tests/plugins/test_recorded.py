"""Recorded expressions mean what Ibis makes of them, and equal digests mean equal expressions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import ibis as real_ibis
import pytest

from scoter.plugins.recorded import Recorded, digest, ibis, real, table, time, written

COLUMNS = {"url": "TEXT", "score": "DOUBLE", "links": "TEXT[]"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def rows(name: str = "urls", **columns: str) -> Any:
    kept = {**COLUMNS, **columns}
    kinds = {"TEXT": "string", "DOUBLE": "float64", "TEXT[]": "array<string>", "BIGINT": "int64"}
    made = real_ibis.table({column: kinds[kind] for column, kind in kept.items()}, name=name)
    return table(name, kept, is_fixed=False, make=lambda: made)


EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "shift": lambda t, ibis: t.mutate(low=(t.url.length() >> 3) & 7),
    "filter": lambda t, ibis: t.filter(t.score > 0.5),
    "item": lambda t, ibis: t.filter(t["score"] >= 0.5),
    "reflected": lambda t, ibis: t.mutate(rest=1 - t.score, more=1 + -t.score),
    "logic": lambda t, ibis: t.filter(~((t.score > 1) | (t.url == "a") & (t.url != "b") ^ (t.score < 2))),
    "group": lambda t, ibis: t.group_by("url").agg(most=t.score.max(), number=t.count()),
    "window": lambda t, ibis: t.mutate(at=ibis.row_number().over(group_by=[t.url], order_by=[ibis.desc("score")])),
    "lambda": lambda t, ibis: t.mutate(kept=t.links.filter(lambda each: each != t.url)),
    "cases": lambda t, ibis: t.select(x=ibis.cases((t.score > 1, "a"), (t.score.isnull(), None), else_="c")),
    "join": lambda t, ibis: t.join(t.view().select("url"), "url"),
    "union": lambda t, ibis: ibis.union(t, t.limit(5, offset=2)),
    "literal": lambda t, ibis: t.mutate(x=ibis.literal(None, type=t.score.type()), y=ibis.literal(b"\xff")),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_record_builds_the_expression_of_ibis(name: str) -> None:
    make = EXPRESSIONS[name]
    t = rows()

    assert real_ibis.to_sql(real(make(t, ibis)), dialect="duckdb") == real_ibis.to_sql(
        make(real(t), real_ibis), dialect="duckdb"
    )


def test_different_expressions_have_different_digests() -> None:
    t = rows()
    others = [
        t,
        t.filter(t.score > 1),
        t.filter(t.score > 1.0),
        t.filter(t.score > "1"),
        t.filter(t.score > True),
        t.filter([t.score > 1]),
        t.select("url", "score"),
        t.select("score", "url"),
        t.select("url,score"),
        t.select(url="score"),
        t.select(url=t.score),
        t.links.filter(lambda each: each == "a"),
        t.links.filter(lambda each: each == "b"),
        t.links.filter(lambda each: each == t.url),
        t.links.map(lambda each: each == "a"),
        t.join(rows(), "url"),
        t.join(t, "url"),
        rows(score="BIGINT").filter(t.score > 1),
        *(make(t, ibis) for name, make in EXPRESSIONS.items() if name != "filter"),
    ]

    assert len({digest(each) for each in others}) == len(others)
    assert None not in map(digest, others)


def test_names_of_tables_and_times_do_not_matter_but_which_are_equal_does() -> None:
    def due(one: Any, other: Any, first: datetime, second: datetime) -> Any:
        return one.filter(one.score > time(first)).join(other.filter(other.score > time(second)), "url")

    later = NOON + timedelta(1)
    a, b = rows("a"), rows("b")

    assert digest(due(a, b, NOON, later)) == digest(due(rows("c"), rows("d"), later, NOON))
    assert digest(due(a, b, NOON, NOON)) != digest(due(a, b, NOON, later))
    assert digest(due(a, a, NOON, later)) != digest(due(a, b, NOON, later))


def test_parts_that_are_not_recorded_are_not_written_down() -> None:
    t = rows()

    assert written(t.filter(real(t).score > 1)) is None
    assert written(t.mutate(x=object())) is None
    assert written(ibis.udf.scalar.python(lambda text: text, signature=(("string",), "string"))(t.url)) is None
    assert written(real(t)) is None


def test_ibis_takes_a_record_for_the_expression() -> None:
    t = rows()

    made = real_ibis.ifelse(t.score > 1, real_ibis.literal("a"), t.url)
    whole = real(t).filter(t.score > 1)

    assert made.equals(real_ibis.ifelse(real(t).score > 1, "a", real(t).url))
    assert whole.equals(real(t).filter(real(t).score > 1))
    assert t.mutate(x=made).columns == (*COLUMNS, "x")


def test_record_has_no_truth_value() -> None:
    with pytest.raises((TypeError, ValueError), match="truth"):
        bool(rows().score == 1)

    assert rows().score.type().is_floating()


def test_recording_loads_no_ibis() -> None:
    code = (
        "import sys; from scoter.plugins.recorded import *;"
        "t = table('t', {'x': 'TEXT'}, is_fixed=True, make=lambda: None);"
        "digest(t.filter(t.x.isin(['a'])).select(y=ibis.literal(1)));"
        "print([name for name in ('ibis', 'sqlglot', 'duckdb') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"
    assert type(rows()) is Recorded
