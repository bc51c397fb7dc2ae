"""The validator: keeps what is shaped like a URL of the public web.

A canonical URL is sound already; this asks for more: a known scheme, a host that DNS could know (labels of letters,
digits, ``-`` and ``_``, at least two of them, the last one no number), an IP address or ``localhost``, and a port that
can be connected to.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from scoter.core.domain import HOST_CACHE, is_ip
from scoter.core.url import Url

SCHEMES = ("http", "https", "ftp", "file")
LONGEST_URL = 65_536

_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])\.?")


class ValidatorRules(Struct, frozen=True):
    """What a URL must look like."""

    schemes: tuple[str, ...] = SCHEMES
    longest: int = LONGEST_URL

    def keeps(self, url: Url) -> bool:
        return not self._fault(url)

    def explain(self, url: Url) -> str:
        return self._fault(url) or "a valid URL"

    def _fault(self, url: Url) -> str:
        text = url.text
        if len(text) > self.longest:
            return f"longer than {self.longest} characters"
        scheme = url.scheme
        if scheme not in self.schemes:
            return f"the scheme {scheme} is not one of {', '.join(self.schemes)}"
        if not (text.isascii() and text.isprintable()) or " " in text:
            return "a character that is not printable ASCII"
        if not _is_sound(url.host, scheme):
            return f"{url.host or 'an empty host'} is not a public host name"
        if ":0" in text and url.port == 0:
            return "port 0 cannot be connected to"
        return ""


@lru_cache(maxsize=HOST_CACHE)
def _is_sound(host: str, scheme: str) -> bool:
    if not host:
        return scheme == "file"
    if is_ip(host) or host == "localhost":  # where everybody tries a crawler first
        return True
    return len(host.removesuffix(".")) <= 253 and _NAME.fullmatch(host) is not None
