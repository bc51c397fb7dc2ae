"""The update rule: the record of a URL after a round, from its old record and what the round found.

Db statuses are decided only here, so every transition can be read from top to bottom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, Protocol, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.datum import GENERATE_MARK, CrawlDatum, DbStatus, FetchStatus, PartStatus
from scoter.core.page import EMPTY
from scoter.core.schedule import Change
from scoter.core.url import Url

Outcome: TypeAlias = FetchStatus | Literal[PartStatus.PARSE_FAILED, PartStatus.LINKED]


class UpdateSchedule(Protocol):
    """The part of a schedule that an update needs."""

    def first(self, datum: CrawlDatum, now: datetime) -> CrawlDatum: ...
    def fetched(self, url: Url, datum: CrawlDatum, fetched: datetime, change: Change) -> CrawlDatum: ...
    def retry(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum: ...
    def gone(self, datum: CrawlDatum, fetched: datetime) -> CrawlDatum: ...
    def force(self, datum: CrawlDatum) -> CrawlDatum: ...


class UpdateScoring(Protocol):
    """The part of the scoring chain that an update needs."""

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum: ...
    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum: ...
    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum: ...


class UpdateRules(Struct, frozen=True, kw_only=True):
    """The schedule, scoring and limits of an update."""

    schedule: UpdateSchedule
    scoring: UpdateScoring
    additions: bool = True
    max_inlinks: int = 10_000
    max_retries: int = 3
    max_interval: timedelta = timedelta(days=90)


def update(
    url: Url,
    old: CrawlDatum | None,
    fetch: CrawlDatum | None,
    links: Sequence[CrawlDatum],
    signature: bytes | None,
    now: datetime,
    rules: UpdateRules,
    parsed: Mapping[str, str] = EMPTY,
) -> CrawlDatum | None:
    """Return the new record of a URL, or ``None`` to leave it out.

    ``fetch`` is the result of a fetch (or ``parse_failed``), ``links`` are the inlinks, ``signature`` is that of the
    parsed content, and ``parsed`` the metadata from parsing.
    """
    if old is None and not rules.additions:
        return None
    best = best_links(links, rules.max_inlinks)
    outcome = _outcome(fetch)
    if (fetch is None or outcome is None) and best:
        fetch, outcome = best[0], PartStatus.LINKED
    if fetch is None or outcome is None:
        return None if old is None else rules.scoring.orphaned(url, old, now)
    known = signature if signature is not None else fetch.signature
    result = _transition(url, old, fetch, outcome, known, now, rules, parsed)
    return _without_mark(rules.scoring.update(url, old, result, best, now))


def newest(records: Sequence[CrawlDatum]) -> CrawlDatum | None:
    """Return the record with the latest fetch time."""
    return max(records, key=lambda record: record.fetch_time, default=None)


def best_links(links: Sequence[CrawlDatum], limit: int) -> Sequence[CrawlDatum]:
    """Return at most ``limit`` links, best scores first; ties keep their order."""
    if len(links) < 2:
        return links[:limit]
    return sorted(links, key=lambda link: -link.score)[:limit]


def _outcome(fetch: CrawlDatum | None) -> Outcome | None:
    """Return the outcome of a fetch record, or ``None`` for other records."""
    status = None if fetch is None else fetch.status
    if isinstance(status, FetchStatus) or status is PartStatus.PARSE_FAILED or status is PartStatus.LINKED:
        return status
    return None


def _transition(
    url: Url,
    old: CrawlDatum | None,
    fetch: CrawlDatum,
    outcome: Outcome,
    signature: bytes | None,
    now: datetime,
    rules: UpdateRules,
    parsed: Mapping[str, str],
) -> CrawlDatum:
    """Return the new record before scoring."""
    match outcome:
        case PartStatus.LINKED:
            if old is not None:
                return old
            first = rules.schedule.first(fetch, now)
            return rules.scoring.initial(url, replace(first, status=DbStatus.UNFETCHED))
        case FetchStatus.SUCCESS | FetchStatus.REDIR_TEMP | FetchStatus.REDIR_PERM | FetchStatus.NOTMODIFIED:
            result = _over(old, fetch, parsed if outcome is FetchStatus.SUCCESS else EMPTY)
            return _answered(url, old, result, outcome, signature, fetch.fetch_time, rules)
        case FetchStatus.RETRY:
            result = replace(_over(old, fetch), signature=old.signature if old else None)
            result = rules.schedule.retry(result, fetch.fetch_time)
            if result.retries < rules.max_retries:
                return replace(result, status=DbStatus.UNFETCHED)
            return rules.schedule.gone(replace(result, status=DbStatus.GONE), fetch.fetch_time)
        case FetchStatus.GONE | PartStatus.PARSE_FAILED:
            ended = DbStatus.GONE if outcome is FetchStatus.GONE else DbStatus.PARSE_FAILED
            result = replace(_over(old, fetch), signature=old.signature if old else None, status=ended)
            return rules.schedule.gone(result, fetch.fetch_time)
        case _:
            assert_never(outcome)


def _answered(
    url: Url,
    old: CrawlDatum | None,
    result: CrawlDatum,
    status: FetchStatus,
    signature: bytes | None,
    fetched: datetime,
    rules: UpdateRules,
) -> CrawlDatum:
    """Update a page that responded, by its status and by whether its content changed."""
    change = _change(old, status, signature)
    before = result.modified_time
    result = rules.schedule.fetched(url, result, fetched, change)
    if change is Change.NOTMODIFIED:
        result = replace(
            result,
            status=DbStatus.NOTMODIFIED,
            modified_time=before,
            signature=old.signature if old else signature,
        )
    else:
        result = replace(result, status=_ANSWERED[status], signature=signature)
    return rules.schedule.force(result) if result.interval > rules.max_interval else result


_ANSWERED = {
    FetchStatus.SUCCESS: DbStatus.FETCHED,
    FetchStatus.REDIR_TEMP: DbStatus.REDIR_TEMP,
    FetchStatus.REDIR_PERM: DbStatus.REDIR_PERM,
}


def _change(old: CrawlDatum | None, status: FetchStatus, signature: bytes | None) -> Change:
    if status is FetchStatus.NOTMODIFIED:
        return Change.NOTMODIFIED
    if status is not FetchStatus.SUCCESS or old is None or old.signature is None or signature is None:
        return Change.UNKNOWN
    return Change.NOTMODIFIED if old.signature == signature else Change.MODIFIED


def _over(old: CrawlDatum | None, fetch: CrawlDatum, parsed: Mapping[str, str] = EMPTY) -> CrawlDatum:
    """Merge the fetch into the old record."""
    if old is None:
        return replace(fetch, metadata={**fetch.metadata, **parsed}) if parsed else fetch
    return replace(
        fetch,
        metadata={**old.metadata, **fetch.metadata, **parsed},
        extra={**old.extra, **fetch.extra},
        modified_time=fetch.modified_time or old.modified_time,
    )


def _without_mark(datum: CrawlDatum) -> CrawlDatum:
    if GENERATE_MARK not in datum.metadata:
        return datum
    kept = {key: value for key, value in datum.metadata.items() if key != GENERATE_MARK}
    return replace(datum, metadata=kept)
