"""The walk over the elements of a page, which collects its parts and brings its text into lines.

Lexbor builds the tree as a browser with scripts does, so that the content of a ``noscript`` is neither text nor markup.
One loop over its elements and comments does the rest, from last to first, so that a script in a link is removed before
the link is read. The loop unwraps text-level elements (``un<b>real</b>`` becomes one word) and removes comments and
elements without text (scripts, styles). Each of the others ends a line.

The loop exists twice, with equal results: in Python, and in C (``_walk.c``), which takes a fifth of the time. The
latter is used where Scoter was built with a compiler, and where selectolax lays out its trees as it expects.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import selectolax.lexbor
from selectolax.lexbor import LexborHTMLParser, LexborNode

from scoter.native import native_module
from scoter.parse.html.attributes import largest
from scoter.parse.html.elements import (
    ANCHOR,
    BASE,
    HEADING,
    IMAGE,
    LINK,
    META,
    OUT,
    PIECE,
    REFERENCE,
    ROOT,
    SCRIPT,
    TERM,
    TITLE,
    UNSEEN,
    actions,
    number,
)
from scoter.parse.html.headings import PageHeadings
from scoter.parse.html.options import HtmlOptions
from scoter.parse.html.page_parts import Attributes, PageParts, name_of, separate, whole_text, words
from scoter.parse.robots_meta import ANY_ROBOT

_walk: Final = native_module("scoter.parse.html._walk")

LONGEST_TITLE: Final = 1_000
LONGEST_ANCHOR: Final = 500  # as in _walk.c
_ENOUGH: Final = 4 * LONGEST_ANCHOR  # characters searched for an anchor text, including white space

_NUMBERS: Final = 256  # Lexbor's numbers of HTML elements are below; those of unknown elements are memory addresses
_NOTHING: Final = 255  # the action for elements that need none
_KNOWN: Final = tuple(map(number, ("a", "span", "section", "svg")))


def _is_usable() -> bool:
    if _walk is None:
        return False
    tree = LexborHTMLParser("<title>A</title><p id=x>b<!-- c --><a href=d>e</a> <b></b>f &amp; g<br><ul><li>h</ul>")
    return tree.root is not None and bool(_walk.check(selectolax.lexbor.__file__, tree.root.mem_id))


IS_NATIVE: Final = _is_usable()
"""Whether the walk in C is used."""


class PageWalk:
    """Walks over pages with the same options."""

    def __init__(self, options: HtmlOptions, native: bool = IS_NATIVE) -> None:
        self._native = native
        self._agents, self._with_text = options.agents, options.text
        self._robots = (ANY_ROBOT, *options.agents)
        kinds, after, self._link_elements = actions(options)
        self._kinds = _table(kinds)
        self._after = _table(after)
        self._sources: dict[int, tuple[str, ...]] = {
            each: () for each, kind in kinds.items() if kind in (IMAGE, REFERENCE)
        }
        for each, element in self._link_elements.items():
            if element.name != "form":  # its method decides
                self._sources[each] = (element.name, *element.attributes)
        self._within_text = UNSEEN.union(each for each, kind in kinds.items() if kind in (PIECE, ANCHOR))
        self._inline = bytes([each in self._within_text for each in range(_NUMBERS)])

    def walk(self, tree: LexborHTMLParser, parts: PageParts, headings: PageHeadings) -> str:
        """Collect the parts and headings of a page, whose tree is changed, and return its text."""
        root = tree.root
        if root is None:
            return ""
        if not self._native:
            self._visit_all(tree, root, parts, headings)
            return whole_text(tree) if self._with_text else ""
        body = tree.body
        text: str
        headings.rows, text = _walk.walk(
            root.mem_id,
            0 if body is None else body.mem_id,
            self._kinds,
            self._after,
            self._inline,
            _KNOWN,
            (parts.links, parts.metas, parts.robots),
            self._robots,
            self._sources,
            (partial(self._element, parts), words, largest),
            headings.wiki,
            self._with_text,
        )
        parts.links.reverse()
        return text

    def _visit_all(self, tree: LexborHTMLParser, root: LexborNode, parts: PageParts, headings: PageHeadings) -> None:
        """Visit each element once. Unwrapped and removed elements stay in the list and are still visited."""
        kinds, inline, links = self._kinds, self._within_text, parts.links
        nodes = [*root.traverse()]  # all but texts
        nodes.reverse()
        for node in nodes:
            number: int = node.tag_id
            kind = kinds[number] if number < _NUMBERS else _NOTHING
            if kind == _NOTHING:
                continue
            if kind == PIECE:
                node.unwrap(True)
            elif kind == ANCHOR:  # more than half of all links: inlined for speed
                attributes = node.attributes
                href = attributes.get("href")
                if href is None:
                    href = attributes.get("xlink:href")
                if href is not None:
                    first = node.first_child
                    if first is None or (first.is_text_node and first.next is None):
                        text = node.text_lexbor()
                    else:  # blocks and line breaks separate words; adjacent text nodes do not
                        node.merge_text_nodes()
                        text = node.text(separator=" ")
                    # Otherwise only single spaces separate words.
                    if not text.isprintable() or "  " in text:
                        text = " ".join(text[:_ENOUGH].split())
                    text = text.strip() or parts.image_text(node)
                    rel = attributes.get("rel")
                    links.append((href, text[:LONGEST_ANCHOR], rel.lower() if rel else "", "a"))
                    beside = node.prev or node.parent
                    if beside is not None and beside.tag_id in inline:
                        separate(node, href, inline)
                elif "id" in attributes or "name" in attributes:
                    headings.add_inner(node, attributes)
                node.unwrap(True)
            elif kind == OUT:
                headings.forget_inside(node)
                node.decompose(False)
            elif kind == HEADING:
                headings.add(node)
            elif kind == TERM:
                headings.add_term(node)
            elif kind != TITLE or name_of(node.parent) != "svg":
                text = node.text_lexbor() if kind in (TITLE, SCRIPT) else ""
                label = self._element(parts, kind, number, node.attributes, text)
                if label:
                    parts.image, parts.image_label = node, label
                after = self._after[number]
                if after == PIECE:
                    node.unwrap(True)
                elif after == OUT:
                    headings.forget_inside(node)
                    node.decompose(False)
        links.reverse()
        if tree.body is not None:
            tree.body.merge_text_nodes()
        headings.finish()

    def _element(self, parts: PageParts, kind: int, number: int, attributes: Attributes, text: str) -> str:
        """Record an element that occurs a few times on a page; return the label of an image."""
        if kind >= LINK:
            return self._links(parts, kind, number, attributes, text)
        if kind == META:
            parts.add_meta(attributes, self._agents)
        elif kind == TITLE:
            parts.title = words(text, LONGEST_TITLE) or parts.title
        elif kind == BASE:
            href = attributes.get("href")
            parts.base = parts.base if href is None else href
        elif kind == ROOT:
            parts.language = attributes.get("lang") or attributes.get("xml:lang") or ""
        return ""

    def _links(self, parts: PageParts, kind: int, number: int, attributes: Attributes, text: str) -> str:
        """Record the links of an element, the last one first, as the walk goes backwards."""
        rel = attributes.get("rel")
        rel = rel.lower() if rel else ""
        if kind == REFERENCE and rel and parts.add_reference(rel, attributes):
            return ""
        if kind == SCRIPT and "src" not in attributes:
            parts.scripts.append(text)
        label = attributes.get("alt") or attributes.get("title") or ""
        if label:
            label = words(label, LONGEST_ANCHOR)
        element = self._link_elements.get(number)
        if element is not None:
            links, name = parts.links, element.name
            # As in Nutch: a GET request to the action of a POST form is rarely what the site expects.
            is_post = name == "form" and (attributes.get("method") or "").strip().lower() == "post"
            if kind == IMAGE and (srcset := attributes.get("srcset")):
                widest = largest(srcset)
                if widest and widest != attributes.get("src"):
                    links.append((widest, label, "", name))
            for attribute in () if is_post else element.attributes:
                href = attributes.get(attribute)
                if href is not None:
                    links.append((href, label, rel, name))
        return label if kind == IMAGE else ""


def _table(values: dict[int, int]) -> bytes:
    return bytes([values.get(each, _NOTHING) for each in range(_NUMBERS)])
