"""What a transfer is told, what it may not exceed, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct

from scoter.core.reply import Reason, Timings, Truncation

SocketCheck = Callable[[int, tuple[Any, ...]], str]
"""Given family and address of a socket to be opened: nothing, or why it must not be."""


class TransferLimits(Struct, frozen=True, kw_only=True):
    """What no transfer may exceed."""

    body: int | None = 1 << 20
    head: int = 256 * 1024
    connect: timedelta = timedelta(seconds=10)
    silence: timedelta = timedelta(seconds=10)
    total: timedelta | None = timedelta(minutes=5)


class TransferRequest(Struct, frozen=True, kw_only=True):
    """What libcurl is told for one transfer, beyond the options that all have.

    ``cookie`` is sent together with those that libcurl keeps, as one field.
    ``at_least`` is a number of bytes up to which the body is taken even if the limit for all is lower.
    """

    url: str
    headers: Sequence[str | bytes] = ()
    cookie: str = ""
    connect_to: str = ""
    verify: bool = True
    options: tuple[tuple[int, Any], ...] = ()
    check: SocketCheck | None = None
    at_least: int = 0


class TransferResult(Struct, frozen=True, kw_only=True):
    """What came of a transfer; ``reason`` is none when libcurl was content.

    ``distrusts`` says that the server's certificate was found wanting, and nothing else.
    """

    reason: Reason | None = None
    detail: str = ""
    status: int = 0
    head: bytes = b""
    body: bytes = b""
    truncation: Truncation = Truncation.NOT
    peer: str = ""
    http_version: str = "1.1"
    tls_version: str = ""
    timings: Timings = Timings()
    distrusts: bool = False
