"""Error responses as problem+json (RFC 9457), with the position of the mistake in the request."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from scoter.http.asgi import PROBLEM, ApiResponse
from scoter.http.records import PATTERN_MESSAGES, Problem

_PREFIX: Final = "urn:scoter:problem:"
_AT: Final = re.compile(r" - at `(?:key in )?\$(?P<path>[^`]*)`$")
_STEP: Final = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>[^\[\]]*)\]")
_UNKNOWN_FIELD: Final = "Object contains unknown field"
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
    # After 413 the connection stays open: the server discards the rest of the body. Many clients read the response
    # only when they have sent everything, and would otherwise see a broken connection.
    if found.status == 408:
        return reply_of(found, (b"connection", b"close"))
    if found.status == 405:
        return reply_of(found, (b"allow", ", ".join(allowed).encode()))
    return reply_of(found)


def invalid(error: msgspec.ValidationError, kind: Any, *, parameter: bool = False) -> Problem:
    """Return what is wrong with a body or a parameter that does not match its type."""
    text = str(error)
    at = _AT.search(text)
    detail = text[: at.start()] if at else text
    detail = _FRIENDLY.get(detail, detail)
    where = pointer(at["path"]) if at else ""
    accepted = accepted_at(kind, where, names=detail.startswith(_UNKNOWN_FIELD))
    if accepted:
        detail = f"{detail}. Accepted: {', '.join(accepted)}."
    if parameter:
        where = where.replace("/", "?", 1)
    found = problem(422, "invalid", "The request is invalid.", detail, where=where)
    return msgspec.structs.replace(found, accepted=accepted)


def accepted_at(kind: Any, where: str, *, names: bool = False) -> tuple[str, ...]:
    """Return the values that a type accepts at a JSON pointer, or with ``names`` the names of its fields.

    The result is empty if the values are not a fixed list.

    >>> from typing import Literal
    >>> accepted_at(list[Literal["fast", "slow"]], "/0")
    ('fast', 'slow')
    """
    found = _alternatives(msgspec.inspect.type_info(kind))
    for step in where.split("/")[1:]:
        found = [inner for each in found for inner in _inside(each, step)]
    accepted: list[str] = []
    for each in found:
        match each:
            case msgspec.inspect.LiteralType(values=values) if not names:
                accepted += map(str, values)
            case msgspec.inspect.StructType(fields=fields) if names:
                accepted += (field.encode_name for field in fields)
    return tuple(accepted)


def _alternatives(kind: msgspec.inspect.Type) -> list[msgspec.inspect.Type]:
    match kind:
        case msgspec.inspect.Metadata(type=inner):
            return _alternatives(inner)
        case msgspec.inspect.UnionType(types=types):
            return [each for inner in types for each in _alternatives(inner)]
        case _:
            return [kind]


def _inside(kind: msgspec.inspect.Type, step: str) -> list[msgspec.inspect.Type]:
    match kind:
        case msgspec.inspect.StructType(fields=fields):
            return [each for field in fields if field.encode_name == step for each in _alternatives(field.type)]
        case msgspec.inspect.ListType(item_type=item) | msgspec.inspect.VarTupleType(item_type=item):
            return _alternatives(item)
        case _:
            return []


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
