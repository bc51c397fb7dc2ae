"""Reading a Nutch site file as Hadoop does: the last value of a property wins, and other files can be included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from scoter.errors import UsageError
from scoter.nutch.settings.xml import LARGEST, XmlReader

_MOST_PROPERTIES: Final = 10_000
_MOST_INCLUDED: Final = 100
_DEEPEST: Final = 10
_HINT: Final = "Pass a file such as Nutch's conf/nutch-site.xml."
_NOT_FOUND: Final = "includes {}, which cannot be read"


class _Site(Struct):
    """What was read so far, of all files."""

    found: dict[str, str] = {}
    final: set[str] = set()
    read: int = 0
    included: int = 0


def properties(xml: str | bytes, source: str, folder: Path | None = None) -> dict[str, str]:
    """Return the properties of a site file, and of the files that it includes; ``folder`` is where these are."""
    site = _Site()
    _SiteReader(source, folder, site).read(xml)
    return site.found


class _SiteReader(XmlReader):
    """Collects ``configuration/property/{name,value}``, follows ``xi:include``, and rejects other files."""

    def __init__(self, source: str, folder: Path | None, site: _Site, depth: int = 0) -> None:
        super().__init__(source, _HINT)
        self._folder = folder
        self._site = site
        self._depth = depth
        self._parts: dict[str, list[str]] = {}
        self._missing = ""  # the file of the open include element that is not there
        self._has_fallback = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self.path) == 1 and tag != "configuration":
            raise self.refuse(f"starts with <{tag[:40]}> instead of <configuration>")
        if self._is_property(self.path):
            self._parts = {name: [attributes[name]] for name in ("name", "value", "final") if name in attributes}
        elif self._is_property(self.path[:-1]):
            self._parts[tag] = []
        elif self.path == ["configuration", "include"]:
            self._missing = "" if self._include(attributes) else attributes["href"]
        elif self.path == ["configuration", "include", "fallback"]:
            self._has_fallback = True

    def text(self, text: str) -> None:
        if self._is_property(self.path[:-1]):
            self._parts[self.path[-1]].append(text)

    def end(self) -> None:
        if self.path == ["configuration", "include"] and self._missing and not self._has_fallback:
            raise self.refuse(_NOT_FOUND.format(self._missing))
        if self._is_property(self.path):
            name, value, final = ("".join(self._parts.get(part, [])).strip() for part in ("name", "value", "final"))
            self._site.read += 1
            if self._site.read > _MOST_PROPERTIES:
                raise self.refuse(f"more than {_MOST_PROPERTIES:,} properties")
            if name and name not in self._site.final:
                # Removed first, so that a property stands where its last value was read.
                self._site.found.pop(name, None)
                self._site.found[name] = value
            if final == "true":
                self._site.final.add(name)

    def _is_property(self, path: list[str]) -> bool:
        if path == ["configuration", "include", "fallback", "property"]:
            return bool(self._missing)
        return path == ["configuration", "property"]

    def _include(self, attributes: Mapping[str, str]) -> bool:
        """Read another file in place of the element; return whether it is there."""
        self._has_fallback = False
        href = attributes.get("href", "")
        if not href or "xpointer" in attributes or attributes.get("parse", "xml") != "xml":
            raise self.refuse("an include needs the name of a whole XML file")
        if "://" in href or self._folder is None:
            raise self.refuse(_NOT_FOUND.format(href))
        if self._depth >= _DEEPEST or self._site.included >= _MOST_INCLUDED:
            raise self.refuse("includes too many files, or itself")
        file = self._folder / href.removeprefix("file:")
        xml = read_limited(file, LARGEST)
        if xml is None:
            return False
        self._site.included += 1
        _SiteReader(str(file), file.parent, self._site, self._depth + 1).read(xml)
        return True


def read_limited(file: Path, largest: int) -> bytes | None:
    """Return a file's bytes, or ``None`` if it is not there; raise ``UsageError`` if it is too large."""
    try:
        with file.open("rb") as opened:
            data = opened.read(largest + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or error}", where=str(file)) from None
    if len(data) > largest:
        raise UsageError(f"larger than {largest // 2**20} MiB: not a file of Nutch's", where=str(file))
    return data
