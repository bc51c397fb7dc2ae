"""Kills a service that writes under load at seeded random times, and compares its files with what it acknowledged.

    python -m tests.live.stores.crashes FOLDER ROUNDS SEED

The children are forked from this process, so that a round does not pay for imports. They tell through a pipe what
was acknowledged to them, each line in one write: a line that is there was told before the kill.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sqlite3
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from tests.live.stores.fakes import done

from scoter.live.ports import JournalEntry
from scoter.live.records import Message, Priority
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

LEASE = timedelta(seconds=30)
_SENDERS, _WORKERS = 8, 8


async def work(path: Path, told: int, seed: int) -> None:
    """Accept messages and record outcomes until killed."""
    stores = SqliteStores(ServiceDb(path))
    rng = random.Random(seed)
    queue: asyncio.Queue[JournalEntry] = asyncio.Queue(64)

    async def send(sender: int) -> None:
        number = 0
        while True:
            number += 1
            name = f"{seed}-{sender}-{number}"
            urls = [f"https://h{rng.randrange(50)}.example/{name}/{n}" for n in range(rng.randrange(1, 4))]
            callback = "https://me.example/" if number % 5 == 0 else ""
            sent = Message(
                id=name, urls=tuple(urls), received=datetime.now(UTC), priority=Priority(number % 3), callback=callback
            )
            await stores.journal.accept([(sent, urls)])
            os.write(told, f"accepted {name}\n".encode())
            while stores.journal.waiting() > 500:
                await asyncio.sleep(0.001)

    async def read() -> None:
        while True:
            entries = await stores.journal.open("r", 20, LEASE)
            for entry in entries:
                await queue.put(entry)
            await asyncio.sleep(0 if entries else 0.001)

    async def finish() -> None:
        while True:
            entry = await queue.get()
            if rng.random() < 0.05:
                await stores.journal.abort("r", [entry.id])
                continue
            (event,) = await stores.outcomes.record("r", [done(entry, fetch=str(entry.id), value=b"%d" % entry.id)])
            if event is not None:
                os.write(told, f"recorded {entry.id} {event.number}\n".encode())

    await asyncio.gather(*(send(n) for n in range(_SENDERS)), read(), *(finish() for _ in range(_WORKERS)))


def killed(path: Path, seed: int) -> list[list[str]]:
    """Run a child and kill it; return what was acknowledged to it."""
    rng = random.Random(seed)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            asyncio.run(work(path, writing, seed))
        finally:
            os._exit(1)  # it never ends by itself
    os.close(writing)
    text, enough = b"", rng.randrange(50, 4_000)
    while len(text) < enough and (more := os.read(reading, 4096)):
        text += more
    time.sleep(rng.random() * 0.02)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the child ended by itself"
    while more := os.read(reading, 65536):
        text += more
    os.close(reading)
    return [line.split() for line in text.decode().split("\n")[:-1]]


def verify(path: Path, told: list[list[str]]) -> None:
    """Check the tables against each other and against what was acknowledged."""
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    messages = db.execute("SELECT id, urls, first, open, callback FROM messages").fetchall()
    entries = {
        number: (url, priority, domain)
        for number, url, priority, domain in db.execute("SELECT id, url, priority, domain FROM entries")
    }
    events = db.execute("SELECT number, message, url, json_extract(record, '$.fetch') FROM events").fetchall()
    announced = Counter((name, url) for _, name, url, _ in events)
    values = dict(db.execute("SELECT url, value FROM urls").fetchall())

    known = {name for name, *_ in messages}
    numbers = {number: fetch for number, _, _, fetch in events}
    for kind, *facts in told:
        if kind == "accepted":
            assert facts[0] in known, f"{facts[0]} was accepted and is lost"
        else:
            assert numbers.get(int(facts[1])) == facts[0], f"entry {facts[0]} was recorded and its event is lost"
            assert int(facts[0]) not in entries, f"entry {facts[0]} was recorded and is open"

    owed = 0
    for name, urls, first, still_open, callback in messages:
        is_open = [first + place in entries for place in range(len(msgspec.json.decode(urls)))]
        assert sum(is_open) == still_open
        for place, url in enumerate(msgspec.json.decode(urls)):
            assert announced.pop((name, url), 0) == (0 if is_open[place] else 1), (name, url)
            assert values.pop(url, None) == (None if is_open[place] else b"%d" % (first + place)), url
            owed += bool(callback) and not is_open[place]
    assert not announced, "an event without its entry"
    assert not values, "a record without its entry"
    assert db.execute("SELECT count(*) FROM deliveries").fetchone() == (owed,)
    for priority in Priority:
        counted = sum(1 for _, found, _ in entries.values() if found == priority)
        assert db.execute("SELECT n FROM tallies WHERE name = ?", (f"open{int(priority)}",)).fetchone() == (counted,)
    backlog = Counter(domain for _, _, domain in entries.values())
    assert dict(db.execute("SELECT domain, sum(n) FROM backlog GROUP BY domain")) == backlog
    db.close()


async def finish_all(path: Path) -> None:
    """Finish the remaining entries."""
    async with ServiceDb(path) as db:
        stores = SqliteStores(db)
        while entries := await stores.journal.open("last", 500, LEASE):
            await stores.outcomes.record("last", [done(e, fetch=str(e.id), value=b"%d" % e.id) for e in entries])
        assert stores.journal.waiting() == 0


def main(path: Path, rounds: int, seed: int) -> None:
    told: list[list[str]] = []
    for number in range(rounds):
        told += killed(path, seed + number)
        verify(path, told)
    asyncio.run(finish_all(path))
    verify(path, told)
    counts = Counter(kind for kind, *_ in told)
    print(f"{rounds} kills, {counts['accepted']} messages accepted, {counts['recorded']} entries recorded")


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "service.sqlite", int(sys.argv[2]), int(sys.argv[3]))
