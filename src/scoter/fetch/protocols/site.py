"""What is the same for all requests to one site."""

from __future__ import annotations

from msgspec import Struct


class Site(Struct, frozen=True, kw_only=True):
    """A scheme, host and port.

    ``shown`` is what the Host field says, ``path_at`` where in a URL's text the path begins. ``routes`` say where to
    connect, in libcurl's words, to be tried in order; none when the name must be resolved, each time anew.
    """

    port: int
    shown: str
    path_at: int
    through_proxy: bool
    routes: tuple[str, ...] | None
    options: tuple[tuple[int, object], ...]
