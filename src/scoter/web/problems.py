"""Error responses as problem+json (RFC 9457), with the position of the mistake in the request."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import msgspec

from scoter.api import PATTERN_MESSAGES, Problem
from scoter.web.asgi import PROBLEM, ApiResponse

_PREFIX: Final = "urn:scoter:problem:"
_AT: Final = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_STEP: Final = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>[^\[\]]*)\]")
# msgspec quotes the pattern itself.
_FRIENDLY: Final = {f"Expected `str` matching regex {pattern!r}": words for pattern, words in PATTERN_MESSAGES.items()}


def problem(
    status: int, name: str, title: str, detail: str = "", *, where: str = "", retry_after: float | None = None
) -> Problem:
    """Return a problem of a named type."""
    return Problem(type=_PREFIX + name, title=title, status=status, detail=detail, where=where, retry_after=retry_after)


def reply_of(found: Problem, *headers: tuple[bytes, bytes]) -> ApiResponse:
    """Return a problem as a response. No header contains text from the client."""
    if found.retry_after is not None:
        headers = (*headers, retry_header(found.retry_after))
    return ApiResponse(msgspec.json.encode(found), found.status, PROBLEM, headers)


def retry_header(seconds: float) -> tuple[bytes, bytes]:
    """Return the header that says when to retry."""
    return b"retry-after", b"%d" % max(1, math.ceil(seconds))


def refusal(found: Problem, allowed: Sequence[str] = ()) -> ApiResponse:
    """Return a problem as a response, with the headers that its status requires."""
    if found.status == 401:
        return reply_of(found, (b"www-authenticate", b"Bearer"))
    if found.status in (408, 413):  # the rest of the body is not read
        return reply_of(found, (b"connection", b"close"))
    if found.status == 405:
        return reply_of(found, (b"allow", ", ".join(allowed).encode()))
    return reply_of(found)


def invalid(error: msgspec.ValidationError, *, parameter: bool = False) -> Problem:
    """Return what is wrong with a body or a parameter that does not match its schema."""
    text = str(error)
    at = _AT.search(text)
    detail = text[: at.start()] if at else text
    detail = _FRIENDLY.get(detail, detail)
    where = pointer(at["path"]) if at else ""
    if parameter:
        where = where.replace("/", "?", 1)
    return problem(422, "invalid", "The request is invalid.", detail, where=where)


def pointer(path: str) -> str:
    """Convert a msgspec path to a JSON pointer.

    >>> pointer(".messages[3].urls[...]")
    '/messages/3/urls/-'
    """
    steps = (found["name"] or found["index"] for found in _STEP.finditer(path))
    return "".join("/" + ("-" if step == "..." else step.replace("~", "~0").replace("/", "~1")) for step in steps)


NOT_FOUND: Final = problem(404, "no-such-path", "There is no such path.")
MALFORMED: Final = problem(400, "malformed", "The body is not JSON.")
TOO_LARGE: Final = problem(413, "too-large", "The body is too large.")
TOO_SLOW: Final = problem(408, "too-slow", "The body did not arrive in time.")
NOT_JSON: Final = problem(415, "not-json", "The content type of the body must be application/json.")
UNAVAILABLE: Final = problem(503, "unavailable", "The service cannot do this now.", retry_after=5)
SHUTTING_DOWN: Final = problem(503, "ending", "The service is shutting down.", retry_after=5)
DEFECT: Final = problem(500, "defect", "Internal error; see the log of the service.")
