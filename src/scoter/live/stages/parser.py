"""Parses responses: decodes the body, detects its type, and summarises its content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.extract import LONGEST
from scoter.core.metadata import PageMetadata
from scoter.core.page import Content, Page
from scoter.core.reply import Exchange
from scoter.core.url import Url
from scoter.fetch.decode import content_codings, decode
from scoter.live.records import ContentKind, ContentSummary
from scoter.parse import ContentParser, HtmlOptions, Parsed, ParseFailed, make_content
from scoter.parse.robots_meta import directives

_FAMILIES: Mapping[str, ContentKind] = {
    "image": ContentKind.IMAGE,
    "video": ContentKind.VIDEO,
    "audio": ContentKind.AUDIO,
}
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_LONGEST_PROBLEM: Final = 1_000


class ResponseParser:
    """Parses responses, in the core or in a worker."""

    def __init__(self, config: Config, parsing: ContentParser) -> None:
        self._parsing = parsing
        self._limit = config.fetch.content_limit
        self._sniffs = config.parse.mime_type_magic
        self._agents = HtmlOptions.of(config).agents
        self._about_size = config.live.about_size

    async def __call__(self, exchange: Exchange, *, apart: bool = False) -> ContentSummary:
        """Parse a response; use a separate process if it may take long, or if ``apart``."""
        content = self._content(exchange)
        return self._summary(content, await self._parsing.parse_async(content, apart=apart))

    def at_once(self, exchange: Exchange) -> ContentSummary | None:
        """Parse a response in this process; return ``None`` if that may take long."""
        content = self._content(exchange)
        outcome = self._parsing.parse_in_place(content)
        return None if outcome is None else self._summary(content, outcome)

    def _content(self, exchange: Exchange) -> Content:
        codings = content_codings(exchange.headers)
        plain = decode(exchange.body, codings, self._limit) if codings else None
        body = exchange.body if plain is None else plain.body
        is_truncated = bool(exchange.truncation or (plain is not None and plain.truncation))
        return make_content(exchange.url, exchange.headers, body, truncated=is_truncated, sniff=self._sniffs)

    def _summary(self, content: Content, outcome: Parsed | ParseFailed) -> ContentSummary:
        if isinstance(outcome, ParseFailed):
            problem = f"{outcome.reason}: {outcome.detail}" if outcome.detail else outcome.reason
            return ContentSummary(
                media_type=content.media_type,
                kind=kind_of(content.media_type, None),
                size=len(content.body),
                truncated=content.truncated,
                problem=problem[:_LONGEST_PROBLEM],
                # Header fields may forbid archiving even if the body cannot be parsed.
                noarchive=directives((), content.robots, self._agents).noarchive,
            )
        page = outcome.page
        refresh = page.refresh
        return ContentSummary(
            media_type=content.media_type,
            kind=kind_of(content.media_type, page),
            size=len(content.body),
            truncated=content.truncated,
            about=None if page.about is None else bounded(page.about, self._about_size),
            canonical=_usable(page.canonical),
            onward=_usable(refresh.target) if refresh is not None and refresh.is_redirect else None,
            width=_pixels(page.metadata.get("image.width", "")),
            height=_pixels(page.metadata.get("image.height", "")),
            problem=page.doubt[:_LONGEST_PROBLEM],
            noarchive=page.noarchive,
        )


def _usable(url: Url | None) -> Url | None:
    """Return a URL unless it is too long to be looked up; a record would contain it several times."""
    return url if url is not None and len(url.text) <= LONGEST else None


def _pixels(text: str) -> int | None:
    return int(text) if text.isdigit() and len(text) < 10 else None


def kind_of(media_type: str, page: Page | None) -> ContentKind:
    """Return the kind of content, for display.

    >>> kind_of("text/html", None), kind_of("image/png", None), kind_of("font/woff2", None)
    (<ContentKind.PAGE: 'page'>, <ContentKind.IMAGE: 'image'>, <ContentKind.OTHER: 'other'>)
    """
    if media_type in _PAGES:
        return ContentKind.PAGE
    family = _FAMILIES.get(media_type.partition("/")[0])
    if family is not None:
        return family
    return ContentKind.DOCUMENT if page is not None else ContentKind.OTHER


_encode: Final = msgspec.json.Encoder().encode
_TEXTS: Final = frozenset({"title", "description", "site_name", "language", "type", "theme_color"})


def bounded(about: PageMetadata, most: int) -> PageMetadata:
    """Return metadata with at most ``most`` bytes of JSON.

    The largest field is shortened first, repeatedly: lists and texts by half; other fields are dropped.
    """
    if len(_encode(about)) <= most:
        return about
    sizes = {name: len(_encode(getattr(about, name))) for name in about.__struct_fields__ if name != "sources"}
    while len(_encode(about)) > most:
        name = max(sizes, key=lambda each: sizes[each])
        less = _less(name, getattr(about, name))
        sources = {field: source for field, source in about.sources.items() if field != name or less}
        about = replace(about, **{name: less}, sources=sources)
        sizes[name] = len(_encode(less)) if less else 0
        if not any(sizes.values()):
            break
    return about


def _less(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return value[: len(value) // 2]
    if isinstance(value, str):
        return value[: len(value) // 2] if name in _TEXTS else ""
    return None
