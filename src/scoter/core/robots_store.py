"""A robots.txt as caches share it between crawlers that work together."""

from __future__ import annotations

from msgspec import Struct


class Stored(Struct, frozen=True):
    """A robots.txt as caches share it: none where everything is allowed, and until when it holds (Unix time)."""

    body: bytes | None
    expires: float
