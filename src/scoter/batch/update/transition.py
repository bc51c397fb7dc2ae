"""The rule of ``core.update`` as column expressions, from joined inputs to records.

Each stage adds columns: first the outcome, then the record before any rule, then the schedule's changes, then status
and signature. The functions correspond to those in ``core.update``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.core.datum import GENERATE_MARK
from scoter.engine.port import Rows
from scoter.engine.portable import map_concat, map_without
from scoter.plugins import Column
from scoter.plugins.recorded import ibis, is_expression

ANSWERED = ("success", "redir_temp", "redir_perm", "notmodified")
ENDED = ("gone", "parse_failed")


class UpdateLimits(Struct, frozen=True, kw_only=True):
    """The limits of the ``db`` settings."""

    max_retries: int = 3
    max_interval: timedelta = timedelta(days=90)


def outcomes(rows: Rows, now: Any, *, marks_failures: bool) -> Rows:
    """Add ``outcome`` (``none`` if nothing happened), ``change``, ``fetched`` and ``now``.

    With ``marks_failures``, a page with a parse error is ``parse_failed``, otherwise it counts as fetched.
    """
    failed = (rows.f_status == "success") & (rows.p_status == "failed").fill_null(False) & marks_failures
    # An immediate meta refresh counts as a temporary redirect.
    is_refresh = (rows.f_status == "success") & (rows.p_status == "redirect").fill_null(False)
    outcome = ibis.cases(
        (rows.f_url.isnull() & rows.link_score.isnull(), "none"),
        (rows.f_url.isnull(), "linked"),
        (failed, "parse_failed"),
        (is_refresh, "redir_temp"),
        else_=rows.f_status,
    )
    rows = rows.mutate(
        outcome=outcome,
        fetched=rows.f_fetch_time,
        now=now,
        known_signature=rows.p_signature.coalesce(rows.f_signature),
    )
    compared = (rows.outcome == "success") & rows.old_signature.notnull() & rows.known_signature.notnull()
    change = ibis.cases(
        (rows.outcome == "notmodified", "notmodified"),
        (compared & (rows.old_signature == rows.known_signature), "notmodified"),
        (compared, "modified"),
        else_="unknown",
    )
    return rows.mutate(change=change)


def merge_records(rows: Rows, extra: Sequence[Column]) -> Rows:
    """Add the record before any rule: new values over known ones."""
    is_new = rows.old_url.isnull() & rows.f_url.isnull()
    # In steps: SQL has no names for parts of an expression, and repeating these took half of a small update.
    rows = rows.mutate(known_metadata=map_concat(rows.old_metadata, rows.f_metadata))
    with_page = map_concat(rows.known_metadata, rows.p_metadata)
    found = ibis.cases((is_new, rows.best_metadata), (rows.outcome == "success", with_page), else_=rows.known_metadata)
    rows = rows.mutate(known_metadata=found)
    return rows.mutate(
        status=rows.old_status.coalesce("unfetched"),
        fetch_time=rows.f_fetch_time.coalesce(rows.old_fetch_time),
        modified_time=rows.f_modified_time.coalesce(rows.old_modified_time),
        retries=rows.f_retries.coalesce(rows.old_retries),
        interval=rows.f_interval.coalesce(rows.old_interval),
        score=rows.f_score.coalesce(rows.old_score, rows.best_score),
        signature=rows.outcome.isin(ANSWERED).ifelse(rows.f_signature, rows.old_signature),
        metadata=(rows.outcome == "none").ifelse(rows.old_metadata, map_without(rows.known_metadata, GENERATE_MARK)),
        **{
            name: is_new.ifelse(rows[f"best_{name}"], rows[f"f_{name}"].coalesce(rows[f"old_{name}"]))
            for name in schemas.column_names(extra)
        },
    )


def transition(rows: Rows, schedule: Any, limits: UpdateLimits) -> Rows:
    """Add the record before scoring."""
    answered = rows.outcome.isin(ANSWERED)
    rows = apply_changes(
        rows.mutate(known_modified=rows.modified_time),
        (answered, schedule.fetched_columns(rows)),
        (rows.outcome == "retry", schedule.retry_columns(rows)),
        (is_added(rows), schedule.first_columns(rows)),
    )
    rows = _set_status(rows, limits)
    ended = rows.status.isin(ENDED) & rows.outcome.isin((*ENDED, "retry"))
    too_long = rows.outcome.isin(ANSWERED) & (rows.interval > int(limits.max_interval.total_seconds()))
    return apply_changes(rows, (ended, schedule.gone_columns(rows)), (too_long, schedule.force_columns(rows)))


def _set_status(rows: Rows, limits: UpdateLimits) -> Rows:
    """Set status, signature and modified time, after the schedule."""
    answered = rows.outcome.isin(ANSWERED)
    same = answered & (rows.change == "notmodified")
    status = ibis.cases(
        (rows.outcome.isin(("none", "linked")), rows.status),
        (same, "notmodified"),
        (rows.outcome == "success", "fetched"),
        (rows.outcome != "retry", rows.outcome),
        (rows.retries < limits.max_retries, "unfetched"),
        else_="gone",
    )
    signature = ibis.cases(
        (same & rows.old_url.notnull(), rows.old_signature),
        (answered, rows.known_signature),
        else_=rows.signature,
    )
    return rows.mutate(
        status=status,
        signature=signature,
        modified_time=same.ifelse(rows.known_modified, rows.modified_time),
    )


def is_added(rows: Rows) -> Any:
    """Return whether each URL is new and only linked to."""
    return (rows.outcome == "linked") & rows.old_url.isnull()


def is_touched(rows: Rows) -> Any:
    """Return whether the segments say anything about each URL."""
    return rows.outcome != "none"


def apply_changes(rows: Rows, *changes: tuple[Any, Mapping[str, Any]]) -> Rows:
    """Return the rows with columns changed by the first condition that holds."""
    names = dict.fromkeys(name for _, found in changes for name in found)
    kinds = {name: rows[name].type() for name in names}
    return rows.mutate(
        **{
            name: ibis.cases(
                *(
                    (condition, _as(found[name], kinds[name]) if name in found else rows[name])
                    for condition, found in changes
                ),
                else_=rows[name],
            )
            for name in names
        }
    )


def _as(value: Any, kind: Any) -> Any:
    """Return a plug-in's value, a constant or an expression, as a column of a type."""
    return (value if is_expression(value) else ibis.literal(value)).cast(kind)  # to the same type: does nothing
