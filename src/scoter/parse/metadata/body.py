"""What the content of a page tells where nothing else does: its first heading, time, tags, videos and paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from selectolax.lexbor import LexborNode

from scoter.core.metadata import Author, Media
from scoter.parse.metadata.cleaning import (
    LONGEST_NAME,
    LONGEST_TITLE,
    authors,
    clean,
    language,
    media_type,
    plausible_date,
    side,
    words,
)
from scoter.parse.metadata.seen import MOST_CLIMBS, Seen, shown, within

MOST_NODES: Final = 30
MOST_MEDIA: Final = 10
LONGEST_OPENING: Final = 500
_SHORTEST_OPENING: Final = 60
_SHORTEST_DAY: Final = 8  # characters: a year or a month that is shown is not when the page was written
_MOST_ARTICLES: Final = 60
_EVENT: Final = re.compile(r"\b(?:start|end)[-_]?(?:date|time)?\b", re.IGNORECASE)
_APART: Final = ("nav", "footer", "aside", "form", "dialog", "template", "noscript")


def title(seen: Seen) -> str:
    """Return the page's title, or else its first heading."""
    if seen.title:
        return seen.title
    for node in seen.find("h1")[:5]:
        if text := clean(shown(node, 4 * LONGEST_TITLE), LONGEST_TITLE):
            return text
    return ""


def declared_language(seen: Seen) -> str:
    """Return the language of the root element, or else of the body."""
    node = seen.root
    if node is None:
        return ""
    attributes = node.attributes
    if found := language(attributes.get("lang") or attributes.get("xml:lang")):
        return found
    return next((language(body.attributes.get("lang")) for body in seen.find("body")[:1]), "")


def people(seen: Seen) -> tuple[Author, ...]:
    """Return whom the links to authors name, without those of articles that the page only lists."""
    nodes = seen.find('a[rel~="author" i]')[:MOST_NODES]
    listed = _listed(seen) if nodes else frozenset()
    return authors(
        Author(
            name=clean(shown(node, 4 * LONGEST_NAME), LONGEST_NAME),
            url=seen.address(node.attributes.get("href")),
        )
        for node in nodes
        if not (listed and _stands_in(node, listed))
    )


def published(seen: Seen) -> datetime | None:
    """Return the first time on the page that is not that of a change, a comment or something beside the content."""
    found: datetime | None = None
    times = list(_times(seen))
    listed = _listed(seen) if times else frozenset()
    for node, kind in times:
        if kind == "modified" or (found is not None and kind != "published"):
            continue
        if listed and _stands_in(node, listed):
            continue
        when = _when(node)
        if when is not None and kind == "published":
            return when
        if when is not None and not within(node, _APART):
            found = when
    return found


def modified(seen: Seen) -> datetime | None:
    """Return the first time on the page that is said to be that of a change."""
    for node, kind in _times(seen):
        if kind == "modified" and (when := _when(node)) is not None:
            return when
    return None


def tags(seen: Seen) -> tuple[str, ...]:
    """Return the words of links to tags."""
    return words(shown(node, 500).replace(",", " ") for node in seen.find('a[rel~="tag" i]')[:MOST_NODES])


def media(seen: Seen) -> tuple[Media, ...]:
    """Return the videos and sounds that play on the page itself."""
    found: dict[str, Media] = {}
    for node in seen.find("video,audio")[:MOST_NODES]:
        kind = node.tag or ""
        attributes = node.attributes
        for part in (node, *seen.find("source[src]", node)[:1]):
            said = part.attributes
            if (url := seen.address(said.get("src") or said.get("data-src"))) and len(found) < MOST_MEDIA:
                found.setdefault(
                    url,
                    Media(
                        url=url,
                        kind=kind,
                        media_type=media_type(said.get("type")),
                        width=side(attributes.get("width")),
                        height=side(attributes.get("height")),
                    ),
                )
                break
    return tuple(found.values())


def licence(seen: Seen) -> str:
    """Return where the link to the licence leads."""
    for node in seen.find('a[rel~="license" i]')[:MOST_NODES]:
        if url := seen.address(node.attributes.get("href")):
            return url
    return ""


def opening(seen: Seen) -> str:
    """Return the first paragraph that reads like one: long enough, more words than links, not beside the content."""
    for query in ("article p,main p", "p"):
        for node in seen.some(query, MOST_NODES):
            text = clean(shown(node, 4 * LONGEST_OPENING), 4 * LONGEST_OPENING)
            if _length(text) < _SHORTEST_OPENING or "cookie" in text.lower():
                continue
            linked = sum(len(link.text_lexbor()) for link in seen.find("a", node)[:MOST_NODES])
            if 2 * linked < len(text) and not within(node, _APART):
                return _cut(_without_marks(seen, node, text))
    return ""


def _length(text: str) -> int:
    """Return how long a text is, by the width of its characters: Chinese and Japanese say as much in half as many."""
    return len(text) if text.isascii() else len(text) + sum("\u2e80" <= char <= "\uffef" for char in text)


def _without_marks(seen: Seen, node: LexborNode, text: str) -> str:
    """Return the text of a paragraph without what refers to its notes, such as ``[1]``."""
    for raised in seen.find("sup", node)[:MOST_NODES]:
        mark = clean(shown(raised, 100), 100)
        if mark.startswith("["):
            text = text.replace(mark, "", 1)
    return clean(text, 4 * LONGEST_OPENING)


def _times(seen: Seen) -> Iterator[tuple[LexborNode, str]]:
    for node in seen.find("time")[:MOST_NODES]:
        attributes = node.attributes
        said = (attributes.get("class") or "").lower()
        if _EVENT.search(f"{said} {attributes.get('itemprop') or ''} {attributes.get('property') or ''}"):
            continue
        if "itemprop" in attributes and _is_opinion(node):
            continue
        if "updated" in said.split() or "modif" in said:
            yield node, "" if "publish" in said else "modified"
        elif "publish" in said or "entry-date" in said or "pubdate" in attributes:
            yield node, "published"
        elif "comment" not in said:
            yield node, ""


def _is_opinion(node: LexborNode) -> bool:
    """Tell whether the item of a property is a review or a comment on what the page is about."""
    parent = node.parent
    for _ in range(MOST_CLIMBS):
        if parent is None:
            break
        if "itemscope" in (attributes := parent.attributes):
            return (attributes.get("itemtype") or "").endswith(("Review", "Comment"))
        parent = parent.parent
    return False


def _when(node: LexborNode) -> datetime | None:
    """Return the moment of a ``time``: its text tells where no attribute does (HTML standard, 4.5.14)."""
    attributes = node.attributes
    if "datetime" in attributes:
        return plausible_date(attributes["datetime"])
    text = shown(node, 100).strip()
    return plausible_date(text) if len(text) >= _SHORTEST_DAY else None


def _listed(seen: Seen) -> frozenset[int]:
    """Return, by their numbers, those of several articles whose headings lead to other pages."""
    articles = seen.find("article")[:_MOST_ARTICLES]
    if len(articles) < 2:
        return frozenset()
    return frozenset(
        article.mem_id for article in articles for heading in headings(seen, article) if leads_away(seen, heading)
    )


def headings(seen: Seen, part: LexborNode, most: int = 1) -> list[LexborNode]:
    """Return the first heading of a part of a page, or the first few, if it has any."""
    return seen.find("h1,h2,h3,h4", part)[:most]


def leads_away(seen: Seen, heading: LexborNode) -> bool:
    """Tell whether a heading is a link to another page."""
    around = heading.parent if heading.parent is not None and heading.parent.tag == "a" else None
    links = [around] if around is not None else seen.find("a[href]", heading)[:1]
    return any(not seen.is_here(link.attributes.get("href") or "") for link in links)


def _stands_in(node: LexborNode, articles: frozenset[int]) -> bool:
    parent = node.parent
    for _ in range(MOST_CLIMBS):
        if parent is None:
            break
        if parent.mem_id in articles:
            return True
        parent = parent.parent
    return False


def _cut(text: str) -> str:
    """End a long paragraph after a word."""
    if len(text) <= LONGEST_OPENING:
        return text
    return text[: text.rfind(" ", 1, LONGEST_OPENING) if " " in text[1:LONGEST_OPENING] else LONGEST_OPENING - 1] + "…"
