"""A process whose files temporarily cannot grow: acknowledged writes must survive."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from tests.live.stores.fakes import LEASE, message, url_of

from scoter.errors import StoreUnavailable
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.journal import SqliteJournal

_ROOM = 600_000
_PADDING = "x" * 2_000


async def main(path: Path) -> None:
    # A limit on the size of files fails a write as a full disk does, and needs no disk of its own.
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_ROOM, hard))
    kept: list[str] = []
    db = ServiceDb(path)
    journal = SqliteJournal(db)
    try:
        for number in range(10_000):
            name = f"{number}{_PADDING}"
            await journal.accept([(message(name), [url_of(f"n{number}")])])
            kept.append(name)
    except StoreUnavailable:
        print("refused")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await journal.accept([(message("after"), [url_of("after")])])
    kept.append("after")
    db.close()

    async with ServiceDb(path) as again:
        found = [entry.message for entry in await SqliteJournal(again).open("r", 20_000, LEASE)]
    assert found == kept
    print("recovered")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
