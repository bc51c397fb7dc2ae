"""HEAD gets the same response as GET, without a body."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.http.raw import connected
from tests.live.api.chain import chained
from tests.live.api.fakes import Bench

KNOWN = "/v1/urls?url=http%3A%2F%2Fa.example%2F"


async def asked(port: int, method: str, target: str) -> tuple[bytes, list[bytes], bytes]:
    """Return the status line of a response, its headers except the date, and everything after them."""
    async with connected(port) as raw:
        raw.say(b"%b %b HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % (method.encode(), target.encode()))
        head, _, body = (await raw.rest()).partition(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    return line, sorted(field for field in fields if not field.startswith(b"date:")), body


@pytest.mark.parametrize(
    "target",
    ["/healthz", "/readyz", "/v1/openapi.json", KNOWN, KNOWN + "&wait=1s", "/v1/urls?url=http://b.example/",
     "/v1/domains/example.org", "/v1/urls", "/v1/messages", "/nowhere", "/v1/keys"],
)  # fmt: skip
async def test_head_equals_get_without_a_body(target: str, tmp_path: Path) -> None:
    bench = Bench()
    await bench.know("http://a.example/")
    async with chained(tmp_path, bench) as chain:
        got = await asked(chain.port, "GET", target)
        head = await asked(chain.port, "HEAD", target)

    assert got[2]
    assert head == (*got[:2], b"")


async def test_head_of_a_stream_ends_at_once_and_takes_no_slot(tmp_path: Path) -> None:
    bench = Bench()
    async with chained(tmp_path, bench) as chain:
        line, fields, body = await asked(chain.port, "HEAD", "/v1/events?after=0")

        assert line == b"HTTP/1.1 200 OK"
        assert b"content-type: text/event-stream" in fields
        assert body == b""
        assert len(bench.streams) == 0


async def test_connection_stays_usable_after_head_requests(tmp_path: Path) -> None:
    async with chained(tmp_path) as chain, connected(chain.port) as raw:
        for target in (b"/healthz", b"/v1/stats", b"/v1/events"):
            raw.say(b"HEAD %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
            async with asyncio.timeout(5):
                assert (await raw.head()).startswith(b"HTTP/1.1 200 ")

        raw.say(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await raw.answer() == (200, b'{"status":"ok"}')
