"""The API on in-memory stores, and records for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace
from tests.live.api.client import Client
from tests.live.memory.stores import MemoryStores

from scoter.config import Config
from scoter.config.sections.live import LiveSettings
from scoter.core.reply import Exchange, Fetched, Reply, Request
from scoter.core.url import canonical
from scoter.fetch.network.guard import Guard
from scoter.http.metrics import Reading
from scoter.http.sessions import SessionAccess, Sessions
from scoter.http.streams import Streams, StreamTimings
from scoter.live.api.app import Api
from scoter.live.api.history import StatisticsHistory
from scoter.live.api.lookups import Lookup, UrlWaiters
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.api.services import Services
from scoter.live.api.webhooks import callback_check
from scoter.live.intake.messages import MessageReceiver
from scoter.live.ports import HopReply, StoredRecord, UrlOutcome
from scoter.live.records import Priority, State, UrlRecord

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = NOW
        self.ticks = 0.0

    def __call__(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        return self.ticks

    def move(self, by: timedelta) -> None:
        self.now += by
        self.ticks += by.total_seconds()


class FakeFetching:
    """Answers hops from a table, and records the requests."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.asked: list[str] = []

    async def fetch(self, request: Request, priority: Priority) -> HopReply:
        self.asked.append(request.url.text)
        return HopReply(self.replies.get(request.url.text) or page(request.url.text), waited=0.25)


class Bench:
    """The API on in-memory stores, with a client."""

    def __init__(
        self,
        *,
        config: Config | None = None,
        required: bool = False,
        most_streams: int = 100,
        pace: StreamTimings = StreamTimings(heartbeat=0.05, slow=0.05, look=0.01),  # noqa: B008  frozen
        **changes: Any,
    ) -> None:
        self.config = config or Config()
        self.clock = Clock()
        self.stores = MemoryStores(
            clock=self.clock,
            steady_clock=self.clock.monotonic,
            live=LiveSettings(events_most=changes.pop("most_events", 1000)),
        )
        self.fetching = FakeFetching()
        self.waiters = UrlWaiters(changes.pop("most_waiting", 100))
        self.streams = Streams(self.stores.events, most=most_streams, pace=pace)
        self.metrics = ServiceMetrics([Reading("scoter_queue_depth", "URLs that wait.", self._depth, "priority")])
        self.pending: Callable[[str], bool] = lambda url: any(
            row.url == url for row in self.stores.journal._rows.values()
        )
        access = SessionAccess(
            self.stores.keys,
            Sessions(),
            required=required,
            origins=changes.pop("origins", ()),
            clock=self.clock.monotonic,
        )
        self.access = access
        services = Services(
            sink=MessageReceiver(self.config, self.stores.journal, self.stores.journal, self.stores.rules),
            lookup=Lookup(self.stores.metadata, self.pending),
            waiters=self.waiters,
            streams=self.streams,
            rules=self.stores.rules,
            fetching=self.fetching,
            access=access,
            deliveries=self.stores.deliveries,
            history=StatisticsHistory(self.metrics),
            keys=self.stores.keys,
            metrics=self.metrics,
            check_callback=callback_check(Guard(self.config)),
            clock=self.clock,
        )
        self.services = msgspec.structs.replace(services, **changes)
        self.app = Api(self.services)
        self.document: dict[str, Any] = json.loads(self.app.openapi)
        self.client = Client(self.app, self.document, (("Host", "127.0.0.1:8000"),))

    def _depth(self) -> dict[str, float]:
        return {priority.name.lower(): depth for priority, depth in self.stores.journal.depth().items()}

    async def know(self, url: str, state: State = State.OK) -> UrlRecord:
        """Store a record and announce its event."""
        record = record_of(url, state)
        await self.stores.metadata.put([stored(record)])
        return record

    async def work(self) -> int:
        """Do the work of a scheduler: every open entry succeeds."""
        count = 0
        while entries := await self.stores.journal.open("test", 1000, timedelta(minutes=1)):
            count += len(entries)
            for entry in entries:
                record = record_of(entry.url)
                await self.stores.journal.record(
                    "test", [UrlOutcome(entry=entry, record=record, rows=[stored(record)])]
                )
            self.waiters.note(entry.url for entry in entries)
        self.streams.wake()
        return count


def record_of(url: str, state: State = State.OK) -> UrlRecord:
    """Return a record like those of the pipeline."""
    return UrlRecord(
        url=url,
        resolved=url,
        state=state,
        fetch="f1",
        fetched_at=NOW,
        expires_at=NOW + timedelta(days=14),
        status=200,
        content_type="text/html",
        length=12,
    )


def stored(record: UrlRecord) -> StoredRecord:
    return StoredRecord(
        url=record.url,
        value=msgspec.json.encode(record),
        fetched_at=record.fetched_at,
        expires_at=record.expires_at,
    )


def page(url: str, body: bytes = b"<p>hello", status: int = 200, **changes: Any) -> Fetched:
    """Return a fetched page."""
    exchange = Exchange(
        url=canonical(url),
        started=NOW,
        request_head=b"GET / HTTP/1.1\r\n\r\n",
        response_head=b"HTTP/1.1 200 OK\r\n\r\n",
        status=status,
        headers=(("Content-Type", "text/html"),),
        body=body,
    )
    return Fetched(replace(exchange, **changes))
