"""What is told of a file, of a capture in it, and of captures that others refer to."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

Facts: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values that go into a metadata record."""


class ArchiveInfo(Struct, frozen=True, kw_only=True):
    """What a file says of the crawl it belongs to."""

    software: str
    agent: str = ""
    operator: str = ""
    robots: str = "obeyed (RFC 9309)"
    more: Facts = ()


class EarlierCapture(Struct, frozen=True):
    """A capture that a later one refers to."""

    url: str
    date: datetime


class SharedBody(Struct, frozen=True, gc=False):
    """The response in the same file whose body a duplicate shares."""

    record_id: str
    url: str
    date: str
    offset: int


class Location(Struct, frozen=True):
    """Where a record lies: the file's final name, the first byte, the number of bytes."""

    file: str
    offset: int
    length: int
