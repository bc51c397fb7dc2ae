"""The links that are kept of a page, and why others are not."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from scoter.core.page import Outlink


class Dropped(StrEnum):
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


class Kept(Struct, frozen=True):
    """The links that are kept of a page, how many there were, and why the others are not."""

    links: tuple[Outlink, ...]
    found: int
    dropped: Mapping[Dropped, int]
