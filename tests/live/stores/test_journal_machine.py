"""Compares the journal with a simple model under random operations and crashes."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.effort import examples
from tests.live.memory.stores import MemoryStores
from tests.live.stores.fakes import LEASE, START, Stores, Time, at_once, done, message, url_of

from scoter.config.sections.live import LiveSettings
from scoter.live.ports import JournalEntry
from scoter.live.records import Priority, State
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

T = TypeVar("T")

TRIES = 3
WINDOW = 2
NEVER = timedelta(days=10_000)  # turns for the patient have a test of their own; here the order is strict
SETTINGS = LiveSettings(patience=NEVER, tries=TRIES, in_flight_per_domain=WINDOW)
READERS = st.sampled_from(["anna", "bert"])


class Line:
    """An open entry of the model."""

    def __init__(self, number: int, name: str, url: str, priority: Priority) -> None:
        self.id = number
        self.message = name
        self.url = url
        self.priority = priority
        self.tries = 0
        self.reader: str | None = None
        self.until = 0.0
        self.is_parked = False


class JournalMachine(RuleBasedStateMachine):
    """The in-memory journal, which cannot crash."""

    crashes = False

    def __init__(self) -> None:
        super().__init__()
        self.time = Time()
        self.runner = asyncio.Runner()
        self.lines: dict[int, Line] = {}
        self.messages: dict[str, dict[str, int]] = {}
        self.announced: list[tuple[str, str, State]] = []
        self.seen: dict[int, JournalEntry] = {}

    def make(self) -> Stores:
        return MemoryStores(clock=self.time.clock, steady_clock=self.time.tick, live=SETTINGS)

    def run_now(self, step: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(step)

    @initialize()
    def begin(self) -> None:
        self.stores = self.make()

    def teardown(self) -> None:
        self.stores.close()
        self.runner.close()

    @rule(
        name=st.integers(0, 30).map(str),
        urls=st.lists(st.sampled_from("abcdef"), max_size=4),
        priority=st.sampled_from(Priority),
    )
    def accept(self, name: str, urls: list[str], priority: Priority) -> None:
        asked = [url_of(url) for url in urls]

        (accepted,) = self.run_now(self.stores.journal.accept([(message(name, priority=priority), asked)]))

        assert accepted.is_new == (name not in self.messages)
        if accepted.is_new:
            assert list(accepted.entries) == list(dict.fromkeys(asked))
            assert not set(accepted.entries.values()) & (set(self.lines) | set(self.seen))
            self.messages[name] = dict(accepted.entries)
            for url, number in accepted.entries.items():
                line = self.lines[number] = Line(number, name, url, priority)
                line.is_parked = len(self.alike(line)) > WINDOW
        else:
            assert accepted.entries == self.messages[name]

    @rule(reader=READERS, most=st.integers(1, 8))
    def open(self, reader: str, most: int) -> None:
        entries = self.run_now(self.stores.journal.open(reader, most, LEASE))

        for line in self.lines.values():
            if line.reader is not None and line.until <= self.time.ticks:
                line.reader = None
        waiting = [line for line in self.lines.values() if line.reader is None and not line.is_parked]
        chosen = sorted(waiting, key=lambda line: (line.priority, line.id))[:most]
        lent = [line for line in chosen if line.tries < TRIES]
        assert [(entry.id, entry.url, entry.tries) for entry in entries] == [
            (line.id, line.url, line.tries) for line in lent
        ]
        for line in chosen:
            if line.tries >= TRIES:
                self.close(line, State.FAILED)
        for line in lent:
            line.reader, line.until, line.tries = reader, self.time.ticks + LEASE.total_seconds(), line.tries + 1
        self.seen.update((entry.id, entry) for entry in entries)

    @precondition(lambda self: self.seen)
    @rule(reader=READERS, data=st.data())
    def record(self, reader: str, data: st.DataObject) -> None:
        entry = self.seen[data.draw(st.sampled_from(sorted(self.seen)))]

        (event,) = self.run_now(self.stores.outcomes.record(reader, [done(entry)]))

        line = self.lines.get(entry.id)
        assert (event is not None) == (line is not None and line.reader == reader)
        if line is not None and event is not None:
            self.close(line, State.OK)

    @precondition(lambda self: self.seen)
    @rule(reader=READERS, data=st.data())
    def renew(self, reader: str, data: st.DataObject) -> None:
        asked = data.draw(st.lists(st.sampled_from(sorted(self.seen)), unique=True, max_size=4))

        kept = self.run_now(self.stores.journal.renew(reader, asked, LEASE))

        assert list(kept) == self.held(reader, asked)
        for number in kept:
            self.lines[number].until = self.time.ticks + LEASE.total_seconds()

    @precondition(lambda self: self.seen)
    @rule(reader=READERS, data=st.data())
    def abort(self, reader: str, data: st.DataObject) -> None:
        asked = data.draw(st.lists(st.sampled_from(sorted(self.seen)), unique=True, max_size=4))

        self.run_now(self.stores.journal.abort(reader, asked))

        for number in self.held(reader, asked):
            self.lines[number].reader = None
            self.lines[number].tries -= 1

    @rule(seconds=st.sampled_from([1.0, 15.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.time.passes(seconds)

    @rule(seconds=st.integers(-100_000, 100_000))
    def the_wall_clock_is_set(self, seconds: int) -> None:
        # Not to before the messages came: then they count as having waited for long, and have a share of the turns.
        self.time.now = max(START, self.time.now + timedelta(seconds=seconds))

    @precondition(lambda self: self.crashes)
    @rule()
    def crash(self) -> None:
        self.stores = self.after_a_crash()
        for line in self.lines.values():
            line.reader = None

    def after_a_crash(self) -> Stores:
        raise NotImplementedError

    @invariant()
    def the_counts_are_right(self) -> None:
        journal = self.stores.journal
        lines = self.lines.values()
        assert journal.depth() == {p: sum(line.priority == p for line in lines) for p in Priority}
        for name in "abcdef":
            assert journal.waiting_of(f"{name}.example") == sum(line.url == url_of(name) for line in lines)
        for name in self.messages:
            assert journal.is_done(name) == (name not in {line.message for line in lines})

    @invariant()
    def what_was_closed_was_announced_once_and_in_order(self) -> None:
        events = at_once(self.stores.events.since(0, 10_000))
        assert [(event.message, event.url, event.record.state) for event in events] == self.announced
        assert [event.number for event in events] == list(range(1, len(events) + 1))

    def held(self, reader: str, asked: list[int]) -> list[int]:
        return [number for number in asked if number in self.lines and self.lines[number].reader == reader]

    def alike(self, line: Line) -> list[Line]:
        """Return all entries with the domain and priority of one; at most a window of them is leased."""
        return [other for other in self.lines.values() if (other.url, other.priority) == (line.url, line.priority)]

    def close(self, line: Line, state: State) -> None:
        del self.lines[line.id]
        parked = [other for other in self.alike(line) if other.is_parked]
        if parked:
            min(parked, key=lambda other: other.id).is_parked = False
        self.announced.append((line.message, line.url, state))


class SqliteJournalMachine(JournalMachine):
    """The SQLite journal. A crash copies the files as they are; a new service opens the copy."""

    crashes = True

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(mkdtemp(prefix="scoter-journal-"))
        self.lives = 0

    def make(self) -> Stores:
        path = self.root / str(self.lives) / "service.sqlite"
        self.db = ServiceDb(path, clock=self.time.clock, steady_clock=self.time.tick, boot="a boot")
        return SqliteStores(self.db, SETTINGS)

    def after_a_crash(self) -> Stores:
        left, self.lives = self.root / str(self.lives), self.lives + 1
        shutil.copytree(left, self.root / str(self.lives), ignore=shutil.ignore_patterns("*-shm", "*.lock"))
        self.db.close()
        shutil.rmtree(left)
        return self.make()

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.root)


TestMemoryJournal = JournalMachine.TestCase
TestMemoryJournal.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
TestSqliteJournal = SqliteJournalMachine.TestCase
TestSqliteJournal.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
