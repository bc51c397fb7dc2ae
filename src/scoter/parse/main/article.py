"""Find the article of a page: the part with its paragraphs, without what stands around and between them.

A paragraph is a line of running text: long enough, with the punctuation of a sentence, and not mostly links. The
article is the smallest part that holds nearly all of them. Inside it, blocks without a paragraph are kept only where
articles have them: headings, lists, tables, code, figures and short lines between paragraphs.
"""

from __future__ import annotations

import re
from typing import Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.names import AUTHOR, LEAD, TEASER, TEXT
from scoter.parse.main.nodes import Element, Line, Node, measure

LEAST_TEXT: Final = 400
"""Characters in paragraphs that make a page an article."""
NEARLY_ALL: Final = 0.7
"""Share of the paragraphs that the article's element must hold."""
HINTED: Final = 0.35
"""Share of the paragraphs that an element called ``article-body`` or similar must hold to be trusted."""
PARTS: Final = 0.1  # share of the paragraphs in an element like the best one that makes it another part of the article
BESIDE: Final = 0.02  # share of the paragraphs directly beside the best element that makes them part of the article
SHORTEST: Final = 50  # characters of a paragraph
LONG: Final = 160  # characters of a paragraph that needs no punctuation
WIDE: Final = 2.5  # Latin letters that an ideograph stands for
MOST_LINKED: Final = 0.4  # share of a paragraph's text in links
FEW_LINKED: Final = 0.3  # the same for a list or table
ABOUT_AUTHOR: Final = 0.3  # share of the paragraphs in what is called a box about the author that makes it none
LONGEST_FORMULA: Final = 1_000
LONGEST_LEAD: Final = 1_000  # characters between the title and the article
_LEADS: Final = name_set("p h2 h3 blockquote")
_FOOTNOTES: Final = re.compile(r""" (?:class|id)="[^"]*\b(?:foot|end)notes?\b""", re.IGNORECASE)
_SENTENCE: Final = re.compile("[.!?…。！？؟।။]|[,，、،].*[,，、،]", re.DOTALL)
_TEX: Final = re.compile(r"\\\[.+\\\]|\\\(.+\\\)|\$\$.+\$\$|\\begin\{", re.DOTALL)
_WIDE: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_HEADINGS: Final = name_set("h1 h2 h3 h4 h5 h6")
_NO_PARAGRAPHS: Final = _HEADINGS | {"figcaption", "caption"}
_WHOLES: Final = name_set("table pre blockquote ul ol dl")  # kept or dropped as they are
_LAST: Final = name_set("ul ol dl table pre blockquote")  # end an article as they are
_BETWEEN: Final = _WHOLES | {"p", "figure"}


def article(elements: list[Element]) -> Element | None:
    """Return the article in a part of a page, given by its ``elements()``; ``None`` if there is none."""
    part = elements[0]
    finder = _Finder(elements)
    whole = finder.weight(part)
    if whole < LEAST_TEXT:
        return None
    hinted = [each for each in elements if each.about.bits & TEXT and finder.weight(each) >= HINTED * whole]
    start = finder.with_like(max(hinted, key=finder.weight), elements) if hinted else part
    container = finder.smallest(start)
    found = finder.cleaned(container)
    _end_with_text(found)
    found.children[:0] = finder.leads(part, container)
    measure(found)
    return found


class _Finder:
    """Weighs the elements of one page by the length of the paragraphs in them."""

    def __init__(self, elements: list[Element]) -> None:
        self._weights: dict[int, float] = {}
        self._texts: set[int] = set()  # elements that have running text of their own
        # A teaser is a link around blocks.
        self._linked = {id(inner) for each in elements if each.tag == "a" for inner in each.elements()}
        weights = self._weights
        for element in reversed(elements):
            weight = self._own_weight(element) if element.size else 0.0
            for child in element.children:
                if type(child) is Element:
                    weight += weights.get(id(child), 0)
            if weight and not (element.tag == "figure" and element.size < LEAST_TEXT):
                weights[id(element)] = weight
        self._whole = self.weight(elements[0])

    def weight(self, element: Element) -> float:
        return self._weights.get(id(element), 0)

    def smallest(self, part: Element) -> Element:
        """Return the smallest element inside a part that holds nearly all of its paragraphs."""
        enough = NEARLY_ALL * self.weight(part)
        here = part
        while True:
            inner = [child for child in here.children if type(child) is Element and self.weight(child)]
            best = max(inner, key=self.weight, default=None)
            if best is None or self.weight(best) < enough or best.tag in _WHOLES or best.tag == "p":
                return here
            beside = sum(self.weight(each) for each in inner if each.tag == "p")
            parts = sum(self.weight(each) for each in inner if each is not best and _is_like(each, best))
            whole = self.weight(part)
            if beside > BESIDE * whole or parts > PARTS * whole:
                return here
            here = best

    def with_like(self, hinted: Element, elements: list[Element]) -> Element:
        """Return the parent of an element if that holds another such part of the article, otherwise the element."""
        for each in elements:
            children = each.children
            if any(child is hinted for child in children):
                beside = (child for child in children if type(child) is Element and child is not hinted)
                like = sum(
                    self.weight(child) for child in beside if child.about.bits & TEXT and _is_like(child, hinted)
                )
                return each if like > PARTS * self.weight(hinted) else hinted
        return hinted

    def leads(self, part: Element, container: Element) -> list[Element]:
        """Return the paragraphs between the title of a part, or its start if it has none, and an element in it."""
        found: list[Element] = []
        is_titled = any(each.tag == "h1" and each.size for each in part.elements())
        has_title = not is_titled
        todo: list[Node] = [part]
        while todo:
            node = todo.pop()
            if node is container:
                break
            if type(node) is not Element:
                continue
            if node.tag == "h1" and node.size:
                found, has_title = [], True
            elif self._is_lead(node, has_title):
                found.append(node)
            elif node.size:
                todo += reversed(node.children)
                if has_title and id(node) in self._texts and node.tag not in _LEADS:
                    found.append(node)
                    del todo[-len(node.children) :]
        else:
            return []
        longest = LONGEST_LEAD if is_titled else LONGEST_LEAD // 2
        if sum(each.size for each in found) > longest:
            return [each for each in found if each.about.bits & LEAD][:1]
        return found

    def _is_lead(self, node: Element, has_title: bool) -> bool:
        if node.tag not in _LEADS and not node.about.bits & LEAD:
            return False
        if node.linked > FEW_LINKED * node.size or not SHORTEST <= node.size <= LONGEST_LEAD:
            return False
        if node.about.bits & LEAD:
            return has_title or self.weight(node) > 0
        return has_title and (self.weight(node) > 0 or node.tag in _HEADINGS)

    def _is_beside(self, element: Element) -> bool:
        """Tell whether an element is called a teaser or a box about the author, and has little of the page's text."""
        bits = element.about.bits
        is_called_so = bits & AUTHOR or (bits & TEASER and element.linked)
        return bool(is_called_so) and self.weight(element) < ABOUT_AUTHOR * self._whole

    def cleaned(self, container: Element) -> Element:
        """Return an element with only those of its children that belong to the article."""
        copy = Element(container.tag, container.about, code=container.code, task=container.task)
        copy.children = self._cleaned(container)
        measure(copy)
        return copy

    def _cleaned(self, container: Element) -> list[Node]:
        children = container.children
        has_text = id(container) in self._texts
        places = [place for place, child in enumerate(children) if type(child) is Element and self.weight(child)]
        if not places:
            return list(children) if has_text else []
        first, last = (0, len(children)) if has_text else (places[0], places[-1])
        start = first
        while start and (_is_heading(children[start - 1]) or _is_opening(children[start - 1])):
            start -= 1
        kept: list[Node] = []
        is_over = False
        is_text = any(type(child) is Element and child.tag == "p" and self.weight(child) for child in children)
        for place, child in enumerate(children):
            if type(child) is not Element:
                if start <= place <= last or has_text or _is_displayed(child):
                    kept.append(child)
            elif self._is_beside(child):
                continue
            elif self.weight(child):
                kept.append(child if child.tag in _WHOLES or child.tag == "p" else self.cleaned(child))
            elif (
                child.tag == "figure"
                or _is_displayed(child)
                or _FOOTNOTES.search(child.about.attributes)
                or start <= place < first
                or (first < place < last and _is_between(child))
            ):
                kept.append(child)
            elif place > last:
                is_over = is_over or (child.size > 0 and not _is_last(child, is_text))
                if not is_over:
                    kept.append(child)
        return kept

    def _own_weight(self, element: Element) -> float:
        """Return the length of the running text in an element, without the blocks in it."""
        if element.tag in _NO_PARAGRAPHS or id(element) in self._linked:
            return 0
        total = 0.0
        lines = [child for child in element.children if type(child) is Line]
        if not lines:
            return 0
        size = sum(len(line.words) for line in lines)
        linked = sum(line.linked for line in lines)
        if size * WIDE < SHORTEST or linked > MOST_LINKED * size:
            return 0
        text = lines[0].words if len(lines) == 1 else "\n".join([line.words for line in lines])
        length = size if text.isascii() else size + (WIDE - 1) * len(_WIDE.findall(text))
        if length >= LONG or (length >= SHORTEST and _SENTENCE.search(text)):
            self._texts.add(id(element))
            total = length
        return total


def _is_like(element: Element, other: Element) -> bool:
    return element.tag == other.tag and element.get("class") == other.get("class")


def _is_displayed(node: Node) -> bool:
    """Tell whether a block holds code, or is short and holds a formula."""
    if isinstance(node, Line):
        return _is_math(node)
    if not node.size:
        return False
    elements = node.elements()
    if any(each.code for each in elements):
        return True
    if node.size > LONGEST_FORMULA or node.linked:
        return False
    return any(_is_math(child) for each in elements for child in each.children if type(child) is Line)


def _is_math(line: Line) -> bool:
    return "math" in line.parts or "math tex" in line.parts or _TEX.search(line.words) is not None


def _is_heading(node: Node) -> bool:
    """Tell whether a node is a heading, perhaps in other elements, or nothing."""
    if type(node) is not Element:
        return False
    if node.tag in _HEADINGS or not node.size:
        return True
    return 5 * sum(each.size for each in node.elements() if each.tag in _HEADINGS) >= 4 * node.size


def _is_opening(node: Node) -> bool:
    """Tell whether a node is a short paragraph that may open an article."""
    return type(node) is Element and node.tag == "p" and not node.linked


def _is_between(element: Element) -> bool:
    """Tell whether an element without a paragraph, between two of them, belongs to the article."""
    if element.tag in _HEADINGS or not element.size:
        return True
    if element.tag == "p" and element.size - element.linked >= SHORTEST:
        return True
    return element.tag in _BETWEEN and element.linked <= FEW_LINKED * element.size


def _is_last(element: Element, is_text: bool) -> bool:
    """Tell whether an element directly after the last paragraph belongs to the article; ``is_text``: among ``p``."""
    if is_text and element.tag in _LAST and element.linked <= FEW_LINKED * element.size:
        return True
    return element.tag in {"p", "blockquote"} and not element.linked


def _end_with_text(element: Element) -> None:
    """Remove headings from the end of an article; what they announce was left out."""
    while element.children:
        last = element.children[-1]
        if type(last) is Element and last.tag not in _WHOLES and last.tag not in _HEADINGS:
            _end_with_text(last)
        if type(last) is not Element or (last.size and last.tag not in _HEADINGS) or _has_images(last):
            break
        element.children.pop()
    measure(element)


def _has_images(element: Element) -> bool:
    return element.tag not in _HEADINGS and any(
        type(child) is Line for each in element.elements() for child in each.children
    )
