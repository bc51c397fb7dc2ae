"""The filters of the stack, and their order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fetch.fakes import Clock, Web, answer, exchange, request

from scoter.compose import guard
from scoter.config import load
from scoter.core.reply import Failed, Fetched, Gone, NotModified, Reason, Reply, Request
from scoter.core.url import Url
from scoter.fetch.filters import Check, Count, Deadline, Polite, Retry, RetryBudget, kind_of
from scoter.fetch.network.guard import Guard
from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.scheduler import SlotScheduler, size_of
from scoter.fetch.queues.slots import Capacity
from scoter.fetch.queues.workbench import Workbench
from scoter.fetch.robots import RobotsFilter
from scoter.fetch.stack import deadline, stack

PAGE = "http://example.com/page"


async def by_host(url: Url) -> str | Failed:
    return url.host


def turnstile(policy: Policy, clock: Callable[[], float] = time.monotonic) -> SlotScheduler:
    return SlotScheduler(Workbench(Policies(policy), size_of, Capacity()), concurrency=10, clock=clock)


async def test_count_includes_replies_and_errors() -> None:
    count = Count()
    web = Web({PAGE: b"12345", "http://example.com/gone": 410})

    await count(request(PAGE), web)
    await count(request("http://example.com/gone"), web)

    async def broken(asked: Request) -> Reply:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await count(request(PAGE), broken)
    assert (count.asked, count.active, count.bytes) == (3, 0, 5)
    assert count.replies == {"fetched": 1, "removed": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("gopher://example.com/", Reason.REFUSED_SCHEME),
        ("http://example.com:22/", Reason.REFUSED_PORT),
        ("http://127.0.0.1/", Reason.REFUSED_ADDRESS),
        ("http://[::ffff:10.0.0.1]/", Reason.REFUSED_ADDRESS),
    ],
)
async def test_check_refuses_without_asking(text: str, reason: Reason) -> None:
    web = Web({})

    reply = await Check(Guard(load()))(request(text), web)

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.blames_host) == (reason, False)
    assert web.asked == []


async def test_polite_ends_the_slot_with_the_result() -> None:
    gate = turnstile(Policy(delay=timedelta(0), max_exceptions=1))
    polite = Polite(gate, by_host)

    failed = await polite(request(PAGE), Web({PAGE: 500}))
    refused = await polite(request(PAGE), Web({}))

    assert isinstance(failed, Failed)
    assert isinstance(refused, Failed)
    assert (refused.reason, refused.blames_host) == (Reason.PURGED, False)


async def test_cancelled_request_starts_the_delay_too() -> None:
    clock = Clock()
    gate = turnstile(Policy(delay=timedelta(seconds=5)), clock)
    web = Web({PAGE: b"x"})
    web.gate = asyncio.Event()

    asking = asyncio.create_task(Polite(gate, by_host)(request(PAGE), web))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    waiting = asyncio.create_task(gate.acquire("example.com"))
    await asyncio.sleep(0)

    assert gate.bench.in_progress == 0
    assert gate.bench.next_time(clock.now) == clock.now + 5
    waiting.cancel()


async def test_a_deadline_ends_what_hangs() -> None:
    web = Web({})
    web.gate = asyncio.Event()

    reply = await Deadline(timedelta(milliseconds=10))(request(PAGE), web)

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.TIMEOUT


async def test_deadline_ends_only_the_late_hops() -> None:
    late, quick = Web({}), Web({PAGE: b"x"})
    late.gate = asyncio.Event()
    limit = Deadline(timedelta(milliseconds=20))

    hanging = [asyncio.create_task(limit(request(PAGE), late)) for _ in range(3)]
    await asyncio.sleep(0)
    served = await limit(request(PAGE), quick)
    replies = await asyncio.gather(*hanging)
    again = await limit(request(PAGE), late)

    assert isinstance(served, Fetched)
    assert [kind_of(reply) for reply in (*replies, again)] == ["timeout"] * 4


async def test_cancellation_by_others_is_not_reported_as_timeout() -> None:
    web = Web({})
    web.gate = asyncio.Event()
    hanging = asyncio.create_task(Deadline(timedelta(hours=1))(request(PAGE), web))
    await asyncio.sleep(0)

    hanging.cancel()

    with pytest.raises(asyncio.CancelledError):
        await hanging


async def test_broken_connection_is_retried_within_the_budget() -> None:
    web = Web({PAGE: lambda url: Failed(url, Reason.RESET)})
    retry = Retry(RetryBudget(ratio=0.0, floor=0.2), Clock())  # two free retries in the window of ten seconds

    for _ in range(4):
        await retry(request(PAGE), web)

    assert len(web.asked) == 4 + 2


@pytest.mark.parametrize("reason", [Reason.TIMEOUT, Reason.SERVER_ERROR, Reason.UNRESOLVED, Reason.BUSY])
async def test_other_failures_are_not_retried_at_once(reason: Reason) -> None:
    web = Web({PAGE: lambda url: Failed(url, reason)})

    await Retry(RetryBudget(ratio=1.0), Clock())(request(PAGE), web)

    assert len(web.asked) == 1


async def test_broken_body_is_not_retried_at_once() -> None:
    def broken(url: Url) -> Reply:
        whole = answer(url, 200, b"part")
        return Failed(url, Reason.RESET, exchange=whole.exchange)

    web = Web({PAGE: broken})
    await Retry(RetryBudget(ratio=1.0), Clock())(request(PAGE), web)

    assert len(web.asked) == 1


async def test_stack_checks_robots_before_the_slot_and_counts_everything() -> None:
    config = load(overrides=["agent.name=testbot", "fetch.delay=0"])
    gate = turnstile(Policy(delay=timedelta(hours=1), min_crawl_delay=timedelta(0)))
    count = Count()
    web = Web({"http://example.com/robots.txt": b"User-agent: *\nDisallow: /", "http://free.test/x": b"x"})
    service = stack(
        web,
        config=config,
        count=count,
        address_guard=Guard(config),
        robots=RobotsFilter(config),
        retry=Retry(RetryBudget(0.2)),
        scheduler=gate,
        key_of=by_host,
    )

    denied = [await service(request(f"http://example.com/{number}")) for number in range(3)]
    refused = await service(request("http://10.0.0.1/"))

    assert all(isinstance(reply, Gone) for reply in denied)
    assert isinstance(refused, Failed)
    # One turn for robots.txt, and an hour's rest after it, which no denied URL waited for.
    assert web.asked == ["http://example.com/robots.txt"]
    assert count.replies == {"robots_denied": 3, "refused_address": 1}
    assert guard(web) is web


def test_the_deadline_leaves_the_transport_its_own_limits() -> None:
    assert deadline(load()) > timedelta(minutes=5)
    assert deadline(load(overrides=["http.time_limit=off"])) < timedelta(minutes=10)


def test_every_reply_has_a_kind() -> None:
    url = request(PAGE).url

    assert kind_of(answer(url, 200)) == "fetched"
    assert kind_of(answer(url, 301, Location="/x")) == "moved"
    assert kind_of(NotModified(exchange(url, 304))) == "not_modified"
    assert kind_of(answer(url, 404)) == "not_found"
    assert kind_of(Failed(url, Reason.TLS)) == "tls"


def test_retries_stay_below_their_share_of_the_requests() -> None:
    budget = RetryBudget(ratio=0.2, floor=0.0)
    for _ in range(100):
        budget.request(0.0)

    assert sum(budget.try_retry(0.0) for _ in range(100)) == 20
    assert budget.refused == 80


def test_a_few_retries_are_free() -> None:
    budget = RetryBudget(ratio=0.2, floor=1.0, window=10.0)

    assert sum(budget.try_retry(0.0) for _ in range(100)) == 10


def test_requests_and_retries_of_long_ago_do_not_count() -> None:
    budget = RetryBudget(ratio=0.5, floor=0.0, window=10.0)
    for _ in range(4):
        budget.request(0.0)
    assert [budget.try_retry(5.0) for _ in range(3)] == [True, True, False]

    assert not budget.try_retry(10.5)
    assert repr(budget) == "RetryBudget(2 retries for 0 requests lately, 2 refused)"

    budget.request(15.5)
    budget.request(15.5)
    assert [budget.try_retry(15.5), budget.try_retry(15.5)] == [True, False]


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 3)), max_size=200), st.sampled_from([0.1, 0.2, 1.0]))
def test_in_no_window_are_there_more_retries_than_allowed(steps: list[tuple[bool, float]], ratio: float) -> None:
    budget, now = RetryBudget(ratio, floor=0.5, window=10.0), 0.0
    requests: list[float] = []
    retries: list[float] = []
    for is_retry, passed in steps:
        now += passed
        if not is_retry:
            budget.request(now)
            requests.append(now)
        elif budget.try_retry(now):
            retries.append(now)
            # A slice is a second, so the window that is looked at is between nine and ten seconds long.
            lately = sum(1 for time in retries if time > now - 9)
            assert lately <= ratio * sum(1 for time in requests if time > now - 10) + 5 + 1e-6
