"""Descriptions of an archive and of the captures in it."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

Facts: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values for a metadata record."""


class ArchiveInfo(Struct, frozen=True, kw_only=True):
    """The crawl that an archive belongs to, for its ``warcinfo`` record."""

    software: str
    agent: str = ""
    operator: str = ""
    robots: str = "obeyed (RFC 9309)"
    more: Facts = ()


class EarlierCapture(Struct, frozen=True, gc=False):
    """An earlier capture that a 304 confirms: the URL, WARC-Date and payload digest of the record with the body."""

    url: str
    date: str
    digest: str


class SharedBody(Struct, frozen=True, gc=False):
    """A response in the same file whose body a duplicate shares."""

    record_id: str
    url: str
    date: str
    offset: int


class Location(Struct, frozen=True):
    """The position of a record: final file name, offset and length; ``copy`` is what a later 304 may confirm."""

    file: str
    offset: int
    length: int
    copy: EarlierCapture | None = None
