"""Extract the main content of a page.

What is left out is boilerplate by evidence, and where that is in doubt, the text stays:

1. blocks that other pages of the host have, too (``repetition``), if the caller knows any
2. elements that are boilerplate by what they are, or by their role, class or id (``boilerplate``)
3. on a page that is an article: what is not among its paragraphs (``article``). Pages with code, with permalinks at
   their headings, or with much text in tables and definition lists are no articles: their paragraphs are not all.

If that leaves too little of the text that is not linked, step 3 is undone. Of pages that show next to nothing of their
text without scripts, hidden elements or the text in their JSON-LD are read.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final
from unicodedata import is_normalized, normalize

from msgspec import DecodeError, Struct
from msgspec.json import decode

from scoter.core.url import Url
from scoter.parse.html.elements import name_set
from scoter.parse.main.article import article
from scoter.parse.main.blocks import MarkdownWriter
from scoter.parse.main.boilerplate import main_part, remove_first_links, remove_links, unlinked, with_title
from scoter.parse.main.nodes import Element, Tree
from scoter.parse.main.plain import plain_text
from scoter.parse.main.repetition import KnownBlocks, fingerprints, remove_repeated
from scoter.parse.main.tree import MOST_TAGS, TreeReader, read_tree

LARGEST_FACTOR: Final = 2
"""Maximum characters of Markdown per byte of markup."""
_SPARE: Final = 1_000
LEAST_KEPT: Final = 0.3
"""Share of the text that an article must keep."""
DOUBTFUL: Final = 0.4
"""Share of the text that an article must keep so that it is not in doubt."""
DENSE: Final = 0.03  # share of the text in code, tables and definition lists that makes a page no article
SECTIONS: Final = 20
SECTION: Final = 400
_HALF: Final = 0.5  # headings are those of teasers if the article keeps less
_SMALL: Final = 100  # characters of a menu within the content of other pages
_HEADINGS: Final = name_set("h2 h3 h4 h5 h6")
_DENSE_TAGS: Final = name_set("pre td dl")
_LITTLE: Final = 500  # characters; a page that shows less may have its text in hidden elements
_FAR_MORE: Final = 4
_LD_JSON: Final = re.compile(
    rb"<script\b[^<>]{0,300}ld\+json[^<>]{0,300}>(.*?)(?:</script|\Z)", re.DOTALL | re.IGNORECASE
)
_BODY: Final = re.compile(rb'"articleBody"\s*+:\s*+("(?:[^"\\]++|\\.)*+")', re.DOTALL)
_BREAKS: Final = re.compile(r"[\r\n]+")
_NO_TAG: Final = re.compile(r"<(?![a-zA-Z/][^<>]{0,500}>)")


class MainContent(Struct, frozen=True):
    """The main content of a page as text, and as Markdown if requested.

    ``kept`` is the share of the page's text without links that it has. It is ``doubtful`` if an article had little of
    it, or so little that everything was kept instead. ``blocks`` are the fingerprints of the page's blocks, for
    ``KnownBlocks``.
    """

    text: str = ""
    markdown: str = ""
    kept: float = 1.0
    doubtful: bool = False
    blocks: tuple[int, ...] = ()


def main_content(
    markup: bytes, *, base: Url, markdown: bool = False, encoding: str = "utf-8", known: KnownBlocks | None = None
) -> MainContent:
    """Return the main content of an HTML page in UTF-8.

    Links are relative to ``base``; their queries use ``encoding``, the page's original character encoding. ``known``
    is what other pages of the host have told about their blocks.

    >>> from scoter.core.url import canonical
    >>> page = b"<nav>Home</nav><main><h1>Seals</h1><p>Grey <b>seals</b> <a href='/eat'>eat</a> fish.</p></main>"
    >>> found = main_content(page, markdown=True, base=canonical("http://a.example/"))
    >>> found.text
    'Seals\\n\\nGrey seals eat fish.'
    >>> print(found.markdown)
    # Seals
    <BLANKLINE>
    Grey **seals** [eat](http://a.example/eat) fish.
    """
    tree = _read(markup)
    whole = unlinked(tree.body)
    blocks = fingerprints(tree.body)
    if known is not None:
        remove_repeated(tree.body, known)
    part = main_part(tree.body, is_technical=tree.is_technical)
    size = unlinked(part)
    doubtful = False
    found: Element | None = None
    titles: list[Element] = []
    if not tree.is_technical and dense_size(part) < DENSE * part.size:
        titles = [each for each in part.elements() if each.tag == "h1" and each.size]
        remove_links(part)
        found = article(part.elements())
        if found is not None:
            kept = unlinked(found) / max(1, size)
            doubtful = kept < DOUBTFUL
            if kept < LEAST_KEPT or (kept > _HALF and has_sections(part)) or code_size(found) < code_size(part):
                found = None
    if found is not None:
        part = found
    else:
        remove_first_links(part)
        remove_links(part, _SMALL)
    if b'"articleBody"' in markup:
        told = _told(markup)
        if told.size > _FAR_MORE * whole:
            part = found = told
    written = ""
    if markdown:
        written = MarkdownWriter(base, LARGEST_FACTOR * len(markup) + _SPARE, encoding).write(
            part if found is None else with_title(found, titles)
        )
    kept = min(1.0, unlinked(part) / whole) if whole else 1.0
    return MainContent(_normal(plain_text(part)), _normal(written), kept, doubtful, blocks)


def _normal(text: str) -> str:
    """Return text in the normal form in which nearly all of the web is written, and searched (NFC)."""
    return text if is_normalized("NFC", text) else normalize("NFC", text)


def _read(markup: bytes) -> Tree:
    """Read the tree of a page, with its hidden elements if it shows next to nothing without scripts."""
    tree = read_tree(markup)
    if tree.body.size < _LITTLE and tree.hidden_size > _FAR_MORE * tree.body.size:
        return read_tree(markup, hidden=True)
    return tree


def _told(markup: bytes) -> Element:
    """Return the longest text that the JSON-LD of a page has, for readers who do not see it in the page."""
    longest = max((text for script in _LD_JSON.findall(markup) for text in _BODY.findall(script)), key=len, default=b"")
    try:
        text = decode(longest.replace(b"\n", rb"\n").replace(b"\r", b"").replace(b"\t", b" "), type=str)
    except (DecodeError, UnicodeDecodeError):
        text = ""
    text = _NO_TAG.sub("&lt;", text if "<" in text else unescape(text))
    reader = TreeReader("".join(f"<p>{line}</p>" for line in _BREAKS.split(text)), MOST_TAGS)
    reader.read()
    return reader.root


def has_sections(part: Element) -> bool:
    """Tell whether a part has so many headings that it is a reference rather than an article."""
    headings = sum(each.tag in _HEADINGS and each.size > each.linked for each in part.elements())
    return headings >= SECTIONS and headings * SECTION > unlinked(part)


def code_size(part: Element) -> int:
    return sum(len(each.code) for each in part.elements())


def dense_size(part: Element) -> int:
    """Return how much text is in code, tables and definition lists."""
    size = 0
    todo = [part]
    while todo:
        element = todo.pop()
        if element.tag in _DENSE_TAGS:
            size += element.size
        else:
            todo += [child for child in element.children if type(child) is Element]
    return size
