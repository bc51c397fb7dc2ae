"""The whole API as one ASGI application, put together from the faces that it is given."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from scoter.api import MAX_WAIT, Problem
from scoter.errors import Defect, ScoterError, Unavailable
from scoter.live.memory.access import ApiKeys
from scoter.live.ports import ContentStore, DomainRules, Fetching
from scoter.web.asgi import (
    Call,
    Disconnected,
    Receive,
    Reply,
    Scope,
    Send,
    Streaming,
    TooLarge,
    TooSlow,
    decline_other,
    read_body,
    send_head,
    send_reply,
    unless_left,
)
from scoter.web.handlers.domains import Domains
from scoter.web.handlers.events import Listening
from scoter.web.handlers.fetching import DirectFetch, FetchLimits
from scoter.web.handlers.keys import Keys
from scoter.web.handlers.messages import Submitting, Taker
from scoter.web.handlers.status import Status
from scoter.web.handlers.urls import Looking
from scoter.web.keys import KEY_NEEDED, Gate
from scoter.web.lookups import Lookup, Records
from scoter.web.measures import Measures
from scoter.web.openapi import document
from scoter.web.problems import (
    DEFECT,
    ENDING,
    MALFORMED,
    NOT_FOUND,
    NOT_JSON,
    TOO_LARGE,
    TOO_SLOW,
    UNAVAILABLE,
    invalid,
    problem,
    refusal,
)
from scoter.web.routes import Answer, Matched, Route, Router
from scoter.web.streams import Streams
from scoter.web.waiting import Arrivals

BODY_LIMIT: Final = 2**20
BODY_WITHIN: Final = 10.0
_MOST_PARAMETERS: Final = 20
_log = logging.getLogger(__name__)


class Services(Struct, frozen=True, kw_only=True):
    """The faces that the API speaks to.

    ``is_pending`` tells whether a URL waits in the journal, ``is_renewed`` whether by somebody who wants it fetched
    whatever is known; ``check_callback`` says why a callback must not be posted
    to, or nothing; ``not_ready`` why the service cannot work now, or nothing.
    """

    taker: Taker
    records: Records
    is_pending: Callable[[str], bool]
    is_renewed: Callable[[str], bool] = lambda url: False
    arrivals: Arrivals
    streams: Streams
    rules: DomainRules
    fetching: Fetching
    content: ContentStore | None = None
    gate: Gate
    keys: ApiKeys
    measures: Measures
    check_callback: Callable[[str], str]
    not_ready: Callable[[], str] = lambda: ""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    fetch_limits: FetchLimits = FetchLimits()
    longest_wait: float = MAX_WAIT
    body_limit: int = BODY_LIMIT
    body_within: float = BODY_WITHIN


def routes(services: Services, describe: Callable[[], bytes]) -> list[Route]:
    """Return every route, in the order in which the document shows them; ``describe`` returns that document."""
    return [
        *Submitting(services.taker, services.check_callback, services.measures, services.clock).routes(),
        *Looking(
            Lookup(services.records, services.is_pending), services.arrivals, services.longest_wait, services.is_renewed
        ).routes(),
        *DirectFetch(services.fetching, services.rules, services.content, services.fetch_limits).routes(),
        *Listening(services.streams).routes(),
        *Domains(services.rules).routes(),
        *Keys(services.keys).routes(),
        *Status(services.measures, services.not_ready, describe).routes(),
    ]


class Api:
    """Finds a request's route, lets it in, reads it, and sends what its handler answers."""

    def __init__(self, services: Services) -> None:
        table = routes(services, lambda: self.described)
        self.described = msgspec.json.encode(document(table, keys=services.gate.needs_key))
        self._router = Router(table)
        self._services = services
        self._measures = services.measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await decline_other(scope, receive, send)
            return
        began = time.perf_counter()
        matched = self._router.find(scope["method"], scope["raw_path"])
        answer = await self._answer(matched, scope, receive)
        name = matched.route.path if matched.route else "none"
        if isinstance(answer, Streaming):
            self._measures.requests.add(name, "200")
            await (send_head(send, answer) if scope["method"] == "HEAD" else answer.run(receive, send))
            return
        if answer is None:
            return
        self._measures.requests.add(name, str(answer.status))
        self._measures.request_seconds.observe(name, time.perf_counter() - began)
        await send_reply(send, answer)

    async def _answer(self, matched: Matched, scope: Scope, receive: Receive) -> Reply | Streaming | None:
        try:
            answer = await self._handle(matched, scope, receive)
        except asyncio.CancelledError:  # this process ends, and waits for nothing any more
            answer = ENDING
        except Defect:
            _log.exception("a request found a defect: %s %s", scope["method"], scope["raw_path"])
            answer = DEFECT
        except Unavailable as error:  # a full disk or a locked database: nothing was half done; others have logged it
            answer = msgspec.structs.replace(UNAVAILABLE, detail=f"Nothing can be kept: {error.message}.")
        except ScoterError as error:
            _log.warning("a request could not be answered: %s", error)
            answer = UNAVAILABLE
        except Exception:
            _log.exception("a request found a defect: %s %s", scope["method"], scope["raw_path"])
            answer = DEFECT
        return refusal(answer, matched.allowed) if isinstance(answer, Problem) else answer

    async def _handle(self, matched: Matched, scope: Scope, receive: Receive) -> Answer | None:
        route = matched.route
        if route is None:
            return _wrong_method(matched.allowed) if matched.allowed else NOT_FOUND
        admitted = self._services.gate.admit(scope["headers"], route.scope)
        if isinstance(admitted, Problem):
            return admitted
        if route.shows_key and admitted.key is None:
            return KEY_NEEDED
        headers = dict(scope["headers"])
        query = None if route.query is None else read_query(scope["query_string"], route.query)
        if isinstance(query, Problem):
            return query
        body = None
        if matched.decode is not None:
            body = await self._body(matched.decode, headers, receive)
            if isinstance(body, Problem):
                return body
            if isinstance(body, Disconnected):
                return None
        work = route.run(Call(body=body, query=query, path=matched.path, headers=headers, key=admitted.key))
        return await (unless_left(work, receive) if route.waits else work)

    async def _body(
        self, decode: Callable[[bytes], Any], headers: Mapping[bytes, bytes], receive: Receive
    ) -> Any | Problem | Disconnected:
        # A page in a browser can send JSON elsewhere unasked only under other names than its own.
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            return NOT_JSON
        services = self._services
        raw = await read_body(receive, headers.items(), most=services.body_limit, within=services.body_within)
        if isinstance(raw, TooLarge):
            return TOO_LARGE
        if isinstance(raw, TooSlow):
            return TOO_SLOW
        if isinstance(raw, Disconnected):
            return raw
        return read_json(raw, decode)


def read_json(raw: bytes, decode: Callable[[bytes], Any]) -> Any | Problem:
    """Return what a body says, or what is wrong with it."""
    try:
        return decode(raw)
    except msgspec.ValidationError as error:
        return invalid(error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return MALFORMED


def read_query(raw: bytes, kind: type[Struct]) -> Struct | Problem:
    """Return what a query string says, or what is wrong with it."""
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        return problem(400, "malformed", "The query string cannot be read.")
    if len(dict(pairs)) < len(pairs):
        return problem(422, "invalid", "A parameter is given twice.", where="?")
    try:
        return msgspec.convert(dict(pairs), kind, strict=False)
    except msgspec.ValidationError as error:
        return invalid(error, parameter=True)


def _wrong_method(allowed: Sequence[str]) -> Problem:
    return problem(405, "method", "This path has no such method.", f"It has {', '.join(allowed)}.")
