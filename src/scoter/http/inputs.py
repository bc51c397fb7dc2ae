"""Reads and validates the input of a request: its body and its query string."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from scoter.config.sections.live import WebSettings
from scoter.http.asgi import JSON, Fields, Receive
from scoter.http.problems import MALFORMED, NOT_JSON, TOO_LARGE, TOO_SLOW, invalid, problem
from scoter.http.records import Problem

_MAX_PARAMETERS: Final = 20


async def read_json(
    receive: Receive, headers: Fields, web: WebSettings, decoder: msgspec.json.Decoder[Any]
) -> Any | Problem | None:
    """Return the decoded body of a request, or what is wrong with it; ``None`` if the client disconnected."""
    kind, length = b"", 0
    for name, value in headers:
        if name == b"content-type":
            kind = value
        # Digits only: int() also accepts signs, spaces and underscores. The server has checked it already.
        elif name == b"content-length" and value.isdigit():
            length = int(value[:20])
    # Without CORS approval a web page can send JSON to other origins only under another content type.
    if kind != JSON and kind.partition(b";")[0].strip().lower() != JSON:
        return NOT_JSON
    if length > web.body_size:
        return TOO_LARGE
    raw = await _read_body(receive, most=web.body_size, within=web.body_time.total_seconds())
    if not isinstance(raw, bytes):
        return raw
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        return invalid(error, decoder.type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return MALFORMED


async def _read_body(receive: Receive, *, most: int, within: float) -> bytes | Problem | None:
    """Return the body of a request, unless it is too large or too slow."""
    parts: list[bytes] = []
    size, has_more = 0, True
    try:
        async with asyncio.timeout(within):
            while has_more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part, has_more = message.get("body", b""), message.get("more_body", False)
                size += len(part)
                if size > most:
                    return TOO_LARGE
                parts.append(part)
    except TimeoutError:
        return TOO_SLOW
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_query(raw: bytes, kind: type[Struct]) -> Struct | Problem:
    """Decode a query string, or return what is wrong with it."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return problem(400, "malformed", "The query string is malformed.")
    if len(dict(pairs)) < len(pairs):
        return problem(422, "invalid", "A parameter occurs twice.", where="?")
    try:
        found = msgspec.convert(dict(pairs), kind, strict=False)
        times = {name: text for name, text in pairs if isinstance(getattr(found, name, None), datetime)}
        if times:  # a number would pass for the seconds since 1970
            msgspec.convert({**msgspec.to_builtins(found), **times}, kind)
        return found
    except msgspec.ValidationError as error:
        return invalid(error, kind, parameter=True)
