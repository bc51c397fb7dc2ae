"""Evaluate an expression for one record, with three-valued logic as in SQL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from scoter.core.expr.types import Apply, ColumnRef, ConstantValue, Typed

_TWO: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "contains": operator.contains,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "min": min,
    "max": max,
}
_ONE: Mapping[str, Callable[[Any], Any]] = {
    "not": operator.not_,
    "negative": operator.neg,
    "lower": str.lower,
    "length": len,
}


def matches(expression: Typed, row: Mapping[str, Any], now: datetime) -> bool:
    """Return whether an expression is true for a record."""
    return value_of(expression, row, now) is True


def value_of(part: Typed, row: Mapping[str, Any], now: datetime) -> Any:
    """Return the value of a part for a record, or ``None`` if a value it needs is missing."""
    match part:
        case ConstantValue():
            return now if part.is_now else part.value
        case ColumnRef():
            found = row.get(part.name)
            return found if part.entry is None or found is None else found.get(part.entry)
        case Apply():
            return _applied(part, row, now)


def _applied(part: Apply, row: Mapping[str, Any], now: datetime) -> Any:
    first = value_of(part.parts[0], row, now)
    match part.sign:
        case "missing":
            return first is None
        case "present":
            return first is not None
        case "and" | "or" as sign:
            return _logic(sign, first, value_of(part.parts[1], row, now))
        case "if":
            return value_of(part.parts[1 if first is True else 2], row, now)
        case "in":
            return None if first is None else any(first == choice.value for choice in part.parts[1:])  # type: ignore[union-attr]
    if first is None:
        return None
    if part.sign in _ONE:
        return _ONE[part.sign](first)
    if part.pattern is not None:
        return part.pattern.found(first)
    second = value_of(part.parts[1], row, now)
    if second is None:
        return None
    try:
        if part.sign == "/":
            return first / second if second else None  # engines differ about division by zero
        return _TWO[part.sign](first, second)
    except (OverflowError, ValueError):  # a duration that is too long, or multiplied by NaN
        return None


def _logic(sign: str, first: Any, second: Any) -> bool | None:
    decisive = sign == "or"
    if decisive in (first, second):
        return decisive
    return None if None in (first, second) else not decisive
