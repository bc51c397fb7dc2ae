"""Fakes for tests of the live pipeline: simulated time and a scripted web."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeAlias, TypeVar

from msgspec.structs import replace
from tests.live.memory.stores import MemoryStores
from tests.live.stores.fakes import at_once
from tests.simulated import VirtualLoop as VirtualLoop
from tests.simulated import simulated as simulated
from tests.simulated import ticks as ticks

from scoter.compose import Service
from scoter.config import Config
from scoter.core.reply import Exchange, Failed, Gone, Headers, Reason, Reply, Request, Timings, reply_to
from scoter.core.url import Url, canonical
from scoter.live.api.records import Archived
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.order import pipeline
from scoter.live.pipeline.parser import ResponseParser
from scoter.live.pipeline.scheduler import Scheduler
from scoter.live.ports import HopReply, JournalEntry, OutcomeRecorder, UrlOutcome
from scoter.live.records import Event, Message, Priority, UrlRecord
from scoter.parse import ContentParser
from scoter.parse.documents.image import ImageParser
from scoter.parse.parsers import HtmlParser
from scoter.plugins import Setup

NOW = datetime(2026, 3, 1, tzinfo=UTC)
READER = "reader"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 3, 4, 8, 6, 0, 0, 0)) + _chunk(b"IEND", b"")
"""A picture of 3 by 4 pixels, as far as its head tells."""

P = ParamSpec("P")
T = TypeVar("T")


def clock() -> datetime:
    """Return the wall time of the running loop."""
    return NOW + timedelta(seconds=asyncio.get_running_loop().time())


Script: TypeAlias = Callable[[Url], Reply]


def exchange(url: Url, status: int = 200, body: bytes = b"", headers: Headers = ()) -> Exchange:
    return Exchange(
        url=url,
        started=NOW,
        request_head=b"",
        response_head=b"",
        status=status,
        headers=headers,
        body=body,
    )


def page(body: str = "<title>A page</title>", status: int = 200, **headers: str) -> Script:
    fields = {"content_type": "text/html; charset=utf-8", **headers}
    named = tuple((name.replace("_", "-"), value) for name, value in fields.items())
    return lambda url: reply_to(exchange(url, status, body.encode(), named), NOW)


def picture(body: bytes = PNG, **headers: str) -> Script:
    named = tuple((name.replace("_", "-"), value) for name, value in {"content_type": "image/png", **headers}.items())
    return lambda url: reply_to(exchange(url, 200, body, named), NOW)


def moved(to: str, status: int = 301) -> Script:
    return lambda url: reply_to(exchange(url, status, b"", (("Location", to),)), NOW)


def refresh(to: str, seconds: int = 0) -> Script:
    return page(f'<meta http-equiv="refresh" content="{seconds}; url={to}"><title>Wait</title>')


def lasting(seconds: float, script: Script) -> Script:
    """Return a script whose server took the given time."""

    def answer(url: Url) -> Reply:
        reply = script(url)
        assert reply.exchange is not None
        return replace(reply, exchange=replace(reply.exchange, timings=Timings(total=seconds)))

    return answer


def failed(reason: Reason, detail: str = "") -> Script:
    return lambda url: Failed(url, reason, detail)


def gone(reason: Reason) -> Script:
    return lambda url: Gone(url, reason)


class ScriptedWeb:
    """Replies by URL, 404 for others. ``takes`` is the seconds that a reply takes."""

    def __init__(self, answers: Mapping[str, Script] | None = None, *, takes: float = 0.0) -> None:
        self.answers: dict[str, Script] = dict(answers or {})
        self.takes: Callable[[str], float] = lambda url: takes
        self.waited = 0.0
        self.asked: list[str] = []
        self.priorities: list[Priority] = []
        self.under_way: Counter[str] = Counter()
        self.most_under_way = 0
        self.raised: list[tuple[str, Priority]] = []
        self.cancelled: list[str] = []
        self.ends_after = 0.0  # seconds from being cancelled
        self.defect: Exception | None = None
        self.slots: dict[str, float] = {}  # by URL: the seconds until its domain has a slot
        self.first_bytes: dict[str, int] = {}
        self.measured: list[str] = []  # those of ``asked`` that were asked only for their first bytes

    async def fetch(self, request: Request, priority: Priority, *, is_read: bool = False) -> HopReply:
        url = request.url.text
        self.asked.append(url)
        self.first_bytes[url] = request.first_bytes
        if request.first_bytes:
            self.measured.append(url)
        self.priorities.append(priority)
        self.under_way[url] += 1
        self.most_under_way = max(self.most_under_way, self.under_way.total())
        try:
            await asyncio.sleep(self.takes(url))
        except asyncio.CancelledError:
            await asyncio.sleep(self.ends_after)
            self.cancelled.append(url)
            raise
        finally:
            self.under_way[url] -= 1
        if self.defect is not None:
            raise self.defect
        answer = self.answers.get(url, page("<title>Nothing</title>", 404))
        return HopReply(answer(request.url), self.waited)

    def seconds_to_slot(self, url: Url) -> float:
        return self.slots.get(url.text, 0.0)

    def raise_priority(self, url: Url, priority: Priority) -> None:
        self.raised.append((url.text, priority))


class KeptContent:
    """A content store that records its calls."""

    def __init__(self) -> None:
        self.kept: list[tuple[str, str, list[str]]] = []
        self.takes = 0.0
        self.defect: Exception | None = None

    async def keep(self, exchanges: Sequence[Exchange], *, message: str, fetch: str) -> Sequence[Archived | None]:
        await asyncio.sleep(self.takes)
        if self.defect is not None:
            raise self.defect
        self.kept.append((message, fetch, [each.url.text for each in exchanges]))
        return [Archived(f"{len(self.kept)}.warc.gz", at, len(each.body)) for at, each in enumerate(exchanges)]


class SlowOutcomes:
    """A slow recorder of outcomes."""

    def __init__(self, outcomes: OutcomeRecorder) -> None:
        self._outcomes = outcomes
        self.takes = 0.0

    async def record(self, reader: str, done: Sequence[UrlOutcome]) -> Sequence[Event | None]:
        await asyncio.sleep(self.takes)
        return await self._outcomes.record(reader, done)


def configuration(**live: Any) -> Config:
    config = Config()
    return replace(
        config,
        live=replace(config.live, **live),
        parse=replace(config.parse, metadata=True, skip_truncated=False),  # as the service does
        agent=replace(config.agent, name="testbot"),
    )


def reading_of(config: Config) -> ResponseParser:
    setup = Setup(config)
    # Parsers that are handed in stay in this process.
    return ResponseParser(config, ContentParser(config, [("html", HtmlParser(setup)), ("image", ImageParser(setup))]))


class Bench:
    """A pipeline over in-memory stores and a scripted web, with helpers for tests."""

    def __init__(self, web: ScriptedWeb, *, stores: MemoryStores | None = None, **live: Any) -> None:
        self.config = configuration(**live)
        self.web = web
        self.content: Any = KeptContent()
        self.stores = stores or MemoryStores(clock=clock, steady_clock=ticks)
        self.outcomes = SlowOutcomes(self.stores.outcomes)
        self.done: list[Context] = []
        self._messages = 0
        self.pipeline = self.pipeline_of(READER)

    def pipeline_of(self, reader: str) -> Service[Context, Context]:
        return pipeline(
            self.config,
            reader=reader,
            store=self.stores.metadata,
            outcomes=self.outcomes,
            fetching=self.web,
            reading=reading_of(self.config),
            content=self.content,
            rules=self.stores.rules,
            clock=clock,
            timer=ticks,
        )

    def scheduler(self, reader: str = READER, **options: Any) -> Scheduler:
        options = {
            "most": 10,
            "most_of_domain": 1000,
            "lease": timedelta(seconds=30),
            "on_done": self.done.append,
            **options,
        }
        run = options.pop("pipeline", None) or self.pipeline_of(reader)
        return Scheduler(reader, self.stores.journal, run, **options)

    async def accept(self, *urls: str, **fields: Any) -> str:
        """Accept URLs as one message; return its id."""
        self._messages += 1
        message = Message(**{"id": f"m{self._messages}", "received": clock(), **fields})
        await self.stores.journal.accept([(message, [canonical(url).text for url in urls])])
        return message.id

    async def open(self, *urls: str, **fields: Any) -> list[JournalEntry]:
        """Accept URLs and open their entries."""
        await self.accept(*urls, **fields)
        return list(await self.stores.journal.open(READER, len(urls), timedelta(seconds=30)))

    async def submit(self, url: str, **fields: Any) -> Context:
        """Run a URL through the pipeline."""
        (entry,) = await self.open(url, **fields)
        return await self.work(entry)

    def work(self, entry: JournalEntry, fetch: str = "") -> Awaitable[Context]:
        name = fetch or f"fetch of entry {entry.id}"
        return self.pipeline(Context(entry=entry, url=canonical(entry.url), fetch=name))

    @property
    def events(self) -> Sequence[Event]:
        return at_once(self.stores.events.since(0, 100_000))

    def known(self, url: str) -> UrlRecord | None:
        """Return the record of a URL in the store."""
        from msgspec import json

        found = self.stores.metadata.fresh(canonical(url).text)
        return None if found is None else json.decode(found.value, type=UrlRecord)


def until_idle(bench: Bench, *schedulers: Scheduler, seconds: float = 600.0) -> Coroutine[Any, Any, None]:
    """Run schedulers until everything accepted is recorded, or the time is over."""

    async def run() -> None:
        runs = [asyncio.create_task(scheduler.run()) for scheduler in schedulers]
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while bench.stores.journal.waiting() and loop.time() < end:
            await asyncio.sleep(0.05)
        for scheduler in schedulers:
            scheduler.stop()
        await asyncio.gather(*runs)

    return run()
