"""Workbenches for tests: one-letter hosts, items named after them, and a number as clock."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.slots import Capacity, SlotResult
from scoter.fetch.queues.workbench import Workbench

FAILED: Final = SlotResult(failed=True)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def workbench(policy: Policy | None = None, capacity: Capacity | None = None, **hosts: Policy) -> Workbench[str]:
    return Workbench(Policies(policy or Policy(), hosts), len, capacity or Capacity())


def filled(bench: Workbench[str], *names: str) -> Workbench[str]:
    """Add ``a1`` to host ``a``, ``b1`` to host ``b``, at time 0."""
    for name in names:
        assert bench.add(name[0], name, 0.0) is None
    return bench


def taken(bench: Workbench[str], now: float) -> str | None:
    found = bench.take(now)
    return found[1] if found else None
