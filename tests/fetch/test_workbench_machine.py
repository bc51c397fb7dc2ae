"""In any order of events, no host is asked too often and nothing is lost or handed out twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.effort import examples

from scoter.fetch.queues.hostqueue import LONGEST_BACKOFF, MAX_SLOWED_DELAY, SLOW
from scoter.fetch.queues.policy import Policies, Policy
from scoter.fetch.queues.slots import SERVED, UNUSED, Capacity, QueueRefusal, SlotResult
from scoter.fetch.queues.workbench import Workbench

POLICIES = {
    "a": Policy(delay=timedelta(seconds=2), adaptive=False),
    "b": Policy(delay=timedelta(seconds=5)),
    "c": Policy(threads=3, min_delay=timedelta(seconds=1), max_exceptions=None),
    "d": Policy(threads=2, min_delay=timedelta(0), max_exceptions=3),
    "e": Policy(delay=timedelta(0), max_exceptions=2),
}
HOSTS = st.sampled_from(sorted(POLICIES))
TURNS = st.sampled_from(
    [
        SERVED,
        SlotResult(took=SLOW * 4),
        SlotResult(failed=True),
        SlotResult(failed=True, busy=True),
        SlotResult(busy=True, retry_after=timedelta(seconds=7)),
    ]
)


def least_pause(policy: Policy) -> float:
    return (policy.delay if policy.threads == 1 else policy.min_delay).total_seconds()


class WorkbenchMachine(RuleBasedStateMachine):
    """A model beside the workbench: what each host was given, what it gave back, and when it was last asked."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.number = 0
        self.bench: Workbench[str] = Workbench(Policies(Policy(), POLICIES), len, Capacity(bytes=200, least=10))
        self.queued: dict[str, list[str]] = defaultdict(list)
        self.out: dict[str, list[str]] = defaultdict(list)
        self.rest_until: dict[str, float] = defaultdict(float)
        self.pause_until: dict[str, float] = defaultdict(float)
        self.crawl_delay: dict[str, float] = {}
        self.blocked: set[str] = set()
        self.all_added: set[str] = set()
        self.all_ended: set[str] = set()

    @rule(host=HOSTS, even_if_full=st.booleans())
    def add(self, host: str, even_if_full: bool) -> None:
        self.number += 1
        item = f"{host}{self.number}"
        refusal = self.bench.add(host, item, self.now, even_if_full=even_if_full)
        assert (refusal is QueueRefusal.BLOCKED) == (host in self.blocked)
        if refusal is None:
            self.queued[host].append(item)
            self.all_added.add(item)

    @rule()
    def take(self) -> None:
        expected = self.can_be_taken()
        found = self.bench.take(self.now)
        if found is None:
            assert not expected, f"{expected} could have been served"
            return
        host, item = found
        policy = POLICIES[host]
        single = host in self.crawl_delay
        assert item == self.queued[host].pop(0)
        assert self.now >= max(self.rest_until[host], self.pause_until[host])
        assert len(self.out[host]) < (1 if single else policy.threads)
        self.out[host].append(item)
        if policy.threads > 1 and not single:
            self.pause_until[host] = self.now + least_pause(policy)

    @rule()
    def serve_all_that_are_ready_in_as_many_takes_as_there_are_hosts(self) -> None:
        ready = self.can_be_taken()
        served = set()
        for _ in POLICIES:
            before = {host: len(items) for host, items in self.out.items()}
            self.take()
            served |= {host for host, items in self.out.items() if len(items) > before.get(host, 0)}
        assert ready <= served

    @precondition(lambda self: any(self.out.values()))
    @rule(data=st.data(), turn=TURNS)
    def done(self, data: st.DataObject, turn: SlotResult) -> None:
        host, item = self.choose(data)
        lost = self.bench.done(host, turn, self.now)
        self.all_ended.add(item)
        pause = self.crawl_delay.get(host, least_pause(POLICIES[host]))
        if turn.retry_after is not None:
            pause = max(pause, turn.retry_after.total_seconds())
        self.rest_until[host] = max(self.rest_until[host], self.now + pause)
        assert not lost or turn.failed
        if self.bench.refusal(host) is QueueRefusal.BLOCKED:
            self.blocked.add(host)
        self.forget(host, lost)

    @precondition(lambda self: any(self.out.values()))
    @rule(data=st.data())
    def end_unused(self, data: st.DataObject) -> None:
        host, item = self.choose(data)
        self.bench.done(host, UNUSED, self.now)
        self.all_ended.add(item)
        self.pause_is_over_if_idle(host)

    @rule(host=HOSTS, seconds=st.sampled_from([1.0, 4.0, 9.0]))
    def defer(self, host: str, seconds: float) -> None:
        self.bench.defer(host, self.now + seconds)
        self.rest_until[host] = max(self.rest_until[host], self.now + seconds)

    @precondition(lambda self: any(self.out.values()))
    @rule(data=st.data(), seconds=st.sampled_from([3.0, 8.0]))
    def learn_a_crawl_delay_during_a_turn(self, data: st.DataObject, seconds: float) -> None:
        host = data.draw(st.sampled_from(sorted(host for host, items in self.out.items() if items)))
        self.bench.set_crawl_delay(host, seconds)
        self.crawl_delay[host] = max(seconds, POLICIES[host].min_crawl_delay.total_seconds())

    @rule(host=HOSTS)
    def purge(self, host: str) -> None:
        self.forget(host, self.bench.purge(host, self.now))

    @rule(step=st.sampled_from([0.1, 1.0, 5.0, 60.0, 10_000.0]))
    def let_time_pass(self, step: float) -> None:
        self.now += step

    @rule()
    def let_time_pass_until_the_next_turn(self) -> None:
        later = self.bench.next_time(self.now)
        if later is not None:
            assert later >= self.now
            self.now = later

    @rule()
    def reap(self) -> None:
        idle = {host for host in POLICIES if not self.queued[host] and not self.out[host]}
        assert self.bench.drop_expired(self.now) <= len(idle)
        for host in idle & self.crawl_delay.keys():  # as robots.txt is looked up before the next request
            self.bench.set_crawl_delay(host, self.crawl_delay[host])

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        waiting = [item for items in self.queued.values() for item in items]
        under_way = [item for items in self.out.values() for item in items]
        assert self.bench.queued == len(waiting)
        assert self.bench.queued_bytes == sum(map(len, waiting))
        assert self.bench.in_progress == len(under_way)
        assert self.bench.occupied == sum(1 for items in self.queued.values() if items)
        assert sorted([*waiting, *under_way, *self.all_ended]) == sorted(self.all_added)
        stats = self.bench.stats(self.now)
        assert stats.busy >= 0
        assert stats.ready + stats.waiting <= self.bench.occupied

    def can_be_taken(self) -> set[str]:
        """Return hosts that no rule can hold back: with items, nothing under way, and their longest rest over."""
        return {
            host
            for host, items in self.queued.items()
            if items and not self.out[host] and self.now >= self.rest_until[host] + LONGEST_BACKOFF + MAX_SLOWED_DELAY
        }

    def choose(self, data: st.DataObject) -> tuple[str, str]:
        host = data.draw(st.sampled_from(sorted(host for host, items in self.out.items() if items)))
        item = data.draw(st.sampled_from(self.out[host]))
        self.out[host].remove(item)
        return host, item

    def pause_is_over_if_idle(self, host: str) -> None:
        if not self.out[host]:
            self.pause_until[host] = 0.0

    def forget(self, host: str, lost: Sequence[str]) -> None:
        assert list(lost) == self.queued[host] or (not lost and host not in self.blocked)
        if lost:
            self.queued[host].clear()
            self.all_ended.update(lost)


TestWorkbenchMachine = WorkbenchMachine.TestCase
TestWorkbenchMachine.settings = settings(max_examples=examples(75), stateful_step_count=60, deadline=None)
