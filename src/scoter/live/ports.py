"""The interfaces between the live pipeline and its surroundings.

Each has an implementation on this machine (in memory, SQLite, local processes) and may have one for a cluster. What
belongs together is written together: ``OutcomeRecorder.record`` stores a URL's records, announces the outcome and
closes the journal entry. It does so in one transaction if it can, else in this order, so that a crash between two steps
repeats work and never loses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from scoter.api import Archived, DomainRule
from scoter.core.reply import Exchange, Reply, Request
from scoter.core.url import Url
from scoter.live.records import ContentSummary, Event, Message, Priority, UrlRecord


class JournalEntry(Struct, frozen=True, kw_only=True):
    """One URL of an accepted message, to be worked on; ``tries`` counts how often it was opened before."""

    id: int
    message: str
    url: str
    priority: Priority
    force: bool
    callback: str
    accepted: datetime
    tries: int = 0


class Accepted(Struct, frozen=True, kw_only=True):
    """What became of a message: its entries, by URL; ``is_new`` is false for one that was there already."""

    message: str
    entries: Mapping[str, int]
    is_new: bool = True


class Intake(Protocol):
    """Accepted messages, kept until each of their URLs is done. Entries are opened under a lease, most urgent first."""

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        """Keep messages with the URLs found in them for good, before this returns."""

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        """Lend entries to a reader; those it does not close in time are lent again, to whoever asks."""

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        """Prolong leases; return those entries that the reader still has."""

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        """Give entries back at once."""

    def depth(self) -> Mapping[Priority, int]:
        """Return how many entries are not closed."""


class StoredRecord(Struct, frozen=True, kw_only=True):
    """A record as it lies in the store: ready-made JSON, and what must be known without reading it."""

    url: str
    value: bytes
    fetched_at: datetime
    expires_at: datetime
    is_direct: bool = True


class MetadataStore(Protocol):
    """Records by URL. One that is past its time is not there."""

    def get(self, url: str) -> StoredRecord | None: ...

    def get_many(self, urls: Sequence[str]) -> Mapping[str, StoredRecord]:
        """Return what is known of at most 300 URLs."""

    async def put(self, rows: Sequence[StoredRecord]) -> None:
        """Keep records.

        One that is not direct (an alias by rel=canonical), or was fetched before, replaces no direct one that holds.
        """

    async def expire(self, most: int) -> int:
        """Remove at most so many records that are past their time; return how many."""


class UrlOutcome(Struct, frozen=True, kw_only=True):
    """An entry that is worked off: what to keep, and whom to tell."""

    entry: JournalEntry
    record: UrlRecord
    rows: Sequence[StoredRecord]


class OutcomeRecorder(Protocol):
    """Records outcomes once."""

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        """Store, announce and close; none for an entry that the reader no longer has, of which nothing is kept."""


class Events(Protocol):
    """Announcements in their order, kept for a while."""

    def since(self, number: int, most: int) -> Sequence[Event]: ...

    def last(self) -> int: ...

    def first(self) -> int:
        """Return the oldest number that is still kept."""


class Delivery(Struct, frozen=True, kw_only=True):
    """An event on its way to a callback; ``tries`` counts how often it failed before."""

    id: str
    callback: str
    event: Event
    tries: int = 0


class Deliveries(Protocol):
    """Callbacks that are due, kept until they were received or given up."""

    async def due(self, most: int, lease: timedelta) -> Sequence[Delivery]: ...

    async def delivered(self, ids: Sequence[str]) -> None: ...

    async def failed(self, delivery: str, again_in: timedelta | None, why: str) -> None:
        """Try again later; none gives up."""

    async def put_off(self, again_in: Mapping[str, timedelta]) -> None:
        """Give deliveries back that were not tried: each is due again then, and it counts as no failure."""


class HopReply(Struct, frozen=True):
    """The reply to one hop.

    ``waited`` is the seconds it waited for a slot of its domain, or for a hop that it shares; ``remote`` the seconds
    that only the server took. ``read`` summarises the content if the worker has parsed it. ``is_deadly`` means that a
    worker may have crashed while parsing it.
    """

    reply: Reply
    waited: float = 0.0
    read: ContentSummary | None = None
    is_deadly: bool = False
    remote: float = 0.0


class Fetching(Protocol):
    """Makes one hop in its domain's turn, wherever that is done. It never fails: what goes wrong is a reply."""

    async def fetch(self, request: Request, priority: Priority) -> HopReply: ...


class RequestQueues(Fetching, Protocol):
    """One queue for each domain, in which the most urgent comes first."""

    async def fetch(self, request: Request, priority: Priority, *, is_read: bool = False) -> HopReply:
        """Make one hop; what comes may be read at once, where it is fetched, if it is to be read at all."""

    def hurry(self, url: Url, priority: Priority) -> None:
        """Let what waits for a URL wait as somebody this urgent does, from now on; what is as urgent stays as it is."""


class ContentStore(Protocol):
    """Keeps what came over the wire."""

    async def keep(self, exchanges: Sequence[Exchange], *, message: str, fetch: str) -> Sequence[Archived | None]:
        """Archive exchanges of one fetch; return where each lies, none where nothing is kept."""


class DomainRuleStore(Protocol):
    """Rules that are set while the service runs, and outlive it."""

    def get(self, domain: str) -> DomainRule | None: ...

    def all(self) -> Sequence[DomainRule]: ...

    async def put(self, rule: DomainRule) -> None: ...


class FailedDelivery(Struct, frozen=True, kw_only=True):
    """A delivery that nobody took, and why."""

    delivery: Delivery
    why: str
    at: datetime
