"""Records of ``core.robots``; kept apart because compiled modules cannot define a ``Struct``."""

from __future__ import annotations

from msgspec import Struct


class RobotsRule(Struct, frozen=True):
    """An ``Allow`` or ``Disallow`` line with its line number."""

    allow: bool
    path: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {'Allow' if self.allow else 'Disallow'}: {self.path}"


class Verdict(Struct, frozen=True):
    """Whether a URL may be fetched, and why."""

    allowed: bool
    why: str
