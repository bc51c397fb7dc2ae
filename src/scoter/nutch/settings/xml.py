"""Reading Nutch's XML files, which may be hostile: bounded in size and depth, without document types."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from xml.parsers import expat

import msgspec

from scoter.errors import UsageError

LARGEST: Final = 4 * 1_048_576
_DEEPEST: Final = 16
_MOST_ELEMENTS: Final = 20_000


class XmlReader:
    """Reads a file and calls ``start``, ``text`` and ``end``; ``path`` has the tags of the open elements.

    Names are without namespaces. ``source`` names the file in errors, and ``hint`` says which files are expected.
    """

    def __init__(self, source: str, hint: str) -> None:
        self.path: list[str] = []
        self._source = source
        self._hint = hint
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self.text
        # Without a document type there are no entities that expand or read files.
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, xml: str | bytes) -> None:
        """Read a whole file; raise ``UsageError`` if it is not what it should be."""
        if len(xml) > LARGEST:
            raise UsageError("larger than 4 MiB: not a Nutch file", where=self._source, hint=self._hint)
        try:
            self._parser.Parse(xml, True)
        except expat.ExpatError as error:
            problem = expat.errors.messages.get(error.code, "broken")
            where = f"{self._source}:{error.lineno}:{error.offset + 1}"
            raise UsageError(f"not well-formed XML: {problem}", where=where, hint=self._hint) from None
        except (ValueError, LookupError) as error:  # an encoding that Python does not know, or lone surrogates
            raise UsageError(f"cannot read as XML: {error}", where=self._source, hint=self._hint) from None

    def refuse(self, message: str) -> UsageError:
        """Return the error for the place that is being read."""
        return UsageError(message, where=f"{self._source}:{self._parser.CurrentLineNumber}", hint=self._hint)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element; ``path`` ends with it."""

    def text(self, text: str) -> None:
        """Read text within an element."""

    def end(self) -> None:
        """End an element; ``path`` still ends with it."""

    def _doctype(self, *_: object) -> None:
        raise self.refuse("document type declarations are not allowed")

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self.path.append(name)
        if len(self.path) > _DEEPEST:
            raise self.refuse("nested too deeply: not a Nutch file")
        self.start(name, attributes)

    def _end(self, _tag: str) -> None:
        self.end()
        self.path.pop()


class XmlElement(msgspec.Struct):
    """An element with its attributes and the elements in it."""

    tag: str
    attributes: Mapping[str, str] = {}
    children: list[XmlElement] = []

    def named(self, *tags: str) -> list[XmlElement]:
        """Return the elements at a path of tags below this one."""
        found = [self]
        for tag in tags:
            found = [child for each in found for child in each.children if child.tag == tag]
        return found


def read_element(xml: str | bytes, source: str, root: str, example: str) -> XmlElement:
    """Read a file whose root element has a given name, without its texts; ``example`` is the name of such a file."""
    reader = _ElementReader(source, f"Pass a file such as Nutch's conf/{example}.", root)
    reader.read(xml)
    return reader.top.children[0]


class _ElementReader(XmlReader):
    def __init__(self, source: str, hint: str, root: str) -> None:
        super().__init__(source, hint)
        self.top = XmlElement("")
        self._root = root
        self._open = [self.top]
        self._count = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self.path) == 1 and tag != self._root:
            raise self.refuse(f"starts with <{tag[:40]}> instead of <{self._root}>")
        self._count += 1
        if self._count > _MOST_ELEMENTS:
            raise self.refuse(f"more than {_MOST_ELEMENTS:,} elements")
        element = XmlElement(tag, dict(attributes))
        self._open[-1].children.append(element)
        self._open.append(element)

    def end(self) -> None:
        self._open.pop()


def root_of(xml: str | bytes) -> str:
    """Return the name of the root element, or an empty string if there is none to be seen."""
    reader = _RootReader("", "")
    with suppress(UsageError, StopIteration):
        reader.read(xml)
    return reader.found


class _RootReader(XmlReader):
    found = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.found = tag
        raise StopIteration
