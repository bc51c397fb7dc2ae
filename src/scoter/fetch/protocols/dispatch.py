"""Which protocol plug-in fetches a URL: the one of its scheme, or one that claims the URL."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, get_args

from scoter.core.chain import takes
from scoter.core.datum import CrawlDatum
from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.errors import ConfigError
from scoter.plugins import FetchProtocol

_log: Final = logging.getLogger(__name__)
_REPLIES: Final[tuple[type[Reply], ...]] = get_args(Reply)  # the frequent one first


class Protocols:
    """The innermost service of the stack: passes each request to a plug-in.

    A plug-in may define ``claims(request)`` to take single URLs of a scheme from another; they are asked in order.
    ``datum_of`` returns the crawl datum of a request, for plug-ins whose ``fetch`` takes it.
    """

    def __init__(
        self,
        chain: Sequence[tuple[str, FetchProtocol]],
        datum_of: Callable[[Request], CrawlDatum | None] = lambda request: None,
    ) -> None:
        self._datum_of = datum_of
        self._with_datum = frozenset(id(plugin) for _, plugin in chain if takes(plugin.fetch, 2))
        self._chain = tuple(plugin for _, plugin in chain)
        self._claiming = tuple(plugin for plugin in self._chain if hasattr(plugin, "claims"))
        self._by_scheme: dict[str, FetchProtocol] = {}
        for name, plugin in chain:
            for scheme in () if hasattr(plugin, "claims") else plugin.schemes:
                if scheme in self._by_scheme:
                    raise ConfigError(f"{name!r} and another one both fetch {scheme}: URLs", where="fetch.protocols")
                self._by_scheme[scheme] = plugin

    @property
    def schemes(self) -> tuple[str, ...]:
        """The schemes that can be fetched."""
        return tuple(self._by_scheme)

    async def __call__(self, request: Request) -> Reply:
        plugin: FetchProtocol | None = None
        try:
            for plugin in self._claiming:
                if plugin.claims(request):
                    break
            else:
                plugin = self._by_scheme.get(request.url.scheme)
            if plugin is None:
                return Failed(request.url, Reason.REFUSED_SCHEME, "no active protocol fetches it", blames_host=False)
            fetch: Any = plugin.fetch
            reply = await (
                fetch(request, self._datum_of(request)) if id(plugin) in self._with_datum else fetch(request)
            )
            if not isinstance(reply, _REPLIES):
                raise TypeError(f"{reply!r:.100} is not a reply")
            return reply
        except Exception as error:  # a broken plug-in must not end a crawl
            detail = f"{type(plugin).__name__}: {type(error).__name__}: {error}"
            return Failed(request.url, Reason.BROKEN_PLUGIN, detail, blames_host=False)

    async def close(self) -> None:
        """Close all plug-ins; one that fails does not affect the others."""
        for plugin in self._chain:
            close: Any = getattr(plugin, "close", None)
            if close is None:
                continue
            try:
                await close()
            except Exception as error:
                _log.warning("%s cannot be closed: %s: %s", type(plugin).__name__, type(error).__name__, error)
