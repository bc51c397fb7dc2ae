"""The sizes of an image: ``srcset="a.jpg 320w, b.jpg 640w"``."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_LONGEST: Final = 16_384
_LONGEST_SIZE: Final = 10


def largest(srcset: str) -> str:
    """Return the address of the widest, or densest, of the candidates; the first of equals; nothing when there is none.

    >>> largest("a.jpg 320w, b.jpg 640w"), largest("a.jpg, b.jpg 2x"), largest(" , ")
    ('b.jpg', 'b.jpg', '')
    """
    best, most = "", 0.0
    address, size = "", 1.0
    for word in srcset[:_LONGEST].split():
        if not address:
            # HTML standard, 4.8.4.2.2: an address ends with white space; a comma at its end closes the candidate.
            address, size = word.lstrip(","), 1.0
            if not address.endswith(","):
                continue
            address, rest = address.rstrip(","), ""
        else:
            descriptor, comma, rest = word.partition(",")
            if len(descriptor) <= _LONGEST_SIZE:
                size = _size(descriptor) or size
            if not comma:
                continue
        if address and size > most:
            best, most = address, size
        address, size = rest.lstrip(","), 1.0
    return address if address and size > most else best


@lru_cache(maxsize=1_024)  # the widths that a site offers are the same on all its pages
def _size(descriptor: str) -> float:
    digits = descriptor[:-1]
    if descriptor[-1:] in ("w", "x") and digits.isascii() and digits.replace(".", "", 1).isdecimal():
        return float(digits)
    return 0.0
