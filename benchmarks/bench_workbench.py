"""CPU cost of one item in the workbench (add, take, done), with few and with very many queues.

    python benchmarks/bench_workbench.py

Exits with 1 if an item costs more than twice as much among 200,000 queues as among 1,000. There are two loads: *no
delay*, where every queue is always ready, and *delay*, where each queue waits after a request and time advances by a
fixed step, so that the heap of waiting queues has its largest size.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
from datetime import timedelta

from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.slots import SERVED, Capacity
from scoter.fetch.queues.workbench import Workbench

ITEMS = 1_000_000
SIZES = (50, 1_000, 10_000, 200_000)
MOST_RATIO = 2.0
WORKERS = 50  # requests in progress


def main() -> int:
    """Measure every size under both loads, print µs per item, and return whether the target was met."""
    print(f"{'queues':>10}{'add':>10}{'no delay':>12}{'delay':>12}   µs CPU an item of {ITEMS:,}")
    cost = {}
    for queues in SIZES:
        added, free = _run(queues, 0.0)
        again, resting = _run(queues, 1.0)
        cost[queues] = (min(added, again) + free, min(added, again) + resting)
        print(f"{queues:>10,}{min(added, again):>10.2f}{free:>12.2f}{resting:>12.2f}", flush=True)
    ratios = [many / few for many, few in zip(cost[200_000], cost[1_000], strict=True)]
    print(
        f"add + take + done, 200,000 queues against 1,000: {ratios[0]:.2f} and {ratios[1]:.2f} (at most {MOST_RATIO})"
    )
    print(f"an empty queue's memory: {_queue_bytes()} bytes")
    return 1 if max(ratios) > MOST_RATIO else 0


def _run(queues: int, delay: float) -> tuple[float, float]:
    """Return µs per item for adding all, and for taking and finishing all with some of them in progress."""
    policy = Policy(delay=timedelta(seconds=delay))
    bench = Workbench[bytes](Policies(policy), len, Capacity(bytes=2**40))
    keys = [f"www.host{number}.example" for number in range(queues)]
    items = [b"https://www.example.org/path/%d" % number for number in range(ITEMS)]
    gc.collect()
    gc.freeze()  # creating the items is not measured
    start = time.process_time()
    for number, item in enumerate(items):
        bench.add(keys[number % queues], item, 0.0)
    added = time.process_time() - start
    start = time.process_time()
    _serve(bench, delay / queues)
    served = time.process_time() - start
    gc.unfreeze()
    return added * 1e6 / ITEMS, served * 1e6 / ITEMS


def _serve(bench: Workbench[bytes], step: float) -> None:
    now = 0.0
    under_way: list[str] = []
    while bench.queued or under_way:
        taken = bench.take(now) if len(under_way) < WORKERS else None
        if taken is not None:
            under_way.append(taken[0])
            continue
        for key in under_way:
            bench.done(key, SERVED, now)
        now = max(now + step * len(under_way), bench.next_time(now) or 0.0)
        under_way.clear()


def _queue_bytes() -> int:
    bench = Workbench[bytes](Policies(Policy()), len)
    keys = [f"www.host{number}.example" for number in range(10_000)]
    tracemalloc.start()
    for key in keys:
        bench.defer(key, 1.0)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return used // len(keys)


if __name__ == "__main__":
    sys.exit(main())
