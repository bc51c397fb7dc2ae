"""The validator: keeps what looks like a URL of the public web.

A canonical URL is well-formed already. This also requires a known scheme, a usable port, and a host that is an IP
address, ``localhost`` or a possible DNS name: at least two labels of letters, digits, ``-`` and ``_``, the last one not
a number. A path in which a segment occurs three times is dropped too: broken relative links and rewrite rules make such
paths without end, and hardly anybody else does.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from msgspec import Struct

from scoter.core.domain import HOST_CACHE, is_ip
from scoter.core.url import Url

SCHEMES = ("http", "https", "ftp", "file")
LONGEST_URL = 65_536
MOST_REPEATS = 2

_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])\.?")


class ValidatorRules(Struct, frozen=True):
    """What a URL must look like."""

    schemes: tuple[str, ...] = SCHEMES
    longest: int = LONGEST_URL
    most_repeats: int = MOST_REPEATS

    def keeps(self, url: Url) -> bool:
        return not self._fault(url)

    def explain(self, url: Url) -> str:
        return self._fault(url) or "a valid URL"

    def _fault(self, url: Url) -> str:
        text = url.text
        if len(text) > self.longest:
            return f"longer than {self.longest} characters"
        scheme = text[: text.index(":")]
        if scheme not in self.schemes:
            return f"the scheme {scheme} is not one of {', '.join(self.schemes)}"
        if not (text.isascii() and text.isprintable()) or " " in text:
            return "contains a character that is not printable ASCII"
        if not _is_public_host(url.host, scheme):
            return f"{url.host or 'an empty host'} is not a public host name"
        if ":0" in text and url.port == 0:
            return "no server can listen on port 0"
        segment = self._repeated(text)
        return f"the path segment {segment} occurs more than {self.most_repeats} times" if segment else ""

    def _repeated(self, text: str) -> str:
        """Return a segment that occurs too often; numbers do not count, because dates repeat them (/11/11/11/)."""
        if text.count("/") <= self.most_repeats + 2:
            return ""  # too few segments, as in most URLs
        segments = text.partition("?")[0].split("/")[3:]  # after the scheme and the host
        if len(segments) - len(set(segments)) < self.most_repeats:
            return ""
        counts = Counter(segments)
        often = (each for each, count in counts.items() if count > self.most_repeats)
        return next((each for each in often if each and not each.isdigit()), "")[:50]


@lru_cache(maxsize=HOST_CACHE)
def _is_public_host(host: str, scheme: str) -> bool:
    if not host:
        return scheme == "file"
    if is_ip(host) or host == "localhost":  # where people try out a crawler
        return True
    return len(host.removesuffix(".")) <= 253 and _NAME.fullmatch(host) is not None
