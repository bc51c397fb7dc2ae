"""The scoring chain over joined rows: each hook runs through the plug-ins in their order.

A plug-in with a column face of a hook is asked for expressions; one without is asked row by row, and only of the rows
that the hook is about.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import ibis
import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.schemas import DB_STATUSES, FETCH_STATUSES, datum_of, drop_nulls, row_of, url_of
from scoter.batch.update.transition import UpdateLimits, apply_changes, is_added, is_touched
from scoter.core.datum import CrawlDatum, PartStatus
from scoter.core.page import EMPTY
from scoter.core.update import UpdateRules, update
from scoter.core.url import Url
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.plugins import Column

Chain = Sequence[tuple[str, Any]]


def needs_rows(chain: Chain) -> bool:
    """Tell whether a plug-in has to be asked row by row."""
    return any(_row_face(plugin, hook) for hook, _, _ in _HOOKS for _, plugin in chain)


def wants_links(chain: Chain) -> bool:
    """Tell whether a plug-in wants to see the links one by one."""
    return any(_row_face(plugin, "update") for _, plugin in chain)


def apply_scoring(rows: Rows, chain: Chain, engine: Engine, now: datetime, extra: Sequence[Column]) -> Rows:
    """Return the rows as the chain leaves them."""
    for hook, where, row_by_row in _HOOKS:
        for _, plugin in chain:
            by_columns = getattr(plugin, f"{hook}_columns", None)
            if by_columns is not None:
                rows = apply_changes(rows, (where(rows), by_columns(rows)))
            elif (face := _row_face(plugin, hook)) is not None:
                ask = row_by_row(face, now, schemas.column_names(extra))
                rows = map_rows(engine, rows, where(rows), ask, extra)
    return rows


def _row_face(plugin: Any, hook: str) -> Any:
    """Return the row face that has to do, for want of another."""
    return None if getattr(plugin, f"{hook}_columns", None) is not None else getattr(plugin, hook, None)


RowFunction: TypeAlias = Callable[[Mapping[str, Any]], CrawlDatum]
"""From a row to its new record."""


class NoScoring:
    """A scoring chain of nothing."""

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        return datum

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        return new

    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        return datum


def map_rows(engine: Engine, rows: Rows, where: Any, ask: RowFunction, extra: Sequence[Column]) -> Rows:
    """Return the rows, those of a condition with the record that ``ask`` gives them."""
    schema = rows.schema().to_pyarrow()
    names = schemas.column_names(extra)

    def batch_of(batch: Any) -> Any:
        given = batch.to_pylist()
        records = [row_of(url_of(row), ask(row), names) for row in given]
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
    """Return the question what a record becomes before scoring, by ``core.update`` itself."""
    names = schemas.column_names(extra)
    rules = UpdateRules(
        schedule=schedule, scoring=NoScoring(), max_retries=limits.max_retries, max_interval=limits.max_interval
    )

    def ask(row: Mapping[str, Any]) -> CrawlDatum:
        fetch = None
        if row["f_url"] is not None:
            # Parsing may have found out more than the fetch: that the page is a redirect, or none that can be read.
            fetch = datum_of({**row, "f_status": row["outcome"]}, FETCH_STATUSES, names, "f_")
        best = [] if row["l_url"] is None else [_best(row, names)]
        parsed = dict(row["p_metadata"] or ())
        found = update(url_of(row), _old(row, names), fetch, best, row["p_signature"], now, rules, parsed)
        return found if found is not None else datum_of(row, DB_STATUSES, names)

    return ask


def by_initial(hook: Any, now: datetime, names: Sequence[str]) -> RowFunction:
    return lambda row: hook(url_of(row), datum_of(row, DB_STATUSES, names))


def by_update(hook: Any, now: datetime, names: Sequence[str]) -> RowFunction:
    def ask(row: Mapping[str, Any]) -> CrawlDatum:
        found: CrawlDatum = hook(
            url_of(row), _old(row, names), datum_of(row, DB_STATUSES, names), _links(row, names), now
        )
        return found

    return ask


def by_orphaned(hook: Any, now: datetime, names: Sequence[str]) -> RowFunction:
    return lambda row: hook(url_of(row), datum_of(row, DB_STATUSES, names), now)


def _old(row: Mapping[str, Any], names: Sequence[str]) -> CrawlDatum | None:
    return None if row["old_url"] is None else datum_of(row, DB_STATUSES, names, "old_")


def _best(row: Mapping[str, Any], names: Sequence[str]) -> CrawlDatum:
    return CrawlDatum(
        status=PartStatus.LINKED,
        score=row["best_score"],
        metadata=dict(row["best_metadata"] or ()) or EMPTY,
        extra=drop_nulls({name: row[f"best_{name}"] for name in names}),
    )


def _links(row: Mapping[str, Any], names: Sequence[str]) -> list[CrawlDatum]:
    """Return the links, the best first."""
    found = sorted(row["links"] or (), key=lambda link: (-link["score"], not link["is_redirect"], link["source"]))
    return [
        CrawlDatum(
            status=PartStatus.LINKED,
            score=link["score"],
            metadata=dict(link["metadata"] or ()) or EMPTY,
            extra=drop_nulls({name: link[name] for name in names}),
        )
        for link in found
    ]


_HOOKS: tuple[tuple[str, Callable[[Rows], Any], Any], ...] = (
    ("initial", is_added, by_initial),
    ("update", is_touched, by_update),
    ("orphaned", lambda rows: ~is_touched(rows), by_orphaned),
)
