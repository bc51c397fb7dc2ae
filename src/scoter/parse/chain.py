"""Choose the parsers for a content, run them, and apply the parse filters.

``parse.types`` assigns parsers to media types. Types it does not name go to the parsers that declare them, in the
order of ``parse.parsers``. Parsers are tried in turn until one of them returns a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import takewhile
from typing import Any, TypeAlias

from msgspec.structs import replace

from scoter.config import Config
from scoter.core.page import Content, Outlink, Page
from scoter.errors import ConfigError, PluginError, UserError, nearest
from scoter.parse.filetypes import TYPE, XML
from scoter.parse.html.attributes import read_refresh
from scoter.parse.mediatype import TEXT, usual_type
from scoter.parse.records import Parsed, ParseFailed, ParseOutcome
from scoter.plugins import POINTS, ParseFilter, Parser, Plugin, chain, find, installed

LONGEST_DETAIL = 300
ANY = "*/*"
_SETTING = "parse.types"
_MOST_HINTS = 1_000
_NO_PROSE = frozenset(("text/html", "text/css", "text/javascript"))
"""Text types that are not prose, so the plain-text parser must not read them."""


Named: TypeAlias = tuple[str, Parser]


class ParserChain:
    """Parses a content with the parsers for its type, then applies the parse filters."""

    def __init__(
        self,
        parsers: Sequence[Named],
        filters: Sequence[tuple[str, ParseFilter]] = (),
        types: Mapping[str, Sequence[Named]] | None = None,
        inactive: Sequence[Plugin] = (),
    ) -> None:
        """``types`` assigns parsers to media types or families such as ``image/*``, overriding their own lists.

        ``inactive`` are parsers that could be activated; errors name the one that reads a type.
        """
        self._filters = tuple(filters)
        self._inactive = tuple(inactive)
        self._hints: dict[str, str] = {}
        self._by_type = _by_type(parsers, types or {})

    @classmethod
    def of(cls, config: Config) -> ParserChain:
        """Return the configured chain."""
        known = [each.name for each in installed() if each.point.name == "parser"]
        types = read_types(config.parse.types, known)
        parsers: dict[str, Parser] = dict(chain("parser", config))
        active = list(parsers.items())
        for name in {name: None for names in types.values() for name in names}:  # a dict keeps the order
            if name not in parsers:
                parsers[name] = find(POINTS["parser"], name).make(config)
        named = {kind: [(name, parsers[name]) for name in names] for kind, names in types.items()}
        inactive = [each for each in installed() if each.point.name == "parser" and each.name not in parsers]
        return cls(active, chain("parsefilter", config), named, inactive)

    def reads(self, media_type: str) -> bool:
        return bool(self.parsers(media_type))

    def parsers(self, media_type: str) -> Sequence[Named]:
        """Return the named parsers for a media type in the order they are tried."""
        found = self._by_type.get(media_type)
        return found if found is not None else self._by_family(usual_type(media_type))

    def unread(self, media_type: str) -> ParseFailed:
        """Return the failure for a type without a parser, with the parser to activate if there is one."""
        hint = self._hints.get(media_type)
        if hint is None:
            hint = _hint(usual_type(media_type), self._inactive)
            if len(self._hints) < _MOST_HINTS:  # servers may send any number of types
                self._hints[media_type] = hint
        return ParseFailed("no_parser", media_type + hint)

    def parse(self, content: Content) -> ParseOutcome:
        """Parse a content. An exception of a plug-in becomes a ``ParseFailed``, so that it cannot stop a crawl."""
        return self._try_parsers(content, self.parsers(content.media_type))

    def parse_in_place(self, content: Content) -> ParseOutcome | None:
        """Parse a content only with parsers that are sure to be quick; ``None`` if a slow one would be needed."""
        parsers = self.parsers(content.media_type)
        if not parsers or not _is_quick(parsers[0][1], content):
            return None if parsers else self._try_parsers(content, ())
        if len(parsers) == 1:
            return self._try_parsers(content, parsers)
        # The first one was asked above.
        quick = [parsers[0], *takewhile(lambda each: _is_quick(each[1], content), parsers[1:])]
        outcome = self._try_parsers(content, quick)
        return outcome if isinstance(outcome, Parsed) or len(quick) == len(parsers) else None

    def _by_family(self, media_type: str) -> Sequence[Named]:
        names = [media_type, f"{media_type.partition('/')[0]}/*"]
        if media_type.endswith("+xml"):
            names.append(XML)
        elif media_type.startswith("text/") and media_type not in _NO_PROSE:
            names.append(TEXT)
        return next((found for name in [*names, ANY] if (found := self._by_type.get(name))), ())

    def _try_parsers(self, content: Content, parsers: Sequence[Named]) -> ParseOutcome:
        if not parsers:
            return self.unread(content.media_type)
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
                return self._apply_filters(content, _with_refresh(pages, content) if content.refresh else pages)
        return failed or ParseFailed("empty", ", ".join([name for name, _ in parsers]))

    def _apply_filters(self, content: Content, pages: Sequence[Page]) -> ParseOutcome:
        for name, each in self._filters:
            try:
                pages = _pages([each.refine(content, page) for page in pages])
            except (UserError, MemoryError):
                raise
            except Exception as error:
                return _broken(name, error)
        return Parsed(tuple(pages))


def _hint(media_type: str, inactive: Sequence[Plugin]) -> str:
    """Return how to get a parser for a type, or nothing."""
    for plugin in inactive:
        with suppress(PluginError):  # one that cannot be imported
            found = plugin.load()
            if media_type in {usual_type(name) for name in getattr(found, "media_types", ())}:
                package, extra = getattr(found, "requires", ("", ""))
                install = f"install the extra {extra!r} and " if package and find_spec(package) is None else ""
                return f"; to read it: {install}add {plugin.name!r} to parse.parsers"
    return ""


def _with_refresh(pages: list[Page], content: Content) -> list[Page]:
    """Apply the Refresh header field, which precedes a meta element (HTML standard, 7.4.6.3)."""
    refresh = read_refresh(content.refresh, content.url)
    if refresh is None:
        return pages
    page, *others = pages
    links = page.outlinks if refresh.is_redirect else (*page.outlinks, Outlink(target=refresh.target, kind="refresh"))
    return [replace(page, refresh=refresh, outlinks=links), *others]


def _pages(given: Sequence[object]) -> list[Page]:
    """Check that a plug-in returned pages; its type annotations are not enforced."""
    pages = []
    for each in given:
        if not isinstance(each, Page):
            raise TypeError(f"{each!r:.80} is no page")
        pages.append(each)
    return pages


def _broken(name: str, error: Exception) -> ParseFailed:
    return ParseFailed("broken_plugin", f"{name}: {type(error).__name__}: {error}"[:LONGEST_DETAIL])


def _is_quick(parser: Parser, content: Content) -> bool:
    """Tell whether a parser is sure to be quick; one without ``in_place`` is not."""
    in_place: Any = getattr(parser, "in_place", None)
    return in_place is not None and bool(in_place(content))


def _by_type(parsers: Sequence[Named], types: Mapping[str, Sequence[Named]]) -> dict[str, tuple[Named, ...]]:
    """Return the parsers by media type. Parsers of a family are added to each type of it that any parser declares."""
    kinds = {usual_type(kind): None for _, parser in parsers for kind in parser.media_types}
    found = {}
    for kind in kinds:
        family = f"{kind.partition('/')[0]}/*"
        if kind != ANY and family in types:
            continue
        readers = [each for each in parsers if {kind, family} & {usual_type(name) for name in each[1].media_types}]
        found[kind] = tuple(readers)
    return {**found, **{kind: tuple(readers) for kind, readers in types.items()}}


def read_types(entries: Sequence[str], known: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return parser names by media type from the entries of ``parse.types``.

    >>> read_types(["application/pdf = command, pdf", "*/*=text"], ["command", "pdf", "text"])
    {'application/pdf': ('command', 'pdf'), '*/*': ('text',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        kind, equals, rest = entry.partition("=")
        kind = usual_type(kind.strip().lower())
        names = tuple(name.strip() for name in rest.split(","))
        if not equals or not _is_type(kind) or not all(names):
            raise ConfigError(
                f"{entry!r} does not assign parsers to a media type",
                where=_SETTING,
                hint='Write type=parser,parser, such as "application/pdf=command,pdf", "image/*=image" or "*/*=text".',
            )
        if kind in found:
            raise ConfigError(f"{entry!r} repeats the type {kind}", where=_SETTING, hint="List each type once.")
        for name in names:
            if name not in known:
                close = nearest(name, known)
                raise ConfigError(
                    f"{entry!r}: {name!r} is not a parser" + (f"; did you mean {close!r}?" if close else ""),
                    where=_SETTING,
                    hint=f"Installed: {', '.join(known) or 'none'}. `scoter plugin list` shows all.",
                )
            if names.count(name) > 1:
                raise ConfigError(f"{entry!r} lists {name!r} twice", where=_SETTING, hint="List each parser once.")
        found[kind] = names
    return found


def _is_type(kind: str) -> bool:
    """Accept a media type, a family such as ``image/*``, and ``*/*``."""
    return kind == ANY or (TYPE.fullmatch(kind) is not None and "*" not in kind.removesuffix("/*"))
