"""Expressions that Ibis leaves different between engines, wrapped once so that a job means the same on all of them.

| difference | use |
|---|---|
| concatenating maps: null if one is null, on Spark only | ``map_concat`` |
| maps cannot be compared, and hence not be cleared with ``nullif``, on Spark | ``null_like`` |
| entries cannot be removed from a map | ``map_without``, ``map_only`` |
| DuckDB's seconds since 1970 are fractional, although Ibis says integer | ``micros`` |
| hash functions | ``bucket``, ``fast_hash`` |
| division by zero: infinity, or an error | ``ratio`` |
| DuckDB takes a number literal for a decimal | ``double`` |
| lists cannot be collected in order | ``collect_sorted`` |

A job must break ties itself: the columns of an order must tell all rows apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeAlias

from scoter.engine.port import Rows
from scoter.plugins import recorded
from scoter.plugins.recorded import ibis, kinds

Value: TypeAlias = Any
"""An Ibis column or scalar expression."""

_MAP = kinds.Map(kinds.string, kinds.string)
NULL_MAP = ibis.literal(None, type=_MAP)
_TIME = kinds.Timestamp("UTC", 6)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEX = "0123456789abcdef"
_DIGITS = 7
_PLACE = "place_in_group"


def null_like(column: Value) -> Value:
    """Return null, with the type of a column."""
    return ibis.literal(None, type=column.type())


@ibis.udf.scalar.builtin(name="map_concat", signature=((_MAP, _MAP), _MAP))
def _map_concat(left, right):  # type: ignore[no-untyped-def]  # each engine has a function of this name
    ...


def map_concat(left: Value, right: Value) -> Value:
    """Return a map with the entries of both; the right one wins. A null map has no entries."""
    return ibis.cases((left.isnull(), right), (right.isnull(), left), else_=_map_concat(left, right))


def map_without(entries: Value, key: str) -> Value:
    """Return a map without a key; a map that lacks the key is not rebuilt."""
    keys = entries.keys().filter(lambda each: each != key)
    rebuilt = ibis.map(keys, keys.map(lambda each: entries.get(each)))
    return (entries.isnull() | ~entries.contains(key)).ifelse(entries, rebuilt)


def map_only(entries: Value, wanted: Sequence[str]) -> Value:
    """Return a map with only the wanted keys; null if it has none of them."""
    keys = entries.keys().filter(lambda each: each.isin(list(wanted)))
    return (keys.length() > 0).ifelse(ibis.map(keys, keys.map(lambda each: entries.get(each))), NULL_MAP)


def micros(time: Value) -> Value:
    """Return the whole microseconds from 1970 to a time."""
    return time.delta(ibis.literal(_EPOCH, type=_TIME), unit="microsecond").cast("int64")


def timestamp(time: datetime) -> Value:
    """Return a time literal."""
    return recorded.time(time)


@lru_cache(maxsize=64)
def named_timestamp(name: str) -> Value:
    """Return the time that an engine provides as a function of this name."""
    return ibis.udf.scalar.builtin(lambda: None, name=name, signature=((), _TIME))()


def bucket(text: Value, count: int) -> Value:
    """Return a number from 0 to ``count`` - 1 that depends only on the text; ``count`` is at most a million."""
    digest = text.hexdigest("md5")
    number = ibis.literal(0, type="int64")
    for at in range(_DIGITS):
        number = number * 16 + ibis.literal(_HEX).find(digest.substr(at, 1))
    return (number % count).cast("int64")


_HASH_FUNCTIONS = {
    engine: ibis.udf.scalar.builtin(lambda text: None, name=name, signature=((kinds.string,), kinds.int64))
    # The engine defines the first, because Ibis leaves out a cast that is needed.
    for engine, name in (("duckdb", "fast_hash"), ("spark", "xxhash64"))
}


def fast_hash(text: Value, engine: str) -> Value:
    """Return a hash of at least 63 bits. It differs between engines and their versions, so it must not be stored."""
    return _HASH_FUNCTIONS[engine](text)


def ratio(part: Value, whole: Value) -> Value:
    """Return a quotient; null for division by zero."""
    return part.cast("float64") / whole.cast("float64").nullif(double(0))


def double(number: float) -> Value:
    """Return a number literal as a double."""
    return ibis.literal(repr(float(number))).cast("float64")


def first_rows(rows: Rows, by: Sequence[str], order: Sequence[Value], most: int = 1) -> Rows:
    """Return the first rows of each group, in an order without ties; nulls come last."""
    place = ibis.row_number().over(group_by=[rows[name] for name in by], order_by=list(order))
    placed = rows.mutate(**{_PLACE: place})
    return placed.filter(placed[_PLACE] < most).drop(_PLACE)


def collect_sorted(rows: Rows, by: Sequence[str], name: str, fields: Mapping[str, Value]) -> Rows:
    """Return one row per group: ``by``, and a list of records, sorted by their fields.

    The list of a group is held in memory; use ``first_rows`` to bound it.
    """
    record = ibis.struct(dict(fields))
    lists = rows.group_by(list(by)).agg(**{name: record.collect()})
    return lists.mutate(**{name: lists[name].sort()})
