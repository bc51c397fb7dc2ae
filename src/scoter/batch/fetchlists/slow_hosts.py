"""When to end a round without its slowest hosts.

A polite crawl waits for hosts with long delays: at 30 seconds per page, a hundred pages take 50 minutes, while all
others of the round are done. So `scoter crawl` ends the round, and the URLs that are left go into the next one. A slow
host is then fetched from all the time, next to the new URLs of the others, and no host is ever in two open segments.

What differs from rounds that wait: a page of a slow host may be fetched in a later round, so the pages that it links to
are also found later, and scores that depend on the order of rounds may differ. The last of a limited number of rounds
waits for all hosts.
"""

from __future__ import annotations

_SHARE = 0.1
_LEAST_HOSTS = 10
_WAIT_SHARE = 0.25
_LEAST_WAIT = 10.0


class SlowHosts:
    """Watches how many hosts have URLs left.

    The round ends if a tenth of its hosts have been left for a quarter of the time that the others took. A round with
    fewer than ten hosts never ends this way.
    """

    def __init__(self) -> None:
        self._began: float | None = None
        self._most = 0
        self._alone_since: float | None = None

    def reason(self, hosts: int, *, is_read: bool, now: float) -> str:
        """Return why the round should end now, or an empty text; call it about once a second."""
        if self._began is None:
            self._began = now
        self._most = max(self._most, hosts)
        if not is_read or not hosts or self._most < _LEAST_HOSTS or hosts > self._most * _SHARE:
            self._alone_since = None
            return ""
        if self._alone_since is None:
            self._alone_since = now
        wait = max(_LEAST_WAIT, _WAIT_SHARE * (self._alone_since - self._began))
        if now - self._alone_since < wait:
            return ""
        return f"{hosts} slow host{'' if hosts == 1 else 's'} left to the next round"
