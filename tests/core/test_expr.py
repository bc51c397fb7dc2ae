"""The expression language: results, errors, and arbitrary text."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.expr import DATUM, ExprError, ValueType, compile_expr, matches

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ROW: dict[str, Any] = {
    "url": "http://www.example.org/News/1",
    "key": "org,example,www)/News/1",
    "host": "www.example.org",
    "status": "fetched",
    "fetch_time": NOW - timedelta(days=10),
    "modified_time": None,
    "retries": 2,
    "interval": timedelta(days=30),
    "score": 0.75,
    "signature": None,
    "metadata": {"lang": "de", "x-y": "1", "it's": "2"},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("score > 0.5", True),
        ("score >= 0.75 and retries == 2", True),
        ("score > 1 or retries < 3", True),
        ("score > 1 || retries < 3 && !(retries == 2)", False),
        ("not score > 1", True),
        ("not not score > 1", False),
        ("true", True),
        ("false or true", True),
        # and binds more tightly than or, comparison more tightly than both, arithmetic more tightly still
        ("true or false and false", True),
        ("1 + 2 * 3 == 7", True),
        ("(1 + 2) * 3 == 9", True),
        ("10 - 4 - 3 == 3", True),
        ("-retries + 5 == 3", True),
        ("8 / 2 / 2 == 2", True),
        ("retries / 0 == 1", False),
        ("not (retries / 0 == 1)", False),  # neither true nor false
        # texts
        ("host == 'www.example.org'", True),
        ('status == "fetched"', True),
        ("status == 'db_fetched'", True),
        ("status in ['gone', 'fetched']", True),
        ("retries in [1, 3]", False),
        ("url =~ '/News/[0-9]+$'", True),
        ("url =~ '^/News'", False),
        ("lower(url) =~ '/news/'", True),
        ("contains(url, 'example') and startswith(url, 'http:') and endswith(url, '/1')", True),
        ("length(host) == 15", True),
        (r"'it\'s' == 'it\'s'", True),
        ("host < 'x'", True),
        # times and durations
        ("fetch_time < now - 7d", True),
        ("fetch_time < now - 2w", False),
        ("now - fetch_time == 10d", True),
        ("fetch_time > '2026-02-01'", True),
        ("fetchTime > 2026-02-01T00:00:00Z", True),
        ("fetchTime > 2026-12-01T00:00:00Z && score >= 0", False),
        ("fetch_time > '2026-02-19T01:00'", False),
        ("fetchTime < now", True),
        ("interval == 30d", True),
        ("interval > 86400", True),
        ("interval * 2 > 59d and interval / 2 < 16d", True),
        ("interval == 720h", True),
        # missing values
        ("modified_time < now", False),
        ("not modified_time < now", False),
        ("modified_time < now or score > 0", True),
        ("modified_time == null", True),
        ("modified_time != null", False),
        ("null == signature", True),
        ("metadata.lang == 'de'", True),
        ('metadata["x-y"] == "1"', True),
        (r"metadata['it\'s'] == '2'", True),
        ("metadata.none == 'x'", False),
        ("metadata.none == null", True),
        ("metadata.lang in ['de', 'fr']", True),
    ],
)
def test_expression_is_evaluated(text: str, expected: bool) -> None:
    assert matches(compile_expr(text), ROW, NOW) is expected


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("", "expected a column, a value or a parenthesis, not the end", 0),
        ("score >", "expected a column, a value or a parenthesis, not the end", 7),
        ("scroe > 1", "scroe is not a column; did you mean score?", 0),
        ("score > 1 1", "expected an operator or the end, not '1'", 10),
        ("host == 'a\udcff'", "contains bytes that are not UTF-8", 10),
        ("score = 1", "unexpected character '='", 6),
        ("score > 1 ; drop", "unexpected character ';'", 10),
        ("(score > 1", "expected ')', not the end", 10),
        ("score > 'a'", "cannot compare a number with a string", 6),
        ("score", "the result is a number; it must be", 0),
        ("1 < 2 < 3", "comparisons cannot be chained", 6),
        ("status == 'fetchd'", "'fetchd' is not a status; did you mean fetched?", 7),
        ("fetch_time > 'soon'", "'soon' is not a time", 11),
        ("fetch_time + fetch_time == now", "cannot compute a time + a time", 11),
        ("score and true", "expected true or false, not a number", 0),
        ("-host == 'a'", "cannot negate a string", 0),
        ("metadata == 'a'", "name an entry of metadata", 0),
        ("score.x == 1", "score has no entries", 0),
        ("url =~ '('", "the pattern", 7),
        ("url =~ host", "a pattern must be a string", 4),
        ("lowr(url) == 'a'", "lowr is not a function; did you mean lower?", 0),
        ("lower(url, url) == 'a'", "lower takes 1 argument, not 2", 0),
        ("length(score) == 1", "expected a string, not a number", 7),
        ("signature == 'x'", "cannot compare bytes with a string", 10),
        ("null < 1", "cannot compare with null by <", 5),
        ("retries in [score]", "a list may contain only constants", 17),
        ("__import__('os').system('x')", "", 0),
        ("score.__class__ == 1", "score has no entries", 0),
        ("'a", 'unexpected character "\'"', 0),
    ],
)
def test_mistake_is_reported_with_its_position(text: str, message: str, at: int) -> None:
    with pytest.raises(ExprError) as caught:
        compile_expr(text)

    assert caught.value.message.startswith(message)
    if message:
        assert caught.value.at == at
        assert str(caught.value).splitlines()[2].index("^") - 2 == min(at, 60)


def test_plugin_columns_can_be_used() -> None:
    columns = {**DATUM, "depth": ValueType.NUMBER}

    assert matches(compile_expr("depth <= 3", columns), {"depth": 3}, NOW)
    with pytest.raises(ExprError, match="depth is not a column"):
        compile_expr("depth <= 3")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "1" + ")" * 5_000,
        "not " * 2_000 + "true",
        "-" * 3_000 + "1 == 1",
        "1+" * 4_000 + "1 == 1",
        "a" * 20_000,
        "score > " + "9" * 5_000,
        "score / " + "9" * 400 + " < 1",
        "1d / 1e-300 > 1d",
        "interval / 1e-300 > 1d",
        "interval * (1e999 - 1e999) > 1d",
    ],
)
def test_huge_expression_ends_in_a_result_or_an_error(text: str) -> None:
    with suppress(ExprError):
        matches(compile_expr(text), ROW, NOW)


PIECES = st.sampled_from(
    [
        "score",
        "host",
        "fetch_time",
        "now",
        "interval",
        "metadata.lang",
        "status",
        "'fetched'",
        "7d",
        "1",
        "0.5",
        "null",
        "true",
        "and",
        "or",
        "not",
        "==",
        "!=",
        "<",
        ">",
        "=~",
        "in",
        "+",
        "-",
        "*",
        "/",
        "(",
        ")",
        "[",
        "]",
        ",",
        "lower(",
        ".",
    ]
)


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=40))
def test_any_text_compiles_or_is_a_usage_error(text: str) -> None:
    try:
        expression = compile_expr(text)
    except ExprError as error:
        at: int | None = error.at
    else:
        at = None

    if at is not None:
        assert 0 <= at <= len(text)
        return

    assert matches(expression, ROW, NOW) in (True, False)
    assert matches(expression, {}, NOW) in (True, False)
