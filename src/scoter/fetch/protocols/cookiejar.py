"""The cookies that servers set, kept by libcurl for all handles of a process, and not more of them than a bound.

libcurl refuses what a browser would refuse, takes 50 cookies of an answer at most, and keeps what is left for ever: in
a crawl of a million hosts that would be gigabytes. It can forget all of them, or none.
"""

from __future__ import annotations

from typing import Final

import pycurl

from scoter.core.reply import Headers

MOST: Final = 20_000
"""Set-Cookie fields after which the jar is emptied, and sessions begin anew; at most 100 MB."""


class CookieJar:
    """Cookies of many hosts; those of one are never sent to another."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._set = 0
        self._share = pycurl.CurlShare()
        self._share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._broom = pycurl.Curl()
        self.options: tuple[tuple[int, object], ...] = ((pycurl.SHARE, self._share), (pycurl.COOKIEFILE, ""))
        """What makes a handle use the jar."""
        for option, value in self.options:
            self._broom.setopt(option, value)

    def note(self, headers: Headers) -> None:
        """Count what an answer has put into the jar, and empty it when it is full."""
        self._set += sum(1 for name, _ in headers if name.lower() == "set-cookie")
        if self._set >= self._most:
            self._broom.setopt(pycurl.COOKIELIST, "ALL")
            self._set = 0
