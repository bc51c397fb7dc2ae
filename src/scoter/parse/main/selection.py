"""Let trafilatura select the texts of a page that are its main content.

Trafilatura returns a tree of its own, so it is asked as resiliparse is (see ``extraction``): every text is passed to it
with a marker, and the markers in its result identify the texts that it keeps. It drops private use characters, and its
decisions depend on lengths. So a marker is a rare ideograph that replaces the first character of a text.

Its input is built from our tree, not from the markup, so both see the same page: the one that a browser with scripting
displays, without hidden elements. A code block has one marker, as single words in it look like buttons (``print``) and
links in it like navigation.
"""

from __future__ import annotations

import re
from typing import Any, Final

from scoter.parse.html.elements import name_set
from scoter.parse.main.boilerplate import is_beside_text
from scoter.parse.main.tree import INLINE, Element, Text, measure

_FIRST: Final = 0x20000  # of CJK Unified Ideographs Extension B
_LAST: Final = 0x2A6D6  # further texts share it, so all of them are kept or none
_MARKS: Final = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")
_UNFIT: Final = re.compile(f"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0001ffff{chr(_LAST + 1)}-\U0010ffff]")
_SEEN: Final = name_set("class id role itemprop href lang data-component data-testid")
_CELLS: Final = name_set("td th")
_ASIDE: Final = name_set("nav header aside footer form menu")
_FORUM: Final = b'"DiscussionForumPosting"'
_NEAR: Final = 0.5  # share of the text around an image or code that must be kept for it to be kept
_SHORT: Final = 300  # characters; less is trusted only if it is not little of the page
_LITTLE: Final = 0.25


def select(body: Element, markup: bytes) -> bool:
    """Reduce a page to what trafilatura keeps of it; return whether it keeps enough to be trusted."""
    from lxml.etree import SubElement  # type: ignore[import-untyped]
    from lxml.html import Element as HtmlElement  # type: ignore[import-untyped]
    from trafilatura import bare_extraction

    elements = body.elements()
    around: dict[int, int] = {}  # characters of each element, without its code
    for element in reversed(elements):
        code = sum(child.size - around[id(child)] for child in element.children if type(child) is Element)
        around[id(element)] = 0 if element.tag == "pre" else element.size - code
    page = HtmlElement("html")
    if _FORUM in markup:  # posts, which it otherwise drops as comments
        SubElement(page, "script", type="application/ld+json").text = '{"@type": "DiscussionForumPosting"}'
    marked: list[list[Text]] = []
    _copy(body, page, marked, around, SubElement)
    try:
        found = bare_extraction(page, fast=True, include_comments=False, output_format="txt")
    except Exception:  # it fails on this page
        return False
    result: Any = getattr(found, "body", None)
    kept = set() if result is None else {ord(mark) - _FIRST for mark in _MARKS.findall("".join(result.itertext()))}
    size = sum(len(text.words.strip()) for number in kept for text in marked[number])
    if not kept or (size < _SHORT and size < _LITTLE * body.size):
        return False
    for number, texts in enumerate(marked):
        for text in texts:
            text.kept = number in kept
    measure(elements)
    _prune(body, around, near=False)
    measure(body.elements())
    return True


def _copy(element: Element, parent: Any, marked: list[list[Text]], around: dict[int, int], add: Any) -> Any:
    """Copy an element into a tree of lxml, with marked texts."""
    tag = element.tag
    if tag == "math":  # it drops formulas and figures
        tag = "span"
    elif not (tag.isalnum() and tag.isascii()) or (tag == "figure" and around[id(element)] < element.size):
        tag = "div"
    said = element.attributes
    if said:
        said = {name: _UNFIT.sub("", value) for name, value in said.items() if name in _SEEN and value}
    copy = add(parent, tag, said)
    if tag == "pre":
        copy.text = _marked(element.text(), _texts(element), marked)
        return copy
    last: Any = None
    words = ""
    for child in [*element.children, None]:
        if type(child) is Text:
            words += _marked(child.words, [child], marked)
            continue
        if words and last is None:
            copy.text = words
        elif words:
            last.tail = words
        if type(child) is Element:
            last, words = _copy(child, copy, marked, around, add), ""
    return copy


def _marked(words: str, texts: list[Text], marked: list[list[Text]]) -> str:
    """Return words with a marker of the texts they come from."""
    words = _UNFIT.sub("-", words)
    bare = words.lstrip()
    if not bare:
        return words
    if len(marked) <= _LAST - _FIRST:
        marked.append(texts)
    else:
        marked[-1] += texts
    return f"{words[: len(words) - len(bare)]}{chr(_FIRST + len(marked) - 1)}{bare[1:]}"


def _texts(element: Element) -> list[Text]:
    return [child for inner in element.elements() for child in inner.children if type(child) is Text]


def _prune(element: Element, around: dict[int, int], *, near: bool) -> bool:
    """Remove what is not kept; return whether anything is left.

    Images and code are kept if most of the text around them is: that of the first element around with any other text,
    except a figure.
    """
    if around[id(element)] and element.tag != "figure":
        near = element.size >= _NEAR * around[id(element)]
    elif element.tag in _ASIDE:
        near = False
    left = False
    children = []
    for child in element.children:
        if type(child) is Text:
            if not child.kept:
                continue
            left = left or bool(child.words.strip())
        elif type(child) is Element:
            if is_beside_text(child):
                continue
            if child.tag == "img":
                if not near:
                    continue
                left = True
            elif child.tag not in {"br", "hr"}:
                if child.tag == "pre" and near:
                    for text in _texts(child):
                        text.kept = True
                filled = _prune(child, around, near=near)
                left = left or filled
                # White space may be an element, and an empty cell keeps others in their columns.
                is_space = child.tag in INLINE and not around[id(child)]
                if not filled and not is_space and child.tag not in _CELLS:
                    continue
        children.append(child)
    element.children = children
    return left
