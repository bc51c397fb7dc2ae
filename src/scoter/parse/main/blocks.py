"""Write the blocks of a page as Markdown: headings, paragraphs, lists, quotations, code, tables, rules.

The writer recurses once per nested element; the tree bounds the depth. Lists and quotations indent their content, so at
most eight levels are nested, and deeper content stays on the eighth. Output is charged to a budget; when it is used up,
the rest of the page is dropped.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final

from msgspec import Struct

from scoter.core.url import Url
from scoter.parse.html.elements import name_set
from scoter.parse.main.inline import EM, STRONG, InlineNode, InlineWriter, code_block, inline_nodes
from scoter.parse.main.names import about_tag
from scoter.parse.main.nodes import Element, Line, Node, attribute
from scoter.parse.main.tables import is_data, write_table

NESTED: Final = 8
_HEADINGS: Final = {f"h{level}": "#" * level for level in range(1, 7)}
_LISTS: Final = frozenset(("ul", "ol", "menu", "dir"))
_LANGUAGE: Final = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|brush:?|sourceCode)[-\s]\s*([\w+#.-]{1,30})")
_HIGHLIGHTED: Final = re.compile(r"(?:^|\s)(?:highlight|hljs)[-\s]\s*([\w+#.-]{1,30})")  # by a class of its own
_NO_LANGUAGE: Final = name_set("none default text plain plaintext nohighlight code block notranslate")
_SHORT: Final = {"figcaption": EM, "caption": EM, "summary": STRONG, "dt": STRONG}
_ITEM: Final = about_tag("li")
_SHORT_TERM: Final = 200  # characters of a definition that is written next to its term


class MarkdownBlock(Struct):
    """A block and its kind: two adjacent lists of one kind must not merge."""

    kind: str
    text: str


class MarkdownWriter:
    """Writes one page as Markdown."""

    def __init__(self, base: Url, most: int, encoding: str = "utf-8") -> None:
        self._most = most
        self._left = most
        self._indent = 0
        self._nested = 0
        self._lines = InlineWriter(base, most // 2, encoding)
        self._href = ""
        self._on_heading = False

    def write(self, part: Element) -> str:
        """Return a part of a page as Markdown."""
        out: list[MarkdownBlock] = []
        self._blocks(part.children, out)
        while out and out[-1].kind == "hr":
            out.pop()
        sizes = accumulate(len(block.text) + 2 for block in out)
        return "\n\n".join(block.text for block, size in zip(out, sizes, strict=True) if size <= self._most)

    def _blocks(self, nodes: list[Node], out: list[MarkdownBlock]) -> None:
        for node in nodes:
            if self._left <= 0:
                return
            if type(node) is Line:
                self._paragraphs(inline_nodes([node]), out)
            elif type(node) is Element:
                self._block(node, out)

    def _block(self, node: Element, out: list[MarkdownBlock]) -> None:
        tag = node.tag
        if tag in _HEADINGS:
            self._heading(node, out)
        elif tag in _LISTS:
            self._list(node, out)
        elif tag == "dl" and self._nested < NESTED:
            self._definitions(node, out)
        elif tag == "pre":
            self._code(node, out, "")
        elif tag == "blockquote" and self._nested < NESTED:
            self._quotation(node, out)
        elif tag == "table":
            self._table(node, out)
        elif tag == "hr":
            if out and out[-1].kind != "hr":
                self._add(out, "hr", "---")
        elif tag in _SHORT and not any(type(child) is Element for child in node.children):
            self._paragraphs(inline_nodes(node.children), out, _SHORT[tag])
        elif tag == "a" and not self._href and node.get("href"):
            self._link(node, out)
        elif tag == "li":
            self._items([node], out, ordered=False, start=1)
        elif tag in {"div", "figure"} and (pre := _only_code(node)) is not None:
            self._code(pre, out, node.get("class"))
        else:
            self._blocks(node.children, out)

    def _link(self, node: Element, out: list[MarkdownBlock]) -> None:
        """Write a link around blocks as a link on its heading, or on the first block with text."""
        self._href, self._on_heading = node.get("href"), any(inner.tag in _HEADINGS for inner in node.elements())
        self._blocks(node.children, out)
        self._href, self._on_heading = "", False

    def _paragraphs(self, run: list[InlineNode], out: list[MarkdownBlock], bits: int = 0) -> None:
        found = self._lines.paragraphs(run, "" if self._on_heading else self._href, bits)
        for text in found:
            self._add(out, "p", text)
        if found and not self._on_heading:
            self._href = ""

    def _heading(self, node: Element, out: list[MarkdownBlock]) -> None:
        if text := self._lines.line(inline_nodes(node.children), self._href):
            self._href, self._on_heading = "", False
            if text.endswith("#"):  # a trailing # would close the heading
                text = text[:-1] + "\\#"
            self._add(out, "h", f"{_HEADINGS[node.tag]} {text}")

    def _list(self, node: Element, out: list[MarkdownBlock]) -> None:
        items: list[Element] = []
        for child in node.children:
            if type(child) is Element and child.tag == "li":
                items.append(child)
            elif type(child) is Element and items and child.tag in _LISTS:
                # A list between the items of another belongs to the preceding item.
                items[-1].children.append(child)
            else:
                items.append(Element("li", _ITEM, [child], size=1))
        step = -1 if ' reversed="' in node.about.attributes else 1
        first = 1 if step > 0 else sum(item.size > 0 for item in items)
        self._items(items, out, ordered=node.tag == "ol", start=_count(node.get("start"), first), step=step)

    def _items(
        self, items: list[Element], out: list[MarkdownBlock], *, ordered: bool, start: int, step: int = 1
    ) -> None:
        if self._nested >= NESTED:
            for item in items:
                self._blocks(item.children, out)
            return
        kind = "ol" if ordered else "ul"
        after = "." if ordered else "-"
        if out and out[-1].kind == kind + after:
            after = ")" if ordered else "*"
        written: list[tuple[str, list[MarkdownBlock]]] = []
        number = start
        for item in items:
            if self._left <= 0:
                break
            number = max(_count(item.get("value"), number), 0)
            sign = f"{number}{after} " if ordered else f"{after} "
            inner = self._inner(item.children, len(sign))
            if inner:
                if inner[0].kind == "p" and (mark := item.task):
                    inner[0].text = f"[{mark}] {inner[0].text}"
                written.append((sign, inner))
                number += step
        self._add_items(written, out, kind + after)

    def _add_items(self, written: list[tuple[str, list[MarkdownBlock]]], out: list[MarkdownBlock], kind: str) -> None:
        """Append a list, without empty lines if every item is at most a paragraph and a list."""
        tight = all(
            len(inner) == 1 or (len(inner) == 2 and inner[0].kind == "p" and inner[1].kind[:2] in {"ul", "ol"})
            for _, inner in written
        )
        between = "\n" if tight else "\n\n"
        texts = [
            _indented(between.join(block.text for block in inner), sign, " " * len(sign)) for sign, inner in written
        ]
        if texts:
            out.append(MarkdownBlock(kind, between.join(texts)))

    def _definitions(self, node: Element, out: list[MarkdownBlock]) -> None:
        """Write terms as a list, each with its definition next to or below it."""
        kind = "ul*" if out and out[-1].kind == "ul-" else "ul-"
        written: list[tuple[str, list[MarkdownBlock]]] = []
        for terms, meanings in _groups(node):
            if self._left <= 0:
                break
            words = [text for term in terms if (text := self._lines.line(inline_nodes(term.children), bits=STRONG))]
            inner = [block for meaning in meanings for block in self._inner(meaning.children, 2)]
            if words:
                term_text = ", ".join(words)
                self._left -= len(term_text)
                if len(inner) == 1 and inner[0].kind == "p" and len(inner[0].text) <= _SHORT_TERM:
                    colon = "" if words[-1].rstrip("*").endswith((":", "?", "!", "：", "？")) else ":"
                    inner = [MarkdownBlock("p", f"{term_text}{colon} {inner[0].text}")]
                else:
                    inner.insert(0, MarkdownBlock("p", term_text))
            if inner:
                written.append((f"{kind[2]} ", inner))
        self._add_items(written, out, kind)

    def _quotation(self, node: Element, out: list[MarkdownBlock]) -> None:
        if inner := self._inner(node.children, 2):
            text = "\n\n".join(block.text for block in inner)
            out.append(MarkdownBlock("quote", "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))))

    def _inner(self, nodes: list[Node], indent: int) -> list[MarkdownBlock]:
        """Return the blocks of indented content."""
        inner: list[MarkdownBlock] = []
        self._nested += 1
        self._indent += indent
        self._blocks(nodes, inner)
        self._indent -= indent
        self._nested -= 1
        return inner

    def _code(self, node: Element, out: list[MarkdownBlock], outside: str) -> None:
        if not node.code:
            return
        said = (node.about.attributes, node.task)  # of it, and of the code element in it
        names = " ".join(filter(None, (*(attribute(each, "class") for each in reversed(said)), outside)))
        places = [attribute(each, name) for each in reversed(said) for name in ("data-lang", "data-language")]
        declared = next(filter(None, (node.get("lang"), *places)), "")
        found = _LANGUAGE.search(names) or _HIGHLIGHTED.search(names)
        language = found[1] if found else declared if re.fullmatch(r"[\w+#.-]{1,30}", declared) else ""
        self._add(out, "code", code_block(node.code, "" if language.lower() in _NO_LANGUAGE else language))

    def _table(self, node: Element, out: list[MarkdownBlock]) -> None:
        if not is_data(node):
            self._blocks(node.children, out)
            return
        for child in node.children:
            if type(child) is Element and child.tag == "caption":
                self._block(child, out)
        if text := write_table(node, self._lines, self._left):
            self._add(out, "table", text)

    def _add(self, out: list[MarkdownBlock], kind: str, text: str) -> None:
        self._left -= len(text) + 2 + self._indent * (1 + text.count("\n"))
        out.append(MarkdownBlock(kind, text))


def _groups(node: Element) -> list[tuple[list[Element], list[Element]]]:
    """Return the terms of a definition list with their definitions; a ``div`` may wrap each group."""
    groups: list[tuple[list[Element], list[Element]]] = []
    for outer in node.children:
        inside = outer.children if type(outer) is Element and outer.tag == "div" else [outer]
        for child in inside:
            if type(child) is not Element:
                continue
            is_term = child.tag == "dt"
            if not groups or (is_term and groups[-1][1]):
                groups.append(([], []))
            groups[-1][0 if is_term else 1].append(child)
    return groups


def _only_code(node: Element) -> Element | None:
    """Return the ``pre`` that is an element's only content: the element may name the language."""
    for _ in range(6):  # a figure with a table cell in it
        if any(type(child) is Line for child in node.children):
            return None
        inner = [child for child in node.children if type(child) is Element and (child.size or _has_image(child))]
        if len(inner) != 1:
            return None
        node = inner[0]
        if node.tag == "pre":
            return node
    return None


def _has_image(node: Element) -> bool:
    """Tell whether there is a line in an element without text."""
    return any(type(child) is Line for each in node.elements() for child in each.children)


def _count(text: str, otherwise: int) -> int:
    """Return the start number of a list or the number of an item."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else otherwise


def _indented(text: str, first: str, rest: str) -> str:
    lines = text.split("\n")
    return "\n".join([first + lines[0], *(rest + line if line else "" for line in lines[1:])])
