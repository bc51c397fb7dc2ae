"""The protocol plug-in for http: and https: URLs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

from scoter.core.reply import Reply, Request
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import Resolver
from scoter.fetch.protocols.http_transport import HttpTransport
from scoter.plugins import Setup


class HttpProtocol:
    """Fetches web pages over HTTP and HTTPS."""

    schemes = ("http", "https")

    def __init__(
        self,
        setup: Setup,
        *,
        resolver: Resolver | None = None,
        guard: Guard | None = None,
        options: Sequence[tuple[int, object]] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """``options`` are additional libcurl options for every transfer."""
        config = setup.config
        guard = guard or Guard(config, self.schemes)
        self._transport = HttpTransport(config, resolver=resolver, guard=guard, options=options, now=now)

    def fetch(self, request: Request) -> Coroutine[Any, Any, Reply]:
        """Make one request."""
        return self._transport.fetch(request)

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()
