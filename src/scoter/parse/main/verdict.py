"""What an extractor holds for the main content, found out word by word.

Resiliparse gives its answer as text, and Markdown needs to know which elements it came of. So every text of the page
goes to it with a mark, a character of the supplementary private use areas; the marks that come back say which texts
are of the main content, and without them the answer is the main text. By comparing, the same words in two places, in a
menu and as a title, could not be told apart.

Resiliparse 1.1 takes time by depth times size (3,800 nested ``div`` around 200 KB of text: 5.5 s), which the tree's
bounded depth puts an end to. It takes any list for navigation that is less than three elements deep, so that it is
given everything deeper, and puts no space between the cells of a table, so that one is put there.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from scoter.errors import ConfigError
from scoter.parse.main.tree import INLINE, Element, Text

LEAST: Final = 0.25
"""Share of the text that an extractor must leave for its verdict to be believed."""
_FIRST: Final = 0xF0000
_MARKS: Final = re.compile("[\U000f0000-\U0010ffff]")
_UNSHOWN: Final = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")  # the marks, and what icon fonts draw
_SEEN: Final = ("class", "id", "role")
# Blocks that go by their own names. The others are plain ones: lists would come back indented, figures not at all.
_TOLD: Final = frozenset(
    (
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "table", "caption", "thead", "tbody"),
        *("tfoot", "tr", "td", "th", "main", "article", "section", "header"),
    )
)
_CELL_END: Final = re.compile("\t+ ?|\n (?! )")
_EMPTY_LINES: Final = re.compile("\n{3,}")
_SQUEEZED: Final = re.compile(r"[\W_]+")


def judge(part: Element) -> str:
    """Mark the texts and images of a part that resiliparse holds for main content, and return its text."""
    from resiliparse.extract.html2text import extract_plain_text  # type: ignore[import-untyped]

    marked: list[Text | Element] = []
    pieces = ["<body><div><div><div>"]
    _write(part, pieces, marked)
    markup = "".join(pieces)
    found = extract_plain_text(markup, main_content=True, list_bullets=False, links=False, alt_texts=False)
    kept = {ord(mark) - _FIRST for mark in _MARKS.findall(found)}
    left = sum(len(node.words) for number, node in enumerate(marked) if number in kept and type(node) is Text)
    if left < LEAST * sum(len(node.words) for node in marked if type(node) is Text):
        found = extract_plain_text(markup, main_content=False, list_bullets=False, links=False, alt_texts=False)
        kept = set(range(len(marked)))
    for number, node in enumerate(marked):
        node.kept = number in kept
    # It ends a cell of several lines with tabs, which elsewhere there are only in code.
    return _tidy(found if "<pre" in markup else _CELL_END.sub("\n", found))


def trafilatura_text(markup: bytes) -> str:
    """Return the main text as trafilatura finds it."""
    try:
        from trafilatura import extract
    except ImportError as error:
        raise ConfigError(
            "parse.extractor is trafilatura, which is not installed",
            where="parse.extractor",
            hint="Install it with: pip install 'scoter[trafilatura]'",
        ) from error
    try:
        found = extract(markup.decode("utf-8", "replace"), fast=True, include_comments=False)
    except Exception:  # whatever a page does to it, the page has no main text then
        return ""
    return found or ""


def narrow(body: Element, text: str) -> Element:
    """Return the smallest part of a page that holds nearly all blocks of a text that was found in it."""
    lines = {squeezed for line in text.splitlines() if len(squeezed := _SQUEEZED.sub("", line)) > 1}
    here = body
    weights: dict[int, int] = {}
    for element in reversed(body.elements()):
        weight = sum(weights.get(id(child), 0) for child in element.children)
        if not element.blocky and element.tag not in INLINE:
            own = _SQUEEZED.sub("", element.text())
            weight = len(own) if own in lines else 0
        weights[id(element)] = weight
    enough = 0.95 * weights[id(body)]
    while enough:
        inner = [child for child in here.children if type(child) is Element and weights[id(child)] >= enough]
        if not inner or inner[0].tag in {"ul", "ol", "dl", "table", "tbody", "tr"}:
            break
        here = inner[0]
    return here


def _write(element: Element, pieces: list[str], marked: list[Text | Element], within: str = "") -> None:
    """Write markup that says no more than an extractor needs: names, blocks, and the texts with their marks."""
    tag, attributes = element.tag, element.attributes
    if tag == "img":
        pieces.append(chr(_FIRST + len(marked)))
        marked.append(element)
        return
    if tag in {"br", "hr"}:
        pieces.append(f"<{tag}>")
        return
    named = [f' {name}="{escape(value)}"' for name in _SEEN if (value := attributes.get(name))] if attributes else []
    if tag == "p" and within in {"td", "th"}:
        tag = "span"  # else every cell that is one paragraph would have its own lines
    written = ("span" if named else "") if tag in INLINE else tag if tag in _TOLD else "div"
    if written:
        pieces.append(f"<{written}{''.join(named)}>")
    inside = tag if _is_one(element) else ""
    for child in element.children:
        if type(child) is Element:
            _write(child, pieces, marked, inside)
        elif type(child) is Text:
            words = child.words
            bare = words.lstrip()
            if bare:
                pieces.append(words[: len(words) - len(bare)])
                pieces.append(chr(_FIRST + len(marked)))
                pieces.append(escape(bare, quote=False))
                marked.append(child)
            else:
                pieces.append(words)
    if written:
        pieces.append(f"</{written}> " if tag in {"td", "th"} else f"</{written}>")


def _is_one(element: Element) -> bool:
    """Tell whether there is one thing in an element, and white space around it."""
    return sum(type(child) is not Text or not child.words.isspace() for child in element.children) == 1


def _tidy(text: str) -> str:
    text = _UNSHOWN.sub("", text.replace("\xa0", " "))
    # By line: a pattern for white space before a line's end looks at every run of it again from each of its places.
    text = "\n".join([line.rstrip() for line in text.split("\n")])
    return _EMPTY_LINES.sub("\n\n", text).strip("\n")
