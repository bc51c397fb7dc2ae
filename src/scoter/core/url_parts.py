"""A URL as it is stored and handed around, and the parts that it can be asked for.

It is made by ``core.url``, which knows what the canonical form is; that module is compiled, and such may hold no
``Struct``.
"""

from __future__ import annotations

import re

from msgspec import Struct

from scoter.core.domain import registered_domain

AUTHORITY_END = re.compile("[/?]")
"""Where the host and port of a canonical URL end, if anything follows them."""


class Url(Struct, frozen=True, gc=False):
    """A URL in canonical form, with the host and sort key that every store needs beside it.

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
        """The port if it is not the scheme's own."""
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
        """Path and query, as a request line has them."""
        return self.text[self._authority_end(self._host_end()) :] or "/"

    @property
    def domain(self) -> str:
        """The registered domain, or the host itself where there is none (an IP address, a bare name)."""
        return registered_domain(self.host)

    @property
    def depth(self) -> int:
        """The number of path segments: 0 for a site's root."""
        return sum(1 for segment in self.path.split("/") if segment)

    def _host_end(self) -> int:
        # The canonical form has no user name: the host follows at once.
        return self.text.index("://") + 3 + len(self.host)

    def _authority_end(self, host_end: int) -> int:
        if self.text[host_end : host_end + 1] != ":":
            return host_end
        end = AUTHORITY_END.search(self.text, host_end)
        return end.start() if end else len(self.text)
