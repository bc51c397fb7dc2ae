"""From content to pages by one chain of parsers and parse filters, wherever it runs.

Which parsers read a type is said by ``parse.types`` or else by the parsers themselves, in the order of
``parse.parsers``. They are tried in turn: one that finds nothing in a content, or fails on it, leaves it to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from scoter.config import Config
from scoter.core.page import Content, Page
from scoter.errors import ConfigError, UserError, nearest
from scoter.parse.filetypes import TYPE, XML
from scoter.parse.mediatype import TEXT, usual
from scoter.parse.records import Parsed, ParseFailed, ParseOutcome
from scoter.plugins import POINTS, ParseFilter, Parser, chain, find, installed

LONGEST_DETAIL = 300
ANY = "*/*"
_SETTING = "parse.types"
_NO_PROSE = frozenset(("text/html", "text/css", "text/javascript"))
"""Texts that nobody reads as they stand."""


Named: TypeAlias = tuple[str, Parser]


class ParserChain:
    """Parses a content with the parsers for its type, then asks the parse filters."""

    def __init__(
        self,
        parsers: Sequence[Named],
        filters: Sequence[tuple[str, ParseFilter]] = (),
        types: Mapping[str, Sequence[Named]] | None = None,
    ) -> None:
        """``types`` names the parsers of a type, or of a family of types, instead of what they say they read."""
        self._filters = tuple(filters)
        self._by_type = _by_type(parsers, types or {})

    @classmethod
    def of(cls, config: Config) -> ParserChain:
        """Return the chain that the configuration names."""
        known = [each.name for each in installed() if each.point.name == "parser"]
        types = read_types(config.parse.types, known)
        parsers: dict[str, Parser] = dict(chain("parser", config))
        active = list(parsers.items())
        for name in {name: None for names in types.values() for name in names}:  # in their order
            if name not in parsers:
                parsers[name] = find(POINTS["parser"], name).make(config)
        named = {kind: [(name, parsers[name]) for name in names] for kind, names in types.items()}
        return cls(active, chain("parsefilter", config), named)

    def reads(self, media_type: str) -> bool:
        return bool(self.parsers(media_type))

    def parsers(self, media_type: str) -> Sequence[Named]:
        """Return the parsers of a type with their names, in the order in which they are tried."""
        found = self._by_type.get(media_type)
        return found if found is not None else self._less_exactly(usual(media_type))

    def parse(self, content: Content) -> ParseOutcome:
        """Return the pages, or why there are none; a plug-in that fails on a page is no reason to stop a crawl."""
        return self._tried(content, self.parsers(content.media_type))

    def parse_in_place(self, content: Content) -> ParseOutcome | None:
        """Do as ``parse`` does, as far as parsers vouch that they cannot take long; nothing if one does not.

        What a parser that vouches finds nothing in is left to the next only if that one vouches too.
        """
        parsers = self.parsers(content.media_type)
        if not parsers or not _vouches(parsers[0][1], content):
            return None if parsers else self._tried(content, ())
        if len(parsers) == 1:
            return self._tried(content, parsers)
        vouching = list(_while_vouching(parsers, content))
        outcome = self._tried(content, vouching)
        return outcome if isinstance(outcome, Parsed) or len(vouching) == len(parsers) else None

    def _less_exactly(self, media_type: str) -> Sequence[Named]:
        names = [media_type, f"{media_type.partition('/')[0]}/*"]
        if media_type.endswith("+xml"):
            names.append(XML)
        elif media_type.startswith("text/") and media_type not in _NO_PROSE:
            names.append(TEXT)
        return next((found for name in [*names, ANY] if (found := self._by_type.get(name))), ())

    def _tried(self, content: Content, parsers: Sequence[Named]) -> ParseOutcome:
        if not parsers:
            return ParseFailed("no_parser", content.media_type)
        failed: ParseFailed | None = None
        for name, parser in parsers:
            try:
                pages = _pages(parser.parse(content) or ())
            except (UserError, MemoryError):
                raise
            except Exception as error:
                failed = failed or _broken(name, error)
                continue
            if pages:
                return self._refined(content, pages)
        return failed or ParseFailed("empty", ", ".join([name for name, _ in parsers]))

    def _refined(self, content: Content, pages: Sequence[Page]) -> ParseOutcome:
        for name, each in self._filters:
            try:
                pages = _pages([each.refine(content, page) for page in pages])
            except (UserError, MemoryError):
                raise
            except Exception as error:
                return _broken(name, error)
        return Parsed(tuple(pages))


def _pages(given: Sequence[object]) -> list[Page]:
    """Return what a plug-in gave, if it is pages: the types of its methods are nothing that Python looks at."""
    pages = []
    for each in given:
        if not isinstance(each, Page):
            raise TypeError(f"{each!r:.80} is no page")
        pages.append(each)
    return pages


def _broken(name: str, error: Exception) -> ParseFailed:
    return ParseFailed("broken_plugin", f"{name}: {type(error).__name__}: {error}"[:LONGEST_DETAIL])


def _vouches(parser: Parser, content: Content) -> bool:
    """Tell whether a parser vouches that it cannot take long; one that does not say so may."""
    asked: Any = getattr(parser, "in_place", None)
    return asked is not None and bool(asked(content))


def _while_vouching(parsers: Sequence[Named], content: Content) -> Iterator[Named]:
    yield parsers[0]  # who was asked already
    for name, parser in parsers[1:]:
        if not _vouches(parser, content):
            return
        yield name, parser


def _by_type(parsers: Sequence[Named], types: Mapping[str, Sequence[Named]]) -> dict[str, tuple[Named, ...]]:
    """Return the parsers by type, those of a family among those of each type in it that any parser names."""
    kinds = {usual(kind): None for _, parser in parsers for kind in parser.media_types}
    found = {}
    for kind in kinds:
        family = f"{kind.partition('/')[0]}/*"
        if kind != ANY and family in types:
            continue
        readers = [each for each in parsers if {kind, family} & {usual(name) for name in each[1].media_types}]
        found[kind] = tuple(readers)
    return {**found, **{kind: tuple(readers) for kind, readers in types.items()}}


def read_types(entries: Sequence[str], known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the parsers' names by media type out of the entries of ``parse.types``.

    >>> read_types(["application/pdf = command, pdf", "*/*=text"], ["command", "pdf", "text"])
    {'application/pdf': ('command', 'pdf'), '*/*': ('text',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        kind, equals, rest = entry.partition("=")
        kind = usual(kind.strip().lower())
        names = tuple(name.strip() for name in rest.split(","))
        if not equals or not _is_type(kind) or not all(names):
            raise ConfigError(
                f"{entry!r} does not name the parsers of a media type",
                where=_SETTING,
                hint='An entry is type=parser,parser, such as "application/pdf=command,pdf", "image/*=image" or'
                ' "*/*=text".',
            )
        if kind in found:
            raise ConfigError(f"{entry!r} names {kind} a second time", where=_SETTING, hint="Name each type once.")
        for name in names:
            if name not in known:
                close = nearest(name, known)
                raise ConfigError(
                    f"{entry!r}: {name!r} is not a parser" + (f"; did you mean {close!r}?" if close else ""),
                    where=_SETTING,
                    hint=f"Installed: {', '.join(known) or 'none'}. `scoter plugin list` shows all.",
                )
            if names.count(name) > 1:
                raise ConfigError(f"{entry!r} names {name!r} twice", where=_SETTING, hint="Name each parser once.")
        found[kind] = names
    return found


def _is_type(kind: str) -> bool:
    """Tell whether it is a media type, a family of them, or all of them."""
    if not TYPE.fullmatch(kind):
        return False
    first, _, second = kind.partition("/")
    return "*" not in kind or kind == ANY or ("*" not in first and second == "*")
