"""The lines of a robots.txt that count, and what they come to; apart, since compiled modules may hold no ``Struct``."""

from __future__ import annotations

from msgspec import Struct


class RobotsRule(Struct, frozen=True):
    """An ``Allow`` or ``Disallow`` line, with the number of the line in its file."""

    allow: bool
    path: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {'Allow' if self.allow else 'Disallow'}: {self.path}"


class Verdict(Struct, frozen=True):
    """Whether a URL may be fetched, and why."""

    allowed: bool
    why: str
