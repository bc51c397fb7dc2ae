"""Whatever bytes a server sends, a reply is returned in time, and nothing is left open."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.fetch.fuzzing import SOUND, check, mutated
from tests.fetch.hostile import Script, config_for, open_files, serving, settled_files

from scoter.core.reply import Failed, Reply, Request
from scoter.core.url import canonical
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup

LONGEST = 5.0


class Line:
    """A server that sends what it is told, and a protocol that asks it; both live as long as the tests."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._scripts: dict[str, Script] = {}
        self._serving = serving(self._scripts)
        server = self._runner.run(self._serving.__aenter__())
        self._config = config_for(server.port)
        self._url = canonical("http://a.test/case")
        self.files = open_files()

    def send(self, *pieces: bytes) -> Reply:
        self._scripts["/case"] = pieces
        return self._runner.run(self._fetch())

    async def _fetch(self) -> Reply:
        protocol = HttpProtocol(Setup(self._config))
        try:
            async with asyncio.timeout(LONGEST):
                return await protocol.fetch(Request(url=self._url))
        finally:
            await protocol.close()

    def close(self) -> int:
        left = self._runner.run(settled_files(self.files))
        self._runner.run(self._serving.__aexit__(None, None, None))
        self._runner.close()
        return left


@pytest.fixture(scope="module")
def line() -> Iterator[Line]:
    wire = Line()
    yield wire
    # A few are the test runner's own; connections that were left open would be hundreds.
    assert wire.close() <= wire.files + 10


@settings(max_examples=examples(150), deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_end_as_a_reply(line: Line, data: bytes) -> None:
    check(line.send(data))


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(min_value=0, max_value=2**32), st.lists(st.integers(0, 2_000), max_size=3))
def test_a_damaged_response_ends_as_a_reply_however_it_is_split(line: Line, seed: int, cuts: list[int]) -> None:
    data = mutated(random.Random(seed))
    at = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})

    check(line.send(*(data[first:last] for first, last in pairwise(at))))


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=30), st.binary(max_size=60)), max_size=12), st.binary(max_size=100))
def test_any_headers_end_as_a_reply(line: Line, fields: list[tuple[bytes, bytes]], body: bytes) -> None:
    head = b"".join(name + b": " + value + b"\r\n" for name, value in fields)

    check(line.send(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + body))


@pytest.mark.parametrize("data", SOUND)
def test_undamaged_responses_are_fetched(line: Line, data: bytes) -> None:
    reply = line.send(data)

    check(reply)
    unasked = "HTTP 304 to an unconditional request"
    assert not isinstance(reply, Failed) or reply.reason == "busy" or reply.detail == unasked
