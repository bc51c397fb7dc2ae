"""Requests of an executor: none without a lease, none left when it ends."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.simulated import simulated, ticks
from tests.waiting import until

from scoter.batch.spark.task import LeasedProtocols
from scoter.core.reply import Failed, Reason, Reply, Request
from scoter.core.url import canonical

REQUEST = Request(url=canonical("http://a.example/"))
REPLY = Failed(REQUEST.url, Reason.TIMEOUT)


class SlowPlugin:
    """Takes a while for each request."""

    schemes = ("http",)

    def __init__(self) -> None:
        self.began: list[float] = []
        self.in_progress = 0

    async def fetch(self, request: Request) -> Reply:
        self.began.append(ticks())
        self.in_progress += 1
        try:
            await asyncio.sleep(0.5)
        finally:
            self.in_progress -= 1
        return REPLY


class SwitchedLease:
    """A lease that a test ends and renews."""

    def __init__(self) -> None:
        self.is_valid = True
        self.is_over = False

    def may_request(self) -> bool:
        return self.is_valid


def leased(plugin: Any, lease: SwitchedLease, grace: float) -> LeasedProtocols:
    return LeasedProtocols([("slow", plugin)], lease, grace)


@simulated
async def test_request_waits_for_the_lease() -> None:
    lease, plugin = SwitchedLease(), SlowPlugin()
    protocols = leased(plugin, lease, 0.0)
    lease.is_valid = False

    asking = asyncio.create_task(protocols(REQUEST))
    await asyncio.sleep(0.3)
    assert plugin.began == []
    lease.is_valid = True

    assert await asking == REPLY
    await protocols.close()


@simulated
async def test_requests_in_progress_end_with_the_lease_and_are_made_again_after_the_grace_period() -> None:
    lease, plugin = SwitchedLease(), SlowPlugin()
    protocols = leased(plugin, lease, 1.0)
    asking = asyncio.create_task(protocols(REQUEST))
    await until(lambda: plugin.in_progress)

    lease.is_valid = False
    await until(lambda: not plugin.in_progress)
    ended = ticks()
    lease.is_valid = True

    assert await asking == REPLY
    assert len(plugin.began) == 2
    assert plugin.began[1] >= ended + 0.9
    await protocols.close()


@simulated
async def test_lost_lease_hands_requests_back() -> None:
    lease, plugin = SwitchedLease(), SlowPlugin()
    protocols = leased(plugin, lease, 0.0)
    asking = asyncio.create_task(protocols(REQUEST))
    await until(lambda: plugin.in_progress)

    lease.is_valid, lease.is_over = False, True
    reply = await asking

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.STOPPED
    await protocols.close()


@simulated
async def test_cancelled_request_is_not_made_again() -> None:
    lease, plugin = SwitchedLease(), SlowPlugin()
    protocols = leased(plugin, lease, 0.0)
    asking = asyncio.create_task(protocols(REQUEST))
    await until(lambda: plugin.in_progress)

    asking.cancel()
    await asyncio.wait([asking])

    assert asking.cancelled()
    assert plugin.in_progress == 0
    assert len(plugin.began) == 1
    await protocols.close()
