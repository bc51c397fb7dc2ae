"""Find the article of a page: the part with its paragraphs, without what stands around and between them.

A paragraph is a block of running text: long enough, with the punctuation of a sentence, and not mostly links. The
article is the smallest part that holds nearly all of them. Inside it, blocks without a paragraph are kept only where
articles have them: headings, lists, tables and short lines between paragraphs. Captions and the title are left out.
"""

from __future__ import annotations

import re
from typing import Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.tree import INLINE, Element, Node, Text

LEAST_TEXT: Final = 400
"""Characters in paragraphs that make a page an article."""
NEARLY_ALL: Final = 0.7
"""Share of the paragraphs that the article's element must hold."""
HINTED: Final = 0.35
"""Share of the paragraphs that an element called ``article-body`` or similar must hold to be trusted."""
PARTS: Final = 0.1  # share of the paragraphs in an element like the best one that makes it another part of the article
BESIDE: Final = 0.05  # share of the paragraphs directly beside the best element that makes them part of the article
SHORTEST: Final = 50  # characters of a paragraph
LONG: Final = 160  # characters of a paragraph that needs no punctuation
WIDE: Final = 2.5  # Latin letters that an ideograph stands for
MOST_LINKED: Final = 0.4  # share of a paragraph's text in links
FEW_LINKED: Final = 0.3  # the same for a list or table
_SENTENCE: Final = re.compile("[.!?…。！？؟।။]|[,，、،].*[,，、،]", re.DOTALL)
_END: Final = re.compile(r"""[.!?…。！？؟।။:：]["'”’»」』)\]]*\s*$""")
_WIDE: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
_HINT: Final = re.compile(
    r"\b(?:article|entry|post|story|news|blog)s?[-_]{0,2}(?:body|content|text|entry|copy|main)"
    r"|\b(?:body|content)[-_]{0,2}(?:text|copy|body|article)|articlebody|\bmw-parser-output|\bfield-name-body",
    re.IGNORECASE,
)
_HEADINGS: Final = name_set("h2 h3 h4 h5 h6")
_NO_PARAGRAPHS: Final = _HEADINGS | {"h1", "figcaption", "caption"}
_WHOLES: Final = name_set("table pre blockquote ul ol dl")  # kept or dropped as they are
_BETWEEN: Final = _WHOLES | {"p"}


def article(elements: list[Element]) -> Element | None:
    """Return the article in a measured part of a page, given by its ``elements()``; ``None`` if there is none."""
    part = elements[0]
    finder = _Finder(elements)
    whole = finder.weight(part)
    if whole < LEAST_TEXT:
        return None
    hinted = [each for each in finder.heavier(elements, HINTED * whole) if _is_hinted(each)]
    container = finder.smallest(max(hinted, key=finder.weight) if hinted else part)
    return Element(container.tag, container.attributes, finder.cleaned(container), size=container.size, blocky=True)


def _is_hinted(element: Element) -> bool:
    """Tell whether an element's attributes say that it holds the text of an article."""
    said = element.attributes
    names = f"{said.get('class') or ''} {said.get('id') or ''}"
    return said.get("itemprop") == "articleBody" or _HINT.search(names[:500]) is not None


class _Finder:
    """Weighs the elements of one page by the length of the paragraphs in them."""

    def __init__(self, elements: list[Element]) -> None:
        self._weights: dict[int, float] = {}
        self._texts: set[int] = set()  # elements that have running text of their own
        # A teaser is a link around blocks.
        linked = {id(inner) for each in elements if each.tag == "a" and each.blocky for inner in each.elements()}
        for element in reversed(elements):
            if element.blocky or element.tag not in INLINE:
                self._weigh(element, is_linked=id(element) in linked)

    def weight(self, element: Element) -> float:
        return self._weights.get(id(element), 0)

    def heavier(self, elements: list[Element], least: float) -> list[Element]:
        """Return the elements of at least a positive weight."""
        weights = self._weights
        return [each for each in elements if weights.get(id(each), 0) >= least]

    def smallest(self, part: Element) -> Element:
        """Return the smallest element inside a part that holds nearly all of its paragraphs."""
        enough = NEARLY_ALL * self.weight(part)
        here = part
        while True:
            inner = [child for child in here.children if type(child) is Element and self.weight(child)]
            best = max(inner, key=self.weight, default=None)
            if best is None or self.weight(best) < enough or best.tag in _WHOLES or not best.blocky:
                return here
            beside = sum(self.weight(each) for each in inner if each.tag == "p")
            parts = sum(self.weight(each) for each in inner if each is not best and _is_like(each, best))
            whole = self.weight(part)
            if beside > BESIDE * whole or parts > PARTS * whole:
                return here
            here = best

    def cleaned(self, container: Element) -> list[Node]:
        """Return the children of an element that belong to the article."""
        children = container.children
        places = [place for place, child in enumerate(children) if type(child) is Element and self.weight(child)]
        if not places:
            return children if id(container) in self._texts else []
        first, last = (0, len(children)) if id(container) in self._texts else (places[0], places[-1])
        start = first
        while start and _is_heading(children[start - 1]):
            start -= 1
        kept: list[Node] = []
        is_over = False
        for place, child in enumerate(children):
            if type(child) is not Element or (child.tag in INLINE and not child.blocky):
                kept.append(child)
            elif self.weight(child):
                if child.blocky and child.tag not in _WHOLES:
                    child.children = self.cleaned(child)
                kept.append(child)
            elif child.tag == "figure":
                kept += [inner for inner in child.elements() if inner.tag == "img"]
            elif start <= place < first or (first < place < last and _is_between(child)):
                kept.append(child)
            elif place > last:
                is_over = is_over or (child.size > 0 and not _is_last(child))
                if not is_over:
                    kept.append(child)
        return kept

    def _weigh(self, element: Element, *, is_linked: bool) -> None:
        weight = 0.0
        size, linked = element.size, element.linked
        if element.blocky:
            weights = self._weights
            for child in element.children:
                if type(child) is Element and (child.blocky or child.tag not in INLINE):
                    weight += weights.get(id(child), 0)
                    size -= child.size
                    linked -= child.linked
        if size and not is_linked and linked <= MOST_LINKED * size and element.tag not in _NO_PARAGRAPHS:
            length = _running(element, size)
            if length:
                self._texts.add(id(element))
                weight += length
        if weight and not (element.tag == "figure" and element.size < LEAST_TEXT):
            self._weights[id(element)] = weight


def _running(element: Element, size: int) -> float:
    """Return the length of the running text in an element, without the blocks in it; 0 if it is no paragraph."""
    if size * WIDE < SHORTEST:
        return 0
    text = _inline_text(element) if element.blocky else element.text()
    length = size if text.isascii() else size + (WIDE - 1) * len(_WIDE.findall(text))
    return length if length >= LONG or (length >= SHORTEST and _SENTENCE.search(text)) else 0


def _inline_text(element: Element) -> str:
    """Return the text of an element without that of the blocks in it."""
    pieces: list[str] = []
    for child in element.children:
        if type(child) is Text:
            pieces.append(child.words)
        elif type(child) is Element and child.tag in INLINE and not child.blocky:
            pieces.append(child.text())
    return "".join(pieces)


def _is_like(element: Element, other: Element) -> bool:
    return element.tag == other.tag and element.get("class") == other.get("class")


def _is_heading(node: Node) -> bool:
    """Tell whether a node is a heading, or white space beside one."""
    return node.words.isspace() if type(node) is Text else type(node) is Element and node.tag in _HEADINGS


def _is_between(element: Element) -> bool:
    """Tell whether an element without a paragraph, between two of them, belongs to the article."""
    if element.tag in _HEADINGS or not element.size:
        return True
    if element.tag == "p" and element.size - element.linked >= SHORTEST:
        return True
    return element.tag in _BETWEEN and element.linked <= FEW_LINKED * element.size


def _is_last(element: Element) -> bool:
    """Tell whether an element directly after the last paragraph is a shorter one."""
    return element.tag in {"p", "blockquote"} and not element.linked and _END.search(element.text()) is not None
