"""The crawl directory.

```
mycrawl/
  crawl.json        format and creation time
  settings.toml     the settings that the crawl was started with
  LOCK              which command is changing the crawldb
  crawldb/          a table: the state of every URL
  linkdb/           a table: the inlinks of every URL
  indexdb/          a table: what is in the search indexes
  hostdb/           a table: the facts about every host (batch/hosts)
  webgraph/         tables: the link graph, and those of hosts and domains (graph/tables.py)
  index/            the embedded search index
  segments/         one folder per segment (segment.py)
  progress.jsonl    how far commands were, for programs that watch the crawl (progress.py)
  traps.json        URL patterns and hosts whose pages hardly differ (fetchlists/traps.py)
  robots.sqlite     cached robots.txt files
  holds.sqlite      until when hosts must be left alone
  tmp/              temporary files of running jobs
  STOP              created by a person: the crawl ends after its current step
```
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from types import FrameType

import msgspec

from scoter.batch.crawldir.segment import Segment
from scoter.config.sources import CRAWL_SETTINGS
from scoter.errors import UsageError, UserError, typed
from scoter.store.disk import check_utf8_path, disk_errors, sweep
from scoter.store.tables.local import LocalStorage
from scoter.store.tables.storage import this_process
from scoter.store.tables.versions import current_manifest

FORMAT = 1
MARKER = "crawl.json"
LOCK = "LOCK"
ROBOTS_CACHE = "robots.sqlite"
HOLDS = "holds.sqlite"
STOP = "STOP"
_NAME = "%Y%m%d%H%M%S"


class CrawlMarker(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``crawl.json``."""

    format: int
    created: datetime
    scoter: str = ""


class CrawlDir:
    """A crawl on disk and the paths in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.crawldb = path / "crawldb"
        self.linkdb = path / "linkdb"
        self.indexdb = path / "indexdb"
        self.hostdb = path / "hostdb"
        self.webgraph = path / "webgraph"
        self.segments = path / "segments"
        self.scratch = path / "tmp"

    def __repr__(self) -> str:
        return f"CrawlDir({str(self.path)!r})"

    @classmethod
    def open(cls, path: str | Path) -> CrawlDir:
        """Open an existing crawl."""
        check_utf8_path(path)
        found = cls(Path(path))
        marker = found.path / MARKER
        with disk_errors("read the crawl directory", marker):
            if not found.path.exists():
                raise UsageError(
                    "no such directory",
                    where=str(path),
                    hint=f"To start a crawl there: scoter inject {typed(path)} URL",
                )
            if not marker.is_file():
                raise UsageError(
                    f"not a crawl directory: it has no {MARKER}",
                    where=str(path),
                    hint="Pass a directory created by `scoter inject` or `scoter crawl`.",
                )
            data = marker.read_bytes()
        _check(data, marker)
        return found

    @classmethod
    def create(cls, path: str | Path, now: datetime) -> CrawlDir:
        """Open a crawl, or create it if the directory is missing or empty."""
        check_utf8_path(path)
        found = cls(Path(path))
        if (found.path / MARKER).exists():
            return cls.open(path)
        with disk_errors("create the crawl directory", found.path):
            if found.path.exists() and (not found.path.is_dir() or not found._is_begun()):
                raise UsageError(
                    "not a crawl directory, and not empty",
                    where=str(path),
                    hint="Pass a directory that does not exist yet.",
                )
            found.segments.mkdir(parents=True, exist_ok=True)
        marker = CrawlMarker(format=FORMAT, created=now, scoter=version("scoter"))
        LocalStorage(found.path).replace(MARKER, msgspec.json.encode(marker) + b"\n")
        return found

    def _is_begun(self) -> bool:
        """Return whether the directory holds only the remains of an interrupted ``create``."""
        left = {path.name for path in self.path.iterdir()} - {f"{MARKER}.new"}
        return not left or (left == {self.segments.name} and not any(self.segments.iterdir()))

    def record_settings(self, text: str) -> None:
        """Store the settings that later commands on this crawl start from."""
        file = self.path / CRAWL_SETTINGS
        with disk_errors("record the crawl's settings", file):
            is_known = file.read_text("utf-8") == text if file.exists() else not text
        if not is_known:
            LocalStorage(self.path).replace(CRAWL_SETTINGS, text.encode())

    @contextmanager
    def lock(self, command: str, now: datetime | None = None) -> Iterator[None]:
        """Lock out other commands that change the crawldb, and remove what killed ones left behind."""
        lock = LocalStorage(self.path).lock(LOCK, this_process(command, now or datetime.now(UTC)))
        try:
            sweep(self.scratch)
            for left in self.segments.glob(".*"):
                shutil.rmtree(left, ignore_errors=True)
            yield
        finally:
            lock.release()

    def all_segments(self) -> list[Segment]:
        """Return the segments, oldest first."""
        with disk_errors("list the segments", self.segments):
            found = sorted(self.segments.iterdir()) if self.segments.is_dir() else []
        return [Segment(path) for path in found if path.is_dir() and not path.name.startswith(".")]

    def segment(self, name: str) -> Segment:
        """Return a segment by name or path; without a name, the newest."""
        known = self.all_segments()
        if not name:
            if not known:
                raise UsageError(
                    "there are no segments", where=str(self.path), hint=f"Run: scoter generate {typed(self.path)}"
                )
            return known[-1]
        wanted = Path(name).name
        if wanted in (names := [each.name for each in known]):
            return known[names.index(wanted)]
        shown = ", ".join(names[-5:]) or "none"
        raise UsageError(f"no such segment: {wanted}", where=str(self.segments), hint=f"The newest segments: {shown}")

    def new_segment_name(self, now: datetime) -> str:
        """Return a new segment name, derived from the time, that sorts after all existing ones.

        Names of removed segments are not reused: the tables would take the new segment for applied.
        """
        last = max((each.name for each in self.all_segments()), default="")
        name = now.astimezone(UTC).strftime(_NAME)
        name = name if name > last else _after(last)
        tables = (self.crawldb, self.linkdb, self.indexdb, self.hostdb, self.webgraph / "links")
        taken = {name for table in tables for name in applied_segments(table) or ()}
        while name in taken:
            name = _after(name)
        return name


def applied_segments(table: Path) -> frozenset[str] | None:
    """Return the names of the segments applied to a table, or ``None`` if there is no table."""
    manifest = current_manifest(LocalStorage(table)) if table.is_dir() else None
    return None if manifest is None else frozenset(manifest.applied)


def _after(name: str) -> str:
    """Return the next name: one second later if it is a time.

    >>> _after("20261115235959"), _after("merged")
    ('20261116000000', 'merged-1')
    """
    try:
        moment = datetime.strptime(name, _NAME).replace(tzinfo=UTC)
    except ValueError:
        return f"{name}-1"
    return (moment + timedelta(seconds=1)).strftime(_NAME)


def _check(data: bytes, marker: Path) -> None:
    try:
        found = msgspec.json.decode(data, type=CrawlMarker)
    except msgspec.DecodeError as failure:
        raise UserError(f"the file is damaged: {failure}", where=str(marker)) from failure
    if found.format > FORMAT:
        raise UserError(
            f"this crawl was made by a newer version of Scoter ({found.scoter or 'format ' + str(found.format)})",
            where=str(marker),
            hint="Install that version or a later one.",
        )


class StopRequest:
    """Whether the user has asked a running job to stop: Ctrl-C, SIGTERM, or a file in the crawl directory.

    The first Ctrl-C requests a clean stop; the second one interrupts as usual.
    """

    def __init__(self, file: Path | None = None, on_signal: Callable[[], None] = lambda: None) -> None:
        """``on_signal`` is called when a signal asks to stop, within the signal handler."""
        self._file = file
        self._on_stop = on_signal
        self.by = ""
        self.is_interrupted = False
        """Whether it was Ctrl-C."""

    def __bool__(self) -> bool:
        if not self.by and self._file is not None and self._file.exists():
            self.by = f"the file {self._file.name}"
        return bool(self.by)

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Treat SIGINT and SIGTERM as stop requests inside the context."""
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.by:
            raise KeyboardInterrupt
        self.is_interrupted = number == signal.SIGINT
        self.by = "Ctrl-C" if self.is_interrupted else "a signal"
        self._on_stop()
