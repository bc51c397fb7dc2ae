"""parse: parse the pages of a fetched segment from its archive.

Each part of the fetch becomes parts of the same name in ``parse_text``, ``crawl_parse`` and ``parse_data``, in this
order; the last makes the others valid. Finished parts are not parsed again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.crawldb import scoring_columns
from scoter.batch.crawldir.directory import StopRequest
from scoter.batch.crawldir.schemas import FETCH_STATUSES, column_names, datum_of, url_of
from scoter.batch.crawldir.segment import MAIN_MARKDOWN, MAIN_TEXT, PARSED, Segment
from scoter.batch.worker.pages import PageProcessor
from scoter.batch.worker.records import PageRows
from scoter.batch.worker.segment_part import ParsedPart
from scoter.config import Config
from scoter.core.reply import Truncation
from scoter.errors import UsageError, typed
from scoter.heap import keep_memory
from scoter.store.objects.copies import local_file
from scoter.store.warc import ArchivedResponse, ArchiveFolder

_STATUS = 2  # index of the status in a row of parse_data
_BATCH = 256


class ParseJobResult(Struct, frozen=True, kw_only=True):
    """The result of parsing a segment."""

    segment: str
    complete: bool
    pages: int
    links: int
    by_status: dict[str, int]


def parse(
    segment: Segment,
    config: Config,
    *,
    again: bool = False,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    stopping: StopRequest | None = None,
) -> ParseJobResult:
    """Parse the rest of a segment, or all of it ``again``.

    ``on_progress`` is called with the number of parsed pages and of all pages.
    """
    if not segment.is_fetched:
        hint = f"Run: scoter fetch {typed(segment.path.parent.parent, segment.name)}"
        raise UsageError("this segment is not completely fetched", where=str(segment.path), hint=hint)
    if segment.is_parsed and not again:
        hint = "To parse it again with the current settings, use --force."
        raise UsageError("this segment is already parsed", where=str(segment.path), hint=hint)
    keep_memory()
    with segment.lock("parse") as lock:
        if again:
            _start_over(segment)
        stop = StopRequest() if stopping is None else stopping  # an unused one is false
        return asyncio.run(_ParseRun(segment, config, on_progress, stop, lock.check).run())


def _start_over(segment: Segment) -> None:
    """Remove the parsed tables of a segment, first the one that makes the others valid."""
    if segment.crawl_fetch().count((pc.field("status") == "success") & pc.field("warc_file").is_null()):
        hint = "They were fetched with fetch.store_content=false and must be fetched again."
        raise UsageError("some pages of this segment are not in the archive", where=str(segment.path), hint=hint)
    segment.reopen(PARSED)
    segment.remove_tables(("parse_data", MAIN_MARKDOWN, MAIN_TEXT, "crawl_parse", "parse_text"))


class _ParseRun:
    """Parses one segment."""

    def __init__(
        self,
        segment: Segment,
        config: Config,
        on_progress: Callable[[int, int], None],
        stopping: StopRequest,
        check_lock: Callable[[], None],
    ) -> None:
        self._check_lock = check_lock
        self._segment = segment
        self._columns = scoring_columns(config)
        self._fetches = segment.crawl_fetch(self._columns)
        self._paging = PageProcessor(config)
        self._on_progress = on_progress
        self._stopping = stopping
        self._counts: Counter[str] = Counter()
        self._pages = self._links = self._done = 0

    async def run(self) -> ParseJobResult:
        texts, links, pages = self._segment.parse_text(), self._segment.crawl_parse(), self._segment.parse_data()
        main, markdown = self._segment.main_text(), self._segment.main_text(markdown=True)
        for each in (texts, links, pages, main, markdown):
            each.recover()
        parsed = set(pages.finished())
        made = ((MAIN_TEXT, main), (MAIN_MARKDOWN, markdown))
        for folder, each in (("parse_text", texts), ("crawl_parse", links), *made):
            for name in set(each.finished()) - parsed:
                (self._segment.path / folder / name).unlink(missing_ok=True)
        total = self._fetches.count(pc.field("status") == "success")
        with ArchiveFolder(self._segment.content) as archive, closing(self._paging):
            for file in self._fetches.finished():
                if self._stopping:
                    return self._result(False)
                if file not in parsed:
                    await self._part(ParsedPart(self._segment, Path(file).stem, self._columns), file, archive, total)
        self._segment.finish(PARSED)
        return self._result(True)

    async def _part(self, part: ParsedPart, file: str, archive: ArchiveFolder, total: int) -> None:
        try:
            for row in self._rows(file):
                # Consecutive rows are usually in the same archive.
                for page in await self._parsed(row, archive.at(row["warc_file"], row["warc_offset"])):
                    part.add(page)
                    self._pages += 1
                    self._links += len(page.links)
                    self._counts[page.data[_STATUS]] += 1
                self._done += 1
                if self._done % _BATCH == 0:
                    self._on_progress(self._done, total)
            part.finish(self._check_lock)
        except BaseException:
            part.discard()
            raise

    def _rows(self, file: str) -> Iterator[dict[str, Any]]:
        path = local_file(str(self._segment.path / "crawl_fetch" / file))
        for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(_BATCH):
            for row in batch.to_pylist():
                if row["status"] == "success" and row["warc_file"]:
                    yield {name: row.get(name) for name in self._fetches.schema.names}

    async def _parsed(self, row: dict[str, Any], capture: ArchivedResponse) -> list[PageRows]:
        datum = datum_of(row, FETCH_STATUSES, column_names(self._columns))
        plain = self._paging.decoded(capture.headers, capture.body)
        content = self._paging.content(url_of(row), datum, capture.headers, plain, Truncation(row["truncated"] or ""))
        return await self._paging.rows(datum, content)

    def _result(self, complete: bool) -> ParseJobResult:
        return ParseJobResult(
            segment=self._segment.name,
            complete=complete,
            pages=self._pages,
            links=self._links,
            by_status=dict(self._counts),
        )
