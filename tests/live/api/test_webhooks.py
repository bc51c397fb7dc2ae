"""Deliveries to callbacks: signed, retried with back-off, and limited per host."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256

import msgspec
import pytest
from tests.live.api.fakes import NOW, Clock, record_of
from tests.live.memory.events import MemoryDeliveries

from scoter.core.url import Url
from scoter.live.api.webhooks import DeliveryLimits, PostResult, Webhooks, retry_in
from scoter.live.records import Event

HOOK = "https://example.org/hook"


class FakePost:
    """Answers posts from a list, and repeats its last result."""

    def __init__(self, *answers: PostResult) -> None:
        self.answers = list(answers) or [PostResult(204)]
        self.posts: list[tuple[str, dict[str, str], bytes]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def post(self, url: Url, headers: Sequence[tuple[str, str]], body: bytes) -> PostResult:
        self.posts.append((url.text, dict(headers), body))
        await self.open.wait()
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Hooks:
    """A webhook worker and its delivery store."""

    def __init__(self, *answers: PostResult, pace: DeliveryLimits = DeliveryLimits()) -> None:  # noqa: B008  frozen
        self.clock = Clock()
        self.deliveries = MemoryDeliveries(self.clock, self.clock.monotonic)
        self.post = FakePost(*answers)
        self.worker = Webhooks(
            self.deliveries,
            self.post,
            b"secret",
            pace=pace,
            clock=self.clock,
            chance=lambda: 1.0,
            timer=self.clock.monotonic,
        )

    def announce(self, callback: str = HOOK, count: int = 1) -> None:
        for number in range(count):
            event = Event(
                number=number, message="m", url="http://a.example/", at=NOW, record=record_of("http://a.example/")
            )
            self.deliveries.add(callback, event)

    async def round(self) -> int:
        begun = await self.worker.deliver()
        await self.worker.finish()
        return begun


async def test_delivery_carries_event_id_and_signature() -> None:
    hooks = Hooks()
    hooks.announce()

    await hooks.round()

    ((url, headers, body),) = hooks.post.posts
    assert url == HOOK
    assert msgspec.json.decode(body, type=Event).url == "http://a.example/"
    assert len(headers["Scoter-Delivery"]) == 32
    stamp, value = headers["Scoter-Signature"].split(",")
    wanted = hmac.new(b"secret", f"{int(NOW.timestamp())}.".encode() + body, sha256).hexdigest()
    assert (stamp, value) == (f"t={int(NOW.timestamp())}", f"v1={wanted}")


async def test_received_delivery_is_not_repeated() -> None:
    hooks = Hooks(PostResult(200))
    hooks.announce()
    await hooks.round()

    hooks.clock.move(timedelta(days=2))

    assert await hooks.round() == 0
    assert list(hooks.deliveries.given_up(10)) == []


@pytest.mark.parametrize(
    "answer", [PostResult(500), PostResult(301), PostResult(404), PostResult(why="no answer in time"), PostResult(199)]
)
async def test_failed_delivery_is_retried_with_back_off_under_the_same_id(answer: PostResult) -> None:
    hooks = Hooks(answer)
    hooks.announce()
    begun = []
    for _ in range(70):
        begun.append(await hooks.round())
        hooks.clock.move(timedelta(seconds=5))

    tries = [at * 5 for at, count in enumerate(begun) if count]
    assert tries == [0, 5, 15, 35, 75, 155, 315]
    assert len({headers["Scoter-Delivery"] for _, headers, _ in hooks.post.posts}) == 1


async def test_delivery_is_given_up_after_a_day() -> None:
    hooks = Hooks(PostResult(503))
    hooks.announce()

    for _ in range(60):
        await hooks.round()
        hooks.clock.move(timedelta(minutes=31))

    (lost,) = hooks.deliveries.given_up(10)
    assert lost.why == "status 503"
    assert 20 < len(hooks.post.posts) < 40


async def test_delivery_refused_by_the_guard_is_not_retried() -> None:
    hooks = Hooks(PostResult(why="127.0.0.1 is not public: loopback", is_refused=True))
    hooks.announce()

    await hooks.round()

    (lost,) = hooks.deliveries.given_up(10)
    assert "not public" in lost.why


async def test_delivery_to_an_invalid_callback_is_given_up() -> None:
    hooks = Hooks()
    hooks.announce("::nonsense::")

    await hooks.round()

    assert len(hooks.deliveries.given_up(10)) == 1
    assert hooks.post.posts == []


async def test_slow_host_gets_only_its_share_of_deliveries() -> None:
    hooks = Hooks(pace=DeliveryLimits(most=10, per_host=2))
    hooks.post.open.clear()
    hooks.announce(HOOK, 8)
    hooks.announce("https://other.example/", 2)

    await hooks.worker.deliver()
    for _ in range(5):
        await asyncio.sleep(0)

    asked = [url for url, _, _ in hooks.post.posts]
    assert asked.count(HOOK) == 2
    assert asked.count("https://other.example/") == 2
    hooks.post.open.set()
    await hooks.worker.finish()
    for _ in range(10):
        hooks.clock.move(timedelta(seconds=1))
        await hooks.round()
    assert len(hooks.post.posts) == 10


async def test_waiting_for_a_busy_host_does_not_lengthen_the_back_off() -> None:
    hooks = Hooks(pace=DeliveryLimits(most=10, per_host=1))
    hooks.post.open.clear()
    hooks.announce(count=2)
    for _ in range(30):  # seconds during which the first one is in progress
        await hooks.worker.deliver()
        await asyncio.sleep(0)
        hooks.clock.move(timedelta(seconds=1))
    hooks.post.open.set()
    await hooks.worker.finish()

    hooks.post.answers = [PostResult(503), PostResult(204)]
    await hooks.round()
    hooks.clock.move(timedelta(seconds=5))
    await hooks.round()

    assert hooks.deliveries.waiting(10) == 0
    assert len(hooks.post.posts) == 3


async def test_deliveries_waiting_for_a_busy_host_are_retried_soon_and_staggered() -> None:
    hooks = Hooks(pace=DeliveryLimits(most=50, per_host=1, soon=1.0))
    hooks.post.open.clear()
    hooks.announce(count=21)

    begun = await hooks.worker.deliver()

    came = []
    for _ in range(5):
        hooks.clock.move(timedelta(seconds=0.21))
        came.append(len(await hooks.deliveries.due(50, timedelta(minutes=2))))
    assert begun == 1
    assert came[:4] == [2, 2, 2, 2]
    assert sum(came) == 20
    hooks.post.open.set()
    await hooks.worker.finish()


async def test_backlog_for_a_busy_host_does_not_delay_other_hosts() -> None:
    hooks = Hooks(pace=DeliveryLimits(most=4, per_host=1, look=60.0))
    hooks.post.open.clear()
    hooks.announce(HOOK, 20)
    hooks.announce("https://other.example/")
    running = asyncio.create_task(hooks.worker.run())

    for _ in range(200):
        await asyncio.sleep(0)

    assert [url for url, _, _ in hooks.post.posts] == [HOOK, "https://other.example/"]
    hooks.post.open.set()
    hooks.worker.stop()
    await running


async def test_concurrent_deliveries_are_limited() -> None:
    hooks = Hooks(pace=DeliveryLimits(most=3, per_host=100))
    hooks.post.open.clear()
    hooks.announce(count=10)

    first, second = await hooks.worker.deliver(), await hooks.worker.deliver()

    assert (first, second) == (3, 0)
    hooks.post.open.set()
    await hooks.worker.finish()


async def test_stopped_worker_finishes_deliveries_in_progress() -> None:
    hooks = Hooks(pace=DeliveryLimits(look=0.01))
    hooks.announce()
    running = asyncio.create_task(hooks.worker.run())
    while not hooks.post.posts:
        await asyncio.sleep(0)

    hooks.worker.stop()
    await running

    assert len(hooks.worker) == 0
    assert await hooks.round() == 0


def test_delivery_back_off_is_bounded() -> None:
    assert retry_in(500, timedelta(), 1.0) == timedelta(hours=1)
    assert retry_in(0, timedelta(), 0.0) == timedelta(seconds=2.5)
    assert retry_in(100, timedelta(days=1), 1.0) is None


async def test_clock_set_forward_gives_up_no_delivery() -> None:
    hooks = Hooks(PostResult(503))
    hooks.announce()
    await hooks.round()

    hooks.clock.move(timedelta(days=3))
    tried = [await hooks.round()]
    hooks.clock.move(timedelta(seconds=10))
    tried.append(await hooks.round())

    assert tried == [1, 1]
    assert list(hooks.deliveries.given_up(10)) == []
