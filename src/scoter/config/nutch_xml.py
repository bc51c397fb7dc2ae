"""Nutch's site file as a list of properties; hostile XML is refused before it can do harm."""

from __future__ import annotations

from typing import Final
from xml.parsers import expat

import msgspec

from scoter.errors import UsageError

LARGEST: Final = 4 * 1_048_576
_MOST_PROPERTIES: Final = 10_000
_HINT: Final = "Give a file such as Nutch's conf/nutch-site.xml."


class Property(msgspec.Struct, frozen=True):
    """One ``<property>``; ``line`` is where it begins."""

    name: str
    value: str
    line: int


def properties(xml: str | bytes, source: str) -> list[Property]:
    """Return the properties of a site file in their order."""
    if len(xml) > LARGEST:
        raise UsageError("is larger than 4 MiB, so it is no Nutch site file", where=source, hint=_HINT)
    reader = _Reader(source)
    try:
        reader.parser.Parse(xml, True)
    except expat.ExpatError as error:
        said = expat.errors.messages.get(error.code, "broken")
        raise UsageError(
            f"is not well-formed XML: {said}", where=f"{source}:{error.lineno}:{error.offset + 1}", hint=_HINT
        ) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not know, or lone surrogates
        raise UsageError(f"cannot be read as XML text: {error}", where=source, hint=_HINT) from None
    return reader.found


class _Reader:
    """Collects ``configuration/property/{name,value}`` and refuses everything that is no such file."""

    def __init__(self, source: str) -> None:
        self.found: list[Property] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        # Without a document type there are no entities, and so none that grow or read files.
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._source = source
        self._path: list[str] = []
        self._parts: dict[str, list[str]] = {}
        self._line = 0

    def _refuse(self, message: str) -> UsageError:
        return UsageError(message, where=f"{self._source}:{self.parser.CurrentLineNumber}", hint=_HINT)

    def _doctype(self, *_: object) -> None:
        raise self._refuse("has a document type declaration, which no Nutch site file needs")

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        self._path.append(tag)
        if len(self._path) > 16:
            raise self._refuse("is nested too deeply to be a Nutch site file")
        if len(self._path) == 1 and tag != "configuration":
            raise self._refuse(f"begins with <{tag[:40]}>, not with <configuration>")
        if self._path == ["configuration", "property"]:
            self._parts, self._line = {}, self.parser.CurrentLineNumber
        elif self._path[:2] == ["configuration", "property"] and len(self._path) == 3:
            self._parts[tag] = []

    def _text(self, text: str) -> None:
        if self._path[:2] == ["configuration", "property"] and len(self._path) == 3:
            self._parts[self._path[-1]].append(text)

    def _end(self, _tag: str) -> None:
        if self._path == ["configuration", "property"]:
            if len(self.found) >= _MOST_PROPERTIES:
                raise self._refuse(f"has more than {_MOST_PROPERTIES} properties")
            name, value = ("".join(self._parts.get(part, [])).strip() for part in ("name", "value"))
            if name:
                self.found.append(Property(name, value, self._line))
        self._path.pop()
