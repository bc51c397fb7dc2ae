"""A URL as text, cut at its marks: for normalisers that change one part and leave the rest as it is."""

from __future__ import annotations

import re

from msgspec import Struct

# Each part ends at the first character the next may start with, so that matching never goes back.
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#\\]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_PORT = re.compile(":[0-9]*")


class Parts(Struct, frozen=True):
    """The pieces of a URL, marks included: joined together they are the text again.

    >>> split("http://me@a.example:81/b?c#d")
    Parts(scheme='http', user='me@', host='a.example', port=':81', path='/b', query='?c', fragment='#d')
    """

    scheme: str
    user: str
    host: str
    port: str
    path: str
    query: str
    fragment: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.user}{self.host}{self.port}{self.path}{self.query}{self.fragment}"

    @property
    def name(self) -> str:
        """The host as rules name it."""
        return self.host.lower().removesuffix(".")


def split(text: str) -> Parts | None:
    """Cut a URL into its parts, or return nothing for text that is not an absolute URL with a host."""
    found = _PARTS.fullmatch(text)
    if found is None:
        return None
    scheme, authority, path, query, fragment = found.groups(default="")
    before, at, place = authority.rpartition("@")
    host, port = place, ""
    colon = place.rfind(":")
    if colon >= 0 and _PORT.fullmatch(place, colon):
        host, port = place[:colon], place[colon:]
    return Parts(scheme, before + at, host, port, path, query, fragment)
