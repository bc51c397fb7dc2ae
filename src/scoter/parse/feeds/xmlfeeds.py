"""RSS, Atom and RDF: fastfeedparser reads them, and feedparser what that one cannot.

Both are given bytes from which document types are gone, and neither is ever given a text or a name: feedparser would
fetch a text that looks like an address, and open one that is the name of a file.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from html import unescape
from itertools import islice
from typing import Any, Final

from scoter.core.dates import parse_date, parse_duration
from scoter.core.display import count
from scoter.parse.feeds.entries import (
    LONGEST_ADDRESS,
    LONGEST_LANGUAGE,
    MOST_BESIDE,
    FeedEntry,
    FeedFound,
    Person,
    Reference,
    text_of,
    texts_of,
)
from scoter.parse.feeds.source import XmlSource

ROOTS: Final = frozenset(("rss", "feed", "rdf", "channel"))

_HEAD: Final = 64 * 1024  # bytes in which a feed tells of itself
_LANGUAGE: Final = re.compile(rb"<(?:dc:)?language>\s*([A-Za-z0-9-]{2,35})\s*</")
_ITEM: Final = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]")
_ITEM_END: Final = re.compile(rb"</(?:\w+:)?(?:item|entry)\s*>")
_MARKED_TITLE: Final = re.compile(rb"<(?:\w+:)?title\s[^<>]{0,99}type=[\"']xhtml")
_ENCLOSED: Final = re.compile(rb"<enclosure\s[^<>]{0,2000}?url=[\"']([^\"'<>]+)[\"']")
_DURATION: Final = re.compile(rb"<itunes:duration>\s*([0-9:.]{1,20})\s*</")
_LINK: Final = re.compile(rb"<(?:\w+:)?link\s[^<>]{0,9999}")
# Pictures and makers of podcasts, and what stands in a group of media.
_BESIDE: Final = re.compile(rb"<(?:itunes:(?:image|author|summary)|media:group)[\s/>]")
_REBASED: Final = re.compile(rb"<(?:\w+:)?entry\s[^<>]{0,999}xml:base")
_TWICE: Final = 8 * 1024 * 1024  # bytes of a feed that is read twice for their sake
_ATTRIBUTE: Final = re.compile(r"\b(rel|href|type)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_MAILED: Final = re.compile(r"[^\s@]+@[^\s@]+\s*\(([^()]+)\)")  # RSS 2.0: lawyer@boyer.net (Lawyer Boyer)


def read_xml_feed(source: XmlSource, *, most: int) -> FeedFound | None:
    """Return the feed that a document is, with its first entries, or nothing if neither library finds one."""
    if source.root not in ROOTS:
        return None
    body = b"".join(source.pieces())
    is_rdf = source.root == "rdf"
    if is_rdf and b"<channel" not in body and not _ITEM.search(body):
        return None  # RDF that is no feed
    doubt = source.doubt
    if not re.search(rb"</(?:[\w.-]+:)?%s\s*>" % re.escape(source.root.encode()), body, re.IGNORECASE):
        doubt = doubt or "broken XML: it ends too early"
        body = _whole_entries(body)
    found = _fast(body)
    has_more = _MARKED_TITLE.search(body) or (len(body) <= _TWICE and (_BESIDE.search(body) or _REBASED.search(body)))
    if found is None or (not _linked(found) and _ITEM.search(body)) or has_more:
        other, fault = _slow(body)
        # Entries without links exist: the second reader is believed where it finds what the first did not. The first
        # takes titles with elements in them for empty, and leaves out most of what podcasts say.
        if other is not None and (found is None or _linked(other)):
            found, doubt = other, doubt or fault
    if found is None:
        return None
    entries = found.get("entries") or []
    if len(entries) > most:
        doubt = doubt or f"it has more than {count(most, 'entry', 'entries')}"
    if is_rdf:  # an item is named by its address, and may leave it at that (RSS 1.0, 5.5)
        entries = [{"link": entry.get("id"), **entry} for entry in entries]
    return _feed(found.get("feed") or {}, entries[:most], body, doubt)


def _whole_entries(body: bytes) -> bytes:
    """Return a feed that was cut up to its last whole entry: half an address is one of another page."""
    end = max((each.end() for each in _ITEM_END.finditer(body)), default=0)
    half = _ITEM.search(body, end)
    return body[: half.start()] if half else body


def _linked(found: Mapping[str, Any]) -> bool:
    return any(entry.get("link") for entry in found.get("entries") or ())


def _fast(body: bytes) -> Mapping[str, Any] | None:
    import fastfeedparser  # type: ignore[import-untyped]

    try:
        found: Mapping[str, Any] = fastfeedparser.parse(body)
    except MemoryError:
        raise
    except Exception:  # what it raises is not told anywhere, and there is another to ask
        return None
    return found


def _slow(body: bytes) -> tuple[Mapping[str, Any] | None, str]:
    import feedparser  # type: ignore[import-untyped]

    try:
        found = feedparser.parse(io.BytesIO(body), sanitize_html=False, resolve_relative_uris=False)
    except MemoryError:
        raise
    except Exception:
        return None, ""
    if not found.get("version") and not found.get("entries"):
        return None, ""
    fault = " ".join(str(found.get("bozo_exception", "")).split()) if found.get("bozo") else ""
    # Plain dictionaries: its own take one key for another, and warn of it.
    plain = {"feed": dict(found.get("feed") or {}), "entries": [dict(entry) for entry in found.get("entries") or ()]}
    return plain, f"broken XML: {fault}"[:120] if fault else ""


def _feed(feed: Mapping[str, Any], entries: list[Mapping[str, Any]], body: bytes, doubt: str) -> FeedFound:
    detail = feed.get("title_detail") or {}
    said = _LANGUAGE.search(body, 0, _HEAD)
    image = next(iter(_maps([feed.get("image")])), {})
    durations = _durations(body)
    return FeedFound(
        title=text_of(feed.get("title")),
        description=text_of(feed.get("subtitle") or feed.get("description") or feed.get("summary"), None),
        home=_address(feed.get("link")),
        base=_address(detail.get("base")),
        language=text_of(feed.get("language"), LONGEST_LANGUAGE) or (said[1].decode() if said else ""),
        image=_address(feed.get("logo")) or _address(image.get("href") or image.get("url")),
        icon=_address(feed.get("icon")),
        license=_address(feed.get("license")),
        modified=_moment(feed, "updated") or _moment(feed, "published"),
        authors=tuple(_people(feed)),
        keywords=_keywords(feed),
        links=(*_links(feed), *_own_links(body)),
        entries=tuple(_entry(entry, durations) for entry in entries),
        doubt=doubt,
    )


def _durations(body: bytes) -> dict[str, float]:
    """Return how long the enclosures of a podcast play, by their addresses: fastfeedparser does not tell."""
    found: dict[str, float] = {}
    if b"<itunes:duration>" not in body:
        return found

    for item in _ITEM.split(body)[1:]:
        enclosed, said = _ENCLOSED.search(item), _DURATION.search(item)
        if enclosed and said and (length := parse_duration(said[1].decode())):
            found[unescape(enclosed[1].decode("utf-8", "replace"))] = length
    return found


def _entry(entry: Mapping[str, Any], durations: Mapping[str, float]) -> FeedEntry:
    links = tuple(_links(entry))
    permanent = next((each.href for each in links if each.rel == "alternate"), "")
    enclosures = [each for each in links if each.rel == "enclosure"]
    enclosures += [
        Reference(href=href, rel="enclosure", media_type=text_of(each.get("type")), seconds=durations.get(href))
        for each in _maps(entry.get("enclosures"))
        if (href := _address(each.get("url") or each.get("href")))
    ]
    contents = _maps(entry.get("content"))
    content = max(contents, key=lambda each: len(text_of(each.get("value"), None)), default={})
    return FeedEntry(
        link=_address(entry.get("link")) or permanent,
        title=text_of(entry.get("title")),
        markup=text_of(content.get("value"), None),
        base=_address(content.get("base")),
        summary=text_of(entry.get("summary") or entry.get("description"), None),
        published=_moment(entry, "published"),
        modified=_moment(entry, "updated"),
        authors=tuple(_people(entry)),
        keywords=_keywords(entry),
        language=text_of(entry.get("language"), LONGEST_LANGUAGE),
        image=_picture(entry, enclosures),
        enclosures=tuple({each.href: each for each in enclosures}.values()),
    )


def _picture(entry: Mapping[str, Any], enclosures: list[Reference]) -> str:
    """Return the picture of an entry; fastfeedparser has thumbnails among the other media."""
    shown = _maps(entry.get("media_thumbnail"))
    shown += [
        each
        for each in _maps(entry.get("media_content"))
        if text_of(each.get("medium")) == "image" or text_of(each.get("type")).startswith("image/")
    ]
    found = [_address(each.get("url")) for each in shown]
    found += [_address(each.get("href")) for each in _maps([entry.get("image")])]
    found += [each.href for each in enclosures if each.media_type.startswith("image/")]
    return next(filter(None, found), "")


def _address(value: Any) -> str:
    found = text_of(value, LONGEST_ADDRESS + 1)
    return found if len(found) <= LONGEST_ADDRESS else ""


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _maps(values: Any) -> list[Mapping[str, Any]]:
    return list(filter(_is_map, values[:MOST_BESIDE])) if isinstance(values, list) else []


def _moment(holder: Mapping[str, Any], name: str) -> datetime | None:
    return parse_date(text_of(holder.get(name)))


def _people(holder: Mapping[str, Any]) -> Iterator[Person]:
    given = _maps(holder.get("authors"))
    for each in given:
        if name := text_of(each.get("name")) or text_of(each.get("email")):
            yield Person(_named(name), _address(each.get("href") or each.get("uri") or each.get("url")))
    if not given and (name := text_of(holder.get("author"))):
        yield Person(_named(name))


def _named(text: str) -> str:
    """Return a name without the address for mail that RSS writes before it."""
    found = _MAILED.fullmatch(text)
    return found[1].strip() or text if found else text


def _keywords(holder: Mapping[str, Any]) -> tuple[str, ...]:
    return texts_of([each.get("label") or each.get("term") for each in _maps(holder.get("tags"))])


def _links(holder: Mapping[str, Any]) -> Iterator[Reference]:
    for each in _maps(holder.get("links")):
        if href := _address(each.get("href")):
            yield Reference(
                href=href,
                rel=text_of(each.get("rel")).lower() or "alternate",
                media_type=text_of(each.get("type")),
                title=text_of(each.get("title")),
                language=text_of(each.get("hreflang")),
            )


def _own_links(body: bytes) -> Iterator[Reference]:
    """Yield the feed's own address and its hubs, which fastfeedparser leaves out; they stand before the entries."""
    first = _ITEM.search(body, 0, _HEAD)
    for found in islice(_LINK.finditer(body, 0, first.start() if first else _HEAD), MOST_BESIDE):
        attributes = _ATTRIBUTE.findall(found[0].decode(errors="replace"))
        said = {name: unescape(one or other) for name, one, other in attributes}
        rel = said.get("rel", "").lower()
        if rel in ("self", "hub") and (href := _address(said.get("href"))):
            yield Reference(href=href, rel=rel, media_type=text_of(said.get("type")))
