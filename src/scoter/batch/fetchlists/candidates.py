"""Select and order the candidates for the next segments, inside the engine.

The rules are Nutch's, in this order: due, not waiting in a segment, the expression, the status, the minimum sort value,
the maximum interval. The URL filters come afterwards (``picker.py``), because they are Python code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir.schemas import datum_of, row_of, url_of
from scoter.batch.hosts.host_limits import IS_DEAD, LIMIT
from scoter.batch.urls.refusals import REFUSED, TRUNCATED
from scoter.batch.worker.records import ARCHIVED, VALIDATORS
from scoter.core.datum import EPOCH, later
from scoter.core.expr import Typed
from scoter.core.schedule import Schedule, whole
from scoter.engine import Engine
from scoter.engine.expressions import where
from scoter.engine.port import Rows
from scoter.engine.portable import double, map_concat, timestamp
from scoter.plugins.recorded import ibis

SORT_VALUE = "sort_value"
IS_DUE = "is_due"
_IS_DUE = pa.field(IS_DUE, pa.bool_())


class SelectionRules(Struct, frozen=True, kw_only=True):
    """The conditions that a URL must meet."""

    now: datetime
    schedule: Any
    scoring: Sequence[tuple[str, Any]]
    extra: tuple[str, ...] = ()
    """The names of the plug-ins' columns."""
    expression: Typed | None = None
    status: str | None = None
    min_value: float | None = None
    max_interval: timedelta | None = None
    marks: frozenset[str] = frozenset()
    """The marks of refusals under the present settings, if there may be others: these are due again."""


class Candidates(Struct, frozen=True):
    """The candidates with their sort values; and for each rule a label for what it drops and the rows that remain."""

    rows: Rows
    remaining: Sequence[tuple[str, Rows]]


def select_candidates(
    engine: Engine, known: Rows, rules: SelectionRules, waiting: Rows | None = None, hosts: Rows | None = None
) -> Candidates:
    """Apply the rules, in order, to the crawldb.

    ``waiting`` holds the URLs of segments that are not in the crawldb yet, ``hosts`` what the hostdb says about hosts:
    dead ones are left out, and the others' limits become a column.
    """
    remaining: list[tuple[str, Rows]] = []
    rows = with_due_column(engine, known, rules)
    rows = rows.filter(rows[IS_DUE]).drop(IS_DUE)
    remaining.append(("not due", rows))
    if waiting is not None:
        rows = rows.anti_join(waiting, "url")
        remaining.append(("waiting in a segment", rows))
    if hosts is not None:
        own = hosts.select(hostdb_host="url", **{LIMIT: hosts[LIMIT], IS_DEAD: hosts[IS_DEAD]})
        joined = rows.left_join(own, rows.host == own.hostdb_host)
        alive = joined.filter(~joined[IS_DEAD].coalesce(ibis.literal(value=False)))
        rows = alive.drop("hostdb_host", IS_DEAD)
        remaining.append(("of dead hosts", rows))
    rows = _with_sort_values(engine, rows, rules)
    if rules.expression is not None:
        rows = where(engine, rows, rules.expression, rules.now)
        remaining.append(("not matched by the expression", rows))
    if rules.status is not None:
        rows = rows.filter(rows.status == rules.status)
        remaining.append(("with another status", rows))
    if rules.min_value is not None:
        rows = rows.filter(rows[SORT_VALUE] >= double(rules.min_value))
        remaining.append(("below the minimum score", rows))
    if rules.max_interval is not None:
        rows = rows.filter(rows.interval <= int(rules.max_interval.total_seconds()))
        remaining.append(("with a longer interval", rows))
    return Candidates(rows, remaining)


def with_due_column(engine: Engine, known: Rows, rules: SelectionRules) -> Rows:
    """Return records with a column that says whether they are due; fetch times too far ahead are reset to now.

    What other settings refused is due as if it were new, and a page that they truncated is requested unconditionally.
    """
    rows = _with_schedule(engine, known, rules)
    if not rules.marks:
        return rows
    mark = rows.metadata.get(REFUSED, "").fill_null("")
    is_again = (mark != "") & ~mark.isin(sorted(rules.marks))
    is_truncated = is_again & mark.startswith(f"{TRUNCATED}:")
    validators = ibis.map(dict.fromkeys((*VALIDATORS, ARCHIVED), ""))
    return rows.mutate(
        fetch_time=ibis.ifelse(is_again & ~rows[IS_DUE], timestamp(rules.now), rows.fetch_time),
        retries=ibis.ifelse(is_again, 0, rows.retries).cast(rows.retries.type()),
        metadata=ibis.ifelse(is_truncated, map_concat(rows.metadata, validators), rows.metadata),
        **{IS_DUE: rows[IS_DUE] | is_again},
    )


def _with_schedule(engine: Engine, known: Rows, rules: SelectionRules) -> Rows:
    columns = _schedule_rules(rules.schedule)
    if columns is None:
        return engine.map_batches(known, partial(_due, rules), known.schema().to_pyarrow().append(_IS_DUE))
    now = timestamp(rules.now)
    far = known.fetch_time > timestamp(later(rules.now, columns.max_interval))
    longest = int(columns.max_interval.total_seconds())
    shorter = int(whole(columns.max_interval.total_seconds() * 0.9).total_seconds())
    fetch_time = ibis.ifelse(far, now, known.fetch_time.fill_null(timestamp(EPOCH)))
    interval = ibis.ifelse(far & (known.interval > longest), shorter, known.interval).cast("int32")
    return known.mutate(fetch_time=fetch_time, interval=interval, **{IS_DUE: fetch_time <= now})


def next_due(known: Rows, rules: SelectionRules) -> Rows:
    """Return one row with the earliest fetch time of the URLs that are not due yet."""
    not_due = known.filter(known.fetch_time > timestamp(rules.now))
    return not_due.aggregate(next_due=not_due.fetch_time.min())


def _schedule_rules(schedule: Any) -> Schedule | None:
    """Return the core's schedule rules if a schedule decides by them what is due, otherwise ``None``."""
    rules = getattr(schedule, "rules", None)
    definer = next((each for each in type(schedule).__mro__ if "due" in vars(each)), None)
    is_builtin = definer is not None and definer.__module__ == "scoter.builtin.schedules"
    return rules if is_builtin and isinstance(rules, Schedule) and type(rules).due is Schedule.due else None


def _with_sort_values(engine: Engine, rows: Rows, rules: SelectionRules) -> Rows:
    """Add sort values: by column expressions if a plug-in has them, otherwise row by row."""
    rows = rows.mutate(score=rows.score.fill_null(double(0.0)), **{SORT_VALUE: double(1.0)})
    for _, plugin in rules.scoring:
        if (columns := getattr(plugin, "sort_value_columns", None)) is not None:
            value = columns(rows).cast("float64")
            # Engines disagree on whether NaN sorts first or last.
            rows = rows.mutate(**{SORT_VALUE: ibis.ifelse(value.isnan(), double(0.0), value).fill_null(double(0.0))})
        elif (hook := getattr(plugin, "sort_value", None)) is not None:
            rows = engine.map_batches(rows, partial(_sort_values, hook, rules.extra), rows.schema().to_pyarrow())
    return rows


def _sort_values(hook: Any, extra: Sequence[str], batch: Any) -> Any:
    """Apply a row hook to a record batch."""
    found = (hook(url_of(row), datum_of(row, extra=extra), row[SORT_VALUE]) for row in batch.to_pylist())
    values = [0.0 if math.isnan(value) else value for value in found]
    return batch.set_column(batch.schema.get_field_index(SORT_VALUE), SORT_VALUE, pa.array(values, pa.float64()))


def _due(rules: SelectionRules, batch: Any) -> Any:
    found = []
    for row in batch.to_pylist():
        is_due, datum = rules.schedule.due(datum_of(row, extra=rules.extra), rules.now)
        found.append({**row, **row_of(url_of(row), datum, rules.extra), IS_DUE: is_due})
    return pa.RecordBatch.from_pylist(found, schema=batch.schema.append(_IS_DUE))
