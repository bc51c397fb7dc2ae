"""From content to pages by one chain of parsers and parse filters, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from scoter.config import Config
from scoter.core.page import Content, Page
from scoter.errors import UserError
from scoter.plugins import ParseFilter, Parser, chain

LONGEST_DETAIL = 300


class Parsed(Struct, frozen=True, tag=True):
    """The pages that a content holds; the first is the content's own."""

    pages: tuple[Page, ...]

    @property
    def page(self) -> Page:
        return self.pages[0]


class ParseFailed(Struct, frozen=True, tag=True):
    """Why a content has no page.

    The reason is one of ``no_parser``, ``truncated``, ``empty`` (a parser found no page in it), ``broken_plugin``,
    ``timeout``, ``memory`` and ``crash``.
    """

    reason: str
    detail: str = ""


Outcome: TypeAlias = Parsed | ParseFailed


class ParserChain:
    """Parses a content with the first parser that reads its type, then asks the parse filters."""

    def __init__(self, parsers: Sequence[tuple[str, Parser]], filters: Sequence[tuple[str, ParseFilter]] = ()) -> None:
        self._filters = tuple(filters)
        self._by_type: dict[str, tuple[str, Parser]] = {}
        for name, parser in parsers:
            for kind in parser.media_types:
                self._by_type.setdefault(kind, (name, parser))

    @classmethod
    def of(cls, config: Config) -> ParserChain:
        """Return the chain that the configuration names."""
        return cls(chain("parser", config), chain("parsefilter", config))

    def reads(self, media_type: str) -> bool:
        return media_type in self._by_type

    def in_place(self, content: Content) -> bool:
        """Tell whether the parser vouches that it cannot take long; one that does not say so may."""
        vouches: Any = getattr(self._by_type[content.media_type][1], "in_place", None)
        return vouches is not None and bool(vouches(content))

    def parse(self, content: Content) -> Outcome:
        """Return the pages, or why there are none; a plug-in that fails on a page is no reason to stop a crawl."""
        found = self._by_type.get(content.media_type)
        if found is None:
            return ParseFailed("no_parser", content.media_type)
        name, parser = found
        try:
            pages = parser.parse(content)
            for name, each in self._filters:  # noqa: B007 - told when it fails
                pages = [each.refine(content, page) for page in pages]
        except (UserError, MemoryError):
            raise
        except Exception as error:
            return ParseFailed("broken_plugin", f"{name}: {type(error).__name__}: {error}"[:LONGEST_DETAIL])
        return Parsed(tuple(pages)) if pages else ParseFailed("empty", name)
