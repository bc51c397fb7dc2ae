"""Queries of links in the encoding of their page, which is what browsers send and the server expects."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote_from_bytes

import webencodings  # type: ignore[import-untyped]

_UNICODE: Final = frozenset({"utf-8", "utf-16be", "utf-16le"})
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_SAFE: Final = "!$%&()*+,-./:;=?@[\\]^_`{|}~"  # ASCII that a query has as it is (URL standard, 1.3)


def spelt(href: str, encoding: str) -> str:
    """Return a link of a page in some encoding with its query in that encoding (HTML standard, 2.4.2).

    >>> spelt("/caf\\xe9?q=caf\\xe9#caf\\xe9", "windows-1252")
    '/caf\\xe9?q=caf%E9#caf\\xe9'
    """
    if href.isascii() or encoding in _UNICODE:
        return href
    start, hash_, fragment = href.partition("#")
    path, mark, query = start.partition("?")
    if query.isascii():
        return href
    encode: Any = webencodings.lookup(encoding).codec_info.encode

    def escaped(found: re.Match[str]) -> str:
        try:
            return quote_from_bytes(encode(found[0])[0], _SAFE)
        except UnicodeError:
            return "".join(map(alone, found[0]))

    def alone(character: str) -> str:
        try:
            return quote_from_bytes(encode(character)[0], _SAFE)
        except UnicodeError:  # as a form would send it (URL standard, 1.3)
            return f"%26%23{ord(character)}%3B"

    return f"{path}{mark}{_FOREIGN.sub(escaped, query)}{hash_}{fragment}"
