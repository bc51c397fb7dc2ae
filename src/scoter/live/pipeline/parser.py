"""Parses responses: decodes the body, detects its type, and summarises its content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from scoter.config import Config
from scoter.core.domain import is_ip
from scoter.core.extract import LONGEST
from scoter.core.metadata import Image, PageMetadata
from scoter.core.page import Content, Page
from scoter.core.reply import Exchange, Truncation
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.fetch.decode import content_codings, decode
from scoter.fetch.network.guard import Guard
from scoter.live.pipeline.parser_pool import ParserPool
from scoter.live.records import ContentKind, ContentSummary, Priority
from scoter.parse import ContentParser, HtmlOptions, Parsed, ParseFailed, make_content
from scoter.parse.robots_meta import directives

_FAMILIES: Mapping[str, ContentKind] = {
    "image": ContentKind.IMAGE,
    "video": ContentKind.VIDEO,
    "audio": ContentKind.AUDIO,
}
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
# Names of local networks: RFC 6761 and 6762, RFC 8375, and what ICANN reserves for private use.
_LOCAL_NAMES: Final = (".localhost", ".local", ".home.arpa", ".internal", ".intranet", ".lan")
_LONGEST_PROBLEM: Final = 1_000


class ResponseParser:
    """Parses responses, in the core or in a worker."""

    def __init__(self, config: Config, parsing: ContentParser, pool: ParserPool | None = None) -> None:
        """Pass a pool to parse what may take long; otherwise ``parsing`` does it."""
        self._parsing = parsing
        self._pool = pool
        self._limit = config.fetch.content_limit
        self._sniffs = config.parse.mime_type_magic
        self._agents = HtmlOptions.of(config).agents
        self._about_size = config.live.about_size
        self._guard = Guard(config)

    async def __call__(
        self, exchange: Exchange, *, apart: bool = False, priority: Callable[[], Priority] = lambda: Priority.NORMAL
    ) -> ContentSummary:
        """Parse a response that no worker has parsed.

        ``priority`` may rise while the response waits for a process. Without a pool, use a separate process if it may
        take long, or if ``apart``.
        """
        (content, is_damaged), parsing = self._content(exchange), self._parsing
        if self._pool is None:
            return self._summary(content, await parsing.parse_async(content, apart=apart), is_damaged)
        # Not in this process: the worker has left it to us because it may take long, or has crashed.
        outcome = parsing.refused(content) or await self._pool.parse(content, exchange.url.domain, priority)
        return self._summary(content, outcome, is_damaged)

    def at_once(self, exchange: Exchange) -> ContentSummary | None:
        """Parse a response in this process; return ``None`` if that may take long."""
        content, is_damaged = self._content(exchange)
        outcome = self._parsing.parse_in_place(content)
        return None if outcome is None else self._summary(content, outcome, is_damaged)

    def _content(self, exchange: Exchange) -> tuple[Content, bool]:
        """Return the decoded content, and whether its coding is damaged."""
        codings = content_codings(exchange.headers)
        plain = decode(exchange.body, codings, self._limit) if codings else None
        body = exchange.body if plain is None else plain.body
        cut = Truncation.NOT if plain is None else plain.truncation
        is_truncated = bool(exchange.truncation or cut)
        content = make_content(exchange.url, exchange.headers, body, truncated=is_truncated, sniff=self._sniffs)
        return content, cut is Truncation.UNSPECIFIED

    def _summary(self, content: Content, outcome: Parsed | ParseFailed, is_damaged: bool) -> ContentSummary:
        if isinstance(outcome, ParseFailed):
            problem = f"{outcome.reason}: {outcome.detail}" if outcome.detail else outcome.reason
            return ContentSummary(
                media_type=content.media_type,
                kind=kind_of(content.media_type, None),
                size=len(content.body),
                truncated=content.truncated,
                is_damaged=is_damaged,
                problem=problem[:_LONGEST_PROBLEM],
                # Header fields may forbid archiving even if the body cannot be parsed.
                noarchive=directives((), content.robots, self._agents).noarchive,
            )
        page = outcome.page
        refresh = page.refresh
        width, height = (_pixels(page.metadata.get(f"image.{side}", "")) for side in ("width", "height"))
        about = None if page.about is None else self._pictured(page.about, content)
        if width and height and content.media_type.startswith("image/"):
            # An image shows itself. Its size is in its first bytes, so it is known even if the rest is missing.
            own = Image(url=content.url.text, width=width, height=height, media_type=content.media_type)
            about = about or PageMetadata()
            about = replace(about, image=own, sources={**about.sources, "image": "content"})
        return ContentSummary(
            media_type=content.media_type,
            kind=kind_of(content.media_type, page),
            size=len(content.body),
            truncated=content.truncated,
            is_damaged=is_damaged,
            about=None if about is None else bounded(about, self._about_size),
            onward=_usable(refresh.target) if refresh is not None and refresh.is_redirect else None,
            width=width,
            height=height,
            problem=page.doubt[:_LONGEST_PROBLEM],
            noarchive=page.noarchive,
        )

    def _pictured(self, about: PageMetadata, content: Content) -> PageMetadata:
        """Return metadata without pictures that only the site's own network can show, and with an icon to try."""
        dropped = [name for name in ("image", "icon") if not self._is_public(getattr(about, name))]
        if dropped:
            sources = {field: source for field, source in about.sources.items() if field not in dropped}
            about = replace(about, **dict.fromkeys(dropped), sources=sources)
        if about.icon is None and content.media_type in _PAGES:
            origin = "/".join(content.url.text.split("/", 3)[:3])
            icon, sources = Image(url=f"{origin}/favicon.ico"), {**about.sources, "icon": "guess"}
            about = replace(about, icon=icon, sources=sources)
        return about

    def _is_public(self, image: Image | None) -> bool:
        if image is None:
            return True
        try:
            host = canonical(image.url).host
        except UrlError:
            return False
        if is_ip(host):
            return not self._guard.check_address(host.strip("[]"))
        name = host.removesuffix(".")
        return "." in name and not name.endswith(_LOCAL_NAMES)


def as_archived(exchange: Exchange, read: ContentSummary | None) -> Exchange:
    """Return an exchange as its archive record must describe it: truncated if its content coding is damaged."""
    if read is None or not read.is_damaged or exchange.truncation:
        return exchange
    return replace(exchange, truncation=Truncation.UNSPECIFIED)


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
