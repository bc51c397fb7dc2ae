"""The result of an examination, for people to read from top to bottom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scoter.batch.crawldir.export import utc_text
from scoter.cli.output import width
from scoter.cli.parsecheck.document import CheckedDocument, file_url
from scoter.cli.parsecheck.examination import ROBOTS_FLAGS, Examination, InnerPage, LinkOutcome
from scoter.cli.parsecheck.layout import LABEL_WIDTH, TextLine, clipped, columns, excerpt, fact, title, wrapped
from scoter.core.display import count, duration, size
from scoter.core.metadata import Image, Media, PageMetadata, Product
from scoter.core.page import Page
from scoter.parse import ParseFailed

_TYPE_REASONS: Final[Mapping[str, str]] = {
    "header": "from the Content-Type header",
    "bytes": "from its first bytes",
    "extension": "from the extension of its URL",
    "magic": "from its file signature",
    "default": "the default, as nothing indicates its type",
}
_ENCODING_REASONS: Final[Mapping[str, str]] = {
    "bom": "from the byte order mark",
    "http": "from the Content-Type header",
    "meta": "from a meta element",
    "xml": "from the XML declaration",
    "utf-8": "its bytes are valid UTF-8",
    "detector": "guessed from its bytes",
    "default": "the default, as nothing indicates its encoding",
}
_DROP_REASONS: Final[Mapping[str, str]] = {
    "page_nofollow": "the page says nofollow",
    "nofollow": "its rel attribute says nofollow",
    "too_long": "longer than db.max_outlink_length",
    "self": "links to the page itself",
    "internal": "stays on the site (db.ignore_internal_links)",
    "external": "leaves the site (db.ignore_external_links)",
    "no_url": "not a URL after normalising",
    "filtered": "dropped by the URL filters",
    "repeated": "the page already has this link",
    "too_many": "over db.max_outlinks_per_page",
}
# What went wrong, and what can be done about it.
_FAILURES: Final[Mapping[str, tuple[str, str]]] = {
    "no_parser": (
        "no active parser reads this type",
        "parse.parsers lists the active parsers, parse.types maps types to parsers; --force-as overrides the type.",
    ),
    "truncated": (
        "the document is truncated and parse.skip_truncated is on",
        "To fetch more of it: -D fetch.content_limit=8MiB. To parse it anyway: -D parse.skip_truncated=false",
    ),
    "empty": ("the parser found nothing in it", ""),
    "broken_plugin": ("a plug-in failed on it", ""),
    "timeout": ("parsing timed out", "To allow more time: -D parse.timeout=2m"),
    "memory": ("parsing took too much memory", "To allow more: -D parse.memory=4GiB"),
    "crash": ("the parser process crashed on it", ""),
}
_MOST_TEXT_LINES = 12
_MOST_HEADINGS = 20
_MOST_ALTERNATES = 12
_MOST_LINKS = 40
_MOST_ENTRIES = 20
_ANCHOR_WIDTH = 48
_SAMPLE = 500  # characters that decide whether a text is East Asian


def lines(
    document: CheckedDocument, found: Examination | None, *, all_links: bool = False, robots: bool = False
) -> Iterator[TextLine]:
    """Yield the whole report; ``robots`` adds details about robots.txt."""
    yield TextLine(document.url.text, is_title=True)
    yield from _wrapped_lines(verdict(document, found))
    if document.hint:
        yield from _wrapped_lines(document.hint)
    if facts := list(_document(document, found, robots)):  # none if the request was refused before any response
        yield from title("Document")
        yield from facts
    if found is None or found.page is None:
        return
    own = found.page
    yield from _page(own)
    yield from _metadata(own.about)
    yield from _headings(own)
    yield from _alternates(own)
    yield from _texts(own)
    yield from _links(own, found.links, all_links)
    yield from _scores(found)
    yield from _entries(found.entries)
    yield from title("Signatures")
    for name, signature in found.signatures.items():
        yield from fact(name, signature.hex(), "active" if name == found.active_signature else "")
    yield from _timings(document, found)


def verdict(document: CheckedDocument, found: Examination | None) -> str:
    """Return the result in one sentence."""
    if found is None:
        return f"not fetched: {document.problem}"
    if found.failure is not None or found.page is None:
        return _failure(found.failure)
    own, entries = found.page, found.entries
    words = _length(own.text)
    kept = sum(link.target is not None for link in found.links)
    links = f"{count(len(found.links), 'link')}, {kept:,} kept" if found.links else "no links"
    inside = f", {count(len(entries), 'inner document')}" if entries else ""
    doubt = f"; doubtful: {own.doubt}" if own.doubt else ""
    return f"parsed: {words}, {links}{inside}{doubt}"


def _length(text: str) -> str:
    """Return the length of a text in words, or in characters for East Asian text."""
    if width(text[:_SAMPLE]) > 1.5 * len(text[:_SAMPLE]):
        return count(len(text), "character")
    return count(len(text.split()), "word")


def _failure(failure: ParseFailed | None) -> str:
    reason, detail = ("", "") if failure is None else (failure.reason, failure.detail)
    what, hint = _FAILURES.get(reason, (reason, ""))
    return f"not parsed: {what}{f' ({detail})' if detail else ''}. {hint}".strip()


def _wrapped_lines(text: str) -> Iterator[TextLine]:
    for piece in wrapped(text, columns()):
        yield TextLine(piece)


def _document(document: CheckedDocument, found: Examination | None, robots: bool) -> Iterator[TextLine]:
    if document.is_file:
        has_url = document.url.text != file_url(Path(document.asked)).text
        yield from fact("file", document.asked, "" if has_url else "to set its URL, use --as-url")
    elif document.asked != document.url.text:
        yield from fact("asked for", document.asked)
    for hop in document.hops:
        yield from fact("redirect", f"HTTP {hop.status} from {hop.url}")
    content = document.content
    if document.status:
        yield from fact("response", f"HTTP {document.status}" + (f" from {document.peer}" if document.peer else ""))
    if content is not None:
        came = f", {size(document.wire)} as received" if document.wire != len(content.body) else ""
        yield from fact("length", size(len(content.body)) + came, "truncated" if content.truncated else "")
        yield from fact("coding", document.coding_problem)
        why = "" if document.decision is None else _TYPE_REASONS.get(document.decision.why, document.decision.why)
        yield from fact("type", content.media_type, why or "from --force-as")
    if found is not None and found.encoding is not None:
        why = _ENCODING_REASONS.get(found.encoding.why, found.encoding.why)
        broken = count(found.encoding.replaced, "character") + " invalid" if found.encoding.replaced else ""
        yield from fact("encoding", found.encoding.name, ", ".join(filter(None, (why, broken))))
    if document.robots is not None:
        yield from fact("robots.txt", "allowed" if document.robots.allowed else "disallowed", document.robots.why)
        if robots:
            yield from fact("", f"group: {document.robots.group or 'none applies'}")
            delay = document.robots.crawl_delay
            yield from fact("", "no Crawl-delay" if delay is None else f"Crawl-delay {duration(delay)}")
            for sitemap in document.robots.sitemaps[:_MOST_ENTRIES]:
                yield from fact("", f"sitemap {sitemap}")
    elif robots and found is not None:
        yield from fact("robots.txt", "not fetched: the host is in http.robot_rules_allowlist, or the URL is not HTTP")
    if content is not None and content.robots:
        yield from fact("X-Robots-Tag", content.robots.replace("\n", "; "))


def _page(page: Page) -> Iterator[TextLine]:
    yield from title("Page")
    yield from fact("title", page.title or "(none)")
    yield from fact("language", page.language)
    yield from fact("robots", _robots(page) or "no restrictions")
    yield from fact("canonical", "" if page.canonical is None else page.canonical.text)
    if page.refresh is not None:
        meaning = "a redirect: the page's links are not followed" if page.refresh.is_redirect else "a link"
        yield from fact("refresh", f"{page.refresh.target.text} after {page.refresh.seconds:g} s", meaning)
    yield from fact("base", "" if page.base is None else page.base.text)
    for name, value in page.metadata.items():
        yield from fact(clipped(name, LABEL_WIDTH - 1) if len(name) < LABEL_WIDTH else name + " ", value)


def _robots(page: Page) -> str:
    directives = [name for name in ROBOTS_FLAGS if getattr(page, name)]
    if page.unavailable_after is not None:
        directives.append(f"unavailable after {utc_text(page.unavailable_after)}")
    return ", ".join(directives)


def _headings(page: Page) -> Iterator[TextLine]:
    if not page.headings:
        return
    yield from title(f"Headings ({len(page.headings):,})")
    for heading in page.headings[:_MOST_HEADINGS]:
        indent = "  " * heading.level
        yield TextLine(f"{indent}h{heading.level}  {clipped(heading.text, columns() - len(indent) - 4)}")
    yield from _more(len(page.headings) - _MOST_HEADINGS)


def _alternates(page: Page) -> Iterator[TextLine]:
    if not page.alternates:
        return
    yield from title(f"Alternates ({len(page.alternates):,})")
    for each in page.alternates[:_MOST_ALTERNATES]:
        yield from fact(
            each.language or each.rel, each.url.text, ", ".join(filter(None, (each.media_type, each.title)))
        )
    yield from _more(len(page.alternates) - _MOST_ALTERNATES)


def _texts(page: Page) -> Iterator[TextLine]:
    for name, text, option in (
        ("Main text", page.main_text, "--main-text"),
        ("Text", "" if page.main_text else page.text, "--dump-text"),
        ("Markdown", page.markdown, "--markdown"),
    ):
        if not text:
            continue
        shown, whole = excerpt(text, _MOST_TEXT_LINES)
        yield from title(f"{name} ({count(len(text), 'character')}" + (")" if whole else f"; all of it: {option})"))
        for line in shown:
            yield TextLine(f"  {line}".rstrip())


def _scores(found: Examination) -> Iterator[TextLine]:
    """Say what the scoring filters give the page as a seed, and what its links get of it."""
    yield from title("Score")
    yield from fact("page", f"{found.score:.3g}", "as a seed")
    given = sorted(outcome.score for outcome in found.links if outcome.score is not None)
    if given:
        shown = f"{given[0]:.3g}" if given[0] == given[-1] else f"{given[0]:.3g} to {given[-1]:.3g}"
        yield from fact("links", shown, f"{count(len(given), 'link')} of {len(found.links):,}")


def _links(page: Page, outcomes: tuple[LinkOutcome, ...], all_links: bool) -> Iterator[TextLine]:
    if not outcomes:
        return
    kept = sum(outcome.target is not None for outcome in outcomes)
    yield from title(f"Links ({len(outcomes):,} found, {kept:,} kept)")
    most = len(outcomes) if all_links else _MOST_LINKS
    widest = max((len(outcome.link.kind) for outcome in outcomes[:most]), default=0)
    for outcome in outcomes[:most]:
        link = outcome.link
        sign = "-" if outcome.target is None else "+"
        anchor = f'  "{clipped(link.anchor, _ANCHOR_WIDTH)}"' if link.anchor else ""
        rel = f"  rel={link.rel}" if link.rel else ""
        yield TextLine(f"  {sign} {link.kind:<{widest}}  {link.target.text}{anchor}{rel}")
        if outcome.dropped is not None:
            detail = f" ({outcome.detail})" if outcome.detail else ""
            yield TextLine(
                f"    {'':<{widest}}    {_DROP_REASONS.get(outcome.dropped.value, outcome.dropped.value)}{detail}"
            )
        elif outcome.target is not None and outcome.score is None:
            yield TextLine(f"    {'':<{widest}}    dropped by the scoring filters")
        elif outcome.target is not None and outcome.target.text != link.target.text:
            yield TextLine(f"    {'':<{widest}}    kept as {outcome.target.text}")
    yield from _more(len(outcomes) - most, "to see them: --all-links")
    if page.refresh is not None and page.refresh.is_redirect:
        yield TextLine("  (the page redirects at once: a crawl follows the redirect and none of these)")


def _entries(entries: tuple[InnerPage, ...]) -> Iterator[TextLine]:
    if not entries:
        return
    kept = sum(entry.dropped is None for entry in entries)
    yield from title(f"Inner documents ({len(entries):,} found, {kept:,} kept)")
    for entry in entries[:_MOST_ENTRIES]:
        page = entry.page
        yield TextLine(f"  {'-' if entry.dropped else '+'} {page.url.text}")
        if entry.dropped is not None:
            yield TextLine(f"      {_DROP_REASONS.get(entry.dropped.value, entry.dropped.value)}")
        links = f"{count(len(page.outlinks), 'link')}, {entry.kept:,} kept" if page.outlinks else "no links"
        doubt = f"; doubtful: {page.doubt}" if page.doubt else ""
        yield TextLine(
            f"      {clipped(page.title, columns() - 40) or '(no title)'}  ({_length(page.text)}, {links}{doubt})"
        )
    yield from _more(len(entries) - _MOST_ENTRIES, "to see them: --json")


def _timings(document: CheckedDocument, found: Examination) -> Iterator[TextLine]:
    yield from title("Time")
    if document.timings is not None:
        at = document.timings
        phases = {name: getattr(at, name) for name in ("resolved", "connected", "secured", "first_byte")}
        details = ", ".join(f"{name.replace('_', ' ')} {duration(value)}" for name, value in phases.items() if value)
        yield from fact("fetch", duration(at.total), details)
        yield from fact("before it", duration(document.waited), "robots.txt, redirects, politeness delays")
    if found.again is None:
        yield from fact("parse", duration(found.first))
    else:
        yield from fact("parse", duration(found.again), f"{duration(found.first)} the first time, with loading")


def _more(number: int, how: str = "") -> Iterator[TextLine]:
    if number > 0:
        yield TextLine(f"  … and {number:,} more" + (f" ({how})" if how else ""))


def _metadata(about: PageMetadata | None) -> Iterator[TextLine]:
    if about is None:
        return
    found = [(name, value) for name, values in _fields(about) for value in values if value]
    if not found:
        return
    yield from title("Metadata (and its sources)")
    before = ""
    for name, value in found:
        source = about.sources.get(name, "")
        yield from fact("" if name == before else name.replace("_", " "), value, source)
        before = name


def _fields(about: PageMetadata) -> Iterator[tuple[str, list[str]]]:
    yield "title", [about.title]
    yield "type", [about.type]
    yield "site_name", [about.site_name]
    yield "description", [about.description]
    yield "authors", [f"{each.name} <{each.url}>" if each.url else each.name for each in about.authors]
    yield "published", [utc_text(about.published)] if about.published else []
    yield "modified", [utc_text(about.modified)] if about.modified else []
    yield "language", [about.language]
    yield "keywords", [", ".join(about.keywords)]
    yield "canonical", [about.canonical]
    yield "image", [_image(about.image)] if about.image else []
    yield "icon", [_image(about.icon)] if about.icon else []
    yield "theme_color", [about.theme_color]
    yield "media", [_media(each) for each in about.media]
    yield "embeds", [f"{each.url}, {each.media_type}" for each in about.embeds]
    yield "feeds", [", ".join(filter(None, (each.url, each.media_type, each.title))) for each in about.feeds]
    yield "license", [about.license]
    yield "product", [_product(about.product)] if about.product else []


def _image(image: Image) -> str:
    return ", ".join(filter(None, (image.url, _dimensions(image.width, image.height), image.media_type, image.alt)))


def _media(media: Media) -> str:
    length = duration(media.seconds) if media.seconds is not None else ""
    measures = _dimensions(media.width, media.height)
    return f"{media.kind} " + ", ".join(filter(None, (media.url, measures, length, media.media_type)))


def _dimensions(wide: int | None, high: int | None) -> str:
    return "" if wide is None and high is None else f"{wide or '?'} × {high or '?'}"


def _product(product: Product) -> str:
    price = f"{product.price} {product.currency}".strip()
    rating = f"rated {product.rating:g}" if product.rating is not None else ""
    ratings = f"by {product.ratings:,}" if product.ratings is not None else ""
    sku = f"sku {product.sku}" if product.sku else ""
    rated = f"{rating} {ratings}".strip()
    return ", ".join(filter(None, (product.name, product.brand, price, product.availability, sku, rated)))
