"""Results of decoding, parsing and choosing links."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct

from scoter.core.page import Outlink, Page

EncodingEvidence: TypeAlias = Literal["bom", "http", "meta", "xml", "utf-8", "detector", "default"]


class DecodedPage(Struct, frozen=True):
    """A page as UTF-8, its original encoding, and what decided on that encoding.

    ``why`` is a byte order mark, the HTTP header, a ``meta`` or XML declaration, the bytes being valid ``utf-8``, the
    detector, or the default. ``replaced`` counts the U+FFFD characters in the result.
    """

    utf8: bytes
    encoding: str
    why: EncodingEvidence
    replaced: int = 0


class DropReason(StrEnum):
    """Why a link was dropped."""

    PAGE_NOFOLLOW = "page_nofollow"
    NOFOLLOW = "nofollow"
    TOO_LONG = "too_long"
    SELF = "self"
    INTERNAL = "internal"
    EXTERNAL = "external"
    NO_URL = "no_url"
    FILTERED = "filtered"
    REPEATED = "repeated"
    TOO_MANY = "too_many"

    __hash__ = str.__hash__  # ten times as fast as Enum's


class KeptLinks(Struct, frozen=True):
    """The links kept of a page, how many it had, and how many were dropped for which reason."""

    links: tuple[Outlink, ...]
    found: int
    dropped: Mapping[DropReason, int]


class Parsed(Struct, frozen=True, tag=True):
    """The pages in a content. The first is the page of the content itself."""

    pages: tuple[Page, ...]

    @property
    def page(self) -> Page:
        return self.pages[0]


class ParseFailed(Struct, frozen=True, tag=True):
    """Why a content could not be parsed.

    ``reason`` is one of ``no_parser``, ``truncated``, ``empty`` (no parser found a page), ``broken_plugin``,
    ``timeout``, ``cpu``, ``memory`` and ``crash``.
    """

    reason: str
    detail: str = ""


ParseOutcome: TypeAlias = Parsed | ParseFailed
