"""What was found out about a document, for people to read from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scoter.batch.crawldir.export import moment
from scoter.cli.checking.examining import Entry, Examined, Fate
from scoter.cli.checking.getting import Got, file_url
from scoter.cli.checking.lines import LABEL, Line, clipped, columns, excerpt, fact, title, wrapped
from scoter.cli.checking.metadata import metadata
from scoter.cli.checking.words import DROPPED, ENCODING_WHY, FAILED, TYPE_WHY, count, size, span
from scoter.cli.output import width
from scoter.core.page import Page
from scoter.parse import ParseFailed

_TEXT = 12
_HEADINGS = 20
_ALTERNATES = 12
_LINKS = 40
_ENTRIES = 20
_ANCHOR = 48
_SAMPLE = 500


def lines(got: Got, found: Examined | None, *, all_links: bool = False, robots: bool = False) -> Iterator[Line]:
    """Yield all there is to say; ``robots`` has robots.txt told at length."""
    yield Line(got.url.text, is_title=True)
    yield from wrapped_lines(verdict(got, found))
    if got.hint:
        yield from wrapped_lines(got.hint)
    if document := list(_document(got, found, robots)):  # nothing, where a request was refused before any answer
        yield from title("Document")
        yield from document
    if found is None or found.page is None:
        return
    own = found.page
    yield from _page(own)
    yield from metadata(own.about)
    yield from _headings(own)
    yield from _alternates(own)
    yield from _texts(own)
    yield from _links(own, found.fates, all_links)
    yield from _entries(found.entries)
    yield from title("Signatures")
    for name, signature in found.signatures.items():
        yield from fact(name, signature.hex(), "the one in use" if name == found.signs else "")
    yield from _timings(got, found)


def verdict(got: Got, found: Examined | None) -> str:
    """Return in a sentence what came of a document."""
    if found is None:
        return f"not fetched: {got.problem}"
    if found.failure is not None or found.page is None:
        return _failure(found.failure)
    own, entries = found.page, found.entries
    words = _length(own.text)
    kept = sum(fate.target is not None for fate in found.fates)
    links = f"{count(len(found.fates), 'link')}, {kept:,} kept" if found.fates else "no links"
    inside = f", {count(len(entries), 'document')} inside" if entries else ""
    doubt = f"; in doubt: {own.doubt}" if own.doubt else ""
    return f"parsed: {words}, {links}{inside}{doubt}"


def _length(text: str) -> str:
    """Return how long a text is, in words where its language parts them by spaces."""
    if width(text[:_SAMPLE]) > 1.5 * len(text[:_SAMPLE]):
        return count(len(text), "character")
    return count(len(text.split()), "word")


def _failure(failure: ParseFailed | None) -> str:
    reason, detail = ("", "") if failure is None else (failure.reason, failure.detail)
    said, hint = FAILED.get(reason, (reason, ""))
    return f"not parsed: {said}{f' ({detail})' if detail else ''}. {hint}".strip()


def wrapped_lines(text: str) -> Iterator[Line]:
    """Yield a text over as many lines as it takes."""
    for piece in wrapped(text, columns()):
        yield Line(piece)


def _document(got: Got, found: Examined | None, robots: bool) -> Iterator[Line]:
    if got.is_file:
        is_told = got.url.text != file_url(Path(got.asked)).text
        yield from fact("file", got.asked, "" if is_told else "--as-url tells where it comes from")
    elif got.asked != got.url.text:
        yield from fact("asked for", got.asked)
    for hop in got.hops:
        yield from fact("redirect", f"HTTP {hop.status} from {hop.url}")
    content = got.content
    if got.status:
        yield from fact("answer", f"HTTP {got.status}" + (f" from {got.peer}" if got.peer else ""))
    if content is not None:
        came = f", {size(got.wire)} as it came" if got.wire != len(content.body) else ""
        yield from fact("length", size(len(content.body)) + came, "cut short" if content.truncated else "")
        yield from fact("coding", got.coding_problem)
        why = "" if got.decision is None else TYPE_WHY.get(got.decision.why, got.decision.why)
        yield from fact("type", content.media_type, why or "as it was asked to be taken")
    if found is not None and found.encoding is not None:
        why = ENCODING_WHY.get(found.encoding.why, found.encoding.why)
        broken = count(found.encoding.replaced, "character") + " invalid" if found.encoding.replaced else ""
        yield from fact("encoding", found.encoding.name, ", ".join(filter(None, (why, broken))))
    if got.robots is not None:
        yield from fact("robots.txt", "allows it" if got.robots.allowed else "does not allow it", got.robots.why)
        if robots:
            yield from fact("", f"our group: {got.robots.group or 'none speaks to us'}")
            delay = got.robots.crawl_delay
            yield from fact("", "no crawl delay" if delay is None else f"crawl delay {delay:g} s")
            for sitemap in got.robots.sitemaps[:_ENTRIES]:
                yield from fact("", f"sitemap {sitemap}")
    elif robots and found is not None:
        yield from fact("robots.txt", "was not asked for: the host is one of http.robot_rules_allowlist, or no HTTP")
    if content is not None and content.robots:
        yield from fact("X-Robots-Tag", content.robots.replace("\n", "; "))


def _page(page: Page) -> Iterator[Line]:
    yield from title("Page")
    yield from fact("title", page.title or "(none)")
    yield from fact("language", page.language)
    yield from fact("robots", _robots(page) or "asks nothing of robots")
    yield from fact("canonical", "" if page.canonical is None else page.canonical.text)
    if page.refresh is not None:
        means = "counts as a redirect: its links are not followed" if page.refresh.is_redirect else "is a link"
        yield from fact("refresh", f"{page.refresh.target.text} after {page.refresh.seconds:g} s", means)
    yield from fact("base", "" if page.base is None else page.base.text)
    for name, value in page.metadata.items():
        yield from fact(clipped(name, LABEL - 1) if len(name) < LABEL else name + " ", value)


def _robots(page: Page) -> str:
    flags = ("noindex", "nofollow", "noarchive", "nosnippet")
    said = [name for name in flags if getattr(page, name)]
    if page.unavailable_after is not None:
        said.append(f"unavailable after {moment(page.unavailable_after)}")
    return ", ".join(said)


def _headings(page: Page) -> Iterator[Line]:
    if not page.headings:
        return
    yield from title(f"Headings ({len(page.headings):,})")
    for heading in page.headings[:_HEADINGS]:
        indent = "  " * heading.level
        yield Line(f"{indent}h{heading.level}  {clipped(heading.text, columns() - len(indent) - 4)}")
    yield from _more(len(page.headings) - _HEADINGS)


def _alternates(page: Page) -> Iterator[Line]:
    if not page.alternates:
        return
    yield from title(f"Other forms ({len(page.alternates):,})")
    for each in page.alternates[:_ALTERNATES]:
        yield from fact(
            each.language or each.rel, each.url.text, ", ".join(filter(None, (each.media_type, each.title)))
        )
    yield from _more(len(page.alternates) - _ALTERNATES)


def _texts(page: Page) -> Iterator[Line]:
    for name, text, option in (
        ("Main text", page.main_text, "--main-text"),
        ("Text", "" if page.main_text else page.text, "--dump-text"),
        ("Markdown", page.markdown, "--markdown"),
    ):
        if not text:
            continue
        shown, whole = excerpt(text, _TEXT)
        yield from title(
            f"{name} ({count(len(text), 'character')}" + (")" if whole else f"; {option} prints all of it)")
        )
        for line in shown:
            yield Line(f"  {line}".rstrip())


def _links(page: Page, fates: tuple[Fate, ...], all_links: bool) -> Iterator[Line]:
    if not fates:
        return
    kept = sum(fate.target is not None for fate in fates)
    yield from title(f"Links ({len(fates):,} found, {kept:,} kept)")
    most = len(fates) if all_links else _LINKS
    widest = max((len(fate.link.kind) for fate in fates[:most]), default=0)
    for fate in fates[:most]:
        link = fate.link
        sign = "-" if fate.target is None else "+"
        said = f'  "{clipped(link.anchor, _ANCHOR)}"' if link.anchor else ""
        rel = f"  rel={link.rel}" if link.rel else ""
        yield Line(f"  {sign} {link.kind:<{widest}}  {link.target.text}{said}{rel}")
        if fate.dropped is not None:
            detail = f" ({fate.detail})" if fate.detail else ""
            yield Line(f"    {'':<{widest}}    {DROPPED.get(fate.dropped.value, fate.dropped.value)}{detail}")
        elif fate.target is not None and fate.target.text != link.target.text:
            yield Line(f"    {'':<{widest}}    kept as {fate.target.text}")
    yield from _more(len(fates) - most, "--all-links shows them")
    if page.refresh is not None and page.refresh.is_redirect:
        yield Line("  (the page sends its reader on at once: a crawl follows that, and none of these)")


def _entries(entries: tuple[Entry, ...]) -> Iterator[Line]:
    if not entries:
        return
    kept = sum(entry.dropped is None for entry in entries)
    yield from title(f"Documents inside ({len(entries):,} found, {kept:,} kept)")
    for entry in entries[:_ENTRIES]:
        page = entry.page
        yield Line(f"  {'-' if entry.dropped else '+'} {page.url.text}")
        if entry.dropped is not None:
            yield Line(f"      {DROPPED.get(entry.dropped.value, entry.dropped.value)}")
        links = f"{count(len(page.outlinks), 'link')}, {entry.kept:,} kept" if page.outlinks else "no links"
        doubt = f"; in doubt: {page.doubt}" if page.doubt else ""
        said = f"{_length(page.text)}, {links}{doubt}"
        yield Line(f"      {clipped(page.title, columns() - 40) or '(no title)'}  ({said})")
    yield from _more(len(entries) - _ENTRIES, "--json has them all")


def _timings(got: Got, found: Examined) -> Iterator[Line]:
    yield from title("Time")
    if got.timings is not None:
        at = got.timings
        phases = (
            ("resolved", at.resolved),
            ("connected", at.connected),
            ("secured", at.secured),
            ("first byte", at.first_byte),
        )
        told = ", ".join(f"{name} {span(value)}" for name, value in phases if value)
        yield from fact("fetch", span(at.total), told)
        yield from fact("before it", span(got.waited), "robots.txt, redirects, waiting for the host's turn")
    if found.again is None:
        yield from fact("parse", span(found.first))
    else:
        yield from fact("parse", span(found.again), f"the first time {span(found.first)}, with loading")


def _more(number: int, how: str = "") -> Iterator[Line]:
    if number > 0:
        yield Line(f"  … and {number:,} more" + (f" ({how})" if how else ""))
