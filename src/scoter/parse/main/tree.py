"""A copy of a page's body with everything that may be content, bounded in depth and size.

Later steps recurse, or take time proportional to depth times size. Real pages are at most 35 elements deep (of 150
examined); hostile ones thousands. Deeper content is read as if the elements around it were missing.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct
from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode

from scoter.parse.html.elements import name_set

DEEPEST: Final = 64
MOST_NODES: Final = 100_000
"""Limit on elements and texts; below the number of private characters that mark them (see ``extraction``)."""

INLINE: Final = name_set(
    "a abbr acronym b bdi bdo big blink cite code data del dfn em font i img ins kbd label mark math nobr q rb rp rt",
    "ruby s samp small span strike strong sub sup time tt u var wbr br annotation mrow mi mn mo msup msub mfrac msqrt",
    "semantics picture button",
)
"""Inline elements; every other one starts a block."""
_NEVER: Final = name_set(
    "input textarea select button script style noscript template svg iframe head title link meta base object embed",
    "applet canvas datalist progress meter audio video map area frame frameset noframes noembed annotation",
    "annotation-xml source track param dialog -comment -undef !doctype",
) | {""}  # the name of a processing instruction
_PLAIN: Final = name_set("b br em hr i strong tbody thead tr wbr")  # their attributes say nothing about the content
_TITLES: Final = name_set("h1 h2 h3 h4 h5 h6 summary dt")  # a button inside one is its text
_SAME: Final = {"amp-img": "img", "amp-anim": "img"}
_NUMBERS: Final = 256  # Lexbor's numbers of known elements are below; others are memory addresses
_TAGS: Final[dict[int, str]] = {}
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value
TASK: Final = "checked"
"""The attribute of a list item that is a task."""
_UNSEEN: Final = ("display:none", "visibility:hidden")


class Text(Struct, eq=False, gc=False):
    """Text of a page, unchanged; ``kept`` if it belongs to the main content."""

    words: str
    kept: bool = True


class Element(Struct, eq=False):
    """An element that may hold content.

    ``size`` counts the characters of its text, ``linked`` those in links, and ``blocky`` tells whether it contains a
    block, all as of the last ``measure``.
    """

    tag: str
    attributes: dict[str, str | None]
    children: list[Node] = []
    kept: bool = True
    size: int = 0
    linked: int = 0
    blocky: bool = False

    def get(self, name: str) -> str:
        """Return an attribute's value, or an empty string."""
        return self.attributes.get(name) or ""

    def elements(self) -> list[Element]:
        """Return this element and all its descendants in document order."""
        found: list[Element] = []
        todo = [self]
        while todo:
            element = todo.pop()
            found.append(element)
            # A list is built faster than a generator is run, and most elements hold only a text.
            if inner := [child for child in element.children if type(child) is Element]:
                inner.reverse()
                todo += inner
        return found

    def text(self) -> str:
        """Return its kept text with white space unchanged; ``br`` becomes a line break."""
        parts: list[str] = []
        todo: list[Node] = [self]
        while todo:
            node = todo.pop()
            if type(node) is Text:
                if node.kept:
                    parts.append(node.words)
            elif type(node) is Element:
                if node.tag == "br":
                    parts.append("\n")
                todo.extend(reversed(node.children))
        return "".join(parts)


Node: TypeAlias = Element | Text


def read_tree(markup: bytes) -> Element:
    """Return the body of a page, measured, without elements that are never displayed."""
    tree = LexborHTMLParser(markup, options=_OPTIONS, scripting=True)
    body = tree.body
    root = Element("body", {})
    if body is None:
        return root
    # A tag makes an element, an implied one (tbody) and a text; only unclosed formatting makes more.
    most = min(MOST_NODES, 3 * markup.count(b"<") + 100)
    count = 0
    here = root
    above: list[tuple[LexborNode | None, Element]] = []
    node = body.first_child
    while count < most:
        if node is None:
            if not above:
                break
            inner = here
            node, here = above.pop()
            if inner is not here:
                _add(inner, here)
            continue
        number = node.tag_id
        tag = _TAGS.get(number) or _tag(node, number)
        if tag == "-text":
            words = node.text_content or ""
            here.children.append(Text(words))
            here.size += len(words.strip())
            count += 1
        elif tag == "input":
            count += 1
            _check(node.attributes, here, above[-1][1] if above else root)
        elif tag in _NEVER and not (tag == "button" and here.tag in _TITLES):
            count += 1
        elif tag in _PLAIN or not (attributes := node.attributes) or not _hidden(attributes):
            count += 1
            inside = node.first_child
            if len(above) < DEEPEST:
                element = Element(_SAME.get(tag, tag), {} if tag in _PLAIN else attributes)
                here.children.append(element)
                if inside is None and tag not in INLINE:
                    here.blocky = True
            else:
                element = here
            if inside is not None:
                above.append((node.next, here))
                node, here = inside, element
                continue
        node = node.next
    while above:
        inner = here
        _, here = above.pop()
        if inner is not here:
            _add(inner, here)
    return root


def _tag(node: LexborNode, number: int) -> str:
    """Return the name of an element; those of known elements are kept, as asking for a number is faster."""
    tag = node.tag or ""
    if number < _NUMBERS:
        _TAGS[number] = tag
    return tag


def _add(inner: Element, outer: Element) -> None:
    """Add the measures of a complete element to those of its parent."""
    outer.size += inner.size
    if inner.tag == "a":
        inner.linked = inner.size
    outer.linked += inner.linked
    outer.blocky = outer.blocky or inner.blocky or inner.tag not in INLINE


def _check(attributes: dict[str, str | None], here: Element, around: Element) -> None:
    """Record the checkbox of a task on its list item: ``x`` if done."""
    item = here if here.tag == "li" else around
    if item.tag != "li" or (attributes.get("type") or "").lower() != "checkbox":
        return
    if "disabled" in attributes or "task" in (attributes.get("class") or "") + item.get("class"):
        item.attributes = {**item.attributes, TASK: "x" if "checked" in attributes else " "}


def measure(elements: list[Element]) -> None:
    """Compute ``size``, ``linked`` and ``blocky`` of elements, each of which comes before those in it."""
    for element in reversed(elements):
        size, linked, blocky = 0, 0, False
        for child in element.children:
            if type(child) is Text:
                size += len(child.words.strip()) if child.kept else 0
            elif type(child) is Element:
                size += child.size
                linked += child.linked
                blocky = blocky or child.blocky or child.tag not in INLINE
        element.size, element.blocky = size, blocky
        element.linked = size if element.tag == "a" else linked


def _hidden(attributes: dict[str, str | None]) -> bool:
    if "hidden" in attributes and attributes["hidden"] != "until-found":
        return True
    if "aria-hidden" in attributes and attributes["aria-hidden"] == "true":
        return True
    if "style" not in attributes or not (style := attributes["style"]):
        return False
    style = style.replace(" ", "").lower()
    return any(rule in style for rule in _UNSEEN)
