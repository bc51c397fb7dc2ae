"""A segment: a fetch list, what became of it, and how far it has come.

```
segments/20261115033000/
  segment.json                      what it is: when and how it was made, how many lists and URLs
  crawl_generate/list-00000.parquet the fetch lists, one file each
  crawl_fetch/    parts: what each fetch led to
  content/        parts: the WARC files, each with its CDXJ index
  parse_data/ parse_text/ crawl_parse/   parts: what pages say, their text, their links
  FETCHED  PARSED                   empty files that say that a step has come to its end
  LOCK                              who fetches or parses it now
```

Parts of one name belong together. While a segment is fetched, the part of ``crawl_fetch`` gets its name last, and makes
the others count; when it is parsed apart from that, it is the part of ``parse_data``.
"""

from __future__ import annotations

import os
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
# A fetching process has five of these open at once, and to write a row group takes several times its size; and what it
# writes it should not spend its time on compressing.
_BOUNDS = PartLimits(row_group_bytes=2 * 2**20, level=1, page_index=False)


class SegmentOrigin(msgspec.Struct, frozen=True):
    """A segment by its name, with those that it was merged out of, if it was."""

    name: str
    merged: tuple[SegmentOrigin, ...] = ()

    def is_in(self, applied: Collection[str]) -> bool:
        """Tell whether all of it is among what went into a table: itself, or each that it was merged out of."""
        return self.name in applied or (bool(self.merged) and all(each.is_in(applied) for each in self.merged))

    def is_partly_in(self, applied: Collection[str]) -> bool:
        return self.name in applied or any(each.is_partly_in(applied) for each in self.merged)


class SegmentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a segment says of itself."""

    created: datetime
    lists: int
    urls: int
    made_by: str = "generate"
    partition: str = "host"
    merged: tuple[SegmentOrigin, ...] = ()
    """Those that it was merged out of."""


class Segment:
    """One segment on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.content = path / "content"

    def __repr__(self) -> str:
        return f"Segment({self.name!r})"

    def about(self) -> SegmentInfo:
        """Return what the segment says of itself."""
        file = self.path / INFO_FILE
        with disk_errors("read the segment", file):
            data = file.read_bytes()
        try:
            return msgspec.json.decode(data, type=SegmentInfo)
        except msgspec.DecodeError as failure:
            raise UserError(f"the file is damaged: {failure}", where=str(file)) from failure

    def origin(self) -> SegmentOrigin:
        """Return the segment's name, and what it was merged out of."""
        return SegmentOrigin(self.name, self.about().merged)

    def is_in(self, applied: Collection[str]) -> bool:
        """Tell whether what it holds is in a table, by the names of the segments that went into that."""
        return self.name in applied or self.origin().is_in(applied)

    @property
    def is_fetched(self) -> bool:
        return (self.path / FETCHED).exists()

    @property
    def is_parsed(self) -> bool:
        return (self.path / PARSED).exists()

    def finish(self, step: str) -> None:
        """Say for good that a step (``FETCHED``, ``PARSED``) has come to its end."""
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
        """Keep every other command out that fetches or parses this segment."""
        lock = LocalStorage(self.path).lock(LOCK, this_process(command, datetime.now(UTC)))
        try:
            yield
        finally:
            lock.release()


class SegmentSources(Struct, frozen=True, kw_only=True):
    """The sources of one or more segments."""

    generate: TableSource
    fetch: TableSource
    parse_data: TableSource
    parse_text: TableSource
    links: TableSource


def segment_sources(segments: Sequence[Segment], extra: Sequence[Column] = ()) -> SegmentSources:
    """Return the parts of segments that count, together.

    While a segment is being fetched, a part of another table counts when that of ``crawl_fetch`` has its name; what
    is parsed later counts when that of ``parse_data`` has.
    """
    generates: list[str] = []
    fetches: list[str] = []
    datas: list[str] = []
    texts: list[str] = []
    links: list[str] = []
    for segment in segments:
        fetch, data = segment.crawl_fetch().files, segment.parse_data().files
        of_data = data if segment.is_fetched else _named(data, fetch)
        generates += segment.crawl_generate().files
        fetches += fetch
        datas += of_data
        texts += _named(segment.parse_text().files, of_data)
        links += _named(segment.crawl_parse().files, of_data)
    return SegmentSources(
        generate=_source(generates, schemas.CRAWL_GENERATE, extra),
        fetch=_source(fetches, schemas.CRAWL_FETCH, extra),
        parse_data=_source(datas, schemas.PARSE_DATA),
        parse_text=_source(texts, schemas.PARSE_TEXT),
        links=_source(links, schemas.CRAWL_PARSE, extra),
    )


def _named(files: Iterable[str], like: Iterable[str]) -> tuple[str, ...]:
    names = {PurePath(each).name for each in like}
    return tuple(each for each in files if PurePath(each).name in names)


def _source(files: Iterable[str], schema: Any, extra: Sequence[Column] = ()) -> TableSource:
    return TableSource(files=tuple(files), schema=with_columns(schema, extra), defaults=defaults_of(extra))
