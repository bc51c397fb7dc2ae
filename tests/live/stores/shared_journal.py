"""Two scheduler processes on one journal: which held which entry, and when.

python -m tests.live.stores.shared_journal FOLDER ENTRIES SEED
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter, defaultdict
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

from tests.live.stores.fakes import done, message

from scoter.config.sections.live import LiveSettings
from scoter.live.clock import steady_now
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores

LEASE = timedelta(seconds=0.2)


async def schedule(path: Path, reader: str, seed: int, told: int) -> None:
    """Work until nothing is left; report for every entry when it was certainly held, and how that ended."""
    rng = random.Random(seed)
    async with ServiceDb(path, shared=True) as db:
        stores = SqliteStores(db, LiveSettings(tries=1_000))
        while stores.journal.waiting():
            asked = steady_now()
            entries = await stores.journal.open(reader, rng.randrange(1, 8), LEASE)
            since = steady_now()
            for entry in entries:
                until, how = steady_now(), rng.choices(["record", "abort", "forget"], [6, 3, 1])[0]
                if how == "record":
                    (event,) = await stores.outcomes.record(reader, [done(entry)])
                    how = "record" if event else "lost"
                elif how == "abort":
                    await stores.journal.abort(reader, [entry.id])
                else:
                    until = asked + LEASE.total_seconds()  # it is surely ours until then, and nobody gives it back
                until = min(until, asked + LEASE.total_seconds())
                os.write(told, f"{entry.id} {since} {until} {how}\n".encode())
            if not entries:
                await asyncio.sleep(0.01)


async def fill(path: Path, entries: int) -> None:
    async with ServiceDb(path) as db:
        stores = SqliteStores(db)
        await stores.journal.accept([(message(str(n)), [f"https://h{n % 9}.example/{n}"]) for n in range(entries)])


def main(path: Path, entries: int, seed: int) -> None:
    asyncio.run(fill(path, entries))
    reading, writing = os.pipe()
    children = []
    for reader in ("anna", "bert"):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(schedule(path, reader, hash((seed, reader == "anna")), writing))
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(writing)
    text = b""
    while more := os.read(reading, 65536):
        text += more
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    had: dict[int, list[tuple[float, float]]] = defaultdict(list)
    ends: Counter[str] = Counter()
    for line in text.decode().splitlines():
        number, since, until, how = line.split()
        ends[how] += 1
        if float(since) < float(until):
            had[int(number)].append((float(since), float(until)))
    for entry, spans in had.items():
        spans.sort()
        for earlier, later in pairwise(spans):
            assert earlier[1] <= later[0], f"entry {entry} was had by two at once: {spans}"
    assert ends["record"] == entries, ends
    assert ends["abort"], ends
    assert ends["forget"], ends
    print(f"{entries} entries, each recorded once; {ends['abort']} given back, {ends['forget']} left lying")


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "service.sqlite", int(sys.argv[2]), int(sys.argv[3]))
