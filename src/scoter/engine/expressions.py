"""Evaluate ``scoter.core.expr`` over columns: the rows for which an expression is true.

It selects the same records as ``core.expr.matches``. Numbers are doubles and durations microseconds; a column
``interval`` holds whole seconds. Two cases differ: letters whose lower case is longer than they are (engines keep the
length), and scores that are NaN.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import methodcaller
from typing import Any, TypeAlias, assert_never

import pyarrow as pa

from scoter.core.expr import Typed, ValueType
from scoter.core.expr.rows import value_of
from scoter.core.expr.types import Apply, ColumnRef, ConstantValue
from scoter.core.pattern import LONGEST_TEXT, Pattern
from scoter.engine.port import Engine, Rows
from scoter.engine.portable import Value as Expression
from scoter.engine.portable import double, micros, ratio, timestamp
from scoter.plugins.recorded import ibis

_MICROS = timedelta(microseconds=1)
_SECOND = 1_000_000
_FIRST, _LAST = -62_135_596_800 * _SECOND, 253_402_300_800 * _SECOND  # what a datetime holds: the years 1 to 9999
_TEXT, _FOUND = "pattern_text_{}", "pattern_found_{}"
_SMALL = 2_048  # for larger patterns, core.pattern allows only shorter texts
_NULLS = {ValueType.NUMBER: "float64", ValueType.TEXT: "string", ValueType.TIME: "int64", ValueType.DURATION: "float64"}
_UNARY: Mapping[str, Callable[[Any], Any]] = {
    "missing": methodcaller("isnull"),
    "present": methodcaller("notnull"),
    "not": operator.invert,
    "negative": operator.neg,
    "lower": methodcaller("lower"),
    "length": lambda text: text.length().cast("float64"),
}
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "and": operator.and_,
    "or": operator.or_,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": ratio,
    "min": lambda left, right: _if_both(ibis.least, left, right),
    "max": lambda left, right: _if_both(ibis.greatest, left, right),
}
_COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": lambda left, right: left.contains(right),
    "startswith": lambda left, right: left.startswith(right),
    "endswith": lambda left, right: left.endswith(right),
}

Found: TypeAlias = Callable[[Pattern, Expression], Expression]
"""From a pattern and a text to whether the text contains a match."""


def where(engine: Engine, rows: Rows, expression: Typed, now: datetime) -> Rows:
    """Return the rows for which an expression is true.

    DuckDB searches for patterns with the same RE2 as ``core.pattern``. On other engines, and for patterns that RE2 does
    not support, the search runs row by row.
    """
    patterns = [(part.parts[0], part.pattern) for part in _pattern_searches(expression) if part.pattern]
    if not patterns or (engine.name == "duckdb" and all(_is_small(pattern) for _, pattern in patterns)):
        return rows.filter(condition(rows, expression, now))
    found = _search_rows(engine, rows, patterns, now)
    answers = iter([found[_FOUND.format(number)] for number in range(len(patterns))])
    return found.filter(condition(found, expression, now, lambda pattern, text: next(answers))).select(*rows.columns)


def condition(rows: Rows, expression: Typed, now: datetime, found: Found | None = None) -> Expression:
    """Return an expression as an Ibis expression; ``found`` searches for patterns, by default DuckDB's RE2."""
    return _ColumnTranslator(rows, now, found or _found_by_re2).of(expression)


class _ColumnTranslator:
    """Translates the parts of an expression to columns."""

    def __init__(self, rows: Rows, now: datetime, found: Found) -> None:
        self._rows = rows
        self._now = now
        self._found = found

    def of(self, part: Typed) -> Expression:
        if not _has_column(part):
            return _literal(value_of(part, {}, self._now), part.kind)
        match part:
            case ColumnRef():
                return self._column(part)
            case Apply():
                return self._applied(part)
            case ConstantValue():
                raise AssertionError(part)  # a value has no column
            case _:
                assert_never(part)

    def _column(self, part: ColumnRef) -> Expression:
        column = self._rows[part.name]
        if part.entry is not None:
            entry = column.get(part.entry)
            return entry.cast("float64") if part.kind is ValueType.NUMBER else entry
        match part.kind:
            case ValueType.NUMBER:
                return column.cast("float64")
            case ValueType.DURATION:
                return column.cast("float64") * double(_SECOND)
            case ValueType.TIME:
                return micros(column)
            case _:
                return column

    def _applied(self, part: Apply) -> Expression:
        first, sign = self.of(part.parts[0]), part.sign
        if sign in _UNARY:
            return _UNARY[sign](first)
        if sign == "in":
            return self._one_of(first, part)
        if part.pattern is not None:
            return self._found(part.pattern, first)
        second = self.of(part.parts[1])
        if sign == "if":
            return ibis.ifelse(first.coalesce(ibis.literal(value=False)), second, self.of(part.parts[2]))
        if sign in _BINARY:
            return _bounded(part, _BINARY[sign](first, second))
        # Ibis would turn a comparison with null into IS NULL.
        if any(not _has_column(each) and value_of(each, {}, self._now) is None for each in part.parts):
            return _literal(None, ValueType.TRUTH)
        return _COMPARED[sign](first, second)

    def _one_of(self, first: Expression, part: Apply) -> Expression:
        # A null in the list equals nothing and does not make the result null.
        known = [choice for choice in part.parts[1:] if isinstance(choice, ConstantValue) and choice.value is not None]
        equal = [first == self.of(choice) for choice in known]
        return reduce(operator.or_, equal) if equal else ibis.ifelse(first.isnull(), None, ibis.literal(value=False))


def _if_both(choose: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    """Return the chosen value, or null if one is missing, which engines would ignore."""
    return ibis.ifelse(left.isnull() | right.isnull(), ibis.literal(None, "float64"), choose(left, right))


def _bounded(part: Apply, made: Expression) -> Expression:
    """Return the result of arithmetic as a value of its type: a time in range, a whole number of microseconds."""
    if part.kind is ValueType.TIME:
        return ibis.ifelse((made >= _FIRST) & (made < _LAST), made, None)
    if part.kind is ValueType.DURATION and ValueType.NUMBER in (each.kind for each in part.parts):
        return made.round()
    return made


def _literal(value: Any, kind: ValueType) -> Expression:
    match value:
        case None:
            return ibis.literal(None, type=_NULLS.get(kind, "boolean"))
        case bool() | str():
            return ibis.literal(value)
        case datetime():
            return micros(timestamp(value))
        case timedelta():
            return double(value // _MICROS)
        case _:
            return double(_as_float(value))


def _as_float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _has_column(part: Typed) -> bool:
    return isinstance(part, ColumnRef) or (isinstance(part, Apply) and any(map(_has_column, part.parts)))


def _pattern_searches(part: Typed) -> Iterator[Apply]:
    """Yield the pattern searches over columns, in the order in which ``_ColumnTranslator`` visits them."""
    if isinstance(part, Apply) and _has_column(part):
        for inner in part.parts:
            yield from _pattern_searches(inner)
        if part.pattern is not None:
            yield part


def _is_small(pattern: Pattern) -> bool:
    """Return whether RE2 supports the pattern and ``core.pattern`` allows texts up to ``LONGEST_TEXT``."""
    return pattern.linear and pattern.size <= _SMALL


def _found_by_re2(pattern: Pattern, text: Expression) -> Expression:
    return ibis.ifelse(text.length() > LONGEST_TEXT, None, text.re_search(pattern.translation.linear))


def _search_rows(engine: Engine, rows: Rows, patterns: Sequence[tuple[Typed, Pattern]], now: datetime) -> Rows:
    """Return rows with a boolean column per pattern: whether its text contains a match."""
    numbers = range(len(patterns))
    texts = {_TEXT.format(number): condition(rows, patterns[number][0], now) for number in numbers}
    from scoter.engine.ibis_compat import arrow_schema

    kept = arrow_schema(rows)
    schema = pa.schema([*kept, *((_FOUND.format(number), pa.bool_()) for number in numbers)])

    def search(batch: Any) -> Any:
        answers = [_matches(patterns[number][1], batch[_TEXT.format(number)]) for number in numbers]
        return pa.RecordBatch.from_arrays([*(batch[name] for name in kept.names), *answers], schema=schema)

    return engine.map_batches(rows.mutate(**texts), search, schema)


def _matches(pattern: Pattern, texts: Any) -> Any:
    return pa.array([None if text is None else pattern.found(text) for text in texts.to_pylist()], pa.bool_())
