"""Lookups of random URLs in a large store: one by one, in batches, and during message load.

The store is filled through its port before the service starts. wrk uses persistent connections. The database file is
far larger than the cache of a lookup process.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from benchmarks.live.messages import Loading, at_rest
from benchmarks.live.service import Service, serving, spent
from benchmarks.live.site import PAGES, url_of
from benchmarks.live.target import Target, at_least, at_most
from scoter.core.metadata import Author, Image, PageMetadata
from scoter.live.api.records import Archived
from scoter.live.ports import StoredRecord
from scoter.live.records import ContentKind, Hop, State, UrlRecord
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.metadata import SqliteMetadata, key_of

DOMAINS = 5_000
CONNECTIONS = 64
BATCH = 250
SINGLE, SINGLE_P99 = 10_000, 50.0  # per second; milliseconds
BESIDE, MESSAGES = 5_000, 100  # lookups per second during the message load
BATCHES = 300  # per second and lookup process
_PUT = 5_000
_LONGEST = 20.0  # seconds per measurement; longer ones give the same result


class Asked(msgspec.Struct):
    """The result of a wrk run; times are in milliseconds."""

    requests: int
    seconds: float
    median: float
    p99: float
    refused: int
    broken: int

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


def stored(number: int, now: datetime) -> StoredRecord:
    """Return a typical record of a news page, about a kilobyte."""
    url = url_of(number, DOMAINS)
    words = f"What the ducks of pond {number} did when the ice came early, and who fed them"
    record = UrlRecord(
        url=url,
        resolved=url,
        state=State.OK,
        fetch=f"{number:032x}",
        fetched_at=now,
        expires_at=now + timedelta(days=14),
        status=200,
        hops=(Hop(url, 200),),
        kind=ContentKind.PAGE,
        content_type="text/html",
        length=25_000,
        metadata=PageMetadata(
            title=f"{words} | The Daily Duck",
            description=f"{words}. Our correspondent went there, stayed for three days and came back with a cold.",
            site_name="The Daily Duck",
            canonical=url,
            language="en",
            image=Image(url=f"http://www.site{number % DOMAINS}.example/images/{number}.jpg", width=1200, height=630),
            authors=(Author(name="A. Drake"),),
        ),
        archived=Archived("live-20261115095950-00001.warc.gz", 1_677 * number, 2_837),
    )
    return StoredRecord(url=url, value=msgspec.json.encode(record), fetched_at=now, expires_at=record.expires_at)


async def fill(database: Path, records: int) -> None:
    """Store records in key order, which is the fastest way to fill the file."""
    now = datetime.now(UTC)
    numbers = sorted(range(records), key=lambda number: key_of(url_of(number, DOMAINS)))
    async with ServiceDb(database) as db:
        store = SqliteMetadata(db)
        for start in range(0, records, _PUT):
            await store.put([stored(number, now) for number in numbers[start : start + _PUT]])


def ask(service: Service, seconds: float, records: int, batch: int = 0) -> Asked:
    """Run wrk for a while."""
    script = Path(__file__).with_name("lookups.lua")
    options = ["-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "-s", str(script)]
    words = [str(records), str(DOMAINS), str(PAGES), str(batch)]
    command = [shutil.which("wrk") or "wrk", *options, f"http://127.0.0.1:{service.port}", "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"wrk failed:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return msgspec.json.decode(done.stdout.rpartition("{")[1] + done.stdout.rpartition("{")[2], type=Asked)


def told(name: str, asked: Asked, cpu: dict[str, float]) -> None:
    micros = 1e6 * cpu.get("lookup process", 0.0) / asked.requests
    print(f"  {name:<34}{asked.rate:>10,.0f}{asked.median:>9.1f}{asked.p99:>9.1f}{micros:>10.0f}", flush=True)


def timed(service: Service, name: str, seconds: float, records: int, batch: int = 0) -> Asked:
    """Warm up for a second, then measure."""
    ask(service, 1, records, batch)
    before = service.used()
    asked = ask(service, seconds, records, batch)
    told(name, asked, spent(before, service.used()))
    return asked


def measure(folder: Path, web: int, records: int, seconds: float) -> list[Target]:
    """Fill a store, look up, and return the figures."""
    seconds = min(seconds, _LONGEST)
    began = time.monotonic()
    asyncio.run(fill(folder / "service.sqlite", records))
    print(f"Lookups: {records:,} stored URLs (put in {time.monotonic() - began:.0f} s), {CONNECTIONS} connections")
    print(f"  {'':<34}{'a second':>10}{'median':>9}{'p99 ms':>9}{'CPU µs':>10}")
    with serving(folder, web, live__lookups=2) as service:
        single = timed(service, "one by one, 2 lookup processes", seconds, records)
        loading = Loading(service.port, MESSAGES, seconds + 3, first=10 * records)
        beside = timed(service, f"beside {MESSAGES} messages a second", seconds, records)
        load = loading.wait()
        is_calm = at_rest(service)
    with serving(folder, web, live__lookups=1) as service:
        alone = timed(service, "one by one, 1 lookup process", seconds, records)
        batches = timed(service, f"batches of {BATCH}, 1 lookup process", seconds, records, BATCH)
    taken = load.statuses.get("202", 0)
    wrong = sum(asked.refused + asked.broken for asked in (single, beside, alone, batches))
    return [
        Target("lookups without an answer, or not found", f"{wrong:,}", "none", wrong == 0),
        at_least("lookups, one by one", single.rate, SINGLE, "a second"),
        at_most("lookups, one by one: p99", single.p99, SINGLE_P99, "ms"),
        at_least(f"lookups beside {MESSAGES} messages a second", beside.rate, BESIDE, "a second"),
        Target("messages beside lookups, done", f"{taken:,}", f"{len(load.due):,}", taken == len(load.due) and is_calm),
        at_least(f"batches of {BATCH}, one lookup process", batches.rate, BATCHES, "a second"),
    ]
