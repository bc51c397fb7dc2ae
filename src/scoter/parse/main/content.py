"""One call for the main content of a page."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from scoter.core.url import Url
from scoter.parse.main.blocks import Writer
from scoter.parse.main.boilerplate import main_part
from scoter.parse.main.tree import read_tree
from scoter.parse.main.verdict import judge, narrow, trafilatura_text

Extractor: TypeAlias = Literal["none", "resiliparse", "trafilatura"]

LARGEST_FACTOR: Final = 2
"""Characters of Markdown for each byte of markup, at most."""
_SPARE: Final = 1_000


class Main(Struct, frozen=True):
    """The main content of a page: its text, and the same as Markdown when it was asked for."""

    text: str = ""
    markdown: str = ""


def main_content(markup: bytes, extractor: Extractor, *, markdown: bool, base: Url, encoding: str = "utf-8") -> Main:
    """Return the main content of an HTML page in UTF-8; links in it are relative to ``base``.

    Their queries are in the ``encoding`` that the page had before.

    Without an extractor there is no text, and the Markdown is of what resiliparse finds.

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
        text = trafilatura_text(markup)
        if not markdown:
            return Main(text)
        part = narrow(main_part(read_tree(markup)), text)
    elif extractor == "resiliparse" or markdown:
        part = main_part(read_tree(markup))
        text = judge(part) if part.size else ""
    else:
        return Main()
    written = Writer(base, LARGEST_FACTOR * len(markup) + _SPARE, encoding).write(part) if markdown else ""
    return Main(text if extractor != "none" else "", written)
