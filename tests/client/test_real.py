"""Both kinds of client against the real API on in-memory stores, over loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import islice

import pytest
from tests.http.raw import serving
from tests.live.api.fakes import Bench

from scoter.client import Absence, AsyncClient, Client, ClientError, Event, Gap, Missing, Outcome, Submission, UrlRecord
from scoter.live.api.lookup_app import LookupApp

A, B = "http://a.example/", "http://b.example/"


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
async def url(bench: Bench) -> AsyncIterator[str]:
    async with serving(bench.app) as port:
        running = asyncio.create_task(bench.streams.run())
        yield f"http://127.0.0.1:{port}"
        bench.streams.close()
        await running


@pytest.fixture
async def client(url: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(url, timeout=10.0) as made:
        yield made


async def test_submitted_url_can_be_looked_up(bench: Bench, client: AsyncClient) -> None:
    receipt = await client.submit(f"see {A} and {B}.", priority="person")
    pending = await client.lookup(A)
    waiting = asyncio.create_task(client.lookup(A, wait=5))
    while not len(bench.waiters):
        await asyncio.sleep(0)
    await bench.work()

    assert set(receipt.entries) == {A, B}
    assert pending == Missing(A, Absence.PENDING)
    assert isinstance(await waiting, UrlRecord)


async def test_urls_are_looked_up_singly_and_in_batches(bench: Bench, client: AsyncClient) -> None:
    await bench.know(A)
    found = [each async for each in client.lookup_many(["HTTP://A.example", B, "no url"])]

    assert [each.state.value for each in found] == ["ok", "unknown", "unusable"]
    assert (await client.lookup(B), await client.lookup("http://")) == (
        Missing(B, Absence.UNKNOWN),
        Missing("http://", Absence.UNUSABLE),
    )


async def test_lookup_processes_give_the_same_answers(bench: Bench) -> None:
    await bench.know(A)
    app = LookupApp(bench.services.lookup, bench.access, bench.app)
    async with serving(app) as port, AsyncClient(f"http://127.0.0.1:{port}") as client:
        found = [await client.lookup(A), await client.lookup(B), *[each async for each in client.lookup_many([A, B])]]

    assert [each.state.value for each in found] == ["ok", "unknown", "ok", "unknown"]


async def test_events_are_received(bench: Bench, client: AsyncClient) -> None:
    async with aclosing(client.events(since=0)) as events:
        await client.submit(urls=[A, B], id="m1")
        await bench.work()
        found = [await anext(events), await anext(events)]

    assert [(each.number, each.message) for each in found if isinstance(each, Event)] == [(1, "m1"), (2, "m1")]


async def test_events_no_longer_kept_are_a_gap() -> None:
    bench = Bench(most_events=1)
    async with serving(bench.app) as port, AsyncClient(f"http://127.0.0.1:{port}") as client:
        await client.submit(urls=[A, B])
        await bench.work()
        await bench.stores.events.prune(10)
        async with aclosing(client.events(since=0)) as events:
            assert await anext(events) == Gap(0, 2)


async def test_full_service_is_an_error(bench: Bench) -> None:
    config = bench.config
    bench = Bench(config=type(config)(live=type(config.live)(backlog_per_domain=2)))
    async with serving(bench.app) as port, AsyncClient(f"http://127.0.0.1:{port}") as client:
        messages = [Submission(urls=(f"{A}{number}",)) for number in range(4)]
        found = [receipt.status async for receipt in client.submit_many(messages, patience=0.0)]
        with pytest.raises(ClientError) as raised:
            await client.submit(urls=[f"{A}x"])

    assert found == [Outcome.ACCEPTED] * 2 + [Outcome.REFUSED] * 2
    assert (raised.value.problem.status, raised.value.problem.domain) == (429, "a.example")
    assert raised.value.problem.retry_after


async def test_key_allows_only_its_scope() -> None:
    bench = Bench(required=True)
    _, token = await bench.stores.keys.create("reader", ["read"])
    async with serving(bench.app) as port:
        url = f"http://127.0.0.1:{port}"
        async with AsyncClient(url) as nobody, AsyncClient(url, token) as reader:
            with pytest.raises(ClientError) as without:
                await nobody.stats()
            assert (await reader.stats()).uptime >= 0
            with pytest.raises(ClientError) as beyond:
                await reader.set_domain("a.example", blocked=True)

    assert [without.value.problem.status, beyond.value.problem.status] == [401, 403]
    assert "SCOTER_KEY" in str(without.value)


async def test_domain_rule_is_set_and_a_url_is_fetched(client: AsyncClient) -> None:
    assert (await client.set_domain("a.example", delay=2.0)).delay == 2.0
    assert (await client.domain("a.example")).delay == 2.0
    assert (await client.fetch(B)).body == b"<p>hello"

    await client.set_domain("a.example", blocked=True)
    with pytest.raises(ClientError, match="blocked"):
        await client.fetch(A)


async def test_sync_client_supports_every_call(bench: Bench, url: str) -> None:
    def talk() -> list[object]:
        with Client(url, timeout=10.0) as client:
            receipts = list(client.submit_many([A, Submission(urls=(B,))]))
            looked = [each.state.value for each in client.lookup_many([A, B])]
            return [len(receipts), looked, client.fetch(B).status, client.stats().counts != {}]

    assert await asyncio.to_thread(talk) == [2, ["pending", "pending"], 200, True]

    await bench.work()

    def listen() -> list[int]:
        with Client(url, timeout=10.0) as client:
            events = client.events(since=0)
            return [each.number for each in islice(events, 2) if isinstance(each, Event)]

    assert await asyncio.to_thread(listen) == [1, 2]


async def test_concurrent_calls_share_a_few_connections(bench: Bench, client: AsyncClient) -> None:
    await bench.know(A)

    found = await asyncio.gather(*(client.lookup(A) for _ in range(100)))

    assert all(isinstance(each, UrlRecord) for each in found)
    assert len(client._idle) <= 8


async def test_keys_are_created_listed_and_revoked() -> None:
    bench = Bench(required=True)
    _, token = await bench.stores.keys.create("owner", ["admin"])
    async with serving(bench.app) as port, AsyncClient(f"http://127.0.0.1:{port}", token) as owner:
        made = await owner.make_key("dashboard", ["read"], rate=5)
        async with AsyncClient(f"http://127.0.0.1:{port}", made.token) as dashboard:
            await dashboard.stats()
            with pytest.raises(ClientError, match="scope admin"):
                await dashboard.keys()
            listed = await owner.keys()

            revoked = await owner.revoke_key(made.id)

            with pytest.raises(ClientError, match="API key is unknown"):
                await dashboard.stats()
        with pytest.raises(ClientError, match="no such key"):
            await owner.revoke_key(made.id)

    assert (made.name, made.scopes, made.rate, made.last_used) == ("dashboard", ("read",), 5.0, None)
    assert [(each.name, each.last_used is not None) for each in listed] == [("owner", True), ("dashboard", True)]
    assert revoked.id == made.id
