"""How much may be where, and how long anybody waits."""

from __future__ import annotations

from datetime import timedelta

from msgspec import Struct


class Bounds(Struct, frozen=True, kw_only=True):
    """The limits of fetching by processes.

    ``per_fetcher`` requests are with one fetcher, ``per_domain`` of one domain; ``deepest`` may wait in a fetcher's own
    queue of a domain, direct requests included. Nobody waits for a domain that wants to be left alone for longer than
    ``patience``. ``idle`` domains are remembered. A fetcher without a core stays ``alone_for`` after the last request.
    """

    per_fetcher: int = 2_000
    per_domain: int = 16
    deepest: int = 64
    patience: timedelta = timedelta(minutes=2)
    idle: int = 10_000
    alone_for: timedelta = timedelta(minutes=10)
