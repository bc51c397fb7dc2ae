"""JSON Feed, versions 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/)."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, Final

import msgspec

from scoter.core.dates import parse_date, parse_duration
from scoter.core.display import count
from scoter.core.metadata import Author
from scoter.parse.encoding import decode_page
from scoter.parse.feeds import entries
from scoter.parse.feeds.entries import MOST_PER_ENTRY, FeedEntry, FeedFound, Reference, address_of, is_web_address

_VERSION: Final = "jsonfeed.org/version/1"


def read_json_feed(body: bytes, charset: str = "", *, most: int) -> FeedFound | None:
    """Return the feed in a JSON document with its first entries, or ``None`` if it is not a feed.

    Values of the wrong type are skipped: they are common, and the rest is still useful.
    """
    if _VERSION.encode() not in body and b"\\/version\\/1" not in body:
        return None  # avoids parsing a large JSON document that is something else
    try:
        found = msgspec.json.decode(decode_page(body, charset, "utf-8", markup=False).utf8)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(found, dict) or _VERSION not in _text(found.get("version")):
        return None
    items = found.get("items")
    given = items if isinstance(items, list) else []
    return FeedFound(
        title=_text(found.get("title")),
        description=_text(found.get("description"), None),
        home=_address(found.get("home_page_url")),
        language=_text(found.get("language"), entries.LONGEST_LANGUAGE),
        image=_address(found.get("icon")),
        icon=_address(found.get("favicon")),
        authors=tuple(_people(found)),
        links=tuple(_links(found)),
        entries=tuple(_entry(item) for item in given[:most] if isinstance(item, dict)),
        doubt=f"it has more than {count(most, 'entry', 'entries')}" if len(given) > most else "",
    )


def _entry(item: dict[str, Any]) -> FeedEntry:
    link = _address(item.get("url")) or _address(item.get("external_url"))
    if not link and is_web_address(_text(item.get("id"))):
        link = _address(item.get("id"))  # version 1.0: "ideally the full URL of the resource"
    markup = _text(item.get("content_html"), None)
    if not markup and (plain := _text(item.get("content_text"), None)):
        markup = "<br>".join(escape(plain, quote=False).splitlines())
    return FeedEntry(
        link=link,
        title=_text(item.get("title")),
        markup=markup,
        summary=escape(_text(item.get("summary"), None), quote=False),
        published=parse_date(_text(item.get("date_published"))),
        modified=parse_date(_text(item.get("date_modified"))),
        authors=tuple(_people(item)),
        keywords=_texts(item.get("tags")),
        language=_text(item.get("language"), entries.LONGEST_LANGUAGE),
        image=_address(item.get("image")) or _address(item.get("banner_image")),
        enclosures=tuple(_attachments(item.get("attachments"))),
    )


def _text(value: Any, longest: int | None = entries.LONGEST_LINE) -> str:
    """Return a string or number as text, anything else as an empty string; ``longest`` of ``None`` means no limit."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)[:longest].strip()


def _texts(values: Any) -> tuple[str, ...]:
    """Return the distinct texts in a list; anything else is empty."""
    return tuple(dict.fromkeys(filter(None, map(_text, _listed(values)))))


def _listed(values: Any) -> list[Any]:
    return values[:MOST_PER_ENTRY] if isinstance(values, list) else []


def _objects(values: Any) -> list[dict[str, Any]]:
    return [each for each in _listed(values) if isinstance(each, dict)]


def _address(value: Any) -> str:
    return address_of(_text(value, entries.LONGEST_ADDRESS + 1))


def _people(holder: dict[str, Any]) -> Iterator[Author]:
    many = holder.get("authors")  # 1.1; 1.0 has one author
    for each in _objects(many if isinstance(many, list) else [holder.get("author")]):
        if name := _text(each.get("name")):
            yield Author(name=name, url=_address(each.get("url")))


def _links(found: dict[str, Any]) -> Iterator[Reference]:
    for key, rel in (("feed_url", "self"), ("next_url", "next")):
        if href := _address(found.get(key)):
            yield Reference(href=href, rel=rel, media_type="application/feed+json")
    for each in _objects(found.get("hubs")):
        if href := _address(each.get("url")):
            yield Reference(href=href, rel="hub")


def _attachments(values: Any) -> Iterator[Reference]:
    for each in _objects(values):
        if href := _address(each.get("url")):
            yield Reference(
                href=href,
                rel="enclosure",
                media_type=_text(each.get("mime_type")),
                title=_text(each.get("title")),
                seconds=parse_duration(_text(each.get("duration_in_seconds"))),
            )
