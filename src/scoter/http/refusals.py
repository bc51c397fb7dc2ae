"""What clients get that send no proper request, or too much, or too slowly; none of it is logged."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from scoter.http.asgi import NOSNIFF, Receive, Scope, Send, send_reply
from scoter.http.problems import problem, reply_of
from scoter.http.records import Problem
from scoter.http.uvicorn_names import UNFINISHED

RefusalCounter: TypeAlias = Callable[[str], None]
"""Called with the reason why a connection was refused or closed."""
_CROWDED: Final = reply_of(
    problem(503, "crowded", "There are too many connections.", retry_after=5), (b"connection", b"close")
)


def _final_response(found: Problem) -> bytes:
    """Return the bytes of a response after which the connection is closed."""
    reply = reply_of(found, (b"connection", b"close"))
    fields = (
        (b"content-type", reply.media_type),
        (b"content-length", b"%d" % len(reply.body)),
        NOSNIFF,
        *reply.headers,
    )
    head = b"HTTP/1.1 %d %b\r\n" % (reply.status, HTTPStatus(reply.status).phrase.encode())
    return head + b"".join(b"%b: %b\r\n" % field for field in fields) + b"\r\n" + reply.body


HEAD_TOO_LARGE: Final = _final_response(problem(431, "head-too-large", "The head of the request is too large."))
HEAD_TOO_SLOW: Final = _final_response(problem(408, "too-slow", "The head of the request did not arrive in time."))
NOT_HTTP: Final = _final_response(problem(400, "not-http", "This is not an HTTP/1.1 request."))
WRONG_HOST: Final = _final_response(problem(400, "not-http", "The request must have exactly one Host header."))


async def crowded(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request."""
    await send_reply(send, _CROWDED)


class QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """Drops log messages that clients can cause, and those about responses that the core did not finish."""

    level = logging.WARNING

    def warning(self, msg: object, *args: object, **more: Any) -> None:
        pass

    def error(self, msg: object, *args: object, **more: Any) -> None:
        if msg != UNFINISHED:
            super().error(msg, *args, **more)
