"""Metadata embedded in images and PDFs: XMP (ISO 16684-1) and IPTC (IPTC-NAA Information Interchange Model 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scoter.parse.documents.xmltext import tell

_LONGEST_PACKET: Final = 256 * 1024
_WANTED: Final = frozenset({"title", "description", "creator", "rights", "subject", "CreateDate", "ModifyDate"})
_IN_LANGUAGES: Final = frozenset({"title", "description", "rights"})
"""Properties with one value per language; the default counts, or else the first."""
_DEFAULT: Final = "x-default"
_MARK: Final = 0x1C
_MOST_SETS: Final = 1_000
_UTF8: Final = b"\x1b%G"  # ISO 2022 escape sequence for UTF-8, the value of data set 1:90
_CHARACTERS: Final = (1, 90)
_NAMES: Final = {
    (2, 5): "title",
    (2, 25): "subject",
    (2, 55): "day",
    (2, 60): "time",
    (2, 80): "creator",
    (2, 116): "rights",
    (2, 120): "description",
}


def read_xmp(packet: bytes) -> dict[str, tuple[str, ...]]:
    """Return the values of the XMP properties that a page can use, by local name."""
    target = _XmpReader()
    start = packet.find(b"<", 0, _LONGEST_PACKET)
    if start >= 0:
        tell(target, (packet[start:_LONGEST_PACKET].rstrip(b"\0"),))
    return {name: tuple(values) for name, values in target.found.items()}


class _XmpReader:
    """Collects values from attributes of ``Description``, from elements, and from list items in elements."""

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


def read_iptc(block: bytes) -> dict[str, tuple[str, ...]]:
    """Return the values of the IPTC data sets that a page can use.

    >>> read_iptc(bytes((0x1C, 2, 5, 0, 5)) + b"Seals")
    {'title': ('Seals',)}
    """
    found: dict[str, list[str]] = {}
    encoding = ""
    place = 0
    for _ in range(_MOST_SETS):
        if len(block) < place + 5 or block[place] != _MARK:
            break
        which = (block[place + 1], block[place + 2])
        size = int.from_bytes(block[place + 3 : place + 5])
        value = block[place + 5 : place + 5 + size]
        place += 5 + size  # an extended data set encodes its length differently; nothing useful follows it
        if which == _CHARACTERS:
            encoding = "utf-8" if value == _UTF8 else ""
        elif (name := _NAMES.get(which)) and (text := _iptc_text(value, encoding)):
            found.setdefault(name, []).append(text)
    return {name: tuple(values) for name, values in found.items()}


def _iptc_text(value: bytes, encoding: str) -> str:
    """Decode a value; UTF-8 is often used without being declared."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode(encoding or "windows-1252", "replace")
    return text.strip("\0 \r\n\t")
