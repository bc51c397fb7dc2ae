"""What is known of a URL in one sentence: why it was fetched, or why not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from scoter.batch.explain import Explanation
from scoter.core.datum import EPOCH, CrawlDatum, DbStatus
from scoter.core.display import ago, count
from scoter.core.schedule import last_fetch

_ENDED = {
    DbStatus.GONE: "gone",
    DbStatus.PARSE_FAILED: "could not be parsed",
    DbStatus.ORPHAN: "no longer linked from anywhere",
}


def verdict(found: Explanation, now: datetime) -> str:
    """Return the sentence that comes first."""
    return _unknown(found, now) if found.datum is None else _known(found, found.datum, now)


def _known(found: Explanation, datum: CrawlDatum, now: datetime) -> str:
    again = f"due again {_day(datum.fetch_time)}" if datum.fetch_time > now else f"due since {_day(datum.fetch_time)}"
    match datum.status:
        case DbStatus.UNFETCHED:
            return _waiting(found, datum, now)
        case DbStatus.FETCHED:
            return f"fetched{_when(found, datum, now)}; {again}"
        case DbStatus.NOTMODIFIED:
            return f"fetched{_when(found, datum, now)}, and had not changed; {again}"
        case DbStatus.REDIR_TEMP | DbStatus.REDIR_PERM:
            target = f" to {found.redirects[0]['to']}" if found.redirects else ""
            return f"redirected{target}{_when(found, datum, now)}; {again}"
        case DbStatus.DUPLICATE:
            of = f" of {found.duplicates.first[0]['url']}" if found.duplicates.first else ""
            return f"a duplicate{of}, fetched{_when(found, datum, now)}; {again}"
        case DbStatus.GONE | DbStatus.PARSE_FAILED | DbStatus.ORPHAN as status:
            return f"{_ENDED[status]}{_cause(found)}{_when(found, datum, now)}; {again}"
        case _:
            return again


def _waiting(found: Explanation, datum: CrawlDatum, now: datetime) -> str:
    """Tell what an unfetched URL waits for."""
    if found.listed:
        return f"waiting in the fetch list of segment {found.listed[-1]}; run `scoter fetch`"
    pending = [row for row in found.fetches if row["segment"] not in found.applied]
    if pending:
        return f"fetched{_when(found, datum, now)} ({_outcome(pending[-1])}); `scoter updatedb` has not seen it yet"
    if not found.is_kept:
        return f"never fetched: {_dropped(found)}"
    times = "once" if datum.retries == 1 else f"{datum.retries} times, the last one"
    tried = f"tried {times}{_cause(found)}{_when(found, datum, now)}" if datum.retries else ""
    if not found.is_due:
        return f"{tried or 'never fetched'}; not due before {_day(datum.fetch_time)}"
    verb = "has" if found.ahead == 1 else "have"
    queue = f"{count(found.ahead, 'due URL')} {verb} a higher score" if found.ahead else "no due URL has a higher score"
    return f"waiting{': ' + tried if tried else ''}; due since {_day(datum.fetch_time)}, {queue}"


def _unknown(found: Explanation, now: datetime) -> str:
    fetched = [row for row in found.fetches if row["segment"] not in found.applied]
    if fetched:
        last = fetched[-1]
        said = f"fetched {ago(last['fetch_time'], now)} ({_outcome(last)}) in segment {last['segment']}"
        return f"{said}, which `scoter updatedb` has not seen yet"
    if not found.is_kept:
        return f"never fetched: {_dropped(found)}"
    for some, said in ((found.links, "linked from"), (found.redirected_from, "the target of a redirect from")):
        pending = [row for row in some.first if row["segment"] not in found.applied]
        if pending:
            source = pending[0].get("source") or pending[0]["url"]
            return f"{said} {source}, but `scoter updatedb` has not seen segment {pending[0]['segment']} yet"
        if some.first:
            return f"{said} {some.first[0].get('source') or some.first[0]['url']}, but not in the crawldb: " + (
                "; ".join(found.rules) or "it was removed, or a rule of that time kept it out"
            )
    reasons = "; ".join(_absence(found))
    return (
        f"unknown: no page that was parsed links to it ({reasons})"
        if reasons
        else "unknown: no page that was parsed links to it"
    )


def _absence(found: Explanation) -> Iterator[str]:
    yield "its host is known" if found.is_host_known else "no URL of its host is known either"
    yield from found.rules


def _dropped(found: Explanation) -> str:
    for kind, steps in (("urlnormalizer", found.normalizers), ("urlfilter", found.filters)):
        for step in steps:
            if not step.kept:
                return f"dropped by {kind} {step.name}" + (f" ({step.why})" if step.why else "")
    return "dropped"


def _cause(found: Explanation) -> str:
    return f" ({_outcome(found.fetches[-1])})" if found.fetches else ""


def _outcome(row: Any) -> str:
    said = [row["reason"] or row["status"], row["detail"], f"HTTP {row['http_status']}" if row["http_status"] else ""]
    return ", ".join(dict.fromkeys(each for each in said if each))


def _when(found: Explanation, datum: CrawlDatum, now: datetime) -> str:
    moment = found.fetches[-1]["fetch_time"] if found.fetches else last_fetch(datum)
    return f" {ago(moment, now)}" if moment not in (None, EPOCH) else ""


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
