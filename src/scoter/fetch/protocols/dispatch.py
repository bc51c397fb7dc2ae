"""Which plug-in fetches a URL: by its scheme, or by a rule of its own that claims it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final, get_args

from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.errors import ConfigError
from scoter.plugins import FetchProtocol

_log: Final = logging.getLogger(__name__)
_REPLIES: Final[tuple[type[Reply], ...]] = get_args(Reply)  # the frequent one first


class Protocols:
    """The innermost service: hands each request to the plug-in that fetches it.

    A plug-in may have ``claims(request)``, asked in the chain's order, to take single URLs of a scheme from another.
    """

    def __init__(self, chain: Sequence[tuple[str, FetchProtocol]]) -> None:
        self._chain = tuple(plugin for _, plugin in chain)
        self._claiming = tuple(plugin for plugin in self._chain if hasattr(plugin, "claims"))
        self._by_scheme: dict[str, FetchProtocol] = {}
        for name, plugin in chain:
            for scheme in () if hasattr(plugin, "claims") else plugin.schemes:
                if scheme in self._by_scheme:
                    raise ConfigError(f"{name!r} fetches {scheme}: as another does", where="fetch.protocols")
                self._by_scheme[scheme] = plugin

    @property
    def schemes(self) -> tuple[str, ...]:
        """All schemes that can be fetched."""
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
            reply = await plugin.fetch(request)
            if not isinstance(reply, _REPLIES):
                raise TypeError(f"{reply!r:.100} is no reply")
            return reply
        except Exception as error:  # somebody else's plug-in must not end a crawl
            told = f"{type(plugin).__name__}: {type(error).__name__}: {error}"
            return Failed(request.url, Reason.BROKEN_PLUGIN, told, blames_host=False)

    async def close(self) -> None:
        """Close whatever the plug-ins hold open; one that cannot keeps no other from it, nor a crawl from its end."""
        for plugin in self._chain:
            close: Any = getattr(plugin, "close", None)
            if close is None:
                continue
            try:
                await close()
            except Exception as error:
                _log.warning("%s cannot be closed: %s: %s", type(plugin).__name__, type(error).__name__, error)
