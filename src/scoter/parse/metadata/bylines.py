"""Who wrote a page, and when, by the line under its heading: for pages that say it nowhere else.

A line is believed where it reads like one: a name of a few words with capitals, after "by" or in an element that is
called an author's. Lines of teasers and comments are not, nor lines that name different people.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from selectolax.lexbor import LexborNode

from scoter.core.metadata import Author
from scoter.parse.metadata.body import headings, leads_away
from scoter.parse.metadata.field_values import LONGEST_NAME, authors, clean, plausible_date
from scoter.parse.metadata.page_elements import PageElements, shown, within

MOST_LOOKED_AT: Final = 60
MOST_LINES: Final = 8
"""Lines of a page; where there are more they are a list, and none of them is the page's."""
LONGEST: Final = 200
"""Characters of a line; what is longer tells about an author, or is a whole article."""
_QUERY: Final = '[class*="byline" i],[class*="author" i]'
_CLASS: Final = re.compile(r"(?:[a-z0-9]+[-_]+)*(?:byline|author)(?:[-_]+(?:name|text))?")
_APART: Final = ("nav", "footer", "aside", "form", "dialog", "template", "noscript", "blockquote", "figure")
_OTHERS: Final = re.compile(r"comment|repl(?:y|ies)|review|quote|testimonial|teaser|related|widget|sidebar|\bbio\b")
_CLIMBS: Final = 6  # elements around a line that are looked at
_BY: Final = re.compile(r"(?:^|[\s|·•])(?:by|von|par|por)[:\s]\s*", re.IGNORECASE)
_LABEL: Final = re.compile(r"authors?\s*:\s*", re.IGNORECASE)
_MONTH: Final = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE: Final = re.compile(
    rf"\b(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH},?\s\d{{4}}|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}})\b",
    re.IGNORECASE,
)
_CHANGED: Final = re.compile(r"(?:updated|modified|edited|reviewed)[^\w]*(?:on\s)?$", re.IGNORECASE)
_END: Final = re.compile(
    r"\s*[|·•—–/()\[\]]|\s-\s|,?\s+(?:on|in|at|for|updated|published|posted|last)\b", re.IGNORECASE
)
_AND: Final = re.compile(r",?\s+(?:and|&|und|et|y)\s+")
_PARTICLES: Final = frozenset(
    (
        *("af", "al", "av", "bin", "da", "das", "de", "del", "della", "den", "der", "di", "do", "dos", "du", "e", "el"),
        *("la", "le", "ten", "ter", "van", "von", "y", "zu"),
    )
)
_NOBODY: Final = frozenset(
    ["admin", "administrator", "anonymous", "author", "authors", "editor", "editors", "guest", "staff", "unknown"]
)


def byline(elements: PageElements) -> tuple[Author, ...]:
    """Return whom the line under the heading names."""
    elements.bylines = _lines(elements)
    every: list[tuple[Author, ...]] = []
    named: set[int] = set()
    around = {number for node in elements.bylines for number in _around(node)}
    for node in elements.bylines:
        # A line in another says a part of the same, or what the other says among more.
        if (text := _text(node)) and named.isdisjoint(_around(node)):
            people = _people(elements, node, text)
            if people:
                named.add(node.mem_id)
            if people or node.mem_id not in around:
                every.append(people)
    found = [people for people in every if people]
    # Where the first names nobody, as many in a forum do, it is not the others who wrote the page.
    if not every or not every[0] or len({tuple(each.name for each in people) for people in found}) != 1:
        return ()
    return max(found, key=lambda people: sum(bool(each.url) for each in people))


def dateline(elements: PageElements) -> datetime | None:
    """Return the day in the line under the heading, or beside it in the same element.

    Only lines that were looked for before, for want of an author, are read: most pages without a day have none.
    """
    days = set()
    for node in elements.bylines:
        day = _day(_text(node))
        if day is None and node.parent is not None and _people(elements, node, _text(node)):
            day = _day(_text(node.parent))
        if day is not None:
            days.add(day)
    return days.pop() if len(days) == 1 else None


def _lines(elements: PageElements) -> list[LexborNode]:
    nodes = [node for node in elements.some(_QUERY, MOST_LOOKED_AT) if _is_line(node) and not within(node, _APART)]
    nodes = [node for node in nodes if not _is_others(node)]
    bare: set[int] = set()
    return [node for node in nodes if not _is_teaser(elements, node, bare)] if len(nodes) <= MOST_LINES else []


def _around(node: LexborNode) -> list[int]:
    """Return the nearest elements around a line, by their numbers."""
    found: list[int] = []
    parent = node.parent
    while parent is not None and len(found) < _CLIMBS:
        found.append(parent.mem_id)
        parent = parent.parent
    return found


def _is_line(node: LexborNode) -> bool:
    names = (node.attributes.get("class") or "")[:500].lower().split()
    return any(_CLASS.fullmatch(name) for name in names) and len(node.text_lexbor()) < 4 * LONGEST


def _is_others(node: LexborNode) -> bool:
    """Tell whether a line is that of a comment and the like."""
    around: LexborNode | None = node
    for _ in range(_CLIMBS):
        if around is None or around.tag == "body":
            break
        attributes = around.attributes
        if _OTHERS.search(f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:500].lower()):
            return True
        around = around.parent
    return False


def _is_teaser(elements: PageElements, node: LexborNode, bare: set[int]) -> bool:
    """Tell whether the nearest heading around a line leads to another page; ``bare`` are those without one."""
    around: LexborNode | None = node
    for _ in range(_CLIMBS):
        if around is None or around.tag == "body":
            break
        if around.mem_id not in bare:
            # The name of the site may be a heading, and a link to its first page.
            found = [heading for heading in headings(elements, around, 3) if not _leads_home(elements, heading)]
            if found:
                return leads_away(elements, found[0])
            bare.add(around.mem_id)
        around = around.parent
    return False


def _leads_home(elements: PageElements, heading: LexborNode) -> bool:
    places = [elements.address(link.attributes.get("href")) for link in elements.find("a[href]", heading)[:1]]
    return any(place.count("/") == 3 and place.endswith("/") for place in places)


def _text(node: LexborNode) -> str:
    text = clean(shown(node, 4 * LONGEST), 2 * LONGEST)
    return text if len(text) <= LONGEST else ""


def _day(text: str) -> datetime | None:
    for found in _DATE.finditer(text):
        if not _CHANGED.search(text, 0, found.start()):
            return plausible_date(found[0])
    return None


def _people(elements: PageElements, node: LexborNode, text: str) -> tuple[Author, ...]:
    by = _BY.search(text)
    rest = _LABEL.sub("", _DATE.sub("|", text[by.end() :] if by else text), count=1)
    end = _END.search(rest)
    *others, last = _AND.split(rest[: end.start()] if end else rest)
    # What follows a comma is what the one author is, unless there are several.
    names = [name.strip() for other in others for name in other.split(",")] + [last.partition(",")[0].strip()]
    if not all(_is_name(name, 1 if by else 2) for name in names):
        return ()
    links = {clean(shown(link, LONGEST), LONGEST_NAME): link for link in elements.find("a[href]", node)[:5]}
    links |= {clean(shown(node, LONGEST), LONGEST_NAME): node} if node.tag == "a" else {}
    return authors(
        Author(name=name, url=elements.address(links[name].attributes.get("href")) if name in links else "")
        for name in names
    )


def _is_name(text: str, least: int) -> bool:
    """Tell whether a text reads like a name of this many words at least."""
    words = text.split()
    if not least <= len(words) <= 5 or len(text) > 60 or text.lower() in _NOBODY:
        return False
    return (
        words[0][0].isupper()
        and all(word[0].isupper() or word.lower() in _PARTICLES for word in words)
        and not any(sign.isdigit() or sign in "@:;!?…" for sign in text)
    )
