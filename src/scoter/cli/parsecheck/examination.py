"""What parsing makes of a document and why: its encoding, its pages, and which of their links are kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from scoter.cli.parsecheck.document import CheckedDocument
from scoter.config import Config
from scoter.core.chain import trace_filters, trace_normalize
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.page import Content, Outlink, Page
from scoter.core.scoring import ScoringChain
from scoter.core.signature import signed_text
from scoter.core.url import Url
from scoter.errors import PluginError
from scoter.parse import ContentParser, DropReason, LinkRules, Parsed, ParseFailed
from scoter.parse.encoding import decode_page
from scoter.parse.mediatype import TEXT
from scoter.plugins import POINTS, active, chain, installed

ROBOTS_FLAGS = ("noindex", "nofollow", "noarchive", "nosnippet")
_SLOW = 3.0  # seconds; documents that take longer are not parsed a second time to measure the time


class LinkOutcome(Struct, frozen=True):
    """Whether a link is kept, and as which ``target``, or why it is dropped."""

    link: Outlink
    target: Url | None
    dropped: DropReason | None = None
    detail: str = ""
    score: float | None = None
    """The share of the page's score that a kept link gets; ``None`` if the scoring filters drop it."""


class InnerPage(Struct, frozen=True):
    """A page inside another document, the number of its links that are kept, and why it is dropped itself, if it is."""

    page: Page
    kept: int
    dropped: DropReason | None = None


class DetectedEncoding(Struct, frozen=True):
    """A page's character encoding, how it was detected, and how many characters had to be replaced."""

    name: str
    why: str = ""
    replaced: int = 0


class Examination(Struct, frozen=True, kw_only=True):
    """The result; ``first`` is the time of the first parse in seconds, ``again`` that of a second one."""

    page: Page | None = None
    failure: ParseFailed | None = None
    encoding: DetectedEncoding | None = None
    links: tuple[LinkOutcome, ...] = ()
    entries: tuple[InnerPage, ...] = ()
    score: float = 0.0
    """The score of the page as a seed."""
    signatures: Mapping[str, bytes] = {}
    active_signature: str = ""
    first: float = 0.0
    again: float | None = None


def examine(config: Config, content: Content) -> Examination:
    """Parse content as a crawl would, and find out why the result is what it is."""
    config = replace(config, parse=replace(config.parse, store_text=True))
    scoring = ScoringChain(chain("scoring", config))
    datum = CrawlDatum(
        status=DbStatus.UNFETCHED, interval=config.db.fetch_interval_default, score=config.db.score_injected
    )
    datum = scoring.injected(content.url, datum)
    content = scoring.before_parsing(content.url, datum, content)
    with ContentParser(config) as parsing:
        began = time.perf_counter()
        outcome = parsing.parse(content)
        first = time.perf_counter() - began
        again = None
        if isinstance(outcome, Parsed) and first < _SLOW:
            began = time.perf_counter()
            parsing.parse(content)
            again = time.perf_counter() - began
    if not isinstance(outcome, Parsed):
        return Examination(failure=outcome, first=first)
    rules = LinkRules(config)
    own, *entries = (scoring.after_parsing(page.url, content, page) for page in outcome.pages)
    kept = rules.keep(own)
    scored = scoring.distribute(own.url, datum, own, kept.links, kept.found)
    scores = {link.target.text: link.score for link in scored}
    return Examination(
        page=own,
        score=datum.score,
        encoding=_encoding(config, content, own),
        links=tuple(
            replace(each, score=None if each.target is None else scores.get(each.target.text))
            for each in _links(config, rules, own)
        ),
        entries=tuple(_entry(rules, own, page) for page in entries),
        signatures=_signatures(config, content, signed_text(own.title, own.text)),
        active_signature=active(POINTS["signature"], config)[0],
        first=first,
        again=again,
    )


def _encoding(config: Config, content: Content, page: Page) -> DetectedEncoding | None:
    """Return a page's encoding; the reason is only known if detecting it again gives the same encoding."""
    if not page.encoding:
        return None
    default = config.parse.character_encoding_default
    found = decode_page(content.body, content.encoding, default, markup=content.media_type != TEXT)
    return (
        DetectedEncoding(page.encoding, found.why, found.replaced)
        if found.encoding == page.encoding
        else DetectedEncoding(page.encoding)
    )


def _links(config: Config, rules: LinkRules, page: Page) -> tuple[LinkOutcome, ...]:
    """Return the outcome of each link: first by itself, then against the limits of the page."""
    kept = {link.target.text for link in rules.keep(page).links}
    seen: set[str] = set()
    found: list[LinkOutcome] = []
    chains = chain("urlnormalizer", config), chain("urlfilter", config)
    for link in page.outlinks:
        alone = rules.keep(replace(page, outlinks=(link,)))
        if not alone.links:
            reason = next(iter(alone.dropped))
            found.append(LinkOutcome(link, None, reason, _detail(config, chains, link.target, reason)))
            continue
        target = alone.links[0].target
        if target.text in seen:
            found.append(LinkOutcome(link, None, DropReason.REPEATED))
        elif target.text in kept:
            seen.add(target.text)
            found.append(LinkOutcome(link, target))
        else:
            found.append(LinkOutcome(link, None, DropReason.TOO_MANY))
    return tuple(found)


def _entry(rules: LinkRules, own: Page, page: Page) -> InnerPage:
    """Return an inner page; a crawl keeps it if it would keep a link to it."""
    entrance = rules.keep(Page(url=own.url, outlinks=(Outlink(target=page.url),)))
    return InnerPage(page, len(rules.keep(page).links), next(iter(entrance.dropped), None))


def _detail(config: Config, chains: tuple[tuple[tuple[str, object], ...], ...], target: Url, reason: DropReason) -> str:
    """Return which normaliser or filter dropped a link, and why."""
    if reason not in (DropReason.FILTERED, DropReason.NO_URL):
        return ""
    normalizers, filters = chains
    url: Url | None = target
    if config.parse.normalize_urls:
        url, steps = trace_normalize(target.text, normalizers, "outlink", config.urlnormalizer.loop_count)  # type: ignore[arg-type]
    if url is not None:
        _, steps = trace_filters(url, filters)  # type: ignore[arg-type]
    last = steps[-1]
    return f"{last.name}: {last.why}" if last.why else last.name


def _signatures(config: Config, content: Content, text: str) -> dict[str, bytes]:
    """Return the signature by every installed plug-in; errors of inactive ones are ignored."""
    found: dict[str, bytes] = {}
    used = active(POINTS["signature"], config)
    for plugin in installed():
        if plugin.point.name == "signature":
            with suppress(*(() if plugin.name in used else (PluginError,))):
                found[plugin.name] = plugin.make(config).sign(content.url, content.body, text)
    return found


def as_object(document: CheckedDocument, found: Examination | None) -> dict[str, Any]:
    """Return the result as a JSON object; ``problem`` says why a document was not fetched or parsed."""
    content = document.content
    about: dict[str, Any] = {
        "url": document.url.text,
        "asked": document.asked,
        "parsed": found is not None and found.failure is None,
        "problem": document.problem or _failure(found),
        "status": document.status or None,
        "peer": document.peer or None,
        "hops": document.hops,
        "headers": document.headers,
        "robots_txt": document.robots,
        "timings": _timings(document, found),
    }
    if content is not None:
        why = "forced" if document.decision is None else document.decision.why
        about |= {
            "length": len(content.body),
            "wire_length": document.wire,
            "truncated": content.truncated,
            "coding_problem": document.coding_problem or None,
            "type": {"media_type": content.media_type, "why": why},
            "x_robots_tag": content.robots.splitlines(),
        }
    if found is not None and found.page is not None:
        about |= {
            "encoding": found.encoding,
            "score": found.score,
            "page": {**_page(found.page), "links": [_link(link) for link in found.links]},
            "entries": [_inner_object(each) for each in found.entries],
            "signatures": {name: value.hex() for name, value in found.signatures.items()},
            "signature_in_use": found.active_signature,
        }
    return {name: msgspec.to_builtins(value, enc_hook=_plain) for name, value in about.items()}


def _page(page: Page) -> dict[str, Any]:
    """Return a page without its links."""
    return {
        "url": page.url.text,
        "title": page.title,
        "language": page.language,
        "media_type": page.media_type,
        "doubt": page.doubt,
        "robots": {name: getattr(page, name) for name in (*ROBOTS_FLAGS, "unavailable_after")},
        "canonical": page.canonical and page.canonical.text,
        "base": page.base and page.base.text,
        "refresh": page.refresh and {"url": page.refresh.target.text, "seconds": page.refresh.seconds},
        "metadata": dict(page.metadata),
        "metas": {name: list(values) for name, values in page.metas.items()},
        "about": page.about,
        "headings": page.headings,
        "sections": page.sections,
        "alternates": [{**msgspec.structs.asdict(each), "url": each.url.text} for each in page.alternates],
        "text": page.text,
        "main_text": page.main_text,
        "markdown": page.markdown,
    }


def _inner_object(inner: InnerPage) -> dict[str, Any]:
    return {
        **_page(inner.page),
        "links": [_outlink(link) for link in inner.page.outlinks],
        "kept_links": inner.kept,
        "dropped": inner.dropped and inner.dropped.value,
    }


def _link(outcome: LinkOutcome) -> dict[str, Any]:
    return {
        **_outlink(outcome.link),
        "kept": outcome.target is not None,
        "kept_as": outcome.target and outcome.target.text,
        "dropped": outcome.dropped and outcome.dropped.value,
        "detail": outcome.detail or None,
        "score": outcome.score,
    }


def _outlink(link: Outlink) -> dict[str, Any]:
    return {"url": link.target.text, "kind": link.kind, "anchor": link.anchor, "rel": link.rel}


def _timings(document: CheckedDocument, found: Examination | None) -> dict[str, Any]:
    parse = {} if found is None else {"parse": found.first, "parse_again": found.again}
    fetch = {} if document.timings is None else {"fetch": document.timings, "waited": document.waited}
    return {**fetch, **parse}


def _failure(found: Examination | None) -> str | None:
    if found is None or found.failure is None:
        return None
    return f"{found.failure.reason}: {found.failure.detail}" if found.failure.detail else found.failure.reason


def _plain(value: Any) -> Any:
    return dict(value)
