"""Which URLs of the crawldb may go into the next segments, and in which order: as far as the engine can tell.

The rules are Nutch's, one after another: due, not waiting in a segment, the expression, the status, the least sort
value, the longest interval. The URL filters come after them, on what is left (``picking.py``), since they are Python.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import ibis
import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir.schemas import datum_of, row_of, url_of
from scoter.core.datum import EPOCH, later
from scoter.core.expr import Typed
from scoter.core.schedule import Schedule, whole
from scoter.engine import Engine
from scoter.engine.expressions import where
from scoter.engine.port import Rows
from scoter.engine.portable import double, timestamp

SORT_VALUE = "sort_value"
IS_DUE = "is_due"


class SelectionRules(Struct, frozen=True, kw_only=True):
    """What is asked of a URL."""

    now: datetime
    schedule: Any
    scoring: Sequence[tuple[str, Any]]
    extra: tuple[str, ...] = ()
    """The names of plug-ins' columns."""
    expression: Typed | None = None
    status: str | None = None
    least_value: float | None = None
    longest_interval: timedelta | None = None


class Candidates(Struct, frozen=True):
    """The candidates, with their sort values; and for each rule the rows it leaves, by what is said of the others."""

    candidates: Rows
    left: Sequence[tuple[str, Rows]]


def select_candidates(engine: Engine, known: Rows, rules: SelectionRules, waiting: Rows | None = None) -> Candidates:
    """Return what the rules, in order, leave of the crawldb.

    ``waiting`` has the URLs that stand in segments which an update has not seen yet.
    """
    left: list[tuple[str, Rows]] = []
    rows = with_due_column(engine, known, rules)
    rows = rows.filter(rows[IS_DUE]).drop(IS_DUE)
    left.append(("not due", rows))
    if waiting is not None:
        rows = rows.anti_join(waiting, "url")
        left.append(("waiting in a segment", rows))
    rows = _valued(engine, rows, rules)
    if rules.expression is not None:
        rows = where(engine, rows, rules.expression, rules.now)
        left.append(("not matched by the expression", rows))
    if rules.status is not None:
        rows = rows.filter(rows.status == rules.status)
        left.append(("of another status", rows))
    if rules.least_value is not None:
        rows = rows.filter(rows[SORT_VALUE] >= double(rules.least_value))
        left.append(("below the least score", rows))
    if rules.longest_interval is not None:
        rows = rows.filter(rows.interval <= int(rules.longest_interval.total_seconds()))
        left.append(("of a longer interval", rows))
    return Candidates(rows, left)


def with_due_column(engine: Engine, known: Rows, rules: SelectionRules) -> Rows:
    """Return records with a time too far away brought back to now, and whether they are due."""
    columns = _rules_of(rules.schedule)
    if columns is None:
        return engine.map_batches(known, lambda batch: _due(batch, rules), _with(known, **{IS_DUE: pa.bool_()}))
    now = timestamp(rules.now)
    far = known.fetch_time > timestamp(later(rules.now, columns.max_interval))
    longest = int(columns.max_interval.total_seconds())
    shorter = int(whole(columns.max_interval.total_seconds() * 0.9).total_seconds())
    fetch_time = ibis.ifelse(far, now, known.fetch_time.fill_null(timestamp(EPOCH)))
    interval = ibis.ifelse(far & (known.interval > longest), shorter, known.interval).cast("int32")
    return known.mutate(fetch_time=fetch_time, interval=interval, **{IS_DUE: fetch_time <= now})


def next_due(known: Rows, rules: SelectionRules) -> Rows:
    """Return one row with the earliest time at which a URL that is not due now will be."""
    later_ones = known.filter(known.fetch_time > timestamp(rules.now))
    return later_ones.aggregate(next_due=later_ones.fetch_time.min())


def _rules_of(schedule: Any) -> Schedule | None:
    """Return the core's rules by which a schedule says what is due, if it goes by them."""
    rules = getattr(schedule, "rules", None)
    asks = next((each for each in type(schedule).__mro__ if "due" in vars(each)), None)
    is_own = asks is not None and asks.__module__ == "scoter.builtin.schedules"
    return rules if is_own and isinstance(rules, Schedule) and type(rules).due is Schedule.due else None


def _valued(engine: Engine, rows: Rows, rules: SelectionRules) -> Rows:
    """Give every record its sort value: hooks with a column face inside the engine, the others row by row."""
    rows = rows.mutate(score=rows.score.fill_null(double(0.0)), **{SORT_VALUE: double(1.0)})
    for _, plugin in rules.scoring:
        if (columns := getattr(plugin, "sort_value_columns", None)) is not None:
            value = columns(rows).cast("float64")
            # What is no number would stand before or after all others, as the engine likes.
            rows = rows.mutate(**{SORT_VALUE: ibis.ifelse(value.isnan(), double(0.0), value).fill_null(double(0.0))})
        elif (hook := getattr(plugin, "sort_value", None)) is not None:
            rows = engine.map_batches(rows, _SortValueHook(hook, rules.extra), _with(rows))
    return rows


class _SortValueHook:
    """A row hook, over record batches."""

    def __init__(self, hook: Any, extra: Sequence[str]) -> None:
        self._hook = hook
        self._extra = extra

    def __call__(self, batch: Any) -> Any:
        found = (
            self._hook(url_of(row), datum_of(row, extra=self._extra), row[SORT_VALUE]) for row in batch.to_pylist()
        )
        values = [0.0 if math.isnan(value) else value for value in found]
        return batch.set_column(batch.schema.get_field_index(SORT_VALUE), SORT_VALUE, pa.array(values, pa.float64()))


def _due(batch: Any, rules: SelectionRules) -> Any:
    return pa.RecordBatch.from_pylist(list(_due_rows(batch, rules)), schema=_added(batch.schema, {IS_DUE: pa.bool_()}))


def _due_rows(batch: Any, rules: SelectionRules) -> Iterator[dict[str, Any]]:
    for row in batch.to_pylist():
        is_due, datum = rules.schedule.due(datum_of(row, extra=rules.extra), rules.now)
        yield {**row, **row_of(url_of(row), datum, rules.extra), IS_DUE: is_due}


def _with(rows: Rows, **more: Any) -> Any:
    """Return the Arrow schema of rows, with more columns."""
    return _added(rows.schema().to_pyarrow(), more)


def _added(schema: Any, more: Mapping[str, Any]) -> Any:
    for name, kind in more.items():
        schema = schema.append(pa.field(name, kind))
    return schema
