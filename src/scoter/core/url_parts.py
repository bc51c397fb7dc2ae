"""The record of a canonical URL, and its parts.

``core.url`` creates it; that module is compiled, and compiled modules cannot define a ``Struct``.
"""

from __future__ import annotations

import re

from msgspec import Struct

from scoter.core.domain import registered_domain

AUTHORITY_END = re.compile("[/?]")
"""Matches where the authority of a canonical URL ends."""


class Url(Struct, frozen=True, gc=False):
    """A URL in canonical form, with its host and sort key.

    >>> Url("http://example.com/b", "com,example)/b", "example.com")
    Url('http://example.com/b')
    """

    text: str
    key: str
    host: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Url({self.text!r})"

    @property
    def scheme(self) -> str:
        return self.text[: self.text.index(":")]

    @property
    def port(self) -> int | None:
        """The port, or ``None`` for the default port of the scheme."""
        end = self._host_end()
        return int(self.text[end + 1 : self._authority_end(end)]) if self.text[end : end + 1] == ":" else None

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What follows the question mark, without it."""
        return self.target.partition("?")[2]

    @property
    def target(self) -> str:
        """Path and query, as in a request line."""
        return self.text[self._authority_end(self._host_end()) :] or "/"

    @property
    def domain(self) -> str:
        """The registered domain, or the host itself if it has none (an IP address, a bare name)."""
        return registered_domain(self.host)

    @property
    def depth(self) -> int:
        """The number of path segments: 0 for a site's root."""
        return sum(1 for segment in self.path.split("/") if segment)

    def _host_end(self) -> int:
        # A canonical URL has no user name: the host follows directly.
        return self.text.index("://") + 3 + len(self.host)

    def _authority_end(self, host_end: int) -> int:
        if self.text[host_end : host_end + 1] != ":":
            return host_end
        end = AUTHORITY_END.search(self.text, host_end)
        return end.start() if end else len(self.text)
