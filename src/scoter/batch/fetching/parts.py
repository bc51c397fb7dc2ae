"""One part of a segment: an archive file and its tables, which count together or not at all.

Everything is put on disk for good first. Then the files get their names, the table that makes the others count last:
whatever a kill leaves, a part is whole or is not there.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from scoter.batch.segment import Segment
from scoter.core.reply import Exchange
from scoter.plugins import Column
from scoter.store.tables import OpenPart, PartSet
from scoter.store.warc import Location, WarcPart
from scoter.store.warc.record import About

_ROWS = 4_096
_WEIGHT = 8 * 2**20


class Gathered:
    """Rows on their way into a part: kept as tuples until there are enough for a record batch."""

    def __init__(self, parts: PartSet, name: str) -> None:
        self._schema = parts.schema
        self._part: OpenPart = parts.part(name)
        self._rows: list[tuple[Any, ...]] = []
        self._weight = 0

    def add(self, row: tuple[Any, ...], weight: int = 0) -> None:
        """Take a row, its values in the schema's order; times are microseconds since the epoch."""
        self._rows.append(row)
        self._weight += weight
        if len(self._rows) >= _ROWS or self._weight >= _WEIGHT:
            self._write()

    def extend(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take rows of moderate size."""
        self._rows.extend(rows)
        if len(self._rows) >= _ROWS:
            self._write()

    @property
    def size(self) -> int:
        return self._part.size + self._weight

    def seal(self) -> None:
        self._write()
        self._part.seal()

    def publish(self) -> None:
        self._part.publish()

    def discard(self) -> None:
        self._part.discard()

    def _write(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
            self._part.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
            self._rows = []
            self._weight = 0


class Tables:
    """The tables of one part, in the order in which they get their names; the last makes the others count."""

    def __init__(self, sets: Sequence[PartSet], name: str) -> None:
        self.gathered: list[Gathered] = []
        try:
            for each in sets:
                self.gathered.append(Gathered(each, name))
        except BaseException:
            self.discard()
            raise

    def seal(self) -> None:
        for each in self.gathered:
            each.seal()

    def publish(self) -> None:
        for each in self.gathered:
            each.publish()

    def discard(self) -> None:
        for each in self.gathered:
            each.discard()


class FetchPart:
    """A part of a fetch: what was fetched, its archive, and what the pages say if they are parsed at once."""

    def __init__(
        self,
        segment: Segment,
        name: str,
        extra: Sequence[Column],
        *,
        about: About | None,
        parses: bool,
        opened: datetime,
    ) -> None:
        """Without ``about`` nothing is archived."""
        self.name = name
        self.opened = opened
        self.rows = 0
        self._warc: WarcPart | None = None
        self._warc_args = None if about is None else (segment.content, f"{segment.name}-{name}", about)
        parsed = (segment.parse_text(), segment.crawl_parse(extra), segment.parse_data()) if parses else ()
        self._tables = Tables((*parsed, segment.crawl_fetch(extra)), name)
        *below, self.fetches = self._tables.gathered
        self.texts: Gathered | None
        self.links: Gathered | None
        self.pages: Gathered | None
        self.texts, self.links, self.pages = below or (None, None, None)

    def __repr__(self) -> str:
        return f"FetchPart({self.name}, {self.rows} rows)"

    @property
    def size(self) -> int:
        """The bytes of the archive, or of what would be in it."""
        return self._warc.size if self._warc is not None else self.fetches.size

    def archive(self, exchange: Exchange, facts: tuple[tuple[str, str], ...] = ()) -> Location | None:
        """Put an exchange into the archive, if there is one, and return where it lies."""
        if self._warc_args is None:
            return None
        if self._warc is None:
            folder, name, about = self._warc_args
            self._warc = WarcPart(folder, name, about, opened=self.opened)
        return self._warc.append(exchange, facts)

    def finish(self) -> Path | None:
        """Make the part count."""
        if self._warc is not None:
            self._warc.seal()
        self._tables.seal()
        archived = self._warc.publish() if self._warc is not None else None
        self._tables.publish()
        return archived

    def discard(self) -> None:
        """Remove it."""
        self._tables.discard()
        if self._warc is not None:
            self._warc.discard()


def recover_fetch(segment: Segment) -> list[str]:
    """Remove what killed fetches left unfinished, and return its names."""
    sets = (segment.crawl_fetch(), segment.parse_data(), segment.parse_text(), segment.crawl_parse())
    removed = [name for each in sets for name in each.recover()]
    whole = {Path(name).stem for name in sets[0].finished()}
    for folder in ("parse_data", "parse_text", "crawl_parse"):
        removed += _remove(segment.path / folder, lambda path: path.stem not in whole, "*.parquet")
    mark = f"{segment.name}-"
    removed += _remove(
        segment.content, lambda path: path.name.partition(".")[0].removeprefix(mark) not in whole, f"{mark}*"
    )
    return removed


def _remove(folder: Path, is_stray: Any, pattern: str) -> list[str]:
    found = [path for path in folder.glob(pattern) if is_stray(path)] if folder.is_dir() else []
    for path in found:
        path.unlink(missing_ok=True)
    return [path.name for path in found]
