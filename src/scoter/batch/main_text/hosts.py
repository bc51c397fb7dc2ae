"""The blocks that the pages of each host repeat, in a SQLite file that the workers of a command share.

They are learnt from a sample of the host's pages: those whose URLs have the smallest hashes, so that the result does
not depend on the order of the parts. Memory does not grow with the number of hosts. The file is temporary: it takes
less time to learn hosts again than to keep what is known of them up to date.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from scoter.core.bounded import BoundedMap
from scoter.parse.main import KnownBlocks
from scoter.store.disk import Closing

SAMPLE: Final = 8
"""Pages of a host that are read to learn about it."""
_WAIT: Final = 60.0  # seconds, while another worker writes
_CACHED: Final = 256
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS hosts (host TEXT PRIMARY KEY, sample BLOB NOT NULL, blocks BLOB) WITHOUT ROWID"
)


class KnownHosts(Closing):
    """What is known about hosts. Not thread-safe; several processes may have the file open."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._database = sqlite3.connect(file, timeout=_WAIT, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = OFF")  # the file does not outlive the command
        self._database.execute(_SCHEMA)
        self._found: BoundedMap[str, KnownBlocks] = BoundedMap(_CACHED)

    def __repr__(self) -> str:
        return f"KnownHosts({self._file})"

    def close(self) -> None:
        self._database.close()

    def choose(self, hashes: Mapping[str, Collection[int]], *, only_known: bool) -> None:
        """Add pages of hosts, by the hashes of their URLs, to the samples; ``only_known``: of hosts that have one."""
        with self._transaction():
            for host, found in hashes.items():
                before = self.sample(host)
                if before or not only_known:
                    chosen = array("Q", sorted({*before, *found})[:SAMPLE])
                    self._database.execute(
                        "INSERT INTO hosts (host, sample) VALUES (?1, ?2) "
                        "ON CONFLICT (host) DO UPDATE SET sample = excluded.sample",
                        (host, chosen.tobytes()),
                    )

    def sample(self, host: str) -> frozenset[int]:
        """Return the hashes of the pages to read of a host."""
        with closing(self._database.execute("SELECT sample FROM hosts WHERE host = ?", (host,))) as rows:
            row = rows.fetchone()
        return frozenset(array("Q", row[0])) if row else frozenset()

    def blocks(self, host: str) -> KnownBlocks:
        """Return what is known about a host; the result is cached, so call it once the hosts are learnt."""
        known = self._found.get(host)
        if known is None:
            known = self._stored(host)
            self._found.put(host, known)
        return known

    def add(self, host: str, learnt: KnownBlocks) -> None:
        """Add what some pages of a host's sample told."""
        with self._transaction():
            known = self._stored(host).merge(learnt)
            self._database.execute("UPDATE hosts SET blocks = ? WHERE host = ?", (known.to_bytes(), host))

    def _stored(self, host: str) -> KnownBlocks:
        with closing(self._database.execute("SELECT blocks FROM hosts WHERE host = ?", (host,))) as rows:
            row = rows.fetchone()
        return KnownBlocks.from_bytes(row[0]) if row and row[0] else KnownBlocks()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
