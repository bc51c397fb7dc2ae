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
```

Parts with the same name belong together. During a fetch, the part of ``crawl_fetch`` gets its name last and makes the
others valid; when pages are parsed separately, the part of ``parse_data`` does.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

import msgspec
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.engine.sources import TableSource
from scoter.errors import UserError
from scoter.plugins import Column
from scoter.store.disk import disk_errors, sync_folder
from scoter.store.tables import PartLimits, PartSet
from scoter.store.tables.local import LocalStorage
from scoter.store.tables.schema import defaults_of, with_columns
from scoter.store.tables.storage import this_process

LOCK = "LOCK"
FETCHED = "FETCHED"
PARSED = "PARSED"
INFO_FILE = "segment.json"
# A worker has five of these open at once, and writing a row group takes several times its size. It should not spend
# its time on compression either.
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
    merged: tuple[SegmentOrigin, ...] = ()
    """The segments it was merged from."""


class Segment:
    """One segment on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.content = path / "content"

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
        return (self.path / FETCHED).exists()

    @property
    def is_parsed(self) -> bool:
        return (self.path / PARSED).exists()

    def finish(self, step: str) -> None:
        """Mark a step (``FETCHED``, ``PARSED``) as complete, durably."""
        with disk_errors("finish the segment", self.path):
            handle = os.open(self.path / step, os.O_CREAT | os.O_WRONLY, 0o644)
            os.fsync(handle)
            os.close(handle)
            sync_folder(self.path)

    def crawl_generate(self, extra: Sequence[Column] = ()) -> PartSet:
        return PartSet(self.path / "crawl_generate", schemas.CRAWL_GENERATE, extra=extra, bounds=_BOUNDS)

    def crawl_fetch(self, extra: Sequence[Column] = ()) -> PartSet:
        return PartSet(self.path / "crawl_fetch", schemas.CRAWL_FETCH, extra=extra, bounds=_BOUNDS)

    def parse_data(self) -> PartSet:
        return PartSet(self.path / "parse_data", schemas.PARSE_DATA, bounds=_BOUNDS)

    def parse_text(self) -> PartSet:
        return PartSet(
            self.path / "parse_text", schemas.PARSE_TEXT, bounds=_BOUNDS, bulky=("text", "main_text", "markdown")
        )

    def crawl_parse(self, extra: Sequence[Column] = ()) -> PartSet:
        return PartSet(self.path / "crawl_parse", schemas.CRAWL_PARSE, extra=extra, bounds=_BOUNDS)

    @contextmanager
    def lock(self, command: str) -> Iterator[None]:
        """Lock out other commands that fetch or parse this segment."""
        lock = LocalStorage(self.path).lock(LOCK, this_process(command, datetime.now(UTC)))
        try:
            yield
        finally:
            lock.release()


class SegmentSources(Struct, frozen=True, kw_only=True):
    """The valid parts of one or more segments, as sources."""

    generate: TableSource
    fetch: TableSource
    parse_data: TableSource
    parse_text: TableSource
    links: TableSource


def segment_sources(segments: Sequence[Segment], extra: Sequence[Column] = ()) -> SegmentSources:
    """Return the valid parts of segments.

    While a segment is being fetched, a part of another table is valid if ``crawl_fetch`` has a part of that name; if
    pages are parsed later, ``parse_data`` must have one.
    """
    files: defaultdict[str, list[str]] = defaultdict(list)
    for segment in segments:
        fetch, data = segment.crawl_fetch().files, segment.parse_data().files
        valid = data if segment.is_fetched else _named(data, fetch)
        files["generate"] += segment.crawl_generate().files
        files["fetch"] += fetch
        files["data"] += valid
        files["text"] += _named(segment.parse_text().files, valid)
        files["links"] += _named(segment.crawl_parse().files, valid)
    return SegmentSources(
        generate=_source(files["generate"], schemas.CRAWL_GENERATE, extra),
        fetch=_source(files["fetch"], schemas.CRAWL_FETCH, extra),
        parse_data=_source(files["data"], schemas.PARSE_DATA),
        parse_text=_source(files["text"], schemas.PARSE_TEXT),
        links=_source(files["links"], schemas.CRAWL_PARSE, extra),
    )


def _named(files: Iterable[str], like: Iterable[str]) -> tuple[str, ...]:
    names = {PurePath(each).name for each in like}
    return tuple(each for each in files if PurePath(each).name in names)


def _source(files: Iterable[str], schema: Any, extra: Sequence[Column] = ()) -> TableSource:
    return TableSource(files=tuple(files), schema=with_columns(schema, extra), defaults=defaults_of(extra))
