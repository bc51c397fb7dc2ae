"""A segment: fetch lists, their results, and the state of the segment.

```
segments/20261115033000/
  segment.json                      when and how it was made, number of lists and URLs
  crawl_generate/list-00000.parquet the fetch lists, one file each
  crawl_fetch/    parts: the result of every fetch
  content/        parts: the WARC files, each with its CDXJ index
  parse_data/ parse_text/ crawl_parse/   parts: page metadata, texts, outlinks
  FETCHED  PARSED                   empty files: the step is complete
  LOCK                              which command is fetching or parsing it
  state.json                        in an object store, instead of FETCHED and PARSED: complete steps, valid parts
  incoming/                         parts from executors of a cluster, until the driver accepts them
  EXECUTORS                         executors of a cluster may be fetching it
```

Parts with the same name belong together. During a fetch, the part of ``crawl_fetch`` gets its name last and makes the
others valid; when pages are parsed separately, the part of ``parse_data`` does.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

import msgspec
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.engine.sources import TableSource
from scoter.errors import UserError
from scoter.plugins import Column
from scoter.store.disk import disk_errors, make_folder, sync_file, sync_folder
from scoter.store.objects.copies import drop_copies, lock_file, process_folder
from scoter.store.objects.leases import LeaseView
from scoter.store.objects.path import StorePath
from scoter.store.tables import PartLimits, PartSet
from scoter.store.tables.local import storage_at
from scoter.store.tables.schema import defaults_of, with_columns
from scoter.store.tables.storage import StorageLock, this_process
from scoter.store.warc import WarcPart

LOCK = "LOCK"
WORKERS_LOCK = "WORKERS"
FETCHED = "FETCHED"
PARSED = "PARSED"
INFO_FILE = "segment.json"
INCOMING = "incoming"
EXECUTORS = "EXECUTORS"
MAIN_TEXT = "main_text"
MAIN_MARKDOWN = "main_markdown"
STATE = "state.json"
"""The state of a segment in an object store, which replaces the empty files."""
# A worker has five of these open at once, and writing a row group takes several times its size. It should not spend
# its time on compression either.
_TEXTS = ("text", "main_text", "markdown")
_BOUNDS = PartLimits(row_group_bytes=2 * 2**20, level=1, page_index=False)


class SegmentOrigin(msgspec.Struct, frozen=True):
    """The name of a segment, and of the segments it was merged from."""

    name: str
    merged: tuple[SegmentOrigin, ...] = ()

    def is_in(self, applied: Collection[str]) -> bool:
        """Return whether the segment, or every segment it was merged from, was applied to a table."""
        return self.name in applied or (bool(self.merged) and all(each.is_in(applied) for each in self.merged))

    def is_partly_in(self, applied: Collection[str]) -> bool:
        return self.name in applied or any(each.is_partly_in(applied) for each in self.merged)


class SegmentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``segment.json``."""

    created: datetime
    lists: int
    urls: int
    made_by: str = "generate"
    partition: str = "host"
    buckets: tuple[int, ...] = ()
    """The fetch list of each bucket of hosts (``fetchlists/lists.py``); without it, there are as many as lists."""
    merged: tuple[SegmentOrigin, ...] = ()
    """The segments it was merged from."""


class SegmentState(msgspec.Struct, frozen=True):
    """The content of ``state.json``: the complete steps, and the current attempt to fetch the segment.

    ``parts`` are the finished parts of earlier attempts; those that a suspended one publishes later do not count.
    ``is_listed``: those of the current attempt are listed there too, and do not count before.
    """

    done: frozenset[str] = frozenset()
    attempt: int = 0
    parts: frozenset[str] = frozenset()
    is_listed: bool = False

    def counts(self, part: str) -> bool:
        """Return whether a part counts; its name has the number of its attempt."""
        return part in self.parts or (not self.is_listed and attempt_of(part) == self.attempt)


def attempt_of(part: str) -> int:
    """Return the attempt that wrote a part of a fetch.

    >>> attempt_of("part-000-002-00001.parquet"), attempt_of("part-00001.parquet")
    (2, 0)
    """
    pieces = part.split("-")
    return int(pieces[2]) if len(pieces) == 4 else 0


class Segment:
    """One segment on disk or in an object store."""

    def __init__(self, path: Path, made: Path | None = None) -> None:
        """``made``: where the main text is that could not be stored in the segment."""
        self.path = path
        self._made = made or path
        self.name = path.name
        self.content = path / "content"
        self.storage = storage_at(path)
        self._fetched: SegmentState | None = None
        self._last_attempt = 0

    def __repr__(self) -> str:
        return f"Segment({self.name!r})"

    def info(self) -> SegmentInfo:
        """Read ``segment.json``."""
        file = self.path / INFO_FILE
        with disk_errors("read the segment", file):
            data = file.read_bytes()
        try:
            return msgspec.json.decode(data, type=SegmentInfo)
        except msgspec.DecodeError as failure:
            raise UserError(f"the file is damaged: {failure}", where=str(file)) from failure

    def origin(self) -> SegmentOrigin:
        """Return the name of the segment and of those it was merged from."""
        return SegmentOrigin(self.name, self.info().merged)

    def is_in(self, applied: Collection[str]) -> bool:
        """Return whether the segment was applied to a table, given the names of the segments applied to it."""
        return self.name in applied or self.origin().is_in(applied)

    @property
    def is_fetched(self) -> bool:
        return self._is_done(FETCHED)

    @property
    def is_parsed(self) -> bool:
        return self._is_done(PARSED)

    def finish(self, step: str) -> None:
        """Mark a step (``FETCHED``, ``PARSED``) as complete, durably."""
        if isinstance(self.path, StorePath):
            state = self._state()
            self._set_state(replace(state, done=state.done | {step}))
        else:
            self.storage.replace(step, b"")

    def reopen(self, step: str) -> None:
        """Mark a step as incomplete."""
        if isinstance(self.path, StorePath):
            state = self._state()
            self._set_state(replace(state, done=state.done - {step}))
        else:
            with disk_errors("change the segment", self.path):
                (self.path / step).unlink(missing_ok=True)

    def remove_tables(self, names: Sequence[str]) -> None:
        """Remove tables, each at once where folders can be renamed."""
        for name in names:
            if isinstance(self.path, StorePath):
                self.storage.remove(name)
                drop_copies(str(self.path / name))
                continue
            old = self.path / f".{name}"
            with disk_errors("remove the table", self.path):
                shutil.rmtree(old, ignore_errors=True)
                if (self.path / name).exists():
                    (self.path / name).rename(old)
                    sync_folder(self.path)
                    shutil.rmtree(old)

    def adopt_state(self, draft: Segment) -> None:
        """Take over the state of the local draft that this segment was uploaded from."""
        done = frozenset(step for step in (FETCHED, PARSED) if draft._is_done(step))
        if done:
            self._set_state(SegmentState(done=done, parts=frozenset(draft.crawl_fetch().finished())))

    def _is_done(self, step: str) -> bool:
        if isinstance(self.path, StorePath):
            return step in self._state().done
        return (self.path / step).exists()

    @property
    def scratch(self) -> Path:
        """The folder of temporary files, which is always local."""
        return self.path / "tmp" if not isinstance(self.path, StorePath) else process_folder() / "segments" / self.name

    @property
    def workers_lock(self) -> Path:
        """The file that the workers of this machine lock while they fetch this segment."""
        if not isinstance(self.path, StorePath):
            return self.path / WORKERS_LOCK
        return lock_file(str(self.path / WORKERS_LOCK))

    @property
    def archive_drafts(self) -> Path:
        """The folder in which archives are written."""
        return self.content if not isinstance(self.content, StorePath) else self.scratch / "content"

    def publish_archive(self, archive: WarcPart) -> None:
        """Move a sealed archive and its index to the segment."""
        archive.publish()
        if isinstance(self.content, StorePath):
            for file in (archive.path, archive.index_path):
                self.content.client.upload((self.content / file.name).key, file)
                file.unlink()

    def begin_attempt(self, finished: Collection[str], *, is_listed: bool = False) -> int:
        """Begin an attempt to fetch the rest of the segment and return its number; the caller holds the lock.

        ``is_listed``: its parts count only once they are accepted (``accept_part``).
        """
        number = 1 + max(self._last_attempt, *map(attempt_of, finished), 0)
        if isinstance(self.path, StorePath):
            state = self._state()
            number = max(number, 1 + state.attempt)
            self._set_state(replace(state, attempt=number, parts=frozenset(finished), is_listed=is_listed))
        self._last_attempt = number
        return number

    def files_of_part(self, part: str, folder: Path) -> list[str]:
        """Return the files of a finished part in a local copy, in the order in which they become valid."""
        archive = [f"content/{self.name}-{part}.warc.gz", f"content/{self.name}-{part}.cdxj"]
        tables = [f"{table}/{part}.parquet" for table in ("parse_text", "crawl_parse", "parse_data", "crawl_fetch")]
        return [name for name in archive + tables if (folder / name).is_file()]

    def offer_part(self, part: str, spool: Path, offer: str) -> None:
        """Copy a part from a local folder; it is invisible until it is accepted."""
        for name in self.files_of_part(part, spool):
            if isinstance(self.path, StorePath):
                self.path.client.upload((self.path / name).key, spool / name)
                continue
            copy = self.path / INCOMING / offer / name
            with disk_errors("copy the part", copy):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(spool / name, copy)
                sync_file(copy)

    def accept_part(self, part: str, offer: str) -> None:
        """Make an offered part valid, durably; the caller holds the lock."""
        if isinstance(self.path, StorePath):
            state = self._state()
            self._set_state(replace(state, parts=state.parts | {f"{part}.parquet"}))
            return
        folder = self.path / INCOMING / offer
        for name in self.files_of_part(part, folder):
            target = self.path / name
            with disk_errors("name the part", target):
                make_folder(target.parent)
                (folder / name).rename(target)
                sync_folder(target.parent)

    def remove_offers(self) -> None:
        """Remove offered parts that were not accepted."""
        if not isinstance(self.path, StorePath):
            shutil.rmtree(self.path / INCOMING, ignore_errors=True)

    def note_executors(self, silence: float) -> None:
        """Note that executors may be fetching, and for how long nobody else may if this process is killed."""
        self.storage.replace(EXECUTORS, msgspec.json.encode(silence))

    def forget_executors(self) -> None:
        """Note that no executor is fetching."""
        self.storage.remove(EXECUTORS)

    def executors_silence(self) -> float:
        """Return how many seconds to wait for executors of a fetch that was killed."""
        data = self.storage.read(EXECUTORS)
        return 0.0 if data is None else msgspec.json.decode(data, type=float)

    def _state(self) -> SegmentState:
        data = self.storage.read(STATE)
        try:
            return SegmentState() if data is None else msgspec.json.decode(data, type=SegmentState)
        except msgspec.DecodeError as failure:
            raise UserError(f"the file is damaged: {failure}", where=str(self.path / STATE)) from failure

    def _set_state(self, state: SegmentState) -> None:
        self.storage.replace(STATE, msgspec.json.encode(state, order="deterministic") + b"\n")

    def _valid_parts(self, parts: list[str]) -> list[str]:
        if not parts:
            return parts
        # Once all is fetched, no other parts become valid.
        state = self._fetched = self._fetched or self._state()
        if FETCHED not in state.done:
            self._fetched = None
        return list(filter(state.counts, parts))

    def crawl_generate(self, extra: Sequence[Column] = ()) -> PartSet:
        return PartSet(self.path / "crawl_generate", schemas.CRAWL_GENERATE, extra=extra, bounds=_BOUNDS)

    def crawl_fetch(self, extra: Sequence[Column] = ()) -> PartSet:
        return self._parts("crawl_fetch", schemas.CRAWL_FETCH, extra)

    def parse_data(self) -> PartSet:
        return self._parts("parse_data", schemas.PARSE_DATA)

    def parse_text(self) -> PartSet:
        return self._parts("parse_text", schemas.PARSE_TEXT, bulky=_TEXTS)

    def main_text(self, *, markdown: bool = False) -> PartSet:
        """Return the parts with main text, or also with Markdown, that replace those of ``parse_text``.

        See ``batch/main_text``.
        """
        folder = self._made / (MAIN_MARKDOWN if markdown else MAIN_TEXT)
        return PartSet(folder, schemas.PARSE_TEXT, bounds=_BOUNDS, bulky=_TEXTS)

    def crawl_parse(self, extra: Sequence[Column] = ()) -> PartSet:
        return self._parts("crawl_parse", schemas.CRAWL_PARSE, extra)

    def _parts(self, name: str, schema: Any, extra: Sequence[Column] = (), bulky: Collection[str] = ()) -> PartSet:
        parts = partial(PartSet, self.path / name, schema, extra=extra, bounds=_BOUNDS, bulky=bulky)
        return parts(valid=self._valid_parts) if isinstance(self.path, StorePath) else parts()

    @contextmanager
    def lock(self, command: str) -> Iterator[StorageLock]:
        """Lock out other commands that fetch or parse this segment."""
        lock = self.storage.lock(LOCK, this_process(command, datetime.now(UTC)), guards=(STATE,))
        try:
            yield lock
        finally:
            lock.release()

    def check_lock(self, token: str) -> None:
        """Raise unless a lock that another process took still belongs to it; a local lock ends with its process."""
        if isinstance(self.path, StorePath):
            LeaseView(self.path.client, (self.path / LOCK).key, token).check()


class SegmentSources:
    """The valid parts of one or more segments, as sources. The parts of a table are listed when first needed.

    While a segment is being fetched, a part of another table is valid if ``crawl_fetch`` has a part of that name; if
    pages are parsed later, ``parse_data`` must have one.
    """

    def __init__(self, segments: Sequence[Segment], extra: Sequence[Column] = ()) -> None:
        self._segments = segments
        self._extra = extra

    @cached_property
    def generate(self) -> TableSource:
        files = [file for segment in self._segments for file in segment.crawl_generate().files]
        return _source(files, schemas.CRAWL_GENERATE, self._extra)

    @cached_property
    def fetch(self) -> TableSource:
        return _source(chain.from_iterable(self._fetched), schemas.CRAWL_FETCH, self._extra)

    @cached_property
    def parse_data(self) -> TableSource:
        return _source(chain.from_iterable(self._parsed), schemas.PARSE_DATA)

    @cached_property
    def parse_text(self) -> TableSource:
        files: list[str] = []
        for segment, valid in zip(self._segments, self._parsed, strict=True):
            made = {PurePath(each).name: each for each in segment.main_text().files}
            made |= {PurePath(each).name: each for each in segment.main_text(markdown=True).files}
            files += (made.get(PurePath(each).name, each) for each in _named(segment.parse_text().files, valid))
        return _source(files, schemas.PARSE_TEXT)

    @cached_property
    def links(self) -> TableSource:
        files = (
            _named(segment.crawl_parse().files, valid)
            for segment, valid in zip(self._segments, self._parsed, strict=True)
        )
        return _source(chain.from_iterable(files), schemas.CRAWL_PARSE, self._extra)

    @cached_property
    def _fetched(self) -> list[Sequence[str]]:
        return [segment.crawl_fetch().files for segment in self._segments]

    @cached_property
    def _parsed(self) -> list[Sequence[str]]:
        found: list[Sequence[str]] = []
        for number, segment in enumerate(self._segments):
            fetched = None if segment.is_fetched else self._fetched[number]  # listed before the pages
            files = segment.parse_data().files
            found.append(files if fetched is None else _named(files, fetched))
        return found


def _named(files: Iterable[str], like: Iterable[str]) -> tuple[str, ...]:
    names = {PurePath(each).name for each in like}
    return tuple(each for each in files if PurePath(each).name in names)


def _source(files: Iterable[str], schema: Any, extra: Sequence[Column] = ()) -> TableSource:
    return TableSource(files=tuple(files), schema=with_columns(schema, extra), defaults=defaults_of(extra))
