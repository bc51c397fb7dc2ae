"""Metadata from the content of a page, for fields that no other source has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from selectolax.lexbor import LexborNode

from scoter.core.metadata import Author, Image, Media
from scoter.parse.html.elements import name_set
from scoter.parse.metadata import field_values as fields
from scoter.parse.metadata.page_elements import Attributes, PageElements, ancestors, visible_text, within

MOST_NODES: Final = 30
LONGEST_OPENING: Final = 500
_SHORTEST_OPENING: Final = 60
_SHORTEST_DAY: Final = 8  # characters; a bare year or month is not a publication date
_MOST_ARTICLES: Final = 60
_EVENT: Final = re.compile(r"\b(?:start|end)[-_]?(?:date|time)?\b", re.IGNORECASE)
_APART: Final = ("nav", "footer", "aside", "form", "dialog", "template", "noscript")
MOST_PICTURES: Final = 60
_SHORTEST_SIDE: Final = 100  # pixels; smaller images are icons and trackers
_WIDEST_SHAPE: Final = 4  # times as wide as high; beyond, a banner or a rule
_USUAL_AREA: Final = 240 * 180  # assumed for images without a size
_LARGEST_AREA: Final = 4_000_000
_OUTSIDE_CONTENT: Final = ("nav", "footer", "aside", "header", "form", "dialog", "template", "button", "noscript")
_LAZY_SOURCES: Final = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-image")
_DECORATION: Final = re.compile(
    r"(?:^|[/._\-?=&\s])(?:sprites?|icons?|favicon|logos?|avatars?|gravatar|pixel|spacer|blank|transparent|placeholder"
    r"|tracking|tracker|beacon|1x1|buttons?|badges?|emoji|smil(?:ey|ies)|ads?|adserver|banner|captcha|loading|loader"
    r"|share|social)(?:$|[/._\-?=&\s0-9])",
    re.IGNORECASE,
)
_PICTURE_QUERIES: Final = ('article img,main img,[role="main"] img', "img", "amp-img")
_TRACKERS: Final = name_set("doubleclick.net gravatar.com facebook.com/tr google-analytics.com scorecardresearch.com")


def title(elements: PageElements) -> str:
    """Return the title, or else the first heading."""
    if elements.title:
        return elements.title
    texts = (fields.title(visible_text(node, 4 * fields.LONGEST_TITLE)) for node in elements.find("h1")[:5])
    return next(filter(None, texts), "")


def declared_language(elements: PageElements) -> str:
    """Return the language of the root element, or else of the body."""
    attributes = {} if elements.root is None else elements.root.attributes
    of_body = (node.attributes.get("lang") for node in elements.find("body")[:1])
    return fields.language(attributes.get("lang") or attributes.get("xml:lang")) or fields.language(next(of_body, ""))


def people(elements: PageElements) -> tuple[Author, ...]:
    """Return the authors in ``rel=author`` links, except those of articles that the page only lists."""
    nodes = elements.find('a[rel~="author" i]')[:MOST_NODES]
    listed = _listed(elements) if nodes else frozenset()
    return fields.authors(
        Author(
            name=fields.name(visible_text(node, 4 * fields.LONGEST_NAME)),
            url=elements.address(node.attributes.get("href")),
        )
        for node in nodes
        if not (listed and _is_inside(node, listed))
    )


def published(elements: PageElements) -> datetime | None:
    """Return the first ``time`` that is not of a change, of a comment or outside the content."""
    found: datetime | None = None
    times = list(_times(elements))
    listed = _listed(elements) if times else frozenset()
    for node, kind in times:
        if kind == "modified" or (found is not None and kind != "published"):
            continue
        if listed and _is_inside(node, listed):
            continue
        when = _when(node)
        if when is not None and kind == "published":
            return when
        if when is not None and not within(node, _APART):
            found = when
    return found


def modified(elements: PageElements) -> datetime | None:
    """Return the first ``time`` that is marked as a change."""
    return next((when for node, kind in _times(elements) if kind == "modified" and (when := _when(node))), None)


def tags(elements: PageElements) -> tuple[str, ...]:
    """Return the texts of ``rel=tag`` links."""
    links = elements.find('a[rel~="tag" i]')[:MOST_NODES]
    return fields.words(visible_text(node, 500).replace(",", " ") for node in links)


def media(elements: PageElements) -> tuple[Media, ...]:
    """Return the videos and audio files embedded in the page."""
    return fields.distinct(_media(elements))


def _media(elements: PageElements) -> Iterator[Media]:
    for node in elements.find("video,audio")[:MOST_NODES]:
        width, height = (fields.side(node.attributes.get(name)) for name in ("width", "height"))
        for part in (node, *elements.find("source[src]", node)[:1]):
            said = part.attributes
            if url := elements.address(said.get("src") or said.get("data-src")):
                kind = fields.media_type(said.get("type"))
                yield Media(url=url, kind=node.tag or "", media_type=kind, width=width, height=height)
                break


def licence(elements: PageElements) -> str:
    """Return the target of the ``rel=license`` link."""
    links = elements.find('a[rel~="license" i]')[:MOST_NODES]
    return next(filter(None, (elements.address(node.attributes.get("href")) for node in links)), "")


def opening(elements: PageElements) -> str:
    """Return the first real paragraph: long enough, more text than links, inside the content."""
    for query in ("article p,main p", "p"):
        for node in elements.some(query, MOST_NODES):
            text = fields.clean(visible_text(node, 4 * LONGEST_OPENING), 4 * LONGEST_OPENING)
            if _length(text) < _SHORTEST_OPENING or "cookie" in text.lower():
                continue
            linked = sum(len(link.text_lexbor()) for link in elements.find("a", node)[:MOST_NODES])
            if 2 * linked < len(text) and not within(node, _APART):
                return _truncate(_without_marks(elements, node, text))
    return ""


def _length(text: str) -> int:
    """Return the length of a text, counting Chinese and Japanese characters twice, as they say more."""
    return len(text) if text.isascii() else len(text) + sum("\u2e80" <= char <= "\uffef" for char in text)


def _without_marks(elements: PageElements, node: LexborNode, text: str) -> str:
    """Remove references to footnotes, such as ``[1]``."""
    for raised in elements.find("sup", node)[:MOST_NODES]:
        mark = fields.clean(visible_text(raised, 100), 100)
        if mark.startswith("["):
            text = text.replace(mark, "", 1)
    return fields.clean(text, 4 * LONGEST_OPENING)


def _times(elements: PageElements) -> Iterator[tuple[LexborNode, str]]:
    for node in elements.find("time")[:MOST_NODES]:
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
    """Tell whether a property belongs to a review or comment."""
    scope = next((said for each in ancestors(node) if "itemscope" in (said := each.attributes)), {})
    return (scope.get("itemtype") or "").endswith(("Review", "Comment"))


def _when(node: LexborNode) -> datetime | None:
    """Return the date of a ``time`` element, from its text if it has no attribute (HTML standard, 4.5.14)."""
    attributes = node.attributes
    if "datetime" in attributes:
        return fields.plausible_date(attributes["datetime"])
    text = visible_text(node, 100).strip()
    return fields.plausible_date(text) if len(text) >= _SHORTEST_DAY else None


def _listed(elements: PageElements) -> frozenset[int]:
    """Return the ids of articles whose headings link to other pages, if there are several articles."""
    articles = elements.find("article")[:_MOST_ARTICLES]
    if len(articles) < 2:
        return frozenset()
    return frozenset(
        article.mem_id
        for article in articles
        for heading in headings(elements, article)
        if leads_away(elements, heading)
    )


def headings(elements: PageElements, part: LexborNode, most: int = 1) -> list[LexborNode]:
    """Return the first headings inside an element."""
    return elements.find("h1,h2,h3,h4", part)[:most]


def leads_away(elements: PageElements, heading: LexborNode) -> bool:
    """Tell whether a heading links to another page."""
    around = heading.parent
    links = [around] if around is not None and around.tag == "a" else elements.find("a[href]", heading)[:1]
    return any(not elements.is_here(link.attributes.get("href") or "") for link in links)


def _is_inside(node: LexborNode, articles: frozenset[int]) -> bool:
    return any(each.mem_id in articles for each in ancestors(node))


def _truncate(text: str) -> str:
    """Truncate a long paragraph after a word."""
    if len(text) <= LONGEST_OPENING:
        return text
    return text[: text.rfind(" ", 1, LONGEST_OPENING) if " " in text[1:LONGEST_OPENING] else LONGEST_OPENING - 1] + "…"


def picture(elements: PageElements) -> Image | None:
    """Return the largest plausible image, preferably from the main content."""
    for query in _PICTURE_QUERIES:
        pictures = [(node, node.attributes) for node in elements.some(query, MOST_PICTURES)]
        sized = [(area, *picture) for picture in pictures if (area := _area(picture[1]))]
        for _, node, attributes in sorted(sized, key=lambda each: -each[0]):
            if (found := _as_image(elements, attributes)) is not None and not within(node, _OUTSIDE_CONTENT):
                return found
    return None


def shown_size(elements: PageElements, url: str) -> tuple[int, int] | None:
    """Return the size that the page declares where it shows an image; ``None`` for a thumbnail."""
    name = url.rpartition("/")[2]
    for node in elements.some("img[width][height]", MOST_PICTURES):
        attributes = node.attributes
        href = attributes.get("src") or ""
        width, height = fields.side(attributes.get("width")), fields.side(attributes.get("height"))
        if min(width or 0, height or 0) >= _SHORTEST_SIDE and href.endswith(name) and elements.picture(href) == url:
            return width or 0, height or 0
    return None


def _area(attributes: Attributes) -> int:
    """Estimate the area of an image in pixels; 0 if it is too small or too narrow."""
    width, height = fields.side(attributes.get("width")), fields.side(attributes.get("height"))
    if (width is not None and width < _SHORTEST_SIDE) or (height is not None and height < _SHORTEST_SIDE):
        return 0
    if width and height:
        return min(width * height, _LARGEST_AREA) if 1 / _WIDEST_SHAPE <= width / height <= _WIDEST_SHAPE else 0
    one = width or height or _picture_source(attributes)[1]
    if not one:
        return _USUAL_AREA
    return min(one * one * 2 // 3, _LARGEST_AREA) if one >= _SHORTEST_SIDE else 0


def _as_image(elements: PageElements, attributes: Attributes) -> Image | None:
    """Return an image, or ``None`` for a decoration."""
    href, _ = _picture_source(attributes)
    said = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if len(href) > fields.LONGEST_ADDRESS or _DECORATION.search(href) or _DECORATION.search(said[:500]):
        return None
    url = elements.picture(href)
    if not url or url.partition("?")[0].lower().endswith((".svg", ".ico", ".gif")) or any(h in url for h in _TRACKERS):
        return None
    return fields.image(url, attributes.get("alt"), attributes.get("width"), attributes.get("height"))


def _picture_source(attributes: Attributes) -> tuple[str, int]:
    """Return the source and width of an image: the largest of its ``srcset``, or else a lazy source before ``src``."""
    best = ("", 0)
    for name in ("srcset", "data-srcset"):
        for part in (attributes.get(name) or "")[:20_000].split(", ")[:30]:
            href, _, size = part.strip().rpartition(" ")
            width = (fields.side(size[:-1]) or 0) if size.endswith("w") else 0
            if href and not href.startswith("data:") and width > best[1]:
                best = (href.strip(), width)
    if best[0]:
        return best
    # The src of a lazy image is a placeholder.
    return next(filter(None, (attributes.get(name) for name in (*_LAZY_SOURCES, "src"))), None) or "", 0
