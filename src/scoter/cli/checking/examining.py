"""What a document is parsed into, and why: its type and encoding, its pages, the fate of each of their links."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.chain import trace_filters, trace_normalize
from scoter.core.page import Content, Outlink, Page
from scoter.core.url import Url
from scoter.errors import PluginError
from scoter.parse import ContentParser, DropReason, LinkRules, Parsed, ParseFailed
from scoter.parse.encoding import decoded
from scoter.parse.mediatype import TEXT
from scoter.plugins import POINTS, active, chain, installed

_SHORT = 3.0  # seconds; what took longer is not parsed a second time for the sake of a timing


class Fate(Struct, frozen=True):
    """What becomes of a link: kept, under ``target`` as it is stored, or dropped for a reason."""

    link: Outlink
    target: Url | None
    dropped: DropReason | None = None
    detail: str = ""


class Entry(Struct, frozen=True):
    """A document inside another: how many of its links are kept, and why it is not kept itself, if it is not."""

    page: Page
    kept: int
    dropped: DropReason | None = None


class Encoding(Struct, frozen=True):
    """The encoding that a page was read in, and what told it."""

    name: str
    why: str = ""
    replaced: int = 0


class Examined(Struct, frozen=True, kw_only=True):
    """What became of a document; ``first`` is how long parsing took, ``again`` how long once all is loaded."""

    page: Page | None = None
    failure: ParseFailed | None = None
    encoding: Encoding | None = None
    fates: tuple[Fate, ...] = ()
    entries: tuple[Entry, ...] = ()
    signatures: Mapping[str, bytes] = {}
    signs: str = ""
    first: float = 0.0
    again: float | None = None


def examine(config: Config, content: Content) -> Examined:
    """Parse a content as a crawl would, and find out why everything is as it is."""
    config = replace(config, parse=replace(config.parse, store_text=True))  # whoever asks wants to see it
    with ContentParser(config) as parsing:
        began = time.perf_counter()
        outcome = parsing.parse(content)
        first = time.perf_counter() - began
        again = None
        if isinstance(outcome, Parsed) and first < _SHORT:
            began = time.perf_counter()
            parsing.parse(content)
            again = time.perf_counter() - began
    if not isinstance(outcome, Parsed):
        return Examined(failure=outcome, first=first)
    rules = LinkRules(config)
    own, *entries = outcome.pages
    return Examined(
        page=own,
        encoding=_encoding(config, content, own),
        fates=_fates(config, rules, own),
        entries=tuple(_entry(rules, own, page) for page in entries),
        signatures=_signatures(config, content, own.text),
        signs=active(POINTS["signature"], config)[0],
        first=first,
        again=again,
    )


def _encoding(config: Config, content: Content, page: Page) -> Encoding | None:
    """Return what a page was read in; how that was found out is told where finding it out again gives the same."""
    if not page.encoding:
        return None
    default = config.parse.character_encoding_default
    found = decoded(content.body, content.encoding, default, markup=content.media_type != TEXT)
    return (
        Encoding(page.encoding, found.why, found.replaced)
        if found.encoding == page.encoding
        else Encoding(page.encoding)
    )


def _fates(config: Config, rules: LinkRules, page: Page) -> tuple[Fate, ...]:
    """Return what becomes of each link; the rules judge it alone, and then it may be one too many."""
    kept = {link.target.text for link in rules.keep(page).links}
    seen: set[str] = set()
    found: list[Fate] = []
    chains = chain("urlnormalizer", config), chain("urlfilter", config)
    for link in page.outlinks:
        alone = rules.keep(replace(page, outlinks=(link,)))
        if not alone.links:
            reason = next(iter(alone.dropped))
            found.append(Fate(link, None, reason, _detail(config, chains, link.target, reason)))
            continue
        target = alone.links[0].target
        if target.text in seen:
            found.append(Fate(link, None, DropReason.REPEATED))
        elif target.text in kept:
            seen.add(target.text)
            found.append(Fate(link, target))
        else:
            found.append(Fate(link, None, DropReason.TOO_MANY))
    return tuple(found)


def _entry(rules: LinkRules, own: Page, page: Page) -> Entry:
    """A crawl keeps a document inside another where it would keep a link to it."""
    entrance = rules.keep(Page(url=own.url, outlinks=(Outlink(target=page.url),)))
    return Entry(page, len(rules.keep(page).links), next(iter(entrance.dropped), None))


def _detail(config: Config, chains: tuple[tuple[tuple[str, object], ...], ...], target: Url, reason: DropReason) -> str:
    """Return which filter or normaliser dropped a link, and why."""
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
    """Return what every signature plug-in makes of a page; one that is not in use may be broken."""
    found: dict[str, bytes] = {}
    used = active(POINTS["signature"], config)
    for plugin in installed():
        if plugin.point.name == "signature":
            with suppress(*(() if plugin.name in used else (PluginError,))):
                found[plugin.name] = plugin.make(config).sign(content.url, content.body, text)
    return found
