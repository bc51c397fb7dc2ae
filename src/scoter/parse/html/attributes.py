"""Attribute values with their own syntax: ``srcset`` and meta refresh."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from scoter.core.page import Refresh
from scoter.core.url import Url, join

_LONGEST_SRCSET: Final = 16_384
_LONGEST_SIZE: Final = 10
# HTML standard, 4.2.5.3 (shared declarative refresh steps): seconds, then an optional separator, "url=" and quotes.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:([0-9]++)(?:\.[0-9.]*+)?|\.[0-9.]*+)"
    r"(?:[\t\n\f\r ]*+[;,][\t\n\f\r ]*+|[\t\n\f\r ]++)"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?+"
    r"(?:\"([^\"]*+)|'([^']*+)|(.*))",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_REFRESH = 8_192
_MOST_DIGITS = 9  # of the seconds; thirty years


def largest(srcset: str) -> str:
    """Return the address of the widest or densest candidate in a ``srcset``; empty if there is none.

    >>> largest("a.jpg 320w, b.jpg 640w"), largest("a.jpg, b.jpg 2x"), largest(" , ")
    ('b.jpg', 'b.jpg', '')
    """
    best, most = "", 0.0
    address, size = "", 1.0
    for word in srcset[:_LONGEST_SRCSET].split():
        if not address:
            # HTML standard, 4.8.4.2.2: white space ends an address; a comma at its end closes the candidate.
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


@lru_cache(maxsize=1_024)  # all pages of a site offer the same widths
def _size(descriptor: str) -> float:
    digits = descriptor[:-1]
    if descriptor[-1:] in ("w", "x") and digits.isascii() and digits.replace(".", "", 1).isdecimal():
        return float(digits)
    return 0.0


def read_refresh(content: str, base: Url) -> Refresh | None:
    """Parse the content of a meta refresh, as in ``5; url=/there``; ``None`` if it only reloads the page.

    >>> from scoter.core.url import canonical
    >>> read_refresh("3; URL='/there'", canonical("http://a.example/here"))
    Refresh(target=Url('http://a.example/there'), seconds=3.0)
    >>> read_refresh("30", canonical("http://a.example/here"))
    """
    found = _REFRESH.match(content[:_LONGEST_REFRESH])
    if found is None:
        return None
    href = (found[2] or found[3] or found[4] or "").strip()
    target = join(base, href) if href else None
    if target is None:
        return None
    return Refresh(target, float((found[1] or "0")[:_MOST_DIGITS]))
