"""Tables of the hosts of crawls, with their URLs by status, ready before somebody asks for them.

Jobs store them with each version of the crawldb (``batch.crawldir.host_counts``). The rows of a large crawldb without
stored counts are counted in a process of their own, never while a request waits.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from scoter.batch.crawldir import host_counts
from scoter.batch.crawldir.crawldb import no_crawldb, table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.host_counts import count_hosts, stored_host_counts
from scoter.batch.crawldir.schemas import DB_STATUSES
from scoter.core.bounded import BoundedMap
from scoter.errors import ScoterError, UserError
from scoter.store.disk import scratch_of_reader
from scoter.store.tables import Table

MAX_HOSTS: Final = 1_000_000
_KEPT: Final = 256 * 2**20  # bytes; a million hosts take about 90 MiB
_MAX_CRAWLS: Final = 1_000
_SECONDS: Final = 600.0


class HostsUncounted(UserError):
    """The hosts of a crawl are being counted."""


class _Counted(Struct, frozen=True):
    """The hosts of a version of a crawldb, and its URLs by status; both are ``None`` if they cannot be counted."""

    version: tuple[int, datetime]
    hosts: Any
    by_status: dict[str, int] | None = None


class HostTables:
    """Returns the hosts of crawls; safe to use from several threads."""

    def __init__(self, count: Callable[[CrawlDir], Any] | None = None) -> None:
        """``count`` returns the counts of a large crawldb."""
        self._count = count or _count_apart
        self._known: BoundedMap[str, _Counted] = BoundedMap(_MAX_CRAWLS, max_weight=_KEPT)
        self._lock = threading.Lock()
        self._background = ThreadPoolExecutor(1, "hosts")
        self._counting: set[str] = set()

    def close(self) -> None:
        self._background.shutdown(wait=False, cancel_futures=True)

    def hosts(self, name: str, crawl: CrawlDir) -> Any:
        """Return the hosts of a crawl, sorted, with their URLs by status; raise ``HostsUncounted`` if not known yet.

        While those of a new version are counted, these are the hosts of the version before.
        """
        found = self._latest(name, crawl)
        if found is None:
            raise HostsUncounted("the hosts of this crawl are being counted", hint="Try again in a few seconds.")
        if found.hosts is None:
            raise UserError("the hosts cannot be counted", where=name, hint="Run: scoter readdb --stats, to see why.")
        return found.hosts

    def statuses(self, name: str, crawl: CrawlDir, version: int) -> dict[str, int] | None:
        """Return the number of URLs by status in a version, or ``None`` if not known yet."""
        found = self._latest(name, crawl)
        return None if found is None or found.version[0] != version else found.by_status

    def _latest(self, name: str, crawl: CrawlDir) -> _Counted | None:
        if not table_exists(crawl.crawldb):
            raise no_crawldb(crawl)
        with Table.open(crawl.crawldb) as table:
            version = table.version, table.manifest.created
            with self._lock:
                known = self._known.get(name)
            if known is not None and known.version == version:
                return known
            counts = stored_host_counts(crawl, table, MAX_HOSTS)
            if counts is None and table.manifest.rows < host_counts.MIN_ROWS:
                counts = count_hosts(table)
            rows = table.manifest.rows
        if counts is not None:
            return self._keep(name, _Counted(version, _shown(counts), _by_status(counts, rows)))
        with self._lock:
            if name not in self._counting:
                self._counting.add(name)
                self._background.submit(self._count_now, name, crawl, version, rows)
        return known

    def _keep(self, name: str, counted: _Counted) -> _Counted:
        with self._lock:
            self._put(name, counted)
        return counted

    def _put(self, name: str, counted: _Counted) -> None:
        self._known.put(name, counted, weight=0 if counted.hosts is None else counted.hosts.nbytes)

    def _count_now(self, name: str, crawl: CrawlDir, version: tuple[int, datetime], rows: int) -> None:
        found = _Counted(version, None)
        try:
            counts = self._count(crawl)
            found = _Counted(version, _shown(counts), _by_status(counts, rows))
        except (ScoterError, OSError):
            pass  # the next request says so
        finally:
            with self._lock:
                self._put(name, found)
                self._counting.discard(name)


def _count_apart(crawl: CrawlDir) -> Any:
    """Count the rows of a crawldb in another process of low priority."""
    program = [sys.executable, "-m", "scoter.batch.api.count_process"]
    try:
        # The folder is made here, so that it is removed even if the process is killed.
        with scratch_of_reader(crawl.scratch, "hosts") as scratch:
            done = subprocess.run(  # noqa: S603 - a path of a crawl, which no shell reads
                [*program, str(crawl.path), str(scratch.path)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
                start_new_session=True,
            )
        return pa.ipc.open_stream(done.stdout).read_all()
    except (subprocess.SubprocessError, pa.ArrowException) as error:
        raise UserError("the hosts cannot be counted", where=str(crawl.path)) from error


def _shown(counts: Any) -> Any:
    """Return the columns that the API has."""
    columns = {name: counts[name] for name in ("host", "urls", "fetched", "unfetched", "gone")}
    columns["redirects"] = pc.add(counts["redir_temp"], counts["redir_perm"])
    columns |= {"duplicates": counts["duplicate"], "best_score": counts["best_score"]}
    return pa.table(columns)


def _by_status(counts: Any, rows: int) -> dict[str, int] | None:
    """Return the URLs by status, unless hosts are left out because there are too many."""
    if (pc.sum(counts["urls"]).as_py() or 0) != rows:
        return None
    found = {name: pc.sum(counts[name]).as_py() or 0 for name in sorted(DB_STATUSES)}
    return {name: count for name, count in found.items() if count}
