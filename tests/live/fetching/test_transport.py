"""Nothing is requested without a lease, within the delay of the previous holder, or for shards of others."""

from __future__ import annotations

import asyncio

from tests.fetch.fakes import answer

from scoter.core.reply import Reply, Request
from scoter.core.url import canonical
from scoter.live.fetching.lease import ShardLease
from scoter.live.fetching.transport import LeasedTransport

SHARD = 0  # of one


class Web:
    """A protocol that logs requests and replies on command."""

    schemes: tuple[str, ...] = ("http",)

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    async def fetch(self, request: Request) -> Reply:
        self.asked.append(request.url.text)
        await self.go.wait()
        return answer(request.url, 200, b"here")


class Case:
    """A transport with its collaborators."""

    def __init__(self, pause: float = 0.0) -> None:
        self.web, self.lease, self.now = Web(), ShardLease(), 100.0
        self.idle = 0
        self.is_there = asyncio.Event()
        self.is_there.set()
        self.gate = LeasedTransport(
            [("web", self.web)],
            lease=self.lease,
            shards=1,
            now=lambda: self.now,
            pause_of=lambda domain: pause,
            forward=self._forward,
            on_idle=self._note_idle,
        )

    async def _forward(self, request: Request) -> Reply:
        await self.is_there.wait()
        return answer(request.url, 200, b"there")

    def _note_idle(self) -> None:
        self.idle += 1

    def ask(self) -> asyncio.Task[Reply]:
        async def ask() -> Reply:
            return await self.gate(Request(url=canonical("http://a.example/")))

        return asyncio.create_task(ask())


async def turn_over() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def body(reply: Reply) -> bytes:
    assert reply.exchange is not None
    return reply.exchange.body


async def test_request_without_valid_lease_waits() -> None:
    case = Case()
    case.lease.granted([SHARD], since=0.0)
    case.lease.renewed(99.9)

    asking = case.ask()
    await turn_over()
    assert case.web.asked == []
    case.lease.renewed(102.0)
    case.gate.look()

    assert body(await asking) == b"here"


async def test_process_that_slept_past_its_lease_makes_no_requests() -> None:
    case = Case()
    case.lease.granted([SHARD], since=0.0)
    case.lease.renewed(102.0)
    assert body(await case.ask()) == b"here"

    case.now = 110.0
    asking = case.ask()
    await turn_over()

    assert len(case.web.asked) == 1
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


async def test_request_of_a_recalled_shard_goes_to_the_new_holder() -> None:
    case = Case()
    case.lease.granted([SHARD], since=0.0)

    asking = case.ask()
    await turn_over()
    case.lease.recalled([SHARD])
    case.gate.look()

    assert body(await asking) == b"there"
    assert case.web.asked == []


async def test_forwarded_request_is_made_here_if_the_shard_arrives() -> None:
    case = Case()
    case.is_there.clear()
    case.lease.renewed(200.0)

    asking = case.ask()
    await turn_over()
    assert not asking.done()
    case.lease.granted([SHARD], since=0.0)
    case.gate.look()

    assert body(await asking) == b"here"


async def test_delay_counts_from_the_last_request_of_the_previous_holder() -> None:
    case = Case(pause=0.05)
    case.lease.granted([SHARD], since=99.99)
    case.lease.renewed(200.0)

    asking = case.ask()
    await turn_over()
    assert case.web.asked == []
    case.now = 100.05

    assert body(await asking) == b"here"


async def test_recalled_shard_is_idle_after_its_last_request() -> None:
    case = Case()
    case.lease.granted([SHARD], since=0.0)
    case.lease.renewed(200.0)
    case.web.go.clear()
    asking = case.ask()
    await turn_over()

    case.lease.recalled([SHARD])
    assert not case.gate.is_idle(SHARD)
    case.now = 105.0
    case.web.go.set()
    await asking

    assert (case.idle, case.gate.is_idle(SHARD), case.gate.asked_last(SHARD)) == (1, True, 105.0)
