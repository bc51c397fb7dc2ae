"""Two hundred hosts for two minutes of simulated time: polite, and hardly slower than the delays allow."""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
from datetime import timedelta
from itertools import pairwise

from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.slots import Capacity, SlotResult
from scoter.fetch.queues.workbench import Workbench

HOSTS = 200
SECONDS = 120.0


def test_two_hundred_hosts_are_served_within_a_tenth_of_what_their_delays_allow() -> None:
    draw = random.Random(7)
    delays = {f"host{number}.example": draw.choice([0.5, 1.0, 2.0, 5.0]) for number in range(HOSTS)}
    latency = {host: draw.uniform(0.01, 0.4) for host in delays}
    policies = {host: Policy(delay=timedelta(seconds=delay)) for host, delay in delays.items()}
    bench: Workbench[str] = Workbench(Policies(Policy(), policies), len, Capacity())
    for host in delays:
        for number in range(300):
            bench.add(host, f"https://{host}/{number}", 0.0)

    asked, answered = _simulate(bench, latency, workers=200)

    allowed = sum(SECONDS / (delays[host] + latency[host]) for host in delays)
    assert 0.9 * allowed <= sum(map(len, asked.values())) <= 1.01 * allowed + HOSTS
    for host, starts in asked.items():
        gaps = [start - end for end, start in zip(answered[host], starts[1:], strict=False)]
        assert min(gaps) >= delays[host] - 1e-9
        assert all(second > first for first, second in pairwise(starts))


def test_a_host_with_a_million_items_leaves_the_others_their_share() -> None:
    bench: Workbench[str] = Workbench(Policies(Policy(threads=1_000)), len, Capacity())
    for number in range(10_000):
        bench.add("large", str(number), 0.0)
    for number in range(100):
        bench.add(f"small{number}", "1", 0.0)

    served = [bench.take(0.0) for _ in range(101)]

    assert {each[0] for each in served if each} == {"large"} | {f"small{number}" for number in range(100)}


def _simulate(
    bench: Workbench[str], latency: dict[str, float], workers: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Run workers that answer each hand-out after its host's latency; return when each host was asked and answered."""
    asked: dict[str, list[float]] = defaultdict(list)
    answered: dict[str, list[float]] = defaultdict(list)
    under_way: list[tuple[float, str]] = []
    now = 0.0
    while now < SECONDS:
        while len(under_way) < workers and (taken := bench.take(now)) is not None:
            asked[taken[0]].append(now)
            heapq.heappush(under_way, (now + latency[taken[0]], taken[0]))
        later = [under_way[0][0]] if under_way else []
        turn = bench.next_time(now) if len(under_way) < workers else None
        now = min([*later, *([turn] if turn is not None else [])])
        while under_way and under_way[0][0] <= now:
            _, host = heapq.heappop(under_way)
            answered[host].append(now)
            bench.done(host, SlotResult(took=latency[host]), now)
    return asked, answered
