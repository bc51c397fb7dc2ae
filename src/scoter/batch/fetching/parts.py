"""One part of a segment: an archive file and its tables, which count together or not at all.

Everything is put on disk for good first. Then the files get their names, the table that makes the others count last:
whatever a kill leaves, a part is whole or is not there.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scoter.batch.fetching.paging import PageRows
from scoter.batch.schemas import CRAWL_PARSE
from scoter.batch.segment import Segment
from scoter.core.page import Outlink
from scoter.core.reply import Exchange
from scoter.core.url import Url
from scoter.plugins import Column
from scoter.store.tables import OpenPart, PartSet
from scoter.store.warc import Location, WarcPart
from scoter.store.warc.record import About

_ROWS = 4_096
_LINKS = 65_536
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


class GatheredLinks(Gathered):
    """Links on their way into a part.

    Most of what a crawl writes is links, and most links of a site lead to the same pages: a target is turned into a
    column's values once in a batch, and a source once a page. On pages of 51 links that takes a third of the time.
    """

    def __init__(self, parts: PartSet, name: str) -> None:
        super().__init__(parts, name)
        self._extra = parts.schema.names[len(CRAWL_PARSE) :]
        self._begin()

    def add_page(self, source: str, links: Sequence[Outlink]) -> None:
        """Take the links of a page."""
        numbers, known = self._numbers, self._known
        for link in links:
            text = link.target.text
            number = known.get(text)
            if number is None:
                number = known[text] = len(self._targets)
                self._targets.append(link.target)
            numbers.append(number)
        self._anchors += [link.anchor for link in links]
        self._rels += [link.rel for link in links]
        self._scores += [link.score for link in links]
        for name, column in self._columns.items():
            column += [link.extra.get(name) for link in links]
        self._sources.append(source)
        self._counts.append(len(links))
        if len(numbers) >= _LINKS:
            self._write()

    def _begin(self) -> None:
        self._known: dict[str, int] = {}
        self._targets: list[Url] = []
        self._numbers: list[int] = []
        self._anchors: list[str] = []
        self._rels: list[str] = []
        self._scores: list[float] = []
        self._sources: list[str] = []
        self._counts: list[int] = []
        self._columns: dict[str, list[Any]] = {name: [] for name in self._extra}

    def _write(self) -> None:
        if not self._numbers:
            return
        numbers = np.array(self._numbers)
        sources = pa.array(self._sources, pa.utf8()).take(np.repeat(np.arange(len(self._sources)), self._counts))
        targets = [
            pa.array([getattr(target, part) for target in self._targets], pa.utf8()).take(numbers)
            for part in ("text", "key", "host")
        ]
        own = [
            pa.array(self._anchors, pa.utf8()),
            pa.array(self._rels, pa.utf8()),
            pa.array(self._scores, pa.float64()),
        ]
        extra = [pa.array(self._columns[name], self._schema.field(name).type) for name in self._extra]
        self._part.write(pa.RecordBatch.from_arrays([sources, *targets, *own, *extra], schema=self._schema))
        self._begin()


class ParsedPart:
    """What pages say: their text, links and records, which get their names in this order."""

    def __init__(self, segment: Segment, name: str, extra: Sequence[Column]) -> None:
        opened: list[Gathered] = []
        try:
            self.texts = Gathered(segment.parse_text(), name)
            opened.append(self.texts)
            self.links = GatheredLinks(segment.crawl_parse(extra), name)
            opened.append(self.links)
            self.pages = Gathered(segment.parse_data(), name)
        except BaseException:
            for each in opened:
                each.discard()
            raise

    def add(self, page: PageRows) -> None:
        """Take a page."""
        self.pages.add(page.data)
        if page.text is not None:
            self.texts.add(page.text, len(page.text[2]))
        if page.links:
            self.links.add_page(page.data[0], page.links)

    def seal(self) -> None:
        for each in (self.texts, self.links, self.pages):
            each.seal()

    def publish(self) -> None:
        for each in (self.texts, self.links, self.pages):
            each.publish()

    def discard(self) -> None:
        for each in (self.texts, self.links, self.pages):
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
        self.parsed = ParsedPart(segment, name, extra) if parses else None
        try:
            self.fetches = Gathered(segment.crawl_fetch(extra), name)
        except BaseException:
            if self.parsed is not None:
                self.parsed.discard()
            raise

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

    def finish(self) -> None:
        """Make the part count: put all of it on disk for good, then give it its names, that of the fetches last."""
        files = [each for each in (self._warc, self.parsed, self.fetches) if each is not None]
        for each in files:
            each.seal()
        for each in files:
            each.publish()

    def discard(self) -> None:
        """Remove it."""
        for each in (self._warc, self.parsed, self.fetches):
            if each is not None:
                each.discard()


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
