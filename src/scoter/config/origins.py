"""Where a value came from, and the value as it was given there."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class Origin(msgspec.Struct, frozen=True):
    """The place at which a value was set; ``folder`` is where its relative paths start.

    >>> str(Origin("file", "scoter.toml", 3))
    'scoter.toml:3'
    """

    kind: Literal["default", "file", "environment", "flag"]
    name: str = ""
    line: int = 0
    folder: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.line}" if self.line else self.name or self.kind


DEFAULT = Origin("default")


class Given(msgspec.Struct, frozen=True, eq=False):
    """A value before its type is known; equal to another when the value is.

    ``text`` is what stood in the environment or on the command line: a setting that wants a
    text takes it as it stands, although ``2.0`` alone would read as a number.
    """

    name: str
    value: Any
    origin: Origin
    text: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and (self.name, self.value) == (other.name, other.value)

    def __hash__(self) -> int:
        return hash(self.name)
