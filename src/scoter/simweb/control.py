"""The control host: a JSON API through which people and tests inspect the synthetic web."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import parse_qs

import msgspec

from scoter.errors import UsageError
from scoter.simweb.clock import START, SimClock, seconds
from scoter.simweb.ledger import SimLedger
from scoter.simweb.sites import CONTROL
from scoter.simweb.truth import SETTINGS, fact, truth
from scoter.simweb.web import SimWeb

_JSON = "application/json"
_LINES = "application/x-ndjson"
_BLOCK = 64 * 1024
_PAGE = 1000
_LONGEST_PAGE = 100_000

_HELP = {
    "GET /": "this list",
    "GET /spec": "the specification of this web",
    "GET /seeds": "seed URLs; ?format=text for one per line",
    "GET /hosts": "the names of all hosts",
    "GET /ledger": "requests; ?since=NUMBER&limit=COUNT, ?host=NAME, ?format=jsonl for all of them as JSON lines",
    "GET /ledger/summary": "per host: count, shortest gap, highest concurrency",
    "POST /ledger/reset": "forget all requests",
    "GET /truth": "facts about every URL as JSON lines; ?host=NAME, ?url=URL for one, ?config for the settings",
    "GET /clock": "simulated time",
    "POST /clock": "?advance=7d advances simulated time (s, m, h, d, w)",
}


class ControlReply(msgspec.Struct, frozen=True):
    """A response of the control host: a complete body, or blocks to stream."""

    status: int
    content_type: str
    body: bytes = b""
    blocks: Iterator[bytes] | None = None


class ControlHost:
    """The control host of one server."""

    def __init__(self, web: SimWeb, ledger: SimLedger, clock: SimClock) -> None:
        self._web = web
        self._ledger = ledger
        self._clock = clock
        self._routes: dict[str, Callable[[dict[str, str]], ControlReply]] = {
            "GET /": lambda query: _json({"host": CONTROL, "requests": _HELP}),
            "GET /spec": lambda query: _json(web.spec),
            "GET /seeds": self._seeds,
            "GET /hosts": lambda query: _json({"hosts": web.hosts()}),
            "GET /ledger": self._requests,
            "GET /ledger/summary": self._summary,
            "POST /ledger/reset": self._reset,
            "GET /truth": self._truth,
            "GET /clock": lambda query: self._time(),
            "POST /clock": self._advance,
        }

    def answer(self, method: str, target: str) -> ControlReply:
        """SimResponse a request; a wrong one gets an error as JSON."""
        path, _, text = target.partition("?")
        method = "GET" if method == "HEAD" else method
        try:
            query = {
                name: values[-1] for name, values in parse_qs(text, keep_blank_values=True, max_num_fields=20).items()
            }
            route = self._routes.get(f"{method} {path}")
            return self._unknown(path) if route is None else route(query)
        except (UsageError, ValueError) as wrong:
            return _error(400, str(wrong))

    def _unknown(self, path: str) -> ControlReply:
        methods = [route.split()[0] for route in self._routes if route.split()[1] == path]
        if methods:
            return _error(405, f"{path} requires {' or '.join(methods)}")
        return _error(404, f"nothing at {path[:100]}; GET / lists all requests")

    def _seeds(self, query: dict[str, str]) -> ControlReply:
        if _choice(query, "format", ("json", "text")) == "text":
            return ControlReply(200, "text/plain; charset=utf-8", "".join(f"{u}\n" for u in self._web.seeds()).encode())
        return _json({"seeds": self._web.seeds()})

    def _requests(self, query: dict[str, str]) -> ControlReply:
        host, since = query.get("host"), _number(query, "since", 0, 0, 2**40)
        entries = self._ledger.requests(host, since)
        if _choice(query, "format", ("json", "jsonl")) == "jsonl":
            return ControlReply(200, _LINES, blocks=_lines(entries))
        limit = _number(query, "limit", _PAGE, 1, _LONGEST_PAGE)
        page = list(islice(entries, limit))
        more = page[-1].number + 1 if len(page) == limit else None
        return _json({"count": self._ledger.count(), "dropped": self._ledger.dropped, "next": more, "requests": page})

    def _summary(self, query: dict[str, str]) -> ControlReply:
        ledger = self._ledger
        return _json({"count": ledger.count(), "dropped": ledger.dropped, "hosts": ledger.summary()})

    def _reset(self, query: dict[str, str]) -> ControlReply:
        self._ledger.reset()
        return _json({"count": 0})

    def _truth(self, query: dict[str, str]) -> ControlReply:
        if "config" in query:
            return _json({"settings": SETTINGS})
        if "url" in query:
            return _json(fact(self._web, query["url"]))
        host = query.get("host")
        if host is not None and self._web.sites.find(host) is None:
            return _error(404, f"no host {host[:100]!r} in this web; GET /hosts lists them")
        return ControlReply(200, _LINES, blocks=_lines(truth(self._web, host)))

    def _time(self) -> ControlReply:
        clock = self._clock
        return _json({"start": START, "now": clock.date, "seconds": clock.now})

    def _advance(self, query: dict[str, str]) -> ControlReply:
        if "advance" not in query:
            return _error(400, "missing duration: POST /clock?advance=7d")
        self._clock.advance(seconds(query["advance"]))
        return self._time()


def _json(value: Any, status: int = 200) -> ControlReply:
    return ControlReply(status, _JSON, msgspec.json.encode(value) + b"\n")


def _error(status: int, message: str) -> ControlReply:
    return _json({"error": message}, status)


def _lines(values: Iterable[Any]) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    block = bytearray()
    for value in values:
        block += encoder.encode(value)
        block += b"\n"
        if len(block) >= _BLOCK:
            yield bytes(block)
            block.clear()
    if block:
        yield bytes(block)


def _number(query: dict[str, str], name: str, default: int, low: int, high: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and low <= int(text) <= high):
        raise UsageError(f"{name}={text[:40]!r} is invalid: it must be an integer from {low} to {high}")
    return int(text)


def _choice(query: dict[str, str], name: str, known: tuple[str, ...]) -> str:
    text = query.get(name, known[0])
    if text not in known:
        raise UsageError(f"{name}={text[:40]!r} is invalid: it must be {' or '.join(known)}")
    return text
