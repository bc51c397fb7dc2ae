"""Remove boilerplate from a page: by element, by role, and by class names and ids.

Names can mislead, so nothing is removed for its name that holds most of the page's text: a ``has-sidebar`` on the
outermost element, a form that is the whole page.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.tree import INLINE, Element, Text, measure

MAIN_SHARE: Final = 0.3
"""Share of the text that a ``main`` element must hold to be trusted."""
ARTICLE_SHARE: Final = 0.5
MOST: Final = 0.5  # share of the text; an element with more is not boilerplate, whatever its name
MOSTLY: Final = 0.6  # share of an element's text in links
RUNNING: Final = 160  # characters of a paragraph that is running text, whatever its name (``paywall``)
ENOUGH: Final = 300  # characters besides its comments that make a page more than a list of comments

_ELEMENTS: Final = name_set("nav aside footer form menu search")
_ROLES: Final = name_set(
    "navigation banner contentinfo complementary search dialog alertdialog menu menubar toolbar alert status tooltip"
)
_WORDS: Final = name_set(
    "nav navbar navigation navbox breadcrumb breadcrumbs crumbs sidebar footer masthead cookie cookies consent gdpr",
    "newsletter subscribe signup share sharing sharebar social addthis sharethis related recommended recommendations",
    "recirculation promo promos promotion advert adverts advertisement advertising ad ads adsbygoogle adslot sponsor",
    "sponsored outbrain taboola pagination pager paginator skip skiplink skiplinks toolbar popup modal overlay",
    "lightbox tooltip paywall toc noprint editsection printfooter catlinks linenos lineno linenumber gutter",
    "copybutton headerlink backlink backlinks hatnote permalink",
)
_COMMENTS: Final = frozenset(("comment", "comments", "disqus", "respond", "replies"))
# Often content: removed only if mostly links.
_IF_LINKS: Final = name_set(
    "menu header topbar top bar tags tag categories category popular trending latest more links tools tabs next prev",
    "previous topics archive meta bottom login account follow actions action",
)
_TOKENS: Final = name_set(
    "sr-only visually-hidden visuallyhidden screen-reader-text screen-reader-only screenreader-text assistive-text",
    "hidden d-none is-hidden anchor-link line-numbers noprint print-only edit-link",
)
_NOTES: Final = name_set("admonition note notes warning tip callout important caution hint info pullquote")
_SURE, _OF_COMMENTS, _OF_LINKS, _OF_NOTES = 1, 2, 4, 8
_COMMON: Final = 200  # characters of class and id up to which results are cached
_LONGEST: Final = 1_000
_FAR: Final = ("has-", "no-", "with-", "without-", "is-", "js-", "supports-")
_NUMBERED: Final = name_set("linenos lineno linenumber linenumbers line-numbers gutter")
_PILCROWS: Final = frozenset(("¶", "#", "§", "🔗", "⚓", "↩", "↑"))
_CAPITAL: Final = re.compile("(?<=[a-z])(?=[A-Z])")
_SPARED: Final = name_set("body main article h1 h2 h3 h4 h5 h6 pre code table tbody tr td th")


def main_part(body: Element) -> Element:
    """Remove the boilerplate from a measured page and return the part of the rest that is the main content."""
    mains, articles, titles = _prune(body)
    if len(mains) == 1 and mains[0].size >= MAIN_SHARE * body.size:
        return with_title(mains[0], titles)
    if len(articles) == 1 and articles[0].size >= ARTICLE_SHARE * body.size:
        return with_title(articles[0], titles)
    return body


def with_title(part: Element, titles: list[Element]) -> Element:
    """Prepend the page's only title to a part that has none."""
    if len(titles) != 1 or any(element.tag == "h1" for element in part.elements()):
        return part
    return Element("div", {}, [titles[0], part], size=part.size + titles[0].size, blocky=True)


def is_beside_text(element: Element) -> bool:
    """Tell whether an element stands beside content: a permalink, a link to a note, or line numbers of code."""
    if element.tag == "a":
        return _is_permalink(element)
    if element.tag == "sup":
        return _is_reference(element)
    return "class" in element.attributes and not _NUMBERED.isdisjoint(element.get("class").split())


def _prune(body: Element) -> tuple[list[Element], list[Element], list[Element]]:
    """Remove boilerplate; return the remaining ``main`` elements, outermost articles and titles."""
    mains: list[Element] = []
    articles: list[Element] = []
    titles: list[Element] = []
    whole = body.size
    many_titles: bool | None = None
    visited: list[Element] = []
    todo = [(body, False)]
    while todo:
        here, inside = todo.pop()
        visited.append(here)
        kept = []
        for child in here.children:
            if type(child) is Element:
                tag = child.tag
                if many_titles is None and tag == "header":
                    many_titles = sum(each.tag == "h1" and each.size > 0 for each in body.elements()) != 1
                if _is_boilerplate(child, here, whole, inside, many_titles is True):
                    continue
                if tag == "h1":
                    titles.append(child)
                elif tag == "main" or child.attributes.get("role") == "main":
                    mains.append(child)
                elif tag == "article" and not inside:
                    articles.append(child)
                todo.append((child, inside or tag in {"main", "article"}))
            kept.append(child)
        here.children = kept
    measure(visited)
    return mains, articles, titles


def _is_boilerplate(element: Element, parent: Element, whole: int, inside: bool, many_titles: bool) -> bool:
    tag, attributes = element.tag, element.attributes
    large = element.size > MOST * whole
    if tag in _ELEMENTS:
        if tag == "aside" and _names(element) & _OF_NOTES:
            return False
        if tag == "footer" and parent.tag in {"blockquote", "figure"}:
            return False
        return not large or (tag == "form" and element.size < ENOUGH)
    if tag == "button":
        return element.size < parent.size  # a button next to a title, not the title itself
    if tag == "header" and not inside and not large:
        return many_titles or not _holds(element, "h1")
    if tag == "sup" and _is_reference(element):
        return True
    if not attributes:
        return False
    if attributes.get("role") in _ROLES and not large:
        return True
    if tag == "a" and _is_permalink(element):
        return True
    if tag in _SPARED and tag not in {"td", "table"}:
        return False
    return not large and _called_so(element, parent, whole)


def _called_so(element: Element, parent: Element, whole: int) -> bool:
    """Tell whether an element's class and id mark it as boilerplate."""
    if element.tag == "p" and element.size - element.linked > RUNNING:
        return False
    if element.tag == "a" and parent.tag == "p":
        return False
    said = _names(element)
    if said & _SURE or (said & _OF_COMMENTS and (whole - element.size > ENOUGH or not element.size)):
        return True
    return bool(said & _OF_LINKS) and element.tag not in INLINE and element.linked > MOSTLY * element.size


def _names(element: Element) -> int:
    """Return the categories that an element's class and id suggest, as bits."""
    attributes = element.attributes
    text = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return _said(text) if len(text) <= _COMMON else _said.__wrapped__(text[:_LONGEST])


@lru_cache(maxsize=8192)
def _said(text: str) -> int:
    found: set[str] = set()
    tokens = text.split()
    for token in tokens:
        lower = token.lower()
        if lower.startswith(_FAR):
            continue
        # ``site-navBar`` contains site, nav and bar.
        found.update(lower.replace("_", "-").split("-"))
        if lower != token:
            found.update(_CAPITAL.sub("-", token).lower().replace("_", "-").split("-"))
    sure = found & _WORDS or not _TOKENS.isdisjoint(tokens)
    return (
        (_SURE if sure else 0)
        | (_OF_COMMENTS if found & _COMMENTS else 0)
        | (_OF_LINKS if found & _IF_LINKS else 0)
        | (_OF_NOTES if found & _NOTES else 0)
    )


def _is_permalink(element: Element) -> bool:
    return bool(element.attributes) and element.size <= 2 and _text(element) in _PILCROWS


def _is_reference(element: Element) -> bool:
    """Tell whether a superscript is only a link to a note on the same page."""
    links = [child for child in element.children if type(child) is Element]
    return len(links) == 1 and links[0].tag == "a" and links[0].get("href").startswith("#")


def _holds(element: Element, tag: str) -> bool:
    return any(inner.tag == tag and inner.size for inner in element.elements())


def _text(element: Element) -> str:
    words = "".join(child.words for child in element.children if type(child) is Text)
    return words.strip().rstrip("\ufe0e\ufe0f")  # variation selectors: text or emoji style
