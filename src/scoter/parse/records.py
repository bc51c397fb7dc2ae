"""A page whose characters are known; ``encoding``, which finds them out, is compiled and may hold no ``Struct``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct

from scoter.core.page import Outlink, Page

EncodingEvidence: TypeAlias = Literal["bom", "http", "meta", "xml", "utf-8", "detector", "default"]


class DecodedPage(Struct, frozen=True):
    """A page as UTF-8, with the name of the encoding it came in, how that was found out, and how much was invalid.

    ``why`` is a byte order mark, the server's word, a declaration of the page's own, that it is valid ``utf-8``, the
    detector, or nothing but the default. ``replaced`` counts the characters that became U+FFFD, or were it already.
    """

    utf8: bytes
    encoding: str
    why: EncodingEvidence
    replaced: int = 0


class DropReason(StrEnum):
    """Why a link is not kept."""

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

    __hash__ = str.__hash__  # an enum's own takes ten times as long


class KeptLinks(Struct, frozen=True):
    """The links that are kept of a page, how many there were, and why the others are not."""

    links: tuple[Outlink, ...]
    found: int
    dropped: Mapping[DropReason, int]


class Parsed(Struct, frozen=True, tag=True):
    """The pages that a content holds; the first is the content's own."""

    pages: tuple[Page, ...]

    @property
    def page(self) -> Page:
        return self.pages[0]


class ParseFailed(Struct, frozen=True, tag=True):
    """Why a content has no page.

    The reason is one of ``no_parser``, ``truncated``, ``empty`` (no parser found a page in it), ``broken_plugin``,
    ``timeout``, ``cpu``, ``memory`` and ``crash``.
    """

    reason: str
    detail: str = ""


ParseOutcome: TypeAlias = Parsed | ParseFailed
