"""The interfaces between the live pipeline and its surroundings.

Each has an implementation on one machine (SQLite, local processes; in memory for tests) and may have one for a cluster.
``OutcomeRecorder.record`` stores a URL's records, announces the outcome and closes the journal entry: in one
transaction if possible, else in this order, so that a crash between two steps repeats work but never loses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from scoter.core.reply import Exchange, Reply, Request
from scoter.core.url import Url
from scoter.live.api.records import Archived, DomainRule
from scoter.live.records import ContentSummary, Event, Hop, Message, Priority, UrlRecord


class JournalEntry(Struct, frozen=True, kw_only=True):
    """One URL of an accepted message; ``tries`` counts how often it was opened before.

    If another process has followed redirects from the accepted URL to this one, ``origin`` is the accepted URL, and
    ``trail`` has the hops so far.
    """

    id: int
    message: str
    url: str
    priority: Priority
    force: bool
    callback: str
    accepted: datetime
    tries: int = 0
    origin: str = ""
    trail: tuple[Hop, ...] = ()


class Accepted(Struct, frozen=True, kw_only=True):
    """An accepted message: its entry ids by URL; ``is_new`` is false if the message was known already.

    ``is_conflict`` if its id belongs to a message with other content: nothing was stored, and there are no entries.
    """

    message: str
    entries: Mapping[str, int]
    is_new: bool = True
    is_conflict: bool = False


class MessageIntake(Protocol):
    """Stores accepted messages."""

    async def accept(self, messages: Sequence[tuple[Message, Sequence[str]]]) -> Sequence[Accepted]:
        """Store messages with their URLs durably before returning."""


class Intake(MessageIntake, Protocol):
    """Stores accepted messages until all their URLs are done. Entries are opened under a lease, most urgent first."""

    async def open(self, reader: str, most: int, lease: timedelta) -> Sequence[JournalEntry]:
        """Lease entries to a reader; entries whose lease expires may be leased to any reader."""

    async def renew(self, reader: str, entries: Sequence[int], lease: timedelta) -> Sequence[int]:
        """Renew leases; return the entries that the reader still holds."""

    async def abort(self, reader: str, entries: Sequence[int]) -> None:
        """Return entries at once; this does not count as a try."""

    def depth(self) -> Mapping[Priority, int]:
        """Return the number of open entries by priority."""


class StoredRecord(Struct, frozen=True, kw_only=True):
    """A record as stored: its JSON, and the fields that are needed without decoding it.

    ``fetched_at`` is the last attempt. For ``stale_for`` after its expiry, only ``MetadataStore.last`` returns it.
    """

    url: str
    value: bytes
    fetched_at: datetime
    expires_at: datetime
    stale_for: timedelta = timedelta()


class MetadataStore(Protocol):
    """Records by URL. Only ``last`` returns expired records."""

    async def get(self, url: str) -> StoredRecord | None: ...

    async def last(self, url: str) -> StoredRecord | None:
        """Return the record of a URL, even if it expired less than its ``stale_for`` ago."""

    async def value(self, url: str) -> bytes | None:
        """Return the JSON of a URL's record; cheaper than ``get``."""

    async def values(self, urls: Sequence[str]) -> Mapping[str, bytes]:
        """Return the JSON of the records of at most 300 URLs."""

    async def put(self, rows: Sequence[StoredRecord]) -> None:
        """Store records; an older record never replaces one that has not expired."""

    async def expire(self, most: int) -> int:
        """Remove at most ``most`` records that expired more than their ``stale_for`` ago; return how many."""


class UrlOutcome(Struct, frozen=True, kw_only=True):
    """A finished entry: the record to announce, and the rows to store."""

    entry: JournalEntry
    record: UrlRecord
    rows: Sequence[StoredRecord]


class RedirectHandover(Struct, frozen=True, kw_only=True):
    """An entry whose redirects lead to a domain of another process: the hops so far, and where they lead."""

    entry: JournalEntry
    hops: tuple[Hop, ...]
    target: Url


class RedirectHandovers(Protocol):
    """Passes entries to the process that is responsible for the domain that their redirects lead to."""

    def is_elsewhere(self, url: Url, priority: Priority) -> bool:
        """Return whether another process is responsible for a URL."""

    async def hand_over(self, reader: str, handover: RedirectHandover) -> bool:
        """Pass an entry on and close it here; return false if the reader has lost it."""


class OutcomeRecorder(Protocol):
    """Records each outcome exactly once."""

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        """Store, announce and close; for an entry that the reader has lost, store nothing and return ``None``."""


class Events(Protocol):
    """Events in order, kept for a limited time."""

    async def since(self, number: int, most: int) -> Sequence[Event]: ...

    def last(self) -> int: ...

    def first(self) -> int:
        """Return the number of the oldest stored event."""

    async def prune(self, most: int, *, by_age: bool = True) -> int:
        """Remove at most ``most`` events beyond the limit or, if ``by_age``, too old; return how many."""


class Delivery(Struct, frozen=True, kw_only=True):
    """An event on its way to a callback; ``tries`` counts how often it failed before."""

    id: str
    callback: str
    event: Event
    tries: int = 0


class DeliveryStatus(Struct, frozen=True, kw_only=True):
    """A delivery that was not received: why it failed last, how long until the next try, or when it was given up."""

    delivery: Delivery
    why: str = ""
    again_in: timedelta | None = None
    given_up: datetime | None = None


class Deliveries(Protocol):
    """Events to be posted to callbacks, kept until delivered or given up."""

    async def due(self, most: int, claim: timedelta) -> Sequence[Delivery]:
        """Return deliveries that are due; one that is neither delivered nor failed within ``claim`` is due again."""
        ...

    async def delivered(self, ids: Sequence[str]) -> None: ...

    async def failed(self, delivery: str, again_in: timedelta | None, why: str) -> None:
        """Schedule a retry; give up if ``again_in`` is ``None``."""

    async def put_off(self, again_in: Mapping[str, timedelta]) -> None:
        """Reschedule deliveries that were not attempted; this does not count as a failure."""

    async def unfinished(self, most: int, tenant: str | None = None) -> Sequence[DeliveryStatus]:
        """Return deliveries that are pending or were given up, newest first: those of one tenant, or all."""

    async def resend(self, delivery: str, tenant: str | None = None) -> bool:
        """Make a delivery due now, even one that was given up; return whether there is such a delivery.

        With a ``tenant``, only if it is that tenant's.
        """


class HopReply(Struct, frozen=True):
    """The reply to one hop.

    ``waited`` is the seconds it waited for a slot of its domain, or for a hop that it shares; ``remote`` the seconds
    that only the server took. ``read`` summarises the content if the worker has parsed it. ``has_crashed_worker`` means
    that a worker may have crashed while parsing it.
    """

    reply: Reply
    waited: float = 0.0
    read: ContentSummary | None = None
    has_crashed_worker: bool = False
    remote: float = 0.0


class Fetching(Protocol):
    """Makes one hop in a slot of its domain. It never raises: failures are replies."""

    async def fetch(self, request: Request, priority: Priority) -> HopReply: ...


class RequestQueues(Fetching, Protocol):
    """One request queue per domain, ordered by priority."""

    async def fetch(self, request: Request, priority: Priority, *, is_read: bool = False) -> HopReply:
        """Make one hop; with ``is_read`` the worker may parse the response."""

    def raise_priority(self, url: Url, priority: Priority) -> None:
        """Raise the priority of queued requests for a URL to at least ``priority``."""

    def seconds_to_slot(self, url: Url) -> float:
        """Return the seconds until a new request to a URL could start; infinite while its domain has requests."""


class ContentStore(Protocol):
    """Archives responses."""

    async def keep(self, exchanges: Sequence[Exchange], *, message: str, fetch: str) -> Sequence[Archived | None]:
        """Archive the exchanges of one fetch; return the location of each, or ``None`` if it was not archived."""


class DomainRuleStore(Protocol):
    """Domain rules, which can be changed while the service runs."""

    def get(self, domain: str) -> DomainRule | None: ...

    def all(self) -> Sequence[DomainRule]: ...

    async def put(self, rule: DomainRule) -> None: ...


class DomainHoldStore(Protocol):
    """Long holds of domains (Retry-After, back-off), which survive a restart."""

    def all(self) -> Mapping[str, timedelta]:
        """Return how much longer each domain is on hold."""

    async def put(self, domain: str, hold: timedelta) -> None:
        """Store the hold of a domain, which begins now; it replaces an earlier one."""


class FailedDelivery(Struct, frozen=True, kw_only=True):
    """A delivery that was given up, and why."""

    delivery: Delivery
    why: str
    at: datetime
