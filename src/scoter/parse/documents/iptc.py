"""IPTC: what agencies write into photographs (IPTC-NAA Information Interchange Model 4.2)."""

from __future__ import annotations

from typing import Final

_MARK: Final = 0x1C
_MOST_SETS: Final = 1_000
_UTF8: Final = b"\x1b%G"  # ISO 2022's escape into UTF-8, as the value of 1:90
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


def read_iptc(block: bytes) -> dict[str, tuple[str, ...]]:
    """Return the values of the data sets that a page can use.

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
        place += 5 + size  # the length of an extended set is no length: nothing stands behind it
        if which == _CHARACTERS:
            encoding = "utf-8" if value == _UTF8 else ""
        elif (name := _NAMES.get(which)) and (text := _text(value, encoding)):
            found.setdefault(name, []).append(text)
    return {name: tuple(values) for name, values in found.items()}


def _text(value: bytes, encoding: str) -> str:
    """Return a value as text: many who write UTF-8 do not say so."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.decode(encoding or "windows-1252", "replace")
    return text.strip("\0 \r\n\t")
