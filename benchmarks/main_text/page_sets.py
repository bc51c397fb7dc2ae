"""The sets on disk: one JSON object per page and line."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct
from msgspec.json import Decoder, encode

Split = Literal["tune", "held-out"]


class Page(Struct, frozen=True, omit_defaults=True):
    """A page with what is known of its content: gold markup or text, or phrases that must and must not be kept."""

    name: str
    host: str
    html: str
    """In UTF-8, whatever it was before."""
    generator: str = ""
    known: bool = False
    """Only there so that its host is known; nothing is measured on it."""
    gold: str = ""
    """Markup of the content."""
    either: str = ""
    """Markup of what may be kept or left out."""
    text: str = ""
    """Text of the content, where there is no markup."""
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    @property
    def split(self) -> Split:
        """Tune on two thirds of the pages; the rest is held out. By name, so that a new page moves no other."""
        digest = hashlib.sha256(f"{self.host}/{self.name}".encode()).digest()
        return "held-out" if digest[0] % 3 == 0 else "tune"


_DECODER: Final = Decoder(Page)


def read(path: Path) -> Iterator[Page]:
    """Yield the pages of a set."""
    with path.open("rb") as file:
        for line in file:
            yield _DECODER.decode(line)


def write(path: Path, pages: list[Page]) -> None:
    """Write a set, replacing an older one."""
    part = path.with_suffix(".part")
    part.write_bytes(b"".join(encode(page) + b"\n" for page in pages))
    part.replace(path)
