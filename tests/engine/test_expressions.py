"""An expression selects the same rows by columns as it does record by record."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.engine.rows import NOW, column, source, stored

from scoter.batch.crawldir.schemas import CRAWLDB
from scoter.core.expr import ExprError, compile_expr, matches
from scoter.core.pattern import LONGEST_TEXT, compile_pattern
from scoter.engine import Engine
from scoter.engine.duckdb import DuckDbEngine
from scoter.engine.expressions import where

STATUSES = ("unfetched", "fetched", "gone", None)
PATHS = ("", "a.gif", "caf%C3%A9", "\u00c9t\u00e9/x?y=1", "line\nbreak", "AAbb.GIF", "it's")
TIMES = (NOW, NOW - timedelta(days=30), datetime(1970, 1, 1, tzinfo=UTC), NOW + timedelta(seconds=0.25), None)


def _row(number: int) -> dict[str, Any]:
    """Return one of many rows that combine all values."""
    path = PATHS[number % len(PATHS)]
    return {
        "url": f"http://h{number % 3}.example/{number}/{path}",
        "key": f"{number:03d}",
        "host": f"h{number % 3}.example" if number % 5 else None,
        "status": STATUSES[number % 4],
        "fetch_time": TIMES[number % 5],
        "modified_time": TIMES[(number // 5) % 5],
        "retries": (number % 4) - 1 if number % 7 else None,
        "interval": timedelta(seconds=(0, 60, 86_400, 2_592_000)[number % 4]) if number % 6 else None,
        "score": (0.0, 0.5, 1.0, -2.5, 1e9, None)[number % 6],
        "signature": b"x" if number % 2 else None,
        "metadata": (None, {}, {"lang": "en"}, {"lang": None, "n": "1"}, {"lang": "\u00c9N"})[number % 5],
    }


ROWS = [_row(number) for number in range(120)]


def _as_stored(row: dict[str, Any]) -> dict[str, Any]:
    seconds = None if row["interval"] is None else int(row["interval"].total_seconds())
    entries = None if row["metadata"] is None else list(row["metadata"].items())
    return {**row, "interval": seconds, "metadata": entries}


def _selected(engine: Engine, rows: Any, text: str) -> list[str]:
    return sorted(column(engine, where(engine, rows, compile_expr(text), NOW), "key"))


def _matching(text: str) -> list[str]:
    expression = compile_expr(text)
    return [row["key"] for row in ROWS if matches(expression, row, NOW)]


def _file(folder: Path) -> Any:
    return source(stored(folder / "rows.parquet", map(_as_stored, ROWS), CRAWLDB), schema=CRAWLDB)


@pytest.mark.parametrize(
    "text",
    [
        "score > 0.5",
        "not score > 0.5",
        "score == null or retries != null",
        "not (score > 0.5 and retries > 1)",
        "fetch_time < now - 7d",
        "fetch_time + interval <= now",
        "now - fetch_time > interval * 2",
        "fetch_time - modified_time == 30d",
        "fetch_time == '2026-11-15T03:30'",
        "fetch_time > now + 0.2s",
        "fetch_time - 150000w < now",
        "interval / 7 * 7 == interval",
        "interval == 1d or interval / 2 == 30s or -interval < -1d",
        "interval > 60",
        "status in ['fetched', 'db_gone']",
        "not status in ['fetched', null]",
        "retries in [1, 2.0, null]",
        "metadata.lang == 'en'",
        "metadata.lang == null and metadata['n'] == '1'",
        "lower(metadata.lang) in ['en', '\u00e9n']",
        'length(url) > 30 and contains(url, "it\'s")',
        "startswith(host, 'h1') or endswith(url, '.gif')",
        "url =~ '(?i)\\\\.gif$'",
        "not url =~ 'h[12]' or host =~ '^h1'",
        "url =~ 'line.break' or url =~ 'x\\\\?y'",
        "url =~ '(.)\\\\1/' and score >= 0",
        "lower(url) =~ 'aabb(?=\\\\.)'",
        "url =~ '\u00c9.\u00e9'",
        "score / retries > 0.4",
        "1 / 0 > 1 or score > 1e400",
        "score == (0 / 0)",
        "not (0 / 0 == score)",
        "interval != 1d / 0",
        "score < 99999999999999999999999999",
        "true",
        "1 > 2 or not (null == 1)",
    ],
)
def test_expression_selects_the_same_rows_as_record_by_record(engine: Engine, tmp_path: Path, text: str) -> None:
    rows = engine.read(_file(tmp_path))

    assert _selected(engine, rows, text) == _matching(text)


def test_selected_rows_keep_their_columns(engine: Engine, tmp_path: Path) -> None:
    rows = engine.read(_file(tmp_path))

    assert where(engine, rows, compile_expr(r"url =~ '(.)\\1'"), NOW).columns == rows.columns


def test_patterns_in_duckdb_treat_long_texts_as_record_by_record() -> None:
    largest = compile_pattern("(?:a{100}|b{100}|c{100}){5}")
    assert largest.linear
    assert largest.size <= 2_048

    assert largest.found("x" * LONGEST_TEXT) is False
    assert largest.found("x" * (LONGEST_TEXT + 1)) is None


NUMBERS: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["score", "retries", "0", "1", "2.5", "-1", "1e3", ".5"]),
        st.builds("length({})".format, TEXTS),
        st.builds("({} {} {})".format, NUMBERS, st.sampled_from("+-*/"), NUMBERS),
        st.builds("(-{})".format, st.sampled_from(["score", "retries"])),
    )
)
TEXTS: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["url", "host", "metadata.lang", "metadata.n", "'en'", "'http'", "''", "'h1.example'"]),
        st.builds("lower({})".format, TEXTS),
    )
)
TIME_PARTS: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["fetch_time", "modified_time", "now"]),
        st.builds("({} {} {})".format, TIME_PARTS, st.sampled_from("+-"), SPANS),
    )
)
SPANS: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["interval", "30s", "0.25s", "7d", "30d", "5000w"]),
        st.builds("({} - {})".format, TIME_PARTS, TIME_PARTS),
        st.builds("({} {} {})".format, SPANS, st.sampled_from("+-"), SPANS),
        st.builds("({} * {})".format, SPANS, st.sampled_from(["2", "0.5", "retries", "-1"])),
        st.builds("({} / {})".format, SPANS, st.sampled_from(["2", "retries", "0"])),
    )
)
SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
TRUTHS: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        *(st.builds("{} {} {}".format, side, SIGNS, side) for side in (NUMBERS, TEXTS, TIME_PARTS, SPANS)),
        st.builds("{} {} null".format, st.one_of(NUMBERS, TEXTS, SPANS), st.sampled_from(["==", "!="])),
        st.builds("{} in [{}, null]".format, TEXTS, st.sampled_from(["'en'", "'en', 'h1.example'"])),
        st.builds("{} =~ '{}'".format, TEXTS, st.sampled_from(["e", "^h.*[0-9]", "(?i)E.*N", "x$", "", "."])),
        st.builds("{}({}, {})".format, st.sampled_from(["contains", "startswith", "endswith"]), TEXTS, TEXTS),
        st.builds("({} {} {})".format, TRUTHS, st.sampled_from(["and", "or"]), TRUTHS),
        st.builds("(not ({}))".format, TRUTHS),
    )
)


@pytest.fixture(scope="module")
def stored_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Any]]:
    folder = tmp_path_factory.mktemp("expressions")
    with DuckDbEngine(folder / "engine", 2**28, threads=1) as opened:
        yield opened, opened.read(_file(folder))


@given(text=TRUTHS.filter(lambda text: len(text) < 500))  # the SQL of deeply nested ones takes minutes
@settings(max_examples=examples(80), deadline=None)
def test_random_expression_selects_the_same_rows_as_record_by_record(
    stored_rows: tuple[Engine, Any], text: str
) -> None:
    engine, rows = stored_rows
    try:
        expected = _matching(text)
    except ExprError:
        return  # such as a text beside a time that is none

    assert _selected(engine, rows, text) == expected
