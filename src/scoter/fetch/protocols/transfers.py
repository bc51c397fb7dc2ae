"""The records of a libcurl transfer: its limits, the request, and the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final

import pycurl
from msgspec import Struct

from scoter.core.reply import Reason, Timings, Truncation

SocketCheck = Callable[[int, tuple[Any, ...]], str]
"""Gets family and address of a socket; returns why it must not be opened, or an empty text."""


HEAD_ONLY: Final = ((pycurl.NOBODY, 1), (pycurl.CUSTOMREQUEST, "GET"), (pycurl.IGNORE_CONTENT_LENGTH, 1))
"""Options of a transfer that ends after the head, whatever the head says about the body."""
HEAD_METHOD: Final = ((pycurl.NOBODY, 1),)
"""Options of a HEAD request."""


class TransferLimits(Struct, frozen=True, kw_only=True):
    """Limits of a transfer: bytes of body and head, time to connect, without data, and in total."""

    body: int | None = 1 << 20
    head: int = 256 * 1024
    connect: timedelta = timedelta(seconds=10)
    silence: timedelta = timedelta(seconds=10)
    total: timedelta | None = timedelta(minutes=5)


class TransferRequest(Struct, frozen=True, kw_only=True):
    """One transfer: what libcurl needs beyond the options that all transfers share.

    ``cookie`` is sent together with the cookies that libcurl keeps, in one field. ``at_least`` raises the body limit
    for this transfer, ``at_most`` lowers it if it is not 0.
    """

    url: str
    headers: Sequence[str | bytes] = ()
    cookie: str = ""
    connect_to: str = ""
    verify: bool = True
    options: tuple[tuple[int, Any], ...] = ()
    check: SocketCheck | None = None
    at_least: int = 0
    at_most: int = 0


class TransferResult(Struct, frozen=True, kw_only=True):
    """The result of a transfer; ``reason`` is ``None`` if libcurl reported success.

    ``is_untrusted``: the transfer failed only because of the server's certificate. ``wants_http_1``: the server refused
    HTTP/2. With a ``reason``, the truncation ``UNSPECIFIED`` means that only the framing of the body is invalid, and
    ``is_head_cut`` that the rest of the head is therefore missing.
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
    is_untrusted: bool = False
    wants_http_1: bool = False
    is_head_cut: bool = False
