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
  traps.json        URL patterns and branches of sites that may be traps (fetchlists/traps.py)
  refusals.json     digests of the settings that have refused URLs (urls/refusals.py)
  listed.bin        hashes of the URLs that seed lists and sitemaps have named (urls/listed.py)
  robots.sqlite     cached robots.txt files
  holds.sqlite      until when hosts must be left alone
  tmp/              temporary files of running jobs
  STOP              created by a person: the crawl ends after its current step
```

A crawl directory may also be a URL of an object store (docs/object-stores.md). There, ``segments.json`` lists the
segments, temporary files are local, and ``robots.sqlite`` and ``holds.sqlite`` are copied when a step needs them.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

import msgspec

from scoter import __version__
from scoter.batch.crawldir.segment import FETCHED, PARSED, Segment
from scoter.config.sources import CRAWL_SETTINGS
from scoter.errors import UsageError, UserError, typed
from scoter.store.disk import check_utf8_path, disk_errors, make_folder, sweep, sync_folder, sync_tree
from scoter.store.formats import check_json_format
from scoter.store.objects.client import is_url
from scoter.store.objects.copies import drop_copies, process_folder, shared_copy
from scoter.store.objects.path import StorePath, any_path
from scoter.store.tables.local import storage_at
from scoter.store.tables.storage import this_process
from scoter.store.tables.versions import current_manifest

FORMAT = 1
MARKER = "crawl.json"
LOCK = "LOCK"
ROBOTS_CACHE = "robots.sqlite"
HOLDS = "holds.sqlite"
STOP = "STOP"
SEGMENTS = "segments.json"
"""The names of the segments of a crawl in an object store, which has no folders to rename."""
JOB_VARIABLE = "_SCOTER_JOB"
"""The environment variable that tells a command that it is a job of `scoter ui`."""
SAMPLE_START = "https://www.example.org/ --agent examplebot"
"""The rest of a command that starts a crawl."""
_STOP_INTERVAL = 10.0
_NAME = "%Y%m%d%H%M%S"


class CrawlMarker(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``crawl.json``."""

    format: int
    created: datetime
    scoter: str = ""


class CrawlDir:
    """A crawl on disk or in an object store, and the paths in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.crawldb = path / "crawldb"
        self.linkdb = path / "linkdb"
        self.indexdb = path / "indexdb"
        self.hostdb = path / "hostdb"
        self.webgraph = path / "webgraph"
        self.segments = path / "segments"
        self.made: Path | None = None
        """Where commands find the main text that could not be stored in the segments."""

    def __repr__(self) -> str:
        return f"CrawlDir({str(self.path)!r})"

    @property
    def is_remote(self) -> bool:
        return isinstance(self.path, StorePath)

    @property
    def scratch(self) -> Path:
        """The folder of temporary files, which is always local."""
        return self.path / "tmp" if not isinstance(self.path, StorePath) else process_folder() / "tmp"

    @property
    def disk(self) -> Path:
        """A folder on the disk that a crawl fills."""
        return self.path if not isinstance(self.path, StorePath) else process_folder()

    def set_lease(self, duration: timedelta) -> None:
        """Set how long locks last without renewal, in an object store."""
        if isinstance(self.path, StorePath):
            self.path.client.lease_seconds = duration.total_seconds()

    def local_path(self, purpose: str) -> Path:
        """Return the path, if it is local; ``purpose`` is what needs a local directory."""
        if not isinstance(self.path, StorePath):
            return self.path
        raise UsageError(f"{purpose} needs a crawl directory on a local disk", where=str(self.path))

    @classmethod
    def open(cls, path: str | Path) -> CrawlDir:
        """Open an existing crawl."""
        found = cls(_checked(path))
        marker = found.path / MARKER
        with disk_errors("read the crawl directory", marker):
            try:
                data = marker.read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                if not found.path.exists():
                    raise UsageError(
                        "no such directory",
                        where=str(path),
                        hint=f"To start a crawl there: scoter crawl {typed(path)} {SAMPLE_START}",
                    ) from None
                if (found.crawldb / "current").exists():
                    hint = f"To import it: scoter import-nutch-crawl {typed(path)} NEW-DIR"
                    raise UsageError("a crawl of Apache Nutch", where=str(path), hint=hint) from None
                raise UsageError(
                    f"not a crawl directory: it has no {MARKER}",
                    where=str(path),
                    hint="Pass a directory created by `scoter inject` or `scoter crawl`.",
                ) from None
        _check(data, str(marker))
        return found

    @classmethod
    def create(cls, path: str | Path, now: datetime) -> CrawlDir:
        """Open a crawl, or create it if the directory is missing or empty."""
        found = cls(_checked(path))
        if (found.path / MARKER).is_file():
            return cls.open(path)
        with disk_errors("create the crawl directory", found.path):
            if found.path.exists() and (not found.path.is_dir() or not found._is_begun()):
                raise UsageError(
                    "not a crawl directory, and not empty",
                    where=str(path),
                    hint="Pass a directory that does not exist yet.",
                )
            if not isinstance(found.segments, StorePath):
                make_folder(found.segments)
        marker = CrawlMarker(format=FORMAT, created=now, scoter=__version__)
        storage_at(found.path).replace(MARKER, msgspec.json.encode(marker) + b"\n")
        return found

    def _is_begun(self) -> bool:
        """Return whether the directory holds only the remains of an interrupted ``create``."""
        left = {path.name for path in self.path.iterdir()} - {f"{MARKER}.new"}
        return not left or (left == {self.segments.name} and not any(self.segments.iterdir()))

    def record_settings(self, text: str) -> None:
        """Store the settings that later commands on this crawl start from."""
        place = storage_at(self.path)
        data = place.read(CRAWL_SETTINGS)
        if (data.decode("utf-8", "replace") != text) if data is not None else text:
            place.replace(CRAWL_SETTINGS, text.encode())

    @contextmanager
    def lock(self, command: str, now: datetime | None = None) -> Iterator[None]:
        """Lock out other commands that change the crawldb, and remove what killed ones left behind."""
        holder = this_process(command, now or datetime.now(UTC))
        lock = storage_at(self.path).lock(LOCK, holder, guards=(SEGMENTS,))
        try:
            sweep(self.scratch)
            if not isinstance(self.segments, StorePath):
                for left in self.segments.glob(".*"):
                    shutil.rmtree(left, ignore_errors=True)
            yield
        finally:
            lock.release()

    @contextmanager
    def shared_file(self, name: str, *, publish: bool = True) -> Iterator[Path]:
        """Yield a local path of a SQLite file that commands share.

        In an object store the file is copied to this machine and, with ``publish``, back if its content changed.
        """
        if not isinstance(self.path, StorePath):
            yield self.path / name
            return
        with shared_copy(self.path / name, self.scratch, publish=publish) as file:
            yield file

    def all_segments(self) -> list[Segment]:
        """Return the segments, oldest first."""
        if isinstance(self.segments, StorePath):
            return [self._segment(self.segments / name) for name in self._listed()]
        with disk_errors("list the segments", self.segments):
            found = sorted(self.segments.iterdir()) if self.segments.is_dir() else []
        return [self._segment(path) for path in found if path.is_dir() and not path.name.startswith(".")]

    def _segment(self, path: Path) -> Segment:
        return Segment(path, None if self.made is None else self.made / path.name)

    def draft_segment(self, name: str) -> Segment:
        """Return an empty segment in a local folder that readers ignore."""
        folder = self.segments if not isinstance(self.segments, StorePath) else self.scratch / "segments"
        draft = folder / f".{name}"
        with disk_errors("create the segment", draft):
            shutil.rmtree(draft, ignore_errors=True)
            make_folder(draft)
        return Segment(draft)

    def publish_segment(self, draft: Segment, name: str) -> None:
        """Give a complete draft its name: from now on it is a segment of the crawl."""
        if not isinstance(self.segments, StorePath):
            with disk_errors("name the segment", draft.path):
                sync_tree(draft.path)
                draft.path.rename(self.segments / name)
                sync_folder(self.segments)
            return
        into = self.segments / name
        for file in sorted(draft.path.rglob("*")):
            if file.is_file() and file.name not in (FETCHED, PARSED):
                into.client.upload((into / file.relative_to(draft.path).as_posix()).key, file)
        Segment(into).adopt_state(draft)
        self._list({*self._listed(), name})
        shutil.rmtree(draft.path, ignore_errors=True)

    def remove_segment(self, segment: Segment) -> None:
        """Remove a segment; what a kill leaves of it no longer counts as one."""
        if isinstance(segment.path, StorePath):
            with segment.lock("prune"):
                self._list(set(self._listed()) - {segment.name})
            drop_copies(str(segment.path))
            storage_at(self.segments).remove(segment.name)
            return
        gone = segment.path.with_name(f".removed-{segment.name}")
        with segment.lock("prune"), disk_errors("remove the segment", segment.path):
            segment.path.rename(gone)
            sync_folder(gone.parent)
        shutil.rmtree(gone, ignore_errors=True)

    def _listed(self) -> list[str]:
        data = storage_at(self.path).read(SEGMENTS)
        try:
            return sorted(msgspec.json.decode(data, type=list[str])) if data is not None else []
        except msgspec.DecodeError as failure:
            raise UserError(f"the file is damaged: {failure}", where=str(self.path / SEGMENTS)) from failure

    def _list(self, names: set[str]) -> None:
        storage_at(self.path).replace(SEGMENTS, msgspec.json.encode(sorted(names)) + b"\n")

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
    manifest = current_manifest(storage_at(table)) if isinstance(table, StorePath) or table.is_dir() else None
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


def _checked(path: str | Path) -> Path:
    if not isinstance(path, StorePath) and not is_url(path):
        check_utf8_path(path)
    return any_path(path)


def _check(data: bytes, marker: str) -> None:
    check_json_format("this crawl", data, FORMAT, where=marker)
    try:
        msgspec.json.decode(data, type=CrawlMarker)
    except msgspec.DecodeError as failure:
        raise UserError(f"the file is damaged: {failure}", where=marker) from failure


class StopRequest:
    """Whether the user has asked a running job to stop: Ctrl-C, SIGTERM, or a file in the crawl directory.

    The first Ctrl-C requests a clean stop; the second one interrupts as usual.
    """

    def __init__(self, file: Path | None = None, on_signal: Callable[[], None] = lambda: None) -> None:
        """``on_signal`` is called when a signal asks to stop, within the signal handler."""
        self._file = file
        self._next_look = 0.0
        self._on_stop = on_signal
        self.by = ""
        self.is_interrupted = False
        """Whether it was Ctrl-C."""

    def __bool__(self) -> bool:
        if not self.by and self._file is not None and self._is_there(self._file):
            self.by = f"the file {self._file.name}"
        return bool(self.by)

    def _is_there(self, file: Path) -> bool:
        if not isinstance(file, StorePath):
            return file.exists()
        if time.monotonic() < self._next_look:  # each look is a request
            return False
        self._next_look = time.monotonic() + _STOP_INTERVAL
        return file.is_file()

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
        # A job of `scoter ui` is asked in this way, too.
        by_key = "request" if os.environ.get(JOB_VARIABLE) else "Ctrl-C"
        self.by = by_key if self.is_interrupted else "a signal"
        self._on_stop()
