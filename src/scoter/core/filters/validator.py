"""The validator: keeps what is shaped like a URL of the public web.

A canonical URL is sound already; this asks for more: a known scheme, a host that DNS could know (labels of letters,
digits, ``-`` and ``_``, at least two of them, the last one no number), an IP address or ``localhost``, and a port that
can be connected to.
"""

from __future__ import annotations

import re

from msgspec import Struct

from scoter.core.domain import is_ip
from scoter.core.url import Url

SCHEMES = ("http", "https", "ftp", "file")
LONGEST_URL = 65_536

_LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])\.?")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")


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
        if url.scheme not in self.schemes:
            return f"the scheme {url.scheme} is not one of {', '.join(self.schemes)}"
        if _PRINTABLE.fullmatch(text) is None:
            return "a character that is not printable ASCII"
        if not self._sound_host(url):
            return f"{url.host or 'an empty host'} is not a public host name"
        if url.port == 0:
            return "port 0 cannot be connected to"
        return ""

    def _sound_host(self, url: Url) -> bool:
        if not url.host:
            return url.scheme == "file"
        if is_ip(url.host) or url.host == "localhost":  # where everybody tries a crawler first
            return True
        return len(url.host.removesuffix(".")) <= 253 and _NAME.fullmatch(url.host) is not None
