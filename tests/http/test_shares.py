"""One key, or one address without a key, cannot use all of what is limited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.http.raw import connected, serving
from tests.live.api.client import Exchanging
from tests.live.api.fakes import Bench
from tests.live.api.test_tenants import key

from scoter.config.sections.live import WebSettings
from scoter.http.asgi import App
from scoter.http.proxy import CoreProxy
from scoter.http.shares import ApiShares, FairSlots, ShareExceeded, Shares

HOST = ("Host", "127.0.0.1")
WEB = WebSettings(streams=4, waiting=4, fetches=4)


async def begun(app: App, exchange: Exchanging, is_begun: Callable[[], bool]) -> asyncio.Task[Any]:
    """Start a request, and return when it is under way."""
    task = asyncio.ensure_future(app(exchange.scope, exchange.receive, exchange.send))
    async with asyncio.timeout(5):
        while not is_begun():
            await asyncio.sleep(0)
    return task


@pytest.mark.parametrize(
    ("method", "target", "what"),
    [
        ("GET", "/v1/events", "streams"),
        ("GET", "/v1/urls?url=http://slow.example/&wait=20s", "waiting"),
        ("GET", "/v1/preview?url=http://slow.example/&wait=20s", "waiting"),
    ],
)
async def test_a_key_that_uses_its_share_leaves_the_rest_to_others(method: str, target: str, what: str) -> None:
    bench = Bench(required=True, shares=ApiShares.of(WEB))
    used: Shares = getattr(bench.services.shares, what)
    greedy, other = await key(bench, "", "admin"), await key(bench, "")
    await bench.client.post("/v1/messages", {"urls": ["http://slow.example/"]}, other)
    exchanges, tasks = [], []
    for number in range(2):
        exchanges.append(Exchanging(method, target, headers=(HOST, greedy)))
        tasks.append(await begun(bench.app, exchanges[-1], lambda: len(used) > number))  # noqa: B023

    refused = await bench.client.ask(method, target, headers=[greedy])
    exchanges.append(Exchanging(method, target, headers=(HOST, other)))
    tasks.append(await begun(bench.app, exchanges[-1], lambda: len(used) == 3))

    assert (refused.status, refused.json["type"]) == (429, "urn:scoter:problem:share")
    assert int(refused.headers["retry-after"]) >= 1
    for exchange in exchanges:
        exchange.leave()
    await asyncio.gather(*tasks)
    assert len(used) == 0
    exchanges.append(Exchanging(method, target, headers=(HOST, greedy)))
    task = await begun(bench.app, exchanges[-1], lambda: len(used) == 1)
    exchanges[-1].leave()
    await task


async def test_without_keys_shares_are_counted_by_address(tmp_path: Path) -> None:
    bench = Bench(shares=ApiShares.of(WEB))
    stream = b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nScoter-Client: 192.0.2.%d\r\n\r\n"
    path = tmp_path / "core"
    proxy = CoreProxy(path)
    async with serving(bench.app, path=path), serving(proxy) as port:
        async with connected(port) as one, connected(port) as two, connected(port) as three:
            statuses = []
            for number, client in enumerate((one, two, three)):
                client.say(stream % number)  # a header that a client sends does not make it another client
                statuses.append(int((await client.head()).split()[1]))
            assert statuses == [200, 200, 429]
            elsewhere = Exchanging("GET", "/v1/events", headers=(HOST,))
            elsewhere.scope["client"] = ("192.0.2.9", 1)
            task = await begun(bench.app, elsewhere, lambda: elsewhere.status == 200)
            elsewhere.leave()
            await task
        bench.streams.close()
    proxy.close()


def test_share_is_at_least_one() -> None:
    shares = Shares("things", 1, 0.1)

    with shares.use("a"), shares.use("b"), pytest.raises(ShareExceeded, match="1 things under way"), shares.use("a"):
        pass

    with shares.use("a"):
        pass


async def test_slots_are_given_to_callers_in_turn() -> None:
    slots, order = FairSlots(1), list[str]()

    async def work(caller: str) -> None:
        async with slots.slot(caller):
            order.append(caller)
            await asyncio.sleep(0)

    await asyncio.gather(*(work(caller) for caller in "aaaabbc"))

    assert order == list("aabcaba")


async def test_cancelled_caller_gives_its_slot_to_the_next() -> None:
    slots, order = FairSlots(1), list[str]()
    go = asyncio.Event()

    async def work(caller: str, until: Callable[[], Awaitable[object]]) -> None:
        async with slots.slot(caller):
            order.append(caller)
            await until()

    first = asyncio.create_task(work("a", go.wait))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(work(caller, lambda: asyncio.sleep(0))) for caller in "bc"]
    await asyncio.sleep(0)
    waiting[0].cancel()
    go.set()
    await asyncio.gather(first, *waiting, return_exceptions=True)

    assert order == ["a", "c"]
