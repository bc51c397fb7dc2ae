"""The headings of a page, and the sections that links can lead to.

A heading's anchor is its own id, or that of an element inside it or just before it, or that of an element around it
whose first heading it is: generators of documentation write all of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from scoter.core.page import TERM_LEVEL, Heading, PageSection
from scoter.parse.html.elements import HEADINGS, UNSEEN
from scoter.parse.html.page_parts import LONGEST_HEADING, words

MOST_HEADINGS: Final = 200
MOST_SECTIONS: Final = 1_000
_LONGEST_ANCHOR: Final = 200
_LONGEST_SECTION: Final = 200
_INNER: Final = 3  # anchors: unclosed ones are nested
_OUTER: Final = 4  # elements around a heading: DocBook puts three between a section and its title
# Permalink and edit marks that themes put next to a heading; MediaWiki writes them in the language of the wiki.
_MARKS: Final = "¶🔗⚓\u200b"
_FIRSTS: Final = frozenset(f"{_MARKS}#")
_LASTS: Final = frozenset(f"{_MARKS}\ufe0f#§]")
_MARK_BEFORE: Final = re.compile(rf"[{_MARKS}]\ufe0f?\s*|#\s+")
_MARK_AFTER: Final = re.compile(
    rf"\s*[{_MARKS}]\ufe0f?$|\s+[#§]$|\s*\[\s*(?:edit|bearbeiten|modifier|modifica|editar|edytuj|bewerken|redigera|править"
    r"|редагувати|編集|编辑|編輯|편집|تعديل)\b[^\[\]]*\]$",
    re.IGNORECASE,
)


class PageHeadings:
    """Collects headings and terms during the walk, which visits the last first; read them after the walk."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, list[str]]] = []
        """Headings and terms: number of the element, text, anchors that may be theirs; the last of the page first."""
        self.wiki: dict[int, str] = {}
        """Anchors of MediaWiki by the addresses of headings."""
        self._found: list[tuple[LexborNode, list[str]]] = []
        self._inner: list[tuple[str, int, int]] = []

    def read_wiki(self, tree: LexborHTMLParser) -> None:
        """Record the anchors of MediaWiki before version 1.43, which are in elements that the walk unwraps."""
        for node in tree.css("span.mw-headline[id]"):
            if node.parent is not None:
                self.wiki[node.parent.mem_id] = node.attributes.get("id") or ""

    def add_inner(self, node: LexborNode, attributes: Mapping[str, str | None]) -> None:
        """Record an anchor without a target, which may be in a heading that the walk visits next."""
        parent = node.parent
        self._inner.append((_name(attributes), node.mem_id, 0 if parent is None else parent.mem_id))
        del self._inner[:-_INNER]

    def add(self, node: LexborNode) -> None:
        """Record a heading."""
        within = {node.mem_id}
        anchors = [node.attributes.get("id") or "", self.wiki.get(node.mem_id, "")]
        for name, own, parent in reversed(self._inner):
            if parent in within:
                within.add(own)
                anchors.append(name)
        self._inner = []
        anchors.append(_just_before(node))
        anchors += _around(node)
        self._found.append((node, anchors))

    def add_term(self, node: LexborNode) -> None:
        """Record the term of a definition list, if links can lead to it."""
        own = node.attributes.get("id")
        if own:
            self._found.append((node, [own]))

    def forget_inside(self, removed: LexborNode) -> None:
        """Drop the headings in an element without text, such as an svg, before it is removed."""
        wanted = removed.mem_id
        while self._found:
            node: LexborNode | None = self._found[-1][0]
            while node is not None and node.mem_id != wanted:
                node = node.parent
            if node is None:
                break
            self._found.pop()

    def finish(self) -> None:
        """Read the texts of what was recorded, after links in them have been separated."""
        self.rows = [(node.tag_id, _line(node), anchors) for node, anchors in self._found]

    def headings(self) -> tuple[Heading, ...]:
        """Return the first headings."""
        first = [row for row in reversed(self.rows) if row[0] in HEADINGS][:MOST_HEADINGS]
        return tuple(Heading(HEADINGS[number], text) for number, line, _ in first if (text := without_marks(line)))

    def sections(self) -> tuple[PageSection, ...]:
        """Return the first headings and terms that have an anchor."""
        sections = []
        taken: set[str] = set()
        for number, line, anchors in reversed(self.rows):
            anchor = next((each for each in anchors if each and each not in taken), "").strip()
            text = without_marks(line)[:_LONGEST_SECTION]
            if text and 0 < len(anchor) <= _LONGEST_ANCHOR:
                taken.add(anchor)
                sections.append(PageSection(HEADINGS.get(number, TERM_LEVEL), text, anchor))
                if len(sections) == MOST_SECTIONS:
                    break
        return tuple(sections)


def _line(node: LexborNode) -> str:
    first = node.first_child
    if first is not None and first.is_text_node and first.next is None:
        text = node.text_lexbor()
    else:  # with spaces between text nodes
        text = node.text(separator=" ")
    return words(text, LONGEST_HEADING)


def without_marks(heading: str) -> str:
    """Return the text of a heading without the marks that themes put next to it; hardly any has them.

    >>> without_marks("Grey seals ¶")
    'Grey seals'
    """
    if heading[:1] in _FIRSTS and (before := _MARK_BEFORE.match(heading)):
        heading = heading[before.end() :]
    return _MARK_AFTER.sub("", heading) if heading[-1:] in _LASTS else heading


def _name(attributes: Mapping[str, str | None]) -> str:
    return attributes.get("id") or attributes.get("name") or ""


def _just_before(node: LexborNode) -> str:
    """Return the anchor that ends where a heading begins: ``<a name="x"></a><h2>``."""
    before = _previous(node)
    if before is None or before.is_text_node or before.tag not in ("a", "span"):
        return ""
    return "" if before.text().strip() else _name(before.attributes)


def _around(node: LexborNode) -> Iterator[str]:
    """Yield the ids of the elements that begin with a heading, and that of the section that it is directly in."""
    around = node
    for number in range(_OUTER):
        begins = _previous(around) is None
        parent = around.parent
        if parent is None or not (begins or (number == 0 and parent.tag == "section")):
            return
        around = parent
        if name := around.attributes.get("id"):
            yield name


def _previous(node: LexborNode) -> LexborNode | None:
    """Return the element or text before a node; neither comments nor white space count."""
    before = node.prev
    while before is not None and _is_empty(before):
        before = before.prev
    return before


def _is_empty(node: LexborNode) -> bool:
    return node.tag_id in UNSEEN or (node.is_text_node and not node.text_lexbor().strip())
