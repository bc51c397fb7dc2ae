"""explain: everything known about one URL, found by its key without an engine, and a one-sentence summary."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any

import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import asdict

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import scoring_columns, table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import json_value
from scoter.batch.crawldir.lookup import find_rows, has_host, url_rows
from scoter.batch.crawldir.schemas import DEFERRED, datum_of
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.fetchlists.traps import suspected_trap
from scoter.batch.hosts.robots import robots_verdict
from scoter.batch.urls.refusals import FOR_OWN_HOSTS, Remedy, is_outdated, remedy
from scoter.batch.urls.seeds import with_scope
from scoter.config import Config
from scoter.core.chain import Step, trace_filters, trace_normalize
from scoter.core.datum import EPOCH, CrawlDatum, DbStatus, short_name
from scoter.core.display import ago, count
from scoter.core.robots import Verdict
from scoter.core.schedule import last_fetch
from scoter.core.url import Url, canonical
from scoter.engine.sources import source_of
from scoter.plugins import chain
from scoter.store.tables import Table

MAX_SHOWN = 5
"""How many links, inlinks, duplicates and redirects are shown."""
MAX_HOPS = 5
_DUPLICATE = short_name(DbStatus.DUPLICATE)

Row = Mapping[str, Any]


class RowSample(Struct, frozen=True):
    """The number of rows, and the first few of them."""

    count: int = 0
    first: tuple[Row, ...] = ()


class Explanation(Struct, frozen=True, kw_only=True):
    """What is known about a URL.

    ``ahead`` is the number of due URLs with a higher score, if the URL is due; ``trap`` says why it may be part of a
    trap, and ``trap_share`` is the setting that then limits it. ``remedy`` is what would allow a URL that a setting
    refuses; with ``is_outdated``, it has changed since, so the URL is due. ``listed`` are the segments in whose
    fetch lists it waits, ``skipped`` those that were fetched without requesting it. ``rules`` describes the settings
    that drop links to it; ``robots`` is what the cached robots.txt says. ``links`` are the links in segments, highest
    score first; ``inlinks`` those of the linkdb.
    """

    asked: str
    url: Url
    domain: str
    normalizers: tuple[Step, ...]
    filters: tuple[Step, ...]
    is_kept: bool
    rules: tuple[str, ...]
    robots: Verdict | None
    record: Row | None
    datum: CrawlDatum | None
    is_due: bool = False
    is_outdated: bool = False
    remedy: Remedy | None = None
    ahead: int = 0
    trap: str = ""
    trap_share: float = 1.0
    listed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    fetches: tuple[Row, ...] = ()
    parses: tuple[Row, ...] = ()
    links: RowSample = RowSample()
    link_score: float = 0.0
    inlinks: RowSample = RowSample()
    redirected_from: RowSample = RowSample()
    redirects: tuple[Row, ...] = ()
    duplicates: RowSample = RowSample()
    applied: tuple[str, ...] = ()
    is_host_known: bool = False


class _CrawlTables:
    """The open tables of a crawl."""

    def __init__(self, crawl: CrawlDir, config: Config, stack: ExitStack) -> None:
        self.extra = scoring_columns(config)
        self.segments: Sequence[tuple[Segment, SegmentSources]] = [
            (segment, SegmentSources([segment], self.extra)) for segment in crawl.all_segments()
        ]
        self.crawldb = self.linkdb = None
        if table_exists(crawl.crawldb):
            self.crawldb = stack.enter_context(Table.open(crawl.crawldb, schemas.CRAWLDB, extra=self.extra))
        if table_exists(crawl.linkdb):
            self.linkdb = stack.enter_context(Table.open(crawl.linkdb, schemas.LINKDB))

    def applied(self) -> tuple[str, ...]:
        """Return the names of the segments in the crawldb."""
        names = self.crawldb.manifest.applied if self.crawldb is not None else ()
        return tuple(segment.name for segment, _ in self.segments if segment.is_in(names))

    def record(self, url: Url) -> Row | None:
        return None if self.crawldb is None else next(url_rows(source_of(self.crawldb), url), None)

    def fetches(self, url: Url) -> tuple[Row, ...]:
        found = self.in_segments(lambda parts: url_rows(parts.fetch, url))
        return tuple(sorted(found, key=lambda row: (row["fetch_time"] is not None, row["fetch_time"])))

    def redirects_to(self, url: Url) -> Iterator[Row]:
        wanted = {"redirect_key": url.key, "redirect_to": url.text}
        for row in self.in_segments(lambda parts: find_rows(parts.fetch, wanted)):
            yield {name: row[name] for name in ("segment", "url", "status")}

    def in_segments(self, rows: Callable[[SegmentSources], Iterator[Row]]) -> Iterator[Row]:
        """Yield rows of all segments, each with the name of its segment."""
        for segment, parts in self.segments:
            for row in rows(parts):
                yield {"segment": segment.name, **row}

    def listed(self, url: Url) -> Iterator[Segment]:
        """Yield the segments with a URL in their fetch lists but without an outcome for it."""
        for segment, parts in self.segments:
            if any(url_rows(parts.generate, url)) and not any(url_rows(parts.fetch, url)):
                yield segment

    def inlinks(self, url: Url) -> RowSample:
        row = None if self.linkdb is None else next(url_rows(source_of(self.linkdb), url), None)
        found = sorted((row or {}).get("inlinks") or (), key=lambda link: (link["url"], link["anchor"] or ""))
        return RowSample(len(found), tuple(found[:MAX_SHOWN]))

    def duplicates(self, url: Url, signature: bytes | None) -> RowSample:
        if self.crawldb is None or not signature:
            return RowSample()
        source = source_of(self.crawldb, ["url", "status", "score", "signature"])
        alike = (row for row in find_rows(source, {"signature": signature}) if row["url"] != url.text)
        # The original comes before other duplicates.
        shown = ({name: row[name] for name in ("url", "status", "score")} for row in alike)
        return _some(shown, last=lambda row: row["status"] == _DUPLICATE)


def explain(crawl: CrawlDir, config: Config, url: str, *, now: datetime) -> Explanation:
    """Return everything known about a URL, which need not be in canonical form."""
    asked = canonical(url)
    config = with_scope(config, crawl)
    normal, steps = trace_normalize(
        asked.text, chain("urlnormalizer", config), "default", config.urlnormalizer.loop_count
    )
    with ExitStack() as stack:
        known = _CrawlTables(crawl, config, stack)
        record = known.record(asked)
        # URLs stored before the rules changed are found in their old form.
        wanted = asked if record is not None or normal is None else normal
        record = record or known.record(wanted)
        is_kept, filters = trace_filters(wanted, chain("urlfilter", config))
        datum = None if record is None else datum_of(record, extra=schemas.column_names(known.extra))
        is_changed = datum is not None and is_outdated(datum.metadata, config)
        is_due = datum is not None and (is_changed or chain("schedule", config)[0][1].due(datum, now)[0])
        fetches, listed = known.fetches(wanted), tuple(known.listed(wanted))
        links, link_score = _best_links(known.in_segments(lambda parts: url_rows(parts.links, wanted)))
        return Explanation(
            asked=url,
            url=wanted,
            domain=wanted.domain,
            normalizers=steps,
            filters=filters,
            is_kept=is_kept and normal is not None,
            rules=tuple(_rules(config)),
            robots=robots_verdict(crawl, config, wanted),
            record=record,
            datum=datum,
            is_due=is_due,
            is_outdated=is_changed,
            remedy=None if is_changed else _remedy(fetches, config),
            trap=suspected_trap(crawl, config, wanted, now) if _is_new(datum) else "",
            trap_share=config.generate.trap_share,
            ahead=_ahead(known.crawldb, datum, now) if is_due and datum is not None else 0,
            listed=tuple(segment.name for segment in listed if not segment.is_fetched),
            skipped=tuple(segment.name for segment in listed if segment.is_fetched),
            fetches=fetches,
            parses=tuple(known.in_segments(lambda parts: url_rows(parts.parse_data, wanted))),
            links=links,
            link_score=link_score,
            inlinks=known.inlinks(wanted),
            redirected_from=_some(known.redirects_to(wanted)),
            redirects=tuple(_hops(known, wanted, fetches)),
            duplicates=known.duplicates(wanted, datum.signature if datum else None),
            applied=known.applied(),
            is_host_known=record is not None
            or (known.crawldb is not None and has_host(source_of(known.crawldb, ["key"]), wanted)),
        )


def _remedy(fetches: Sequence[Row], config: Config) -> Remedy | None:
    last = fetches[-1] if fetches else {}
    return remedy(last["reason"], last["url"], last["detail"] or "", config) if last.get("reason") else None


def _is_new(datum: CrawlDatum | None) -> bool:
    return datum is not None and datum.status is DbStatus.UNFETCHED


def _ahead(crawldb: Any, datum: CrawlDatum, now: datetime) -> int:
    better = pc.field("score") > datum.score
    return int(crawldb.count(better & (pc.field("fetch_time") <= pc.scalar(now))))


def _best_links(links: Iterable[Row]) -> tuple[RowSample, float]:
    """Return the links with the highest scores, their number, and the sum of all scores."""
    count, total = 0, 0.0
    best: list[Row] = []
    for count, link in enumerate(links, 1):  # noqa: B007 - the last number is the count
        total += link["score"] or 0.0
        best = heapq.nlargest(MAX_SHOWN, [*best, link], key=lambda each: each["score"] or 0.0)
    shown = ("segment", "source", "anchor", "rel", "score")
    return RowSample(count, tuple({name: link[name] for name in shown} for link in best)), total


def _hops(known: _CrawlTables, url: Url, fetches: Sequence[Row]) -> Iterator[Row]:
    """Yield the redirect chain of a URL, by the last fetch of each hop."""
    seen = {url.text}
    for _ in range(MAX_HOPS):
        if not fetches or not fetches[-1]["redirect_to"]:
            return
        last = fetches[-1]
        target = Url(last["redirect_to"], last["redirect_key"], last["redirect_host"])
        record = known.record(target)
        known_as = record["status"] if record is not None else None
        yield {"from": last["url"], "to": target.text, "http_status": last["http_status"], "known_as": known_as}
        if target.text in seen:
            return
        seen.add(target.text)
        fetches = known.fetches(target)


def _rules(config: Config) -> Iterator[str]:
    own = config.db.ignore_external_links_mode
    if config.db.ignore_external_links:
        yield f"db.ignore_external_links: a link from another {own} is dropped"
    if config.db.ignore_internal_links:
        yield f"db.ignore_internal_links: a link from the same {own} is dropped"
    if not config.db.update_additions_allowed:
        yield "db.update_additions_allowed is off: links bring no new URLs"


def _some(rows: Iterable[Row], last: Callable[[Row], bool] = lambda row: False) -> RowSample:
    """Return the first few rows; those for which ``last`` is true come after the others."""
    first: list[Row] = []
    after: list[Row] = []
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - the last number is the count
        among = after if last(row) else first
        if len(among) < MAX_SHOWN:
            among.append(row)
    return RowSample(count, tuple([*first, *after][:MAX_SHOWN]))


_ENDED = {
    DbStatus.GONE: "gone",
    DbStatus.PARSE_FAILED: "could not be parsed",
    DbStatus.ORPHAN: "no longer linked from anywhere",
}


def summarize(found: Explanation, now: datetime) -> str:
    """Return the state of a URL in one sentence: why it was fetched, or why not."""
    return _unknown(found, now) if found.datum is None else _known(found, found.datum, now)


def _known(found: Explanation, datum: CrawlDatum, now: datetime) -> str:
    again = f"due again {_day(datum.fetch_time)}" if datum.fetch_time > now else f"due since {_day(datum.fetch_time)}"
    again = "due, because a setting has changed since" if found.is_outdated else again + _allowed(found)
    match datum.status:
        case DbStatus.UNFETCHED:
            return _waiting(found, datum, now)
        case DbStatus.FETCHED:
            return f"fetched{_when(found, datum, now)}; {again}"
        case DbStatus.NOTMODIFIED:
            return f"fetched{_when(found, datum, now)} and not modified; {again}"
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
    """Return what an unfetched URL is waiting for."""
    if found.listed:
        return f"waiting in the fetch list of segment {found.listed[-1]}; run `scoter fetch`"
    pending = [row for row in _requested(found) if row["segment"] not in found.applied]
    if pending:
        said = f"fetched{_when(found, datum, now)} ({_outcome(pending[-1])})"
        return f"{said}; not in the crawldb yet, run `scoter updatedb`"
    if not found.is_kept:
        return f"never fetched: {_dropped(found)}"
    times = "once" if datum.retries == 1 else f"{datum.retries} times, the last one"
    tried = f"tried {times}{_cause(found)}{_when(found, datum, now)}" if datum.retries else ""
    if found.fetches and found.fetches[-1]["status"] == DEFERRED:
        last = found.fetches[-1]
        tried = f"{tried + ', ' if tried else ''}not requested {ago(last['fetch_time'], now)} ({_outcome(last)})"
    if not found.is_due:
        return f"{tried or 'never fetched'}; not due before {_day(datum.fetch_time)}{_allowed(found)}"
    if found.trap:
        most = f"at most {found.trap_share:.4g} of a fetch list" if found.trap_share else "nothing"
        held = f"held back as a possible trap ({found.trap}): generate.trap_share lets {most} come from traps"
        return f"{tried + '; ' if tried else ''}{held}; to fetch it anyway: -D generate.trap_share=1"
    verb = "has" if found.ahead == 1 else "have"
    queue = f"{count(found.ahead, 'due URL')} {verb} a higher score" if found.ahead else "no due URL has a higher score"
    since = "due, because a setting has changed since" if found.is_outdated else f"due since {_day(datum.fetch_time)}"
    return f"waiting{': ' + tried if tried else ''}; {since}, {queue}{_allowed(found)}"


def _allowed(found: Explanation) -> str:
    if found.remedy is None:
        return ""
    where = " on a host of your own" if found.remedy.setting == FOR_OWN_HOSTS else ""
    return f"; to allow it{where}: {found.remedy.setting}"


def _unknown(found: Explanation, now: datetime) -> str:
    fetched = [row for row in _requested(found) if row["segment"] not in found.applied]
    if fetched:
        last = fetched[-1]
        said = f"fetched {ago(last['fetch_time'], now)} ({_outcome(last)}) in segment {last['segment']}"
        return f"{said}, which is not in the crawldb yet, run `scoter updatedb`"
    if not found.is_kept:
        return f"never fetched: {_dropped(found)}"
    for some, said in ((found.links, "linked from"), (found.redirected_from, "the target of a redirect from")):
        pending = [row for row in some.first if row["segment"] not in found.applied]
        if pending:
            source = pending[0].get("source") or pending[0]["url"]
            return (
                f"{said} {source}, but segment {pending[0]['segment']} is not in the crawldb yet, run `scoter updatedb`"
            )
        if some.first:
            return f"{said} {some.first[0].get('source') or some.first[0]['url']}, but not in the crawldb: " + (
                "; ".join(found.rules) or "it was removed, or a filter dropped it at that time"
            )
    reasons = "; ".join(_absence(found))
    return f"unknown: no parsed page links to it ({reasons})" if reasons else "unknown: no parsed page links to it"


def _absence(found: Explanation) -> Iterator[str]:
    yield "its host is known" if found.is_host_known else "no URL of its host is known"
    yield from found.rules


def _dropped(found: Explanation) -> str:
    for kind, steps in (("urlnormalizer", found.normalizers), ("urlfilter", found.filters)):
        for step in steps:
            if not step.kept:
                return f"dropped by {kind} {step.name}" + (f" ({step.why})" if step.why else "")
    return "dropped"


def _requested(found: Explanation) -> list[Row]:
    return [row for row in found.fetches if row["status"] != DEFERRED]


def _cause(found: Explanation) -> str:
    fetches = _requested(found)
    return f" ({_outcome(fetches[-1])})" if fetches else ""


def _outcome(row: Any) -> str:
    said = [row["reason"] or row["status"], row["detail"], f"HTTP {row['http_status']}" if row["http_status"] else ""]
    return ", ".join(dict.fromkeys(each for each in said if each))


def _when(found: Explanation, datum: CrawlDatum, now: datetime) -> str:
    fetches = _requested(found)
    moment = fetches[-1]["fetch_time"] if fetches else last_fetch(datum)
    return f" {ago(moment, now)}" if moment not in (None, EPOCH) else ""


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def explanation_facts(found: Explanation, sentence: str) -> dict[str, Any]:
    """Return an explanation and its summary for JSON."""
    fields = {name: getattr(found, name) for name in found.__struct_fields__ if name not in ("url", "datum")}
    for name in ("links", "inlinks", "redirected_from", "duplicates"):
        fields[name] = asdict(fields[name])
    for name in ("normalizers", "filters"):
        fields[name] = list(map(asdict, fields[name]))
    fields["remedy"] = None if found.remedy is None else asdict(found.remedy)
    fields["robots"] = None if found.robots is None else asdict(found.robots)
    about = {"url": found.url.text, "key": found.url.key, "host": found.url.host, "verdict": sentence}
    facts: dict[str, Any] = json_value({**about, **fields})
    return facts
