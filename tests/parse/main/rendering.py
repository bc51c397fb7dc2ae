"""Markdown read back by a parser of it, for the tests of those who write it."""

from __future__ import annotations

import unicodedata

from markdown_it import MarkdownIt
from markdown_it.token import Token

from scoter.core.url import canonical
from scoter.parse.main import MainContent, main_content

BASE = canonical("http://a.example/dir/page.html")
_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def main_of(markup: bytes | str) -> MainContent:
    data = markup.encode() if isinstance(markup, str) else markup
    return main_content(data, markdown=True, base=BASE)


def markdown(markup: str) -> str:
    return main_of(markup).markdown


def tokens(text: str) -> list[Token]:
    """Everything that a parser finds in Markdown, in its order."""
    found: list[Token] = []
    todo = list(reversed(_PARSER.parse(text)))
    while todo:
        token = todo.pop()
        found.append(token)
        if token.children and token.type != "image":
            todo.extend(reversed(token.children))
    return found


def words(text: str) -> str:
    """What Markdown says, without white space."""
    said = [token.content for token in tokens(text) if token.type in {"text", "code_inline", "fence", "code_block"}]
    return squeezed("".join(said))


def squeezed(text: str) -> str:
    """Text without white space, raised and lowered figures as plain ones."""
    return "".join(unicodedata.normalize("NFKC", text).split())
