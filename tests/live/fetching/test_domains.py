"""The order of a domain's queue; idle domains are forgotten."""

from __future__ import annotations

import asyncio

from scoter.core.reply import Request
from scoter.core.url import canonical
from scoter.live.fetching.domains import DomainQueue, DomainQueues, QueuedHop
from scoter.live.records import Priority


def pending(domain: DomainQueue, number: int, priority: Priority = Priority.NORMAL) -> QueuedHop:
    request = Request(url=canonical(f"http://{domain.name}/{number}"))
    answered = asyncio.get_running_loop().create_future()
    return QueuedHop(number, request, priority, domain, answered, 0.0, 0.0)


async def test_requests_are_ordered_by_priority_then_arrival() -> None:
    domain = DomainQueue("a.example", 0)
    for number, priority in enumerate(
        [Priority.BULK, Priority.NORMAL, Priority.PERSON, Priority.BULK, Priority.NORMAL]
    ):
        domain.push(pending(domain, number, priority))

    assert [domain.pop().id for _ in range(5)] == [2, 1, 4, 0, 3]


async def test_request_returned_by_a_dead_worker_keeps_its_place() -> None:
    domain = DomainQueue("a.example", 0)
    first, second = pending(domain, 1), pending(domain, 2)
    domain.push(second)

    domain.push(first)

    assert domain.first() is first


async def test_cancelled_requests_are_skipped() -> None:
    domain = DomainQueue("a.example", 0)
    for number in (1, 2):
        domain.push(pending(domain, number))

    domain.waiting[0].answered.cancel()

    assert (first := domain.first()) is not None
    assert first.id == 2


async def test_idle_domains_are_forgotten_unless_on_hold() -> None:
    domains = DomainQueues(most_idle=10)
    for number in range(100):
        domain = domains.busy(f"{number}.example", 0)
        domain.hold_until = 50.0 if number < 3 else 0.0
        domains.settle(domain, now=10.0)

    assert len(domains) <= 14
    assert all(domains.get(f"{number}.example") is not None for number in (0, 1, 2, 99))
    for _ in range(20):
        domains.sweep(now=60.0, most=1)
    assert len(domains) == 10


async def test_busy_domain_is_not_forgotten() -> None:
    domains = DomainQueues(most_idle=0)
    domain = domains.busy("a.example", 0)
    domain.push(pending(domain, 1))

    domains.settle(domain, now=0.0)
    assert domains.get("a.example") is domain
    domain.waiting[0].answered.cancel()
    domains.settle(domain, now=0.0)

    assert len(domains) == 0
