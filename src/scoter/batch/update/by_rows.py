"""Plug-ins that have no column face, asked row by row: slower, and the same result."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import ibis
import pyarrow as pa

from scoter.batch import schemas
from scoter.batch.rows import DB, FETCH, datum_of, present, row_of, url_of
from scoter.batch.update.transition import Limits
from scoter.core.datum import CrawlDatum, PartStatus
from scoter.core.page import EMPTY
from scoter.core.update import Rules, update
from scoter.core.url import Url
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.plugins import Column

Ask: TypeAlias = Callable[[Mapping[str, Any]], CrawlDatum]
"""From a row to its new record."""


class Unscored:
    """A scoring chain of nothing."""

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        return datum

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        return new

    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        return datum


def asked(engine: Engine, rows: Rows, where: Any, ask: Ask, extra: Sequence[Column]) -> Rows:
    """Return the rows, those of a condition with the record that ``ask`` gives them."""
    schema = rows.schema().to_pyarrow()
    names = schemas.names(extra)

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


def by_transition(schedule: Any, limits: Limits, now: datetime, extra: Sequence[Column]) -> Ask:
    """Return the question what a record becomes before scoring, by ``core.update`` itself."""
    names = schemas.names(extra)
    rules = Rules(
        schedule=schedule, scoring=Unscored(), max_retries=limits.max_retries, max_interval=limits.max_interval
    )

    def ask(row: Mapping[str, Any]) -> CrawlDatum:
        fetch = None
        if row["f_url"] is not None:
            # Parsing may have found out more than the fetch: that the page is a redirect, or none that can be read.
            fetch = datum_of({**row, "f_status": row["outcome"]}, FETCH, names, "f_")
        best = [] if row["l_url"] is None else [_best(row, names)]
        parsed = dict(row["p_metadata"] or ())
        found = update(url_of(row), _old(row, names), fetch, best, row["p_signature"], now, rules, parsed)
        return found if found is not None else datum_of(row, DB, names)

    return ask


def by_initial(hook: Any, now: datetime, names: Sequence[str]) -> Ask:
    return lambda row: hook(url_of(row), datum_of(row, DB, names))


def by_update(hook: Any, now: datetime, names: Sequence[str]) -> Ask:
    def ask(row: Mapping[str, Any]) -> CrawlDatum:
        found: CrawlDatum = hook(url_of(row), _old(row, names), datum_of(row, DB, names), _links(row, names), now)
        return found

    return ask


def by_orphaned(hook: Any, now: datetime, names: Sequence[str]) -> Ask:
    return lambda row: hook(url_of(row), datum_of(row, DB, names), now)


def _old(row: Mapping[str, Any], names: Sequence[str]) -> CrawlDatum | None:
    return None if row["old_url"] is None else datum_of(row, DB, names, "old_")


def _best(row: Mapping[str, Any], names: Sequence[str]) -> CrawlDatum:
    return CrawlDatum(
        status=PartStatus.LINKED,
        score=row["best_score"],
        metadata=dict(row["best_metadata"] or ()) or EMPTY,
        extra=present({name: row[f"best_{name}"] for name in names}),
    )


def _links(row: Mapping[str, Any], names: Sequence[str]) -> list[CrawlDatum]:
    """Return the links, the best first."""
    found = sorted(row["links"] or (), key=lambda link: (-link["score"], not link["is_redirect"], link["source"]))
    return [
        CrawlDatum(
            status=PartStatus.LINKED,
            score=link["score"],
            metadata=dict(link["metadata"] or ()) or EMPTY,
            extra=present({name: link[name] for name in names}),
        )
        for link in found
    ]
