"""Schema.org things from JSON-LD, microdata and RDFa.

A thing is a mapping with ``@type`` and ``@id`` as in JSON-LD, and properties by their schema.org names. Any value may
be a text, a number, a thing, or a list of these; all functions here accept all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from scoter.parse.metadata.field_values import strip_markup

Thing: TypeAlias = Mapping[str, Any]

MOST_THINGS: Final = 2_000
"""Things read from a page."""
MOST_OF_ONE: Final = 50
"""Values read from one property."""
DEEPEST: Final = 24


class Graph:
    """The top-level things of a page in order, and all things by ``@id``."""

    def __init__(self, things: list[Thing] | None = None) -> None:
        self.things: list[Thing] = things or []
        self._names: dict[str, Thing] = {}
        self._inner: list[object] = []

    def add(self, value: object, depth: int = 0) -> None:
        """Add a JSON-LD document: a thing, a list of things, or a graph of them."""
        if depth > DEEPEST:
            return
        if isinstance(value, list):
            for member in value[:MOST_THINGS]:
                self.add(member, depth + 1)
        elif isinstance(value, dict) and len(self.things) < MOST_THINGS:
            members = value.get("@graph")
            if members is None or "@type" in value:
                self.things.append(value)
                self._inner.extend(value.values())
            self._name(value)
            if members is not None:
                self.add(members, depth + 1)

    def resolve(self, value: object) -> object:
        """Resolve a reference to a thing; other values are returned unchanged."""
        if isinstance(value, str):
            return self._names.get(value, value)
        if isinstance(value, dict) and len(value) <= 2 and isinstance(name := value.get("@id"), str):
            if name not in self._names and self._inner:
                self._index_nested()
            return self._names.get(name, value)
        return value

    def each(self, thing: Thing, *names: str) -> list[object]:
        """Return the values of the first of these properties that has any, with references resolved."""
        for name in names:
            value = thing.get(name)
            if value is None or value == "" or value == []:
                continue
            if isinstance(value, str):
                return [self._names.get(value, value)]
            return [self.resolve(member) for member in _members(value)]
        return []

    def things_of(self, thing: Thing, *names: str) -> list[Thing]:
        """Return the values that are things."""
        return [value for value in self.each(thing, *names) if isinstance(value, dict)]

    def text(self, thing: Thing, longest: int, *names: str) -> str:
        """Return the first text among the values of these properties."""
        values = (value for name in names if name in thing for value in self.each(thing, name))
        return next((found for value in values if (found := text_of(value, longest))), "")

    def _name(self, thing: Thing) -> None:
        name = thing.get("@id")
        if not isinstance(name, str) or len(thing) < 2:
            return
        known = self._names.get(name)
        if known is None or len(thing) > len(known):
            self._names[name] = thing

    def _index_nested(self) -> None:
        """Index the ids of nested things. Few pages need them, so this is done on demand."""
        stack = [(value, 0) for value in self._inner[:MOST_THINGS]]
        self._inner = []
        visited = 0
        while stack and visited < 5 * MOST_THINGS:
            value, depth = stack.pop()
            visited += 1
            if isinstance(value, dict):
                self._name(value)
            if depth < DEEPEST and isinstance(value, dict | list):
                inner = value.values() if isinstance(value, dict) else value[:MOST_THINGS]
                stack.extend((part, depth + 1) for part in inner if isinstance(part, dict | list))


def text_of(value: object, longest: int) -> str:
    """Return a value as text; for a thing, its name."""
    if isinstance(value, str):
        return strip_markup(value, longest)
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, int | float):
        # Larger numbers are meaningless and may take long to format.
        return f"{value:.15g}" if -1e15 < value < 1e15 else ""
    if isinstance(value, dict):
        for name in ("@value", "name", "value", "headline", "text"):
            inner = _first(value.get(name))
            if isinstance(inner, str | int | float) and (found := text_of(inner, longest)):
                return found
    return ""


def address_of(value: object) -> str:
    """Return the URL of a value."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for name in ("url", "contentUrl", "@id", "@value"):
            inner = _first(value.get(name))
            if isinstance(inner, dict):
                inner = inner.get("@id") or inner.get("url")
            if isinstance(inner, str) and inner:
                return inner
    return ""


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def types_of(thing: Thing) -> list[str]:
    """Return the types of a thing without their vocabulary.

    >>> types_of({"@type": ["https://schema.org/Product", "schema:Car"]})
    ['Product', 'Car']
    """
    return [local(kind) for kind in _members(thing.get("@type")) if isinstance(kind, str) and 0 < len(kind) <= 200]


def local(name: str) -> str:
    """Return a name without its vocabulary."""
    if name.isalnum():
        return name
    for sign in ("#", "/", ":"):
        if sign in name:
            name = name.rstrip(sign).rpartition(sign)[2]
    return name.strip()


def _members(value: object) -> list[Any]:
    if isinstance(value, dict):
        inner = value.get("@list", value.get("@set"))
        value = inner if isinstance(inner, list) else value
    if not isinstance(value, list):
        return [] if value is None else [value]
    lists = (member[:MOST_OF_ONE] if isinstance(member, list) else [member] for member in value[:MOST_OF_ONE])
    return [member for each in lists for member in each][:MOST_OF_ONE]
