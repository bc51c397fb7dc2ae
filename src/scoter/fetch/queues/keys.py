"""Whose queue a URL stands in: its host's, its registered domain's, or that of the address its name leads to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable

from scoter.config import Config
from scoter.core.domain import is_ip
from scoter.core.reply import Failed, Reason
from scoter.core.url import Url, queue_key
from scoter.fetch.reach.guard import WEB_PORTS, Guard
from scoter.fetch.reach.resolve import CachingResolver, NotResolved, Resolver
from scoter.fetch.reach.resolve_dns import DnsResolver

_KNOWN = 65_536
_PORTS = {**WEB_PORTS, "ftp": 21}


class Keys:
    """Finds the queue of a URL by ``fetch.queue_mode``."""

    def __init__(self, config: Config, guard: Guard, resolver: Resolver | None = None) -> None:
        self._mode = config.fetch.queue_mode
        self._guard = guard
        self._resolver = resolver
        self._addresses: OrderedDict[str, str] = OrderedDict()

    def of(self, url: Url) -> str | Awaitable[str | Failed]:
        """Return the key of a URL's queue, or, where its name must be looked up first, a wait for it.

        What is waited for may be why the key cannot be told: a name without an address is not asked.
        """
        key = self.at_hand(url)
        return self.look_up(url) if key is None else key

    def at_hand(self, url: Url) -> str | None:
        """Return the key of a URL's queue; none where its name must be looked up first."""
        if self._mode != "ip":
            return queue_key(url, self._mode)
        if not url.host or is_ip(url.host) or url.host in self._addresses:  # a file is on no host
            return self.known(url)
        return None

    def known(self, url: Url) -> str:
        """Return the key without looking a name up; a name whose address is not known stands for itself."""
        if self._mode == "ip":
            return self._addresses.get(url.host) or url.host.strip("[]")
        return queue_key(url, self._mode)

    async def look_up(self, url: Url) -> str | Failed:
        """Look a URL's name up; the answer is the key of its queue, or why there is none."""
        # Once is enough: with another address, what is queued already would begin in the wrong queue.
        known = self.at_hand(url)
        if known is not None:
            return known
        override = self._guard.override(url.host, url.port or _PORTS.get(url.scheme, 0))
        if override is not None:
            return self._remember(url.host, override[0])
        if self._resolver is None:
            self._resolver = CachingResolver(DnsResolver(), self._guard)
        answer = await self._resolver.resolve(url.host)
        if isinstance(answer, NotResolved):
            reason = Reason.REFUSED_ADDRESS if answer.refused else Reason.UNRESOLVED
            return Failed(url, reason, answer.reason, blames_host=False)
        return self._remember(url.host, answer.addresses[0])

    def _remember(self, host: str, address: str) -> str:
        self._addresses[host] = address
        if len(self._addresses) > _KNOWN:
            self._addresses.popitem(last=False)
        return address
