"""What Ibis leaves different between engines, written once so that a job means the same on all of them.

| trap | here |
|---|---|
| joining maps: null where one is null, on Spark alone | ``map_concat`` |
| a map cannot be made shorter | ``map_without`` |
| seconds added to a time work only on a bound column | ``plus_seconds`` |
| DuckDB's seconds since 1970 are a fraction, whatever Ibis believes | ``micros`` |
| hashes differ | ``bucket``, and its twin for rows, ``bucket_of`` |
| a float made an integer is rounded, or cut | ``floor_to_int`` |
| division by zero: infinity, or an error | ``ratio`` |
| DuckDB takes a written number for a decimal | ``real`` |
| lists cannot be collected in an order | ``gathered`` |

Ties in an order are the job's to break: the last of the columns to order by has to tell all rows apart.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeAlias

import ibis
import ibis.expr.datatypes as kinds

from scoter.engine.port import Rows

Value: TypeAlias = Any
"""A column or scalar expression of Ibis."""

_MAP = kinds.Map(kinds.string, kinds.string)
_TIME = kinds.Timestamp("UTC", 6)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEX = "0123456789abcdef"
_DIGITS = 7
_PLACE = "place_in_group"


@ibis.udf.scalar.builtin(name="map_concat", signature=((_MAP, _MAP), _MAP))
def _map_concat(left, right):  # type: ignore[no-untyped-def]  # an expression that each engine knows by this name
    ...


def map_concat(left: Value, right: Value) -> Value:
    """Return a map with the entries of both; where both have a key, the right one's. A missing map has no entries."""
    return ibis.cases((left.isnull(), right), (right.isnull(), left), else_=_map_concat(left, right))


def map_without(entries: Value, key: str) -> Value:
    """Return a map without an entry."""
    keys = entries.keys().filter(lambda each: each != key)
    return ibis.map(keys, keys.map(lambda each: entries.get(each)))


def plus_seconds(time: Value, seconds: Value) -> Value:
    """Return a time so many whole seconds later; null where either is."""
    return time + seconds.as_interval("s")


def micros(time: Value) -> Value:
    """Return the microseconds from 1970 to a time, a whole number."""
    return time.delta(ibis.literal(_EPOCH, type=_TIME), unit="microsecond").cast("int64")


def moment(time: datetime) -> Value:
    """Return a time written in a job's text."""
    return ibis.literal(time.astimezone(UTC), type=_TIME)


@lru_cache(maxsize=64)
def named_moment(name: str) -> Value:
    """Return a time that an engine knows by the name of a function without arguments."""
    return ibis.udf.scalar.builtin(lambda: None, name=name, signature=((), _TIME))()


def bucket(text: Value, count: int) -> Value:
    """Return a number from 0 to ``count`` - 1 that depends on a text alone; ``count`` is at most a million."""
    digest = text.hexdigest("md5")
    number = ibis.literal(0, type="int64")
    for at in range(_DIGITS):
        number = number * 16 + ibis.literal(_HEX).find(digest.substr(at, 1))
    return (number % count).cast("int64")


def bucket_of(text: str, count: int) -> int:
    """Return what ``bucket`` gives, of one text.

    >>> bucket_of("www.example.org", 8)
    3
    """
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return int(digest[:_DIGITS], 16) % count


def floor_to_int(number: Value) -> Value:
    """Return the largest whole number that is not above a finite number."""
    return number.floor().cast("int64")


def ratio(part: Value, whole: Value) -> Value:
    """Return a quotient; null where it would be one by zero."""
    return part.cast("float64") / whole.cast("float64").nullif(real(0))


def real(number: float) -> Value:
    """Return a number written in a job's text as a double."""
    return ibis.literal(repr(float(number))).cast("float64")


def first_rows(rows: Rows, by: Sequence[str], order: Sequence[Value], most: int = 1) -> Rows:
    """Return the first rows of each group, in an order that leaves no ties; missing values come last."""
    place = ibis.row_number().over(group_by=[rows[name] for name in by], order_by=list(order))
    placed = rows.mutate(**{_PLACE: place})
    return placed.filter(placed[_PLACE] < most).drop(_PLACE)


def gathered(rows: Rows, by: Sequence[str], name: str, fields: Mapping[str, Value]) -> Rows:
    """Return one row a group: ``by``, and a list of records, ordered by their fields from the first on.

    A group's list is held in memory; ``first_rows`` bounds it.
    """
    record = ibis.struct(dict(fields))
    lists = rows.group_by(list(by)).agg(**{name: record.collect()})
    return lists.mutate(**{name: lists[name].sort()})
