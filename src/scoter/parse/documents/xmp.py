"""XMP: what a picture says about itself, as RDF inside of it (ISO 16684-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scoter.parse.documents.sax import tell

_LONGEST: Final = 256 * 1024
_WANTED: Final = frozenset({"title", "description", "creator", "rights", "subject", "CreateDate", "ModifyDate"})
_IN_LANGUAGES: Final = frozenset({"title", "description", "rights"})
"""What is said once for each language; the default counts, or else the first."""
_DEFAULT: Final = "x-default"


def read_xmp(packet: bytes) -> dict[str, tuple[str, ...]]:
    """Return the values of the properties that a page can use, by their names without namespace."""
    target = _Properties()
    start = packet.find(b"<", 0, _LONGEST)
    if start >= 0:
        tell(target, (packet[start:_LONGEST].rstrip(b"\0"),))
    return {name: tuple(values) for name, values in target.found.items()}


class _Properties:
    """Values stand in an attribute of ``Description``, in an element, or in the items of a list in one."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}
        self._name = ""
        self._pieces: list[str] = []
        self._is_default = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._pieces.clear()
        if name == "Description":
            for each, value in attributes.items():
                self._add(each, value)
        elif name in _WANTED:
            self._name = name
        self._is_default = attributes.get("lang", "").lower() == _DEFAULT

    def end(self, name: str) -> None:
        if name == "li" or name == self._name:
            self._add(self._name, "".join(self._pieces))
        self._pieces.clear()
        if name == self._name:
            self._name = ""

    def data(self, text: str) -> None:
        if self._name:
            self._pieces.append(text)

    def _add(self, name: str, value: str) -> None:
        if name not in _WANTED or not value.strip():
            return
        values = self.found.setdefault(name, [])
        if name in _IN_LANGUAGES and self._is_default:
            values.clear()
        if len(values) < (1 if name in _IN_LANGUAGES else 50):
            values.append(value.strip())
