"""Author and date from the byline under the heading, for pages that have them nowhere else.

A byline must look like one: a capitalised name of a few words, after "by" or in an element with an author class.
Bylines of teasers and comments are ignored, and so are bylines that name different people.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, takewhile
from typing import Final

from selectolax.lexbor import LexborNode

from scoter.core.metadata import Author
from scoter.parse.html.elements import name_set
from scoter.parse.metadata.body import headings, leads_away
from scoter.parse.metadata.field_values import LONGEST_NAME, authors, clean, plausible_date
from scoter.parse.metadata.page_elements import PageElements, ancestors, visible_text, within

MOST_LOOKED_AT: Final = 60
MOST_LINES: Final = 8
"""Bylines of a page; more of them belong to a list of other pages."""
LONGEST: Final = 200
"""Characters of a byline; longer texts are biographies or whole articles."""
_QUERY: Final = '[class*="byline" i],[class*="author" i]'
_CLASS: Final = re.compile(r"(?:[a-z0-9]+[-_]+)*(?:byline|author)(?:[-_]+(?:name|text))?")
_APART: Final = ("nav", "footer", "aside", "form", "dialog", "template", "noscript", "blockquote", "figure")
_SECONDARY: Final = re.compile(r"comment|repl(?:y|ies)|review|quote|testimonial|teaser|related|widget|sidebar|\bbio\b")
_CLIMBS: Final = 6  # ancestors of a byline that are checked
_BY: Final = re.compile(r"(?:^|[\s|·•])(?:by|von|par|por)[:\s]\s*", re.IGNORECASE)
_LABEL: Final = re.compile(r"authors?\s*:\s*", re.IGNORECASE)
_MONTH: Final = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?"
_DATE: Final = re.compile(
    rf"\b(?:\d{{4}}-\d\d-\d\d|\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH},?\s\d{{4}}|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}})\b",
    re.IGNORECASE,
)
_BEFORE_MODIFIED: Final = re.compile(r"(?:updated|modified|edited|reviewed)[^\w]*(?:on\s)?$", re.IGNORECASE)
_END: Final = re.compile(
    r"\s*[|·•—–/()\[\]]|\s-\s|,?\s+(?:on|in|at|for|updated|published|posted|last)\b", re.IGNORECASE
)
_AND: Final = re.compile(r",?\s+(?:and|&|und|et|y)\s+")
_PARTICLES: Final = name_set("af al av bin da das de del della den der di do dos du e el la le ten ter van von y zu")
_NOBODY: Final = name_set("admin administrator anonymous author authors editor editors guest staff unknown")


def byline(elements: PageElements) -> tuple[Author, ...]:
    """Return the authors named in the byline."""
    elements.bylines = _lines(elements)
    every: list[tuple[Author, ...]] = []
    named: set[int] = set()
    around = {number for node in elements.bylines for number in _ancestors(node)}
    for node in elements.bylines:
        # A byline nested in another one repeats part of it.
        if (text := _text(node)) and named.isdisjoint(_ancestors(node)):
            people = _people(elements, node, text)
            if people:
                named.add(node.mem_id)
            if people or node.mem_id not in around:
                every.append(people)
    found = [people for people in every if people]
    # If the first byline names nobody, as often in forums, the others are not by the author of the page.
    if not every or not every[0] or len({tuple(each.name for each in people) for people in found}) != 1:
        return ()
    return max(found, key=lambda people: sum(bool(each.url) for each in people))


def dateline(elements: PageElements) -> datetime | None:
    """Return the date in the byline or next to it in the same element.

    Only bylines found in the search for an author are read: most pages without a date have none of them.
    """
    days = set()
    for node in elements.bylines:
        day = _date(_text(node))
        if day is None and node.parent is not None and _people(elements, node, _text(node)):
            day = _date(_text(node.parent))
        if day is not None:
            days.add(day)
    return days.pop() if len(days) == 1 else None


def _lines(elements: PageElements) -> list[LexborNode]:
    nodes = [node for node in elements.some(_QUERY, MOST_LOOKED_AT) if _is_line(node) and not within(node, _APART)]
    nodes = [node for node in nodes if not _is_secondary(node)]
    bare: set[int] = set()
    return [node for node in nodes if not _is_teaser(elements, node, bare)] if len(nodes) <= MOST_LINES else []


def _ancestors(node: LexborNode) -> list[int]:
    """Return the ids of the nearest ancestors of a byline."""
    return [each.mem_id for each in ancestors(node, _CLIMBS)]


def _is_line(node: LexborNode) -> bool:
    names = (node.attributes.get("class") or "")[:500].lower().split()
    return any(_CLASS.fullmatch(name) for name in names) and len(node.text_lexbor()) < 4 * LONGEST


def _is_secondary(node: LexborNode) -> bool:
    """Tell whether a byline belongs to a comment, review, teaser or the like."""
    attributes = (each.attributes for each in _up_to_body(node))
    names = (f"{each.get('class') or ''} {each.get('id') or ''}"[:500].lower() for each in attributes)
    return any(map(_SECONDARY.search, names))


def _is_teaser(elements: PageElements, node: LexborNode, bare: set[int]) -> bool:
    """Tell whether the nearest heading links to another page; ``bare`` collects the ids of ancestors without one."""
    for around in _up_to_body(node):
        if around.mem_id not in bare:
            # The name of the site may be a heading that links to the home page.
            found = [heading for heading in headings(elements, around, 3) if not _leads_home(elements, heading)]
            if found:
                return leads_away(elements, found[0])
            bare.add(around.mem_id)
    return False


def _up_to_body(node: LexborNode) -> Iterator[LexborNode]:
    """Yield a byline and its nearest ancestors inside the body."""
    return takewhile(lambda each: each.tag != "body", chain([node], ancestors(node, _CLIMBS - 1)))


def _leads_home(elements: PageElements, heading: LexborNode) -> bool:
    places = [elements.address(link.attributes.get("href")) for link in elements.find("a[href]", heading)[:1]]
    return any(place.count("/") == 3 and place.endswith("/") for place in places)


def _text(node: LexborNode) -> str:
    text = clean(visible_text(node, 4 * LONGEST), 2 * LONGEST)
    return text if len(text) <= LONGEST else ""


def _date(text: str) -> datetime | None:
    days = (found[0] for found in _DATE.finditer(text) if not _BEFORE_MODIFIED.search(text, 0, found.start()))
    return plausible_date(next(days, ""))


def _people(elements: PageElements, node: LexborNode, text: str) -> tuple[Author, ...]:
    by = _BY.search(text)
    rest = _LABEL.sub("", _DATE.sub("|", text[by.end() :] if by else text), count=1)
    end = _END.search(rest)
    *others, last = _AND.split(rest[: end.start()] if end else rest)
    # With one author, the part after a comma is a job title.
    names = [name.strip() for other in others for name in other.split(",")] + [last.partition(",")[0].strip()]
    if not all(_is_name(name, 1 if by else 2) for name in names):
        return ()
    links = {clean(visible_text(link, LONGEST), LONGEST_NAME): link for link in elements.find("a[href]", node)[:5]}
    links |= {clean(visible_text(node, LONGEST), LONGEST_NAME): node} if node.tag == "a" else {}
    return authors(
        Author(name=name, url=elements.address(links[name].attributes.get("href")) if name in links else "")
        for name in names
    )


def _is_name(text: str, least: int) -> bool:
    """Tell whether a text looks like a name of at least this many words."""
    words = text.split()
    if not least <= len(words) <= 5 or len(text) > 60 or text.lower() in _NOBODY:
        return False
    return (
        words[0][0].isupper()
        and all(word[0].isupper() or word.lower() in _PARTICLES for word in words)
        and not any(sign.isdigit() or sign in "@:;!?…" for sign in text)
    )
