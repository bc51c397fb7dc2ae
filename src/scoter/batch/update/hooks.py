"""Apply the scoring chain, and schedules without column expressions, to joined rows.

A plug-in that implements a hook for columns returns expressions. One that does not is called row by row, only for the
rows that the hook applies to: slower, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.schemas import DB_STATUSES, FETCH_STATUSES, datum_of, drop_nulls, row_of, url_of
from scoter.batch.update.transition import UpdateLimits, apply_changes, is_added, is_touched
from scoter.core.datum import CrawlDatum, PartStatus
from scoter.core.page import EMPTY
from scoter.core.scoring import ScoringChain
from scoter.core.update import UpdateRules, update
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.plugins import Column
from scoter.plugins.recorded import ibis

Chain = Sequence[tuple[str, Any]]


def needs_rows(chain: Chain) -> bool:
    """Return whether a plug-in must be called row by row."""
    return any(_row_hook(plugin, hook) for hook, _, _ in _HOOKS for _, plugin in chain)


def changes_untouched(chain: Chain) -> bool:
    """Return whether a plug-in may change the records of URLs that no segment mentions."""
    return any(
        getattr(plugin, name, None) is not None for _, plugin in chain for name in ("orphaned", "orphaned_columns")
    )


def wants_links(chain: Chain) -> bool:
    """Return whether a plug-in needs the individual links."""
    return any(_row_hook(plugin, "update") for _, plugin in chain)


def apply_scoring(rows: Rows, chain: Chain, engine: Engine, now: datetime, extra: Sequence[Column]) -> Rows:
    """Return the rows after all scoring hooks."""
    for hook, where, row_by_row in _HOOKS:
        for _, plugin in chain:
            by_columns = getattr(plugin, f"{hook}_columns", None)
            if by_columns is not None:
                rows = apply_changes(rows, (where(rows), by_columns(rows)))
            elif (row_hook := _row_hook(plugin, hook)) is not None:
                new_record = row_by_row(row_hook, now, schemas.column_names(extra))
                rows = map_rows(engine, rows, where(rows), new_record, extra)
    return rows


def apply_column_hooks(rows: Rows, chain: Chain) -> Rows:
    """Return the rows after all scoring hooks of plug-ins that have no others than for columns."""
    for hook, where, _ in _HOOKS:
        for _, plugin in chain:
            by_columns = getattr(plugin, f"{hook}_columns", None)
            if by_columns is not None:
                rows = apply_changes(rows, (where(rows), by_columns(rows)))
    return rows


def _row_hook(plugin: Any, hook: str) -> Any:
    """Return the row hook of a plug-in that has no column hook."""
    return None if getattr(plugin, f"{hook}_columns", None) is not None else getattr(plugin, hook, None)


RowFunction: TypeAlias = Callable[[Mapping[str, Any]], CrawlDatum]
"""From a row to its new record."""


def map_rows(engine: Engine, rows: Rows, where: Any, function: RowFunction, extra: Sequence[Column]) -> Rows:
    """Return the rows, with the record of those that meet a condition replaced by ``function(row)``."""
    schema = rows.schema().to_pyarrow()
    names = schemas.column_names(extra)

    def batch_of(batch: Any) -> Any:
        given = batch.to_pylist()
        records = [row_of(url_of(row), function(row), names) for row in given]
        changed = schemas.DATUM.names + list(names)
        columns = [
            pa.array([record[field.name] for record in records], field.type)
            if field.name in changed
            else batch.column(field.name).cast(field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return ibis.union(engine.map_batches(rows.filter(where), batch_of, schema), rows.filter(~where))


def by_transition(schedule: Any, limits: UpdateLimits, now: datetime, extra: Sequence[Column]) -> RowFunction:
    """Return a function that applies ``core.update``, without scoring, to a row."""
    names = schemas.column_names(extra)
    rules = UpdateRules(
        schedule=schedule, scoring=ScoringChain(()), max_retries=limits.max_retries, max_interval=limits.max_interval
    )

    def new_record(row: Mapping[str, Any]) -> CrawlDatum:
        fetch = None
        if row["f_url"] is not None:
            # Parsing may have changed the outcome: a redirect, or a parse error.
            fetch = datum_of({**row, "f_status": row["outcome"]}, FETCH_STATUSES, names, "f_")
        best = [] if row["link_score"] is None else [_link(row, names, "best_")]
        parsed = dict(row["p_metadata"] or ())
        found = update(url_of(row), _old(row, names), fetch, best, row["p_signature"], now, rules, parsed)
        return found if found is not None else datum_of(row, DB_STATUSES, names)

    return new_record


def by_initial(hook: Any, now: datetime, names: Sequence[str]) -> RowFunction:
    return lambda row: hook(url_of(row), datum_of(row, DB_STATUSES, names))


def by_update(hook: Any, now: datetime, names: Sequence[str]) -> RowFunction:
    return lambda row: hook(url_of(row), _old(row, names), datum_of(row, DB_STATUSES, names), _links(row, names), now)


def by_orphaned(hook: Any, now: datetime, names: Sequence[str]) -> RowFunction:
    return lambda row: hook(url_of(row), datum_of(row, DB_STATUSES, names), now)


def _old(row: Mapping[str, Any], names: Sequence[str]) -> CrawlDatum | None:
    return None if row["old_url"] is None else datum_of(row, DB_STATUSES, names, "old_")


def _link(row: Mapping[str, Any], names: Sequence[str], prefix: str = "") -> CrawlDatum:
    return CrawlDatum(
        status=PartStatus.LINKED,
        score=row[prefix + "score"],
        metadata=dict(row[prefix + "metadata"] or ()) or EMPTY,
        extra=drop_nulls({name: row[prefix + name] for name in names}),
    )


def _links(row: Mapping[str, Any], names: Sequence[str]) -> list[CrawlDatum]:
    """Return the links, best first."""
    found = sorted(row["links"] or (), key=lambda link: (-link["score"], not link["is_redirect"], link["source"]))
    return [_link(link, names) for link in found]


_HOOKS: tuple[tuple[str, Callable[[Rows], Any], Any], ...] = (
    ("initial", is_added, by_initial),
    ("update", is_touched, by_update),
    ("orphaned", lambda rows: ~is_touched(rows), by_orphaned),
)
