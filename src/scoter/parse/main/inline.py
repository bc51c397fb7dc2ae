"""Write inline content as Markdown: words, emphasis, links, images, code; and escape text.

A line is first split into pieces, each with its emphasis as bits. Emphasis is then written around runs of pieces, only
where CommonMark recognises it (section 6.2): ``**so:**so`` is not emphasis and becomes plain words.
"""

from __future__ import annotations

import re
import unicodedata
from html import unescape
from itertools import groupby
from typing import Final, TypeAlias

from msgspec import Struct

from scoter.core.url import Url, join
from scoter.parse.encoding import encode_query
from scoter.parse.main.names import about_tag
from scoter.parse.main.nodes import Element, Line, Node, attribute, clean

STRONG: Final = 1
EM: Final = 2
STRUCK: Final = 4
LONGEST_URL: Final = 2_000

_STYLES: Final = {
    **dict.fromkeys(("b", "strong"), STRONG),
    **dict.fromkeys(("i", "em", "cite", "dfn", "var"), EM),
    **dict.fromkeys(("s", "del", "strike"), STRUCK),
}
_SIGNS: Final = {STRONG: "**", EM: "*", STRUCK: "~~"}
_CODE: Final = frozenset(("code", "kbd", "samp", "tt"))
_BREAK: Final = "\n"
_SUPER: Final = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_SUB: Final = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_LAZY: Final = ("data-src", "data-lazy-src", "data-original", "data-lazy")
_TINY: Final = frozenset(("0", "1", "2", "0px", "1px", "2px"))
_SPACE: Final = re.compile(r"\s+")
_UNSAFE: Final = re.compile(r"[()\\<> ]")
_BREAKS: Final = re.compile(r" ?\n ?")
_SPECIAL: Final = re.compile(r"[\\`*\[\]<~|_&]")
_REFERENCE: Final = re.compile(r"&(?:#?\w{1,32};|\Z)")
# Characters that would start a heading, list, quotation, rule or table delimiter row.
_AT_START: Final = re.compile(r"(?:[>#]|[-+=](?=[-+=\s]|\Z)|:(?=-))|(\d{1,9})(?=[.)](?:\s|\Z))")
_RUNS: Final = re.compile("`+")
_FENCE: Final = 3
_EMPTY: Final = frozenset(("br", "img", "wbr"))
_DEEPEST: Final = 32


class InlinePiece(Struct):
    """An indivisible piece of a line: its Markdown, its emphasis, and its text if it is code."""

    text: str
    bits: int
    code: str = ""


class Inline(Struct, eq=False):
    """An inline element, with its attributes as written."""

    tag: str
    attributes: str = ""
    children: list[InlineNode] = []

    def get(self, name: str) -> str:
        """Return an attribute's value, or an empty string."""
        return attribute(self.attributes, name)

    def text(self) -> str:
        """Return its text with white space unchanged."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


InlineNode: TypeAlias = Inline | str


def inline_nodes(nodes: list[Node]) -> list[InlineNode]:
    """Return the inline content of nodes of the tree; blocks are set apart by spaces."""
    found: list[InlineNode] = []
    for node in nodes:
        if found:
            found.append(" ")
        if type(node) is Line:
            found += _parsed(node.parts)
        elif isinstance(node, Element):
            found += [node.code] if node.code else inline_nodes(node.children)
    return found


def _parsed(parts: list[str]) -> list[InlineNode]:
    """Turn texts and tags into inline elements, at most ``_DEEPEST`` deep; a line may have only one of two tags."""
    root: list[InlineNode] = []
    here, above = root, list[tuple[str, list[InlineNode]]]()
    for place, part in enumerate(parts):
        if not place % 2:
            if part:
                here.append(unescape(part) if "&" in part else part)
            continue
        if part[:1] == "/":
            name = part[1:]
            if any(name == each for each, _ in above):
                while True:
                    opened, here = above.pop()
                    if opened == name:
                        break
            continue
        about = about_tag(part)
        element = Inline(about.name, about.attributes)
        here.append(element)
        if about.name in _EMPTY:
            continue
        if len(above) < _DEEPEST:
            above.append((about.name, here))
            here = element.children
    return root


class InlineWriter:
    """Writes runs of inline elements; ``left`` is the remaining budget for link targets."""

    def __init__(self, base: Url, left: int, encoding: str) -> None:
        self._base = base
        self._encoding = encoding
        self.left = left
        self._in_cell = False

    def paragraphs(self, nodes: list[InlineNode], href: str = "", bits: int = 0) -> list[str]:
        """Return the paragraphs of inline content, split at double line breaks."""
        written = self._written(nodes, href, bits)
        if "\n" not in written:
            return [line_start(written)] if written else []
        paragraphs = re.split(r"\n{2,}", written)
        return ["\\\n".join(map(line_start, filter(None, each.split("\n")))) for each in paragraphs]

    def line(self, nodes: list[InlineNode], href: str = "", bits: int = 0) -> str:
        """Return inline content as one line."""
        return self._written(nodes, href, bits).replace("\n", " ").replace("  ", " ").strip()

    def cell(self, nodes: list[InlineNode]) -> str:
        """Return the content of a table cell."""
        self._in_cell = True
        text = self.line(nodes)
        self._in_cell = False
        return text

    def _written(self, nodes: list[InlineNode], href: str, bits: int) -> str:
        atoms: list[InlinePiece] = []
        for node in nodes:
            self._take(node, bits, atoms, linked=bool(href))
        text = assembled(atoms)
        if href and text and (target := self._target(href)):
            text = "\n\n".join(f"[{part}]({target})" for part in re.split(r"\n{2,}", text) if part)
        return text

    def _take(self, node: InlineNode, bits: int, atoms: list[InlinePiece], linked: bool) -> None:
        if isinstance(node, str):
            _take_words(node, bits, atoms)
            return
        tag = node.tag
        if tag == "br":
            atoms.append(InlinePiece(_BREAK, 0))
        elif tag == "img":
            if image := self._image(node):
                if atoms and atoms[-1].text.startswith("!["):
                    _take_words(" ", bits, atoms)
                atoms.append(InlinePiece(image, bits))
        elif tag == "math":
            if formula := " ".join(node.text().split()):
                is_tex = node.attributes and "$" not in formula and "`" not in formula
                tex = formula.replace("<", r"\lt ").replace("|", r"\vert ")
                atoms.append(InlinePiece(f"${tex}$" if is_tex else escaped(formula), bits))
        elif tag in _CODE:
            self._take_code(node, bits, atoms, linked)
        elif tag == "a" and not linked and node.get("href"):
            self._take_link(node, bits, atoms)
        elif tag in {"sup", "sub"} and (small := _small(node)):
            _take_words(small, bits, atoms)
        else:
            within = bits | _STYLES.get(tag, 0)
            for child in node.children:
                self._take(child, within, atoms, linked)

    def _take_code(self, node: Inline, bits: int, atoms: list[InlinePiece], linked: bool) -> None:
        inner = node.children[0] if len(node.children) == 1 else ""
        if isinstance(inner, Inline) and inner.tag == "a" and not linked:
            self._take_link(inner, bits, atoms, code=True)
            return
        text = _SPACE.sub(" ", clean(node.text()))
        code = text.strip()
        if text[:1].isspace():
            _take_words(" ", bits, atoms)
        if code:
            if atoms and atoms[-1].code:  # adjacent code spans would merge into one with backticks in it
                before = atoms.pop()
                code, bits = before.code + code, before.bits & bits
            atoms.append(InlinePiece(self._code(code), bits, code))
        if text[-1:].isspace():
            _take_words(" ", bits, atoms)

    def _code(self, text: str) -> str:
        # A bar ends a table cell, even within code.
        span = code_span(text)
        return span.replace("|", "\\|") if self._in_cell else span

    def _take_link(self, node: Inline, bits: int, atoms: list[InlinePiece], code: bool = False) -> None:
        inside: list[InlinePiece] = []
        if code:
            words = _SPACE.sub(" ", clean(node.text())).strip()
            inside.extend([InlinePiece(self._code(words), 0)] if words else [])
        else:
            for child in node.children:
                self._take(child, 0, inside, linked=True)
        target = self._target(node.get("href"))
        text = assembled(inside).replace("\n", " ") if target else ""
        if not text:
            # No usable target: write the words alone, with their emphasis.
            for child in node.children:
                self._take(child, bits, atoms, linked=True)
            return
        if inside[0].text[:1].isspace():
            _take_words(" ", bits, atoms)
        if atoms and atoms[-1].text.endswith("!"):
            atoms[-1].text = atoms[-1].text[:-1] + "\\!"
        atoms.append(InlinePiece(f"[{text}]({target})", bits))
        if inside[-1].text[-1:].isspace():
            _take_words(" ", bits, atoms)

    def _image(self, node: Inline) -> str:
        source = node.get("src")
        if not source or source.startswith("data:"):
            lazy = next((value for name in _LAZY if (value := node.get(name))), "")
            source = lazy or node.get("srcset").strip().split(" ")[0].rstrip(",")
        alt = " ".join(clean(node.get("alt")).split())
        if node.get("width") in _TINY or node.get("height") in _TINY or (not alt and ' alt="' in node.attributes):
            return ""
        target = self._target(source)
        return f"![{escaped(alt)}]({target})" if target else ""

    def _target(self, href: str) -> str:
        """Return a link's target as Markdown, or nothing if it is on this page or unusable."""
        href = href.strip()
        if not href or href[0] == "#" or len(href) > LONGEST_URL:
            return ""
        target = join(self._base, encode_query(href, self._encoding))
        if target is None or not target.text.startswith(("http://", "https://", "ftp://")):
            return ""
        text = target.text
        fragment = href.partition("#")[2]
        if fragment and _SPACE.search(fragment) is None and fragment.isascii():
            text = f"{text}#{fragment}"
        self.left -= len(text)
        if self.left < 0 or len(text) > LONGEST_URL:
            return ""
        text = text.replace("\\", "%5C").replace("<", "%3C").replace(">", "%3E").replace("|", "%7C")
        return f"<{text}>" if _UNSAFE.search(text) else text


def assembled(atoms: list[InlinePiece]) -> str:
    """Join the pieces of a line and write its emphasis."""
    atoms = _trimmed(atoms)
    if not any(atom.bits for atom in atoms):
        return _joined([atom.text for atom in atoms])
    opens, closes = [""] * len(atoms), [""] * (len(atoms) + 1)
    spans = _spans(atoms)
    for start, _, sign in spans:
        opens[start] += sign
    for _, end, sign in reversed(spans):
        closes[end] += sign
    parts = [close + opening + atom.text for close, opening, atom in zip(closes, opens, atoms, strict=False)]
    return _joined([*parts, closes[-1]])


def _joined(parts: list[str]) -> str:
    text = "".join(parts)
    return (_BREAKS.sub("\n", text) if "\n" in text else text).strip()


def _spans(atoms: list[InlinePiece]) -> list[tuple[int, int, str]]:
    """Return the emphasised runs of pieces, outer ones before inner ones."""
    found: list[tuple[int, int, str]] = []
    for bit, sign in _SIGNS.items():
        marked = [bool(atom.bits & bit) for atom in atoms]
        for is_marked, run in groupby(range(len(atoms)), key=marked.__getitem__):
            first, *others = run
            if is_marked and (span := _fitting(atoms, first, first + len(others) + 1, sign)):
                found.append(span)
    found.sort(key=lambda span: (span[0], -span[1]))
    fit: list[tuple[int, int, str]] = []
    around: list[tuple[int, int, str]] = []
    edged: set[tuple[int, int, str]] = set()  # spans that share a boundary with an inner one
    last_end = -1
    for span in found:
        while around and around[-1][1] <= span[0]:
            last_end = max(last_end, around.pop()[1])
        outer = around[-1] if around else None
        # Skip spans that are ambiguous: one begins where another ends or extends beyond it, or two share a boundary.
        if span[0] == last_end or outer in edged or (outer and span[1] > outer[1]):
            continue
        if outer and (span[0] == outer[0] or span[1] == outer[1]):
            if span[1] == outer[1] and any(outer[0] < inner[0] for inner in fit):
                continue
            edged.add(outer)
        around.append(span)
        fit.append(span)
    return fit


def _fitting(atoms: list[InlinePiece], start: int, end: int, sign: str) -> tuple[int, int, str] | None:
    """Trim white space from a run; return it if emphasis can begin and end there."""
    while start < end and atoms[start].text.isspace():
        start += 1
    while start < end and atoms[end - 1].text.isspace():
        end -= 1
    if start == end or any(atom.text == _BREAK for atom in atoms[start:end]):
        return None
    before = atoms[start - 1].text[-1] if start else " "
    after = atoms[end].text[0] if end < len(atoms) else " "
    if not _leans(before, atoms[start].text[0]) or not _leans(after, atoms[end - 1].text[-1]):
        return None
    return start, end, sign


def _leans(outside: str, inside: str) -> bool:
    """Tell whether an emphasis delimiter between two characters binds to the inner one."""
    return outside.isspace() or not _is_punctuation(inside) or _is_punctuation(outside)


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"


def _trimmed(atoms: list[InlinePiece]) -> list[InlinePiece]:
    """Collapse adjacent white space."""
    found: list[InlinePiece] = []
    for atom in atoms:
        if atom.text == " " and (not found or found[-1].text in {" ", _BREAK}):
            continue
        if atom.text == _BREAK and found and found[-1].text == " ":
            found.pop()
        found.append(atom)
    return found


def _take_words(words: str, bits: int, atoms: list[InlinePiece]) -> None:
    """Append words, with leading and trailing white space as separate pieces."""
    core = " ".join(words.split())
    if words[:1].isspace():
        atoms.append(InlinePiece(" ", bits))
    if core:
        if not core.isprintable():
            core = clean(core)
        if core:
            atoms.append(InlinePiece(escaped(core), bits))
        if words[-1].isspace():
            atoms.append(InlinePiece(" ", bits))


def _small(node: Inline) -> str:
    """Return superscript or subscript digits as Unicode characters, if all have one."""
    text = node.text().strip()
    small = text.translate(_SUPER if node.tag == "sup" else _SUB)
    return small if text and len(text) <= 8 and not any(a == b for a, b in zip(text, small, strict=True)) else ""


def escaped(text: str) -> str:
    r"""Escape all characters that have a meaning in Markdown.

    >>> escaped("a * b_c [1] <br> &amp; _d_")
    'a \\* b_c \\[1\\] \\<br> \\&amp; \\_d\\_'
    """
    return _SPECIAL.sub(_spared, text)


def _spared(found: re.Match[str]) -> str:
    sign, text, place = found[0], found.string, found.start()
    if sign == "_":
        # Within a word it is not emphasis, and function names stay readable.
        if text[place - 1 : place].isalnum() and text[place + 1 : place + 2].isalnum():
            return sign
    elif sign == "&" and _REFERENCE.match(text, place) is None:
        return sign
    return "\\" + sign


def line_start(text: str) -> str:
    r"""Escape the start of a line so that it does not start a block.

    >>> line_start("1986. A good year"), line_start("# 1"), line_start("-5")
    ('1986\\. A good year', '\\# 1', '-5')
    """
    found = _AT_START.match(text)
    number = "" if found is None else found[1] or ""
    return text if found is None else f"{number}\\{text[len(number) :]}"


def code_span(text: str) -> str:
    """Return text as a code span.

    >>> code_span("a"), code_span("`a`")
    ('`a`', '`` `a` ``')
    """
    ticks = "`" * (1 + _longest_run(text, of_length=1))
    space = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def code_block(text: str, language: str) -> str:
    """Return text as a fenced code block, with a fence longer than any in the text."""
    fence = "`" * max(_FENCE, 1 + _longest_run(text, of_length=_FENCE))
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str, of_length: int) -> int:
    return max((len(run) for run in _RUNS.findall(text) if len(run) >= of_length), default=0)
