"""Shard assignment: two workers never request a domain within its delay, whatever dies, pauses or is late."""

from __future__ import annotations

from collections import Counter, deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import Struct
from tests.effort import examples

from scoter.live.fetching.lease import ShardLease
from scoter.live.fetching.shards import Grant, Kill, Order, Recall, Renew, ShardAssignment, shard_of

LEASE, SILENCE = 2.0, 3.0


def settled(assignment: ShardAssignment, now: float) -> list[Order]:
    """Return all orders until there are no more, answering every recall at once."""
    orders: list[Order] = []
    while True:
        new = [order for order in assignment.tick(now) if not isinstance(order, Renew)]
        if not new:
            return orders
        orders += new
        for order in new:
            if isinstance(order, Recall):
                assignment.returned(order.worker, dict.fromkeys(order.shards, now))


def test_domains_spread_evenly_and_deterministically() -> None:
    spread = Counter(shard_of(f"domain-{number}.example", 64) for number in range(64_000))

    assert len(spread) == 64
    assert 850 < min(spread.values()) <= max(spread.values()) < 1_150
    assert [shard_of(name, 4_096) for name in ("example.org", "bbc.co.uk", "xn--bcher-kva.example")] == [
        3909,
        692,
        1190,
    ]


def test_shards_are_balanced_when_another_worker_joins() -> None:
    assignment = ShardAssignment(64, lease=LEASE, silence=SILENCE)

    assignment.join(1, 0.0)
    settled(assignment, 0.0)
    assert len(assignment.held(1)) == 64
    for fetcher in (2, 3):
        assignment.join(fetcher, 1.0)
    settled(assignment, 1.0)

    assert sorted(len(assignment.held(fetcher)) for fetcher in (1, 2, 3)) == [21, 21, 22]


def test_shards_of_a_dead_worker_move_with_its_time_of_death() -> None:
    assignment = ShardAssignment(8, lease=LEASE, silence=SILENCE)
    for fetcher in (1, 2):
        assignment.join(fetcher, 0.0)
    settled(assignment, 0.0)
    lost = assignment.held(1)

    assignment.died(1, 7.0)
    grants = [order for order in assignment.tick(7.0) if isinstance(order, Grant)]

    assert grants == [Grant(2, lost, 7.0)]


def test_silent_worker_is_killed_and_its_shards_move_within_five_seconds() -> None:
    assignment = ShardAssignment(8, lease=LEASE, silence=SILENCE)
    for fetcher in (1, 2):
        assignment.join(fetcher, 0.0)
    settled(assignment, 0.0)

    orders: list[tuple[float, Order]] = []
    for step in range(1, 21):
        now = step * 0.25
        assignment.heard(2, now)
        orders += [(now, order) for order in assignment.tick(now)]

    killed = [now for now, order in orders if order == Kill(1)]
    moved = [now for now, order in orders if isinstance(order, Grant)]
    last_lease = max(order.until for _, order in orders if isinstance(order, Renew) and order.worker == 1)
    assert killed == [3.25]
    assert moved == [last_lease] == [5.0]  # its death was never seen: the lease had to run out


def test_paused_core_kills_no_worker_for_silence() -> None:
    assignment = ShardAssignment(8, lease=LEASE, silence=SILENCE)
    assignment.join(1, 0.0)
    settled(assignment, 0.0)

    orders = assignment.tick(60.0)

    assert orders == [Renew(1, 62.0)]


def test_moving_shard_has_no_owner() -> None:
    assignment = ShardAssignment(2, lease=LEASE, silence=SILENCE)
    assignment.join(1, 0.0)
    settled(assignment, 0.0)
    assignment.join(2, 1.0)

    (recall,) = (order for order in assignment.tick(1.0) if isinstance(order, Recall))

    assert recall == Recall(1, (0,))
    assert (assignment.owner(0), assignment.owner(1)) == (None, 1)
    assignment.returned(1, {0: 0.5})
    assert Grant(2, (0,), 0.5) in assignment.tick(1.5)
    assert assignment.owner(0) == 2


def test_initial_since_is_passed_to_grants() -> None:
    assignment = ShardAssignment(1, lease=LEASE, silence=SILENCE, since=40.0)

    assignment.join(1, 41.0)

    assert Grant(1, (0,), 40.0) in assignment.tick(41.0)


SHARDS = 3
DELAYS = {0: 0.5, 1: 2.0, 2: 7.0}  # one domain for each shard
WHO = st.integers(0, 5)


class Simulated(Struct):
    """A worker: its state, its unread messages, and those that the core has not read."""

    lease: ShardLease
    inbox: deque[Order]
    outbox: deque[dict[int, float]]
    asked: dict[int, float]
    is_alive: bool = True
    is_paused: bool = False
    is_deaf: bool = False  # what is said to it arrives late
    is_mute: bool = False  # what it says arrives late


class Ownership(RuleBasedStateMachine):
    """Messages are late, processes die or pause, a kill takes its time, deaths are seen late or never.

    After every step everybody asks whatever he thinks he may.
    """

    @initialize(count=st.integers(1, 3))
    def begin(self, count: int) -> None:
        self.now = 100.0
        self.assignment = ShardAssignment(SHARDS, lease=LEASE, silence=SILENCE)
        self.fetchers: dict[int, Simulated] = {}
        self.unseen: set[int] = set()
        self.last_asked: dict[int, float] = {}
        for _ in range(count):
            self.join()

    def _some(self, pick: int) -> tuple[int, Simulated] | None:
        able = [(number, fetcher) for number, fetcher in self.fetchers.items() if fetcher.is_alive]
        return able[pick % len(able)] if able else None

    @rule()
    def join(self) -> None:
        if sum(fetcher.is_alive for fetcher in self.fetchers.values()) < 4:
            number = len(self.fetchers) + 1
            self.fetchers[number] = Simulated(ShardLease(), deque(), deque(), {})
            self.assignment.join(number, self.now)

    @rule(seconds=st.sampled_from([0.25, 0.5, 0.5, 0.75]), rounds=st.integers(1, 8))
    def go_on(self, seconds: float, rounds: int) -> None:
        """Let the core and the working workers run normally."""
        for _ in range(rounds):
            self.now += seconds
            for number, fetcher in self.fetchers.items():
                if fetcher.is_alive and not fetcher.is_paused and not fetcher.is_mute:
                    self._hear(number, fetcher)
            for order in self.assignment.tick(self.now):
                if not isinstance(order, Kill):  # a kill may take its time: the rule ``die`` says when
                    self.fetchers[order.worker].inbox.append(order)
            for fetcher in self.fetchers.values():
                if fetcher.is_alive and not fetcher.is_paused and not fetcher.is_deaf:
                    self._read(fetcher, len(fetcher.inbox))
            self.everybody_asks()

    @rule(seconds=st.sampled_from([0.01, 0.6, 1.9, 2.1, 3.5, 8.0]))
    def pause_the_core(self, seconds: float) -> None:
        self.now += seconds

    def _hear(self, number: int, fetcher: Simulated) -> None:
        self.assignment.heard(number, self.now)
        while fetcher.outbox:
            self.assignment.returned(number, fetcher.outbox.popleft())

    def _read(self, fetcher: Simulated, count: int) -> None:
        for _ in range(min(count, len(fetcher.inbox))):
            match fetcher.inbox.popleft():
                case Renew(_, until):
                    fetcher.lease.renewed(until)
                case Grant(_, shards, since):
                    fetcher.lease.granted(shards, since)
                case Recall(_, shards):
                    fetcher.lease.recalled(shards)
                    fetcher.outbox.append({shard: fetcher.asked.get(shard, 0.0) for shard in shards})

    @rule(pick=WHO, count=st.integers(1, 3))
    def read_late(self, pick: int, count: int) -> None:
        if (found := self._some(pick)) is not None and not found[1].is_paused:
            self._read(found[1], count)

    @rule(pick=WHO, is_paused=st.booleans())
    def pause_or_wake(self, pick: int, is_paused: bool) -> None:
        if (found := self._some(pick)) is not None:
            found[1].is_paused = is_paused

    @rule(pick=WHO, is_deaf=st.booleans(), is_mute=st.booleans())
    def be_late(self, pick: int, is_deaf: bool, is_mute: bool) -> None:
        if (found := self._some(pick)) is not None:
            found[1].is_deaf, found[1].is_mute = is_deaf, is_mute

    @rule(pick=WHO, is_seen=st.booleans())
    def die(self, pick: int, is_seen: bool) -> None:
        if (found := self._some(pick)) is not None:
            found[1].is_alive = False
            self.unseen.add(found[0])
            if is_seen:
                self.see_deaths()

    @rule()
    def see_deaths(self) -> None:
        for number in sorted(self.unseen):
            self.fetchers[number].outbox.clear()  # all that it said is read before its death counts
            self.assignment.died(number, self.now)
        self.unseen.clear()

    @invariant()
    def everybody_asks(self) -> None:
        for fetcher in self.fetchers.values():
            if not fetcher.is_alive or fetcher.is_paused:
                continue
            for shard, delay in DELAYS.items():
                earliest = max(fetcher.lease.since(shard), fetcher.asked.get(shard, 0.0)) + delay
                if fetcher.lease.may_ask(shard, self.now) and self.now >= earliest:
                    gap = self.now - self.last_asked.get(shard, 0.0)
                    assert gap >= delay - 1e-9, f"shard {shard} is asked {gap:.2f} s after the last time"
                    fetcher.asked[shard] = self.last_asked[shard] = self.now

    @invariant()
    def a_shard_has_one_holder_at_most(self) -> None:
        held = [shard for number in self.fetchers for shard in self.assignment.held(number)]
        assert len(held) == len(set(held))


Ownership.TestCase.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
TestOwnership = Ownership.TestCase
