"""Turn the content of a document into a page: clean and truncate texts, resolve links, apply robots directives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from msgspec import Struct

from scoter.core.metadata import Author, PageMetadata
from scoter.core.page import EMPTY, Content, Outlink, Page
from scoter.core.url import join
from scoter.parse.html import LONGEST_ANCHOR, LONGEST_TITLE, MOST_LINKS
from scoter.parse.parsers import PageParser, metadata_from
from scoter.plugins import Setup

MOST_TEXT: Final = 10_000_000
"""Characters kept of a document's text."""
LONGEST_DOUBT: Final = 200
LONGEST_VALUE: Final = 1_000
MOST_VALUES: Final = 50
_LONGEST_ADDRESS: Final = 2_000
_LONGEST_LANGUAGE: Final = 35  # characters; RFC 5646 4.4.1

# Control characters, the noncharacters that PDFium writes for removed hyphens, and byte order marks.
_UNWANTED: Final = dict.fromkeys([*range(9), 11, *range(14, 32), 127, 0xFEFF, 0xFFFE, 0xFFFF])
_BREAKS: Final = str.maketrans({"\r": "\n", "\f": "\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n", "\xa0": " "})
_MANY_BREAKS: Final = re.compile(r"\n{3,}")
_ADDRESS: Final = re.compile(r"\bhttps?://[^\s<>\"'`{}|\\^\u2018-\u201f\u3000-\u303f]{1,2000}", re.IGNORECASE)
_PUNCTUATION: Final = ".,;:!?*"
_BRACKETS: Final = {")": "(", "]": "["}
_SEPARATORS: Final = re.compile(r"[;,\n]")


class DocumentLink(Struct, frozen=True):
    """A link as written in the document."""

    href: str
    anchor: str = ""
    kind: str = "a"


class DocumentContent(Struct, frozen=True, kw_only=True):
    """What a parser found in a document; the title is in ``about``."""

    text: str = ""
    links: tuple[DocumentLink, ...] = ()
    about: PageMetadata = PageMetadata()
    metadata: Mapping[str, str] = EMPTY
    doubt: str = ""


class DocumentParser(PageParser):
    """A parser of documents; a subclass reads their content."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._about = setup.config.parse.metadata

    def parse(self, content: Content) -> Sequence[Page]:
        found = self._read(content)
        return () if found is None else (self.page(content, found),)

    def _read(self, content: Content) -> DocumentContent | None:
        raise NotImplementedError

    def page(self, content: Content, found: DocumentContent) -> Page:
        """Return the page of a document; addresses in its text become links too."""
        text = clean(found.text)
        return self._page(
            content,
            title=one_line(found.about.title, LONGEST_TITLE),
            text=text,
            outlinks=_outlinks(content, (*found.links, *addresses(text))),
            language=found.about.language,
            about=found.about if self._about else None,
            metadata={name: one_line(value) for name, value in found.metadata.items()} if found.metadata else EMPTY,
            doubt=one_line(found.doubt, LONGEST_DOUBT),
        )


def about(
    source: str,
    *,
    title: str = "",
    description: str = "",
    authors: Iterable[str] = (),
    keywords: Iterable[str] = (),
    language: str = "",
    **dates: datetime | None,
) -> PageMetadata:
    """Return metadata with the non-empty fields, the texts cleaned, all attributed to one source.

    Authors are separated by semicolons, keywords also by commas and line breaks.

    >>> said = about("content", title=" A  b ", description="", authors=["Ann Bee; Cy Dee"], keywords=["a, b; a"])
    >>> said.sources, [author.name for author in said.authors], said.keywords
    ({'title': 'content', 'authors': 'content', 'keywords': 'content'}, ['Ann Bee', 'Cy Dee'], ('a', 'b'))
    """
    names = (one_line(name, 200) for text in authors for name in text[:LONGEST_VALUE].split(";"))
    words = (one_line(word, 200) for text in keywords for word in _SEPARATORS.split(text[: 4 * LONGEST_VALUE]))
    return metadata_from(
        source,
        title=one_line(title),
        description=one_line(description),
        authors=tuple(Author(name=name) for name in dict.fromkeys(filter(None, names)))[:MOST_VALUES],
        keywords=tuple(dict.fromkeys(filter(None, words)))[:MOST_VALUES],
        language=one_line(language, _LONGEST_LANGUAGE),
        **dates,
    )


def clean(text: str) -> str:
    """Remove control characters, lone surrogates and repeated empty lines, and truncate the text."""
    text = whole(text[:MOST_TEXT]).replace("\r\n", "\n").translate(_BREAKS).translate(_UNWANTED)
    text = "\n".join([line.strip(" \t") for line in text.split("\n")])
    return _MANY_BREAKS.sub("\n\n", text).strip()


def one_line(text: str, most: int = LONGEST_VALUE) -> str:
    """Return a text as one line, truncated to ``most`` characters."""
    return " ".join(whole(text[: 4 * most]).translate(_UNWANTED).split())[:most].rstrip()


def whole(text: str) -> str:
    """Replace lone surrogates, which no encoding can represent."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def addresses(text: str) -> Iterator[DocumentLink]:
    """Yield the web addresses in a text, without trailing punctuation.

    >>> [link.href for link in addresses("See (http://a.example/b(c)), or http://d.example/.")]
    ['http://a.example/b(c)', 'http://d.example/']
    """
    if "://" not in text:  # most texts have none, and this check is a hundred times as fast
        return
    for found in islice(_ADDRESS.finditer(text), MOST_LINKS):
        address = found[0].rstrip(_PUNCTUATION)
        while (opening := _BRACKETS.get(address[-1])) and address.count(address[-1]) > address.count(opening):
            address = address[:-1].rstrip(_PUNCTUATION)
        yield DocumentLink(address, kind="text")


def _outlinks(content: Content, links: Iterable[DocumentLink]) -> tuple[Outlink, ...]:
    found: dict[str, Outlink] = {}
    for link in links:
        if len(found) >= MOST_LINKS:
            break
        target = join(content.url, whole(link.href.strip()[: 2 * _LONGEST_ADDRESS]))
        if target is None:
            continue
        known = found.get(target.text)
        if known is None or (link.anchor and not known.anchor):
            found[target.text] = Outlink(target=target, anchor=one_line(link.anchor, LONGEST_ANCHOR), kind=link.kind)
    return tuple(found.values())
