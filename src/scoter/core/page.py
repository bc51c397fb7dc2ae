"""What a page says: the record that parsers make, parse filters widen and indexing filters read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from scoter.core.url import Url

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Content(Struct, frozen=True, kw_only=True):
    """Bytes as they came, with the media type that was found for them."""

    url: Url
    media_type: str
    body: bytes
    encoding: str = ""
    metadata: Mapping[str, str] = EMPTY


class Outlink(Struct, frozen=True, kw_only=True):
    """A link on a page: where it leads, what it says, and what it carries along to its target."""

    target: Url
    anchor: str = ""
    rel: str = ""
    score: float = 0.0
    extra: Mapping[str, Any] = EMPTY


class Page(Struct, frozen=True, kw_only=True):
    """A parsed page."""

    url: Url
    title: str = ""
    text: str = ""
    outlinks: tuple[Outlink, ...] = ()
    metadata: Mapping[str, str] = EMPTY
    noindex: bool = False
    nofollow: bool = False


class Document(Struct, frozen=True, kw_only=True):
    """What goes to a search index: an id and fields with one or more values each."""

    id: str
    fields: Mapping[str, tuple[Any, ...]]
    boost: float = 1.0
