"""Extract the main content of a page.

An article is found by its paragraphs (``article``); its text has no title, as the page has that. On other pages,
resiliparse decides what is main content. It also writes the text of both. In the mode ``trafilatura``, that decides
instead (``selection``), and the text is written from our tree (``plain``).

Resiliparse returns text, but Markdown needs to know which elements it came from. So every text of the page is passed to
it with a marker, a character from the supplementary private use areas. The markers that come back identify the texts of
the main content. Comparing words instead could not tell the same words in a menu and in a title apart.

Resiliparse 1.1 needs time proportional to depth times size (3,800 nested ``div`` around 200 KB of text: 5.5 s); the
bounded depth of the tree limits that. It takes any list less than three elements deep for navigation, so everything is
nested deeper. It puts no space between table cells, so one is added.
"""

from __future__ import annotations

import re
from html import escape
from importlib.util import find_spec
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.extras import install_command
from scoter.parse.html.elements import name_set
from scoter.parse.main.article import article
from scoter.parse.main.blocks import MarkdownWriter
from scoter.parse.main.boilerplate import main_part, with_title
from scoter.parse.main.plain import plain_text
from scoter.parse.main.selection import select
from scoter.parse.main.tree import INLINE, Element, Text, read_tree

Extractor: TypeAlias = Literal["none", "resiliparse", "trafilatura"]

LARGEST_FACTOR: Final = 2
"""Maximum characters of Markdown per byte of markup."""
_SPARE: Final = 1_000
LEAST: Final = 0.25
"""Share of the text that an extractor must keep for its result to be trusted."""
_FIRST: Final = 0xF0000
_MARKS: Final = re.compile("[\U000f0000-\U0010ffff]")
_UNSHOWN: Final = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]")  # the markers, and characters of icon fonts
_SEEN: Final = ("class", "id", "role")
# Blocks that keep their names. Others become div: lists would come back indented, figures not at all.
_TOLD: Final = name_set(
    "p h1 h2 h3 h4 h5 h6 pre blockquote table caption thead tbody tfoot tr td th main article section header"
)
_CELL_END: Final = re.compile("\t+ ?|\n (?! )")
_EMPTY_LINES: Final = re.compile("\n{3,}")


class MainContent(Struct, frozen=True):
    """The main content of a page as text, and as Markdown if requested."""

    text: str = ""
    markdown: str = ""


def main_content(
    markup: bytes, extractor: Extractor, *, markdown: bool, base: Url, encoding: str = "utf-8"
) -> MainContent:
    """Return the main content of an HTML page in UTF-8.

    Links are relative to ``base``; their queries use ``encoding``, the page's original character encoding. Without an
    extractor there is no text, and the Markdown covers what resiliparse finds.

    >>> from scoter.core.url import canonical
    >>> page = b"<nav>Home</nav><main><h1>Seals</h1><p>Grey <b>seals</b> <a href='/eat'>eat</a> fish.</p></main>"
    >>> found = main_content(page, "resiliparse", markdown=True, base=canonical("http://a.example/"))
    >>> found.text
    'Seals\\n\\nGrey seals eat fish.'
    >>> print(found.markdown)
    # Seals
    <BLANKLINE>
    Grey **seals** [eat](http://a.example/eat) fish.
    """
    if extractor == "trafilatura":
        body = read_tree(markup)
        part = body if select(body, markup) else main_part(body)
        text = plain_text(part)
    elif extractor == "resiliparse" or markdown:
        part = main_part(read_tree(markup))
        elements = part.elements()
        titles = [element for element in elements if element.tag == "h1" and element.size]
        found = article(elements)
        text = judge(found or part, is_clean=found is not None) if part.size else ""
        part = with_title(found, titles) if found is not None else part
    else:
        return MainContent()
    written = MarkdownWriter(base, LARGEST_FACTOR * len(markup) + _SPARE, encoding).write(part) if markdown else ""
    return MainContent(text if extractor != "none" else "", written)


def require_extractor(extractor: Extractor, *, markdown: bool) -> None:
    """Raise ``ConfigError`` unless the package that extracts the main content is installed."""
    setting = "parse.markdown" if extractor == "none" else "parse.extractor"
    package, extra = ("resiliparse", "text") if extractor != "trafilatura" else ("trafilatura", "trafilatura")
    if (markdown or extractor != "none") and find_spec(package) is None:
        raise ConfigError(
            f"{setting} requires the package {package}, which is not installed",
            where=setting,
            hint=f"Install it with: {install_command(extra)}",
        )


def judge(part: Element, *, is_clean: bool) -> str:
    """Mark the texts and images that resiliparse considers main content, and return the main text.

    If the part ``is_clean``, all of it is main content.
    """
    from resiliparse.extract.html2text import extract_plain_text  # type: ignore[import-untyped]

    marked: list[Text | Element] = []
    pieces = ["<body><div><div><div>"]
    _write(part, pieces, marked)
    markup = "".join(pieces)
    found = extract_plain_text(markup, main_content=not is_clean, list_bullets=False, links=False, alt_texts=False)
    kept = {ord(mark) - _FIRST for mark in _MARKS.findall(found)}
    left = sum(len(node.words) for number, node in enumerate(marked) if number in kept and type(node) is Text)
    if left < LEAST * sum(len(node.words) for node in marked if type(node) is Text):
        found = extract_plain_text(markup, main_content=False, list_bullets=False, links=False, alt_texts=False)
        kept = set(range(len(marked)))
    for number, node in enumerate(marked):
        node.kept = number in kept
    # It ends table cells of several lines with tabs, which otherwise occur only in code.
    return _tidy(found if "<pre" in markup else _CELL_END.sub("\n", found))


def _write(element: Element, pieces: list[str], marked: list[Text | Element], within: str = "") -> None:
    """Write the minimal markup that an extractor needs: names, blocks, and marked texts."""
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
        tag = "span"  # otherwise a cell with one paragraph would get its own lines
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
                space = words[: len(words) - len(bare)]
                pieces += [space, chr(_FIRST + len(marked)), escape(bare, quote=False)]
                marked.append(child)
            else:
                pieces.append(words)
    if written:
        pieces.append(f"</{written}> " if tag in {"td", "th"} else f"</{written}>")


def _is_one(element: Element) -> bool:
    """Tell whether an element has a single child, apart from white space."""
    return sum(type(child) is not Text or not child.words.isspace() for child in element.children) == 1


def _tidy(text: str) -> str:
    text = _UNSHOWN.sub("", text.replace("\xa0", " "))
    # Line by line: a regular expression for trailing white space would be quadratic.
    text = "\n".join([line.rstrip() for line in text.split("\n")])
    return _EMPTY_LINES.sub("\n\n", text).strip("\n")
