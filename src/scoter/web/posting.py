"""Posts to callbacks through libcurl, behind the guard of all fetches: for the URL, the DNS answer and the socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

import ada_url
import pycurl

from scoter.config import Config
from scoter.core.domain import is_ip
from scoter.core.reply import Reason
from scoter.core.url import Url, canonical
from scoter.errors import UrlError
from scoter.fetch.protocols.curl import CurlLoop
from scoter.fetch.protocols.sites import route
from scoter.fetch.protocols.transfer import Ask, Limits
from scoter.fetch.reach.guard import WEB_PORTS, Guard
from scoter.fetch.reach.resolve import CachingResolver, NotResolved, Resolver
from scoter.fetch.reach.resolve_dns import DnsResolver
from scoter.web.webhooks import Posted

# Sooner than ``webhooks.Pace`` gives a delivery up: a receiver that has said 200 and does not end is one that has it.
LIMITS: Final = Limits(
    body=64 * 1024, connect=timedelta(seconds=10), silence=timedelta(seconds=10), total=timedelta(seconds=20)
)
_BUDGET: Final = 8 * 2**20
_REFUSALS: Final = (Reason.REFUSED_ADDRESS, Reason.REFUSED_PORT, Reason.REFUSED_SCHEME)


def callback_check(guard: Guard) -> Callable[[str], str]:
    """Return what says why a callback must not be posted to, as far as its URL tells, or nothing."""

    def check(text: str) -> str:
        try:
            url = canonical(text)
        except UrlError as error:
            return error.message
        if url.scheme not in WEB_PORTS:
            return f"{url.scheme}: is not http or https"
        parts = ada_url.URL(text)
        if parts.username or parts.password:  # a canonical URL has none: every post would come without them
            return "it has a user name or a password, which are never sent; the signature tells who posts"
        refusal = guard.check_url(url)
        return refusal.detail if refusal else ""

    return check


class CurlPost:
    """Posts one hop at a time; libcurl never follows a redirect of its own."""

    def __init__(
        self,
        config: Config,
        *,
        guard: Guard | None = None,
        resolver: Resolver | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._guard = guard or Guard(config)
        self._resolver = resolver or CachingResolver(DnsResolver(), self._guard)
        self._agent = f"User-Agent: {config.agent.name or 'scoter'}"
        self._limits = limits
        self._curl: CurlLoop | None = None

    async def post(self, url: Url, headers: Sequence[tuple[str, str]], body: bytes) -> Posted:
        """Post a body; whatever goes wrong is an answer."""
        refusal = self._guard.check_url(url)
        if refusal is not None:
            return Posted(why=refusal.detail, is_refused=True)
        port = url.port or WEB_PORTS[url.scheme]
        override = self._guard.override(url.host, port)
        if override is not None:
            connect_to = route(url.host, port, *override)
        elif is_ip(url.host):
            connect_to = ""
        else:
            answer = await self._resolver.resolve(url.host.removesuffix("."))
            if isinstance(answer, NotResolved):
                return Posted(why=answer.reason)  # even if refused: who moves a name may move it back
            connect_to = route(url.host, port, answer.addresses[0], port)
        told = await self._loop().run(
            Ask(
                url=url.text,
                headers=(self._agent, "Expect:", *(f"{name}: {value}" for name, value in headers)),
                connect_to=connect_to,
                check=self._guard.open_socket_check,
                options=((pycurl.POST, 1), (pycurl.POSTFIELDSIZE, len(body)), (pycurl.POSTFIELDS, body)),
            )
        )
        if told.status:
            return Posted(told.status)
        return Posted(why=told.detail, is_refused=told.reason in _REFUSALS)

    async def close(self) -> None:
        """Close all connections."""
        if self._curl is not None:
            self._curl.close()
            self._curl = None

    def _loop(self) -> CurlLoop:
        if self._curl is None:
            options = ((pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS), (pycurl.PATH_AS_IS, 1))
            # No handle is kept for the next post: libcurl cannot be told to forget what one was given to send.
            self._curl = CurlLoop(self._limits, concurrency=0, budget=_BUDGET, options=options)
        return self._curl
