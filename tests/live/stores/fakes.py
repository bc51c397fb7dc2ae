"""A manual clock and small records, for tests of the stores."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

from scoter.http.api_keys import ApiKeys
from scoter.live.ports import (
    Deliveries,
    DomainHoldStore,
    DomainRuleStore,
    Events,
    FailedDelivery,
    Intake,
    JournalEntry,
    MetadataStore,
    OutcomeRecorder,
    StoredRecord,
    UrlOutcome,
)
from scoter.live.records import Message, Priority, State, UrlRecord

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = timedelta(seconds=30)
T = TypeVar("T")


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that waits for nothing, such as a read from an embedded store."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("the coroutine waits")


class Time:
    """A manual wall clock and lease clock."""

    def __init__(self) -> None:
        self.now = START
        self.ticks = 1_000.0

    def clock(self) -> datetime:
        return self.now

    def tick(self) -> float:
        return self.ticks

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.ticks += seconds


class Journal(Intake, Protocol):
    """The whole interface of a journal."""

    def waiting(self) -> int: ...

    def waiting_of(self, domain: str) -> int: ...

    def waiting_for(self, tenant: str) -> int: ...

    def oldest(self) -> timedelta | None: ...

    def is_done(self, message: str) -> bool | None: ...

    async def prune(self, most: int, *, by_age: bool = True) -> int: ...

    async def accept_retries(self, most: int) -> int: ...

    def retries(self) -> int: ...


class KeptEvents(Events, Protocol):
    async def prune(self, most: int, *, by_age: bool = True) -> int: ...


class KeptDeliveries(Deliveries, Protocol):
    def given_up(self, most: int) -> Sequence[FailedDelivery]: ...

    def waiting(self, most: int, tenant: str | None = None) -> int: ...

    async def prune(self, most: int, *, by_age: bool = True) -> int: ...


class Stores(Protocol):
    """All stores of a service."""

    @property
    def journal(self) -> Journal: ...

    @property
    def metadata(self) -> MetadataStore: ...

    @property
    def outcomes(self) -> OutcomeRecorder: ...

    @property
    def events(self) -> KeptEvents: ...

    @property
    def deliveries(self) -> KeptDeliveries: ...

    @property
    def rules(self) -> DomainRuleStore: ...

    @property
    def holds(self) -> DomainHoldStore: ...

    @property
    def keys(self) -> ApiKeys: ...

    def close(self) -> None: ...


def message(
    name: str,
    *,
    priority: Priority = Priority.NORMAL,
    callback: str = "",
    force: bool = False,
    at: datetime = START,
    digest: bytes = b"",
) -> Message:
    return Message(id=name, text="look", priority=priority, callback=callback, force=force, received=at, digest=digest)


def url_of(name: str) -> str:
    return f"https://{name}.example/"


def stored(
    name: str,
    *,
    value: bytes = b"{}",
    at: datetime = START,
    lives: float = 3600.0,
    stale: float = 0.0,
) -> StoredRecord:
    return StoredRecord(
        url=url_of(name),
        value=value,
        fetched_at=at,
        expires_at=at + timedelta(seconds=lives),
        stale_for=timedelta(seconds=stale),
    )


def record_of(url: str, *, fetch: str = "f", state: State = State.OK, at: datetime = START) -> UrlRecord:
    expires = at + timedelta(hours=1)
    return UrlRecord(url=url, resolved=url, state=state, fetch=fetch, fetched_at=at, expires_at=expires)


def done(entry: JournalEntry, *, fetch: str = "f", value: bytes = b"{}") -> UrlOutcome:
    record = record_of(entry.url, fetch=fetch)
    row = StoredRecord(url=entry.url, value=value, fetched_at=record.fetched_at, expires_at=record.expires_at)
    return UrlOutcome(entry=entry, record=record, rows=[row])


async def accept(journal: Intake, *names: str, priority: Priority = Priority.NORMAL, at: datetime = START) -> None:
    """Accept messages of one URL each."""
    await journal.accept([(message(name, priority=priority, at=at), [url_of(name)]) for name in names])


async def opened(journal: Intake, reader: str = "r", most: int = 100) -> list[str]:
    """Open entries; return their messages."""
    return [entry.message for entry in await journal.open(reader, most, LEASE)]
