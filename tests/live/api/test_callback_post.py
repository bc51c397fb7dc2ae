"""Posts to callbacks pass the guard, and redirects are not followed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.fetch.fakes import FakeResolver

from scoter.config import Config
from scoter.core.url import canonical
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver
from scoter.fetch.protocols.transfers import TransferLimits
from scoter.live.api.webhooks import POST_LIMITS, CurlPoster, DeliveryLimits, PostResult


@asynccontextmanager
async def receiver(answer: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Yield the port of a server that gives every request the same response, and the requests it received."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        requests.append(head + await reader.readexactly(length))
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], requests


@asynccontextmanager
async def posting(
    config: Config, names: dict[str, str], limits: TransferLimits = POST_LIMITS
) -> AsyncIterator[CurlPoster]:
    guard = Guard(config)
    post = CurlPoster(config, guard=guard, resolver=CachingResolver(FakeResolver(names), guard), limits=limits)
    try:
        yield post
    finally:
        await post.close()


def sent_to(port: int) -> Config:
    fetch = replace(Config().fetch, connect_to=(f"hooks.example:80=127.0.0.1:{port}",))
    return replace(Config(), fetch=fetch)


async def test_post_arrives_with_headers_and_body() -> None:
    async with (
        receiver(b"HTTP/1.1 204 No Content\r\n\r\n") as (port, requests),
        posting(sent_to(port), {}) as post,
    ):
        first = await post.post(canonical("http://hooks.example/x"), (("Scoter-Delivery", "d1"),), b'{"a":1}')
        second = await post.post(canonical("http://hooks.example/x"), (("Scoter-Delivery", "d2"),), b'{"b":22}')

    assert (first, second) == (PostResult(204), PostResult(204))
    assert requests[0].startswith(b"POST /x HTTP/1.1\r\nHost: hooks.example\r\n")
    assert b"\r\nScoter-Delivery: d1\r\n" in requests[0]
    assert requests[0].endswith(b'\r\n\r\n{"a":1}')
    assert requests[1].endswith(b'\r\n\r\n{"b":22}')


async def test_redirect_is_not_followed() -> None:
    async with (
        receiver(b"HTTP/1.1 307 Go\r\nLocation: http://hooks.example/other\r\nContent-Length: 0\r\n\r\n") as (
            port,
            requests,
        ),
        posting(sent_to(port), {}) as post,
    ):
        told = await post.post(canonical("http://hooks.example/x"), (), b"{}")

    assert told == PostResult(307)
    assert len(requests) == 1


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/", "http://0x7f000001/", "http://example.org:22/"],
)
async def test_forbidden_address_or_port_is_refused_permanently(url: str) -> None:
    async with posting(Config(), {}) as post:
        told = await post.post(canonical(url), (), b"{}")

    assert told.is_refused
    assert told.status == 0


@pytest.mark.parametrize("addresses", ["127.0.0.1", "93.184.215.14 10.0.0.1", "::ffff:10.0.0.1"])
async def test_name_that_resolves_to_a_private_address_gets_no_request(addresses: str) -> None:
    async with receiver(b"HTTP/1.1 204 No Content\r\n\r\n") as (port, requests):
        config = replace(Config(), fetch=replace(Config().fetch, allow_ports=(range(port, port + 1),)))
        async with posting(config, {"rebind.example": addresses}) as post:
            told = await post.post(canonical(f"http://rebind.example:{port}/"), (), b"{}")

    assert told.status == 0
    assert "not" in told.why
    assert requests == []


async def test_dns_rebinding_is_caught_at_the_socket() -> None:
    """A resolver without its check simulates any flaw in it."""
    async with receiver(b"HTTP/1.1 204 No Content\r\n\r\n") as (port, requests):
        config = replace(Config(), fetch=replace(Config().fetch, allow_ports=(range(port, port + 1),)))
        post = CurlPoster(config, resolver=FakeResolver({"rebind.example": "127.0.0.1"}))
        told = await post.post(canonical(f"http://rebind.example:{port}/"), (), b"{}")
        await post.close()

    assert told.is_refused
    assert requests == []


async def test_unreachable_server_is_a_failure_not_a_refusal() -> None:
    async with receiver(b"") as (port, _):
        pass
    async with posting(sent_to(port), {}) as post:
        told = await post.post(canonical("http://hooks.example/"), (), b"{}")

    assert told.status == 0
    assert told.why
    assert not told.is_refused


async def test_success_status_counts_even_if_the_body_never_ends() -> None:
    is_left = asyncio.Event()

    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        leaving = asyncio.ensure_future(reader.read())
        while not leaving.done():
            writer.write(b"x")
            await asyncio.wait((leaving,), timeout=0.05)
        writer.close()
        is_left.set()

    async with await asyncio.start_server(trickle, "127.0.0.1", 0) as server:
        config = sent_to(server.sockets[0].getsockname()[1])
        async with posting(config, {}, replace(POST_LIMITS, total=timedelta(seconds=0.3))) as post:
            got = await post.post(canonical("http://hooks.example/"), (), b"{}")
        async with asyncio.timeout(5):
            await is_left.wait()

    assert got == PostResult(200)
    assert POST_LIMITS.total is not None
    assert POST_LIMITS.total.total_seconds() < DeliveryLimits().within
