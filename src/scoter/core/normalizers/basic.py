"""The basic normaliser: the canonical form of ``core.url``."""

from __future__ import annotations

from msgspec.structs import replace

from scoter.core.normalizers.parts import split
from scoter.core.url import canonical
from scoter.errors import UrlError


def normalize(text: str, *, trim_trailing_dot: bool = False) -> str | None:
    """Return the canonical spelling, or nothing for text that is no URL.

    >>> normalize("HTTP://Example.org.:80/a/../b#c"), normalize("http://a.example./", trim_trailing_dot=True)
    ('http://example.org./b', 'http://a.example/')
    """
    try:
        found = canonical(text).text
    except UrlError:
        return None
    return _trimmed(found) if trim_trailing_dot else found


def _trimmed(text: str) -> str | None:
    parts = split(text)
    if parts is None or not parts.host.endswith("."):
        return text
    # Once more through the parser: without its dot a host may turn out to be an address, or no host at all.
    return normalize(str(replace(parts, host=parts.host.rstrip("."))))
