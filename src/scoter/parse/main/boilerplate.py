"""Remove boilerplate from a page: by element, by role, by class names and ids, and links to turn pages.

Names can mislead, so nothing is removed for its name that holds most of the page's text: a ``has-sidebar`` on the
outermost element, a form that is the whole page.
"""

from __future__ import annotations

import re
from math import inf
from typing import Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.names import COMMENTS, IF_LINKS, MAIN, NOTE, ROLE, SURE
from scoter.parse.main.nodes import Element, Line, Node, measure

MAIN_SHARE: Final = 0.3
"""Share of the text that a ``main`` element must hold to be trusted."""
ARTICLE_SHARE: Final = 0.5
MOST: Final = 0.5  # share of the text; an element with more is not boilerplate, whatever its name
MOSTLY: Final = 0.6  # share of an element's text in links
FEW: Final = 0.2  # the same of running text
RUNNING: Final = 160  # characters of a paragraph that is running text, whatever its name (``paywall``)
ENOUGH: Final = 300  # characters besides its comments that make a page more than a list of comments
BESIDES: Final = 800  # characters besides an aside that make it one, however long it is
_BESIDES_NAMED: Final = 300  # the same if its class or id says so, too
TURNING: Final = 400  # characters of a block that turns pages: previous, next, up
MENU: Final = 400  # characters of links before the first heading or text
_FEW_WORDS: Final = 25  # characters beside a link that make no text
_STARTS: Final = name_set("h1 h2 h3 h4 h5 h6 pre table dl figure blockquote")
_HEADINGS: Final = name_set("h1 h2 h3 h4 h5 h6")
_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_ELEMENTS: Final = name_set("nav aside footer form menu search")
_SPARED: Final = name_set("body main article h1 h2 h3 h4 h5 h6 pre code tbody tr th dt dd")
_TURNS: Final = re.compile(r' rel="(?:prev|previous|next|up|start|home|contents|index)"| accesskey="[nphuc]"')


def main_part(body: Element, *, is_technical: bool) -> Element:
    """Remove the boilerplate from a page and return the part of the rest that is the main content."""
    pruner = _Pruner(body, is_technical=is_technical)
    pruner.prune(body, inside=False)
    largest = max(pruner.removed, key=unlinked, default=None)
    if largest is not None and unlinked(largest) > max(ENOUGH, unlinked(body)):
        # Its name has misled: the rest of the page is less. What is in it is judged on its own.
        pruner = _Pruner(largest, is_technical=is_technical)
        pruner.prune(largest, inside=False)
        body.children.append(largest)
        measure(body)
    for one, share in ((pruner.mains, MAIN_SHARE), (pruner.articles, ARTICLE_SHARE)):
        if len(one) == 1 and one[0].size >= share * body.size:
            return with_title(one[0], pruner.titles)
    return body


def unlinked(element: Element) -> int:
    return element.size - element.linked


def with_title(part: Element, titles: list[Element]) -> Element:
    """Prepend the page's only title to a part that has none."""
    if len(titles) != 1 or any(element.tag == "h1" for element in part.elements()):
        return part
    return Element("div", part.about, [titles[0], part], size=part.size + titles[0].size)


class _Pruner:
    def __init__(self, body: Element, *, is_technical: bool) -> None:
        self._is_technical = is_technical
        self.mains: list[Element] = []
        self.articles: list[Element] = []
        self.titles: list[Element] = []
        self.removed: list[Element] = []
        self._body = body
        self._whole = body.size
        self._text = body.size - body.linked
        self._many_titles: bool | None = None

    def prune(self, here: Element, *, inside: bool) -> None:
        """Remove boilerplate from an element, and record ``main`` elements, outermost articles and titles."""
        kept = []
        for child in here.children:
            if type(child) is Element:
                if child.size and self._is_boilerplate(child, here, inside):
                    self.removed.append(child)
                    continue
                tag = child.tag
                if tag == "h1":
                    self.titles.append(child)
                is_main = tag == "main" or child.about.bits & MAIN
                if is_main:
                    self.mains.append(child)
                elif tag == "article" and not inside:
                    self.articles.append(child)
                if child.children:
                    self.prune(child, inside=inside or bool(is_main) or tag == "article")
            kept.append(child)
        here.children = kept
        measure(here)

    def _is_boilerplate(self, element: Element, parent: Element, inside: bool) -> bool:
        tag, bits = element.tag, element.about.bits
        large = element.size - element.linked > MOST * self._text
        if tag in _ELEMENTS:
            if tag == "aside" and bits & NOTE:
                return False
            if tag == "footer" and parent.tag in {"blockquote", "figure"}:
                return False
            besides = _BESIDES_NAMED if bits & SURE else BESIDES
            if tag in {"aside", "footer"} and self._text - unlinked(element) > besides:
                return True
            return not large or (tag == "form" and element.size < ENOUGH)
        if large:
            return False
        if tag == "header" and not inside:
            if self._many_titles is None:
                self._many_titles = sum(each.tag == "h1" and each.size > 0 for each in self._body.elements()) != 1
            return self._many_titles or not any(each.tag == "h1" and each.size for each in element.elements())
        if bits & ROLE:
            return not (self._is_technical and _is_section(element))
        if bits and tag not in _SPARED and self._is_called_so(element, bits):
            return not (self._is_technical and (is_running(element) or _is_section(element)))
        return 0 < element.size < TURNING and 2 * element.linked > element.size and _turns(element)

    def _is_called_so(self, element: Element, bits: int) -> bool:
        """Tell whether an element's class and id mark it as boilerplate."""
        if element.tag == "p" and element.size - element.linked > RUNNING:
            return False
        return bool(bits & SURE or (bits & COMMENTS and (self._whole - element.size > ENOUGH or not element.size)))


def is_running(element: Element) -> bool:
    """Tell whether an element holds running text, which boilerplate rarely does."""
    if element.size - element.linked <= RUNNING or element.linked >= FEW * element.size:
        return False
    return any(
        len(child.words) > RUNNING and child.linked < FEW * len(child.words)
        for each in element.elements()
        for child in each.children
        if type(child) is Line
    )


def _is_section(element: Element) -> bool:
    """Tell whether an element is a section whose id is made of its heading: ``skip-all-tests``."""
    if element.tag != "section" and "section" not in element.get("class").split():
        return False
    heading = next((each for each in element.elements() if each.tag in _HEADINGS), None)
    slug = _NOT_LETTERS.sub("", element.get("id")).lower()
    return heading is not None and bool(slug) and slug in _NOT_LETTERS.sub("", heading.text()).lower()


def remove_first_links(part: Element) -> None:
    """Remove the links before the first heading or text of a part; menus have no other mark on many pages."""
    found: list[Line] = []
    todo: list[Node] = [part]
    while todo:
        node = todo.pop()
        if type(node) is Line:
            if node.words and len(node.words) - node.linked > _FEW_WORDS:
                break
            found.append(node)
        elif type(node) is Element:
            if node.tag in _STARTS or node.code:
                break
            todo += reversed(node.children)
    if any(tag.startswith('a href="#') for line in found for tag in line.parts[1::2]):
        return  # a table of contents
    size = sum(len(line.words) for line in found)
    linked = sum(line.linked for line in found)
    if 2 * linked > size and size <= MENU and unlinked(part) > size:
        without(part, {id(line) for line in found})


def without(element: Element, gone: set[int]) -> None:
    """Remove lines from an element, and the elements that are empty without them."""
    kept: list[Node] = []
    for child in element.children:
        if type(child) is Line:
            if id(child) in gone:
                continue
        elif type(child) is Element and child.size:
            without(child, gone)
            if not child.size and child.tag not in {"td", "th"}:
                continue
        kept.append(child)
    element.children = kept
    measure(element)


def remove_links(here: Element, most: float = inf, text: float = 0) -> None:
    """Remove elements of at most a size that may be boilerplate by their names, and are mostly links.

    ``text`` is how much unlinked text the page has; an element with most of it stays.
    """
    kept: list[Node] = []
    text = text or unlinked(here)
    for child in here.children:
        if type(child) is Element and child.size:
            if (
                child.about.bits & IF_LINKS
                and child.size <= most
                and child.linked > MOSTLY * child.size
                and child.tag not in _SPARED
                and unlinked(child) <= MOST * text
            ):
                continue
            remove_links(child, most, text)
        kept.append(child)
    here.children = kept
    measure(here)


def _turns(element: Element) -> bool:
    """Tell whether an element leads to the pages before and after this one."""
    return any(
        _TURNS.search(tag)
        for each in element.elements()
        for line in each.children
        if type(line) is Line
        for tag in line.parts[1::2]
        if tag[:2] == "a "
    )
