"""Read every archived page once: what it says about itself, and every address on it.

The tables of a crawl have only the links that it follows, at most ``db.max_outlinks_per_page`` of a page and without
images of other sizes, nofollow links and fragments. So the pages are read again from the archive, one part of a segment
at a time, in worker processes. What was read of a part stays valid, because parts never change.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import closing
from pathlib import Path, PurePath
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.schemas import FETCH_STATUSES, datum_of, url_of
from scoter.batch.crawldir.segment import Segment
from scoter.batch.site.tables import SITE_LINKS, SITE_PAGES, SiteFolder
from scoter.batch.worker.pages import PageProcessor
from scoter.config import Config
from scoter.core.chain import respell
from scoter.core.reply import Truncation
from scoter.core.url import Url
from scoter.errors import UserError
from scoter.heap import keep_memory
from scoter.parse.html.audit import PageAudit, PageLink, audit, style_links
from scoter.plugins import chain
from scoter.store.arrow import limit_arrow_memory
from scoter.store.disk import disk_errors
from scoter.store.objects.copies import local_file
from scoter.store.objects.path import StorePath, any_path
from scoter.store.warc import ArchiveFolder

HTML_TYPES: Final = frozenset(("text/html", "application/xhtml+xml"))
STYLE_TYPE: Final = "text/css"
_BATCH: Final = 256
_LINK_ROWS: Final = 20_000
"""Rows of a row group of links, which wait in memory."""
_PAGE_ROWS: Final = 1_000
_FEW: Final = 400
"""Pages up to which no processes are started, which takes about as long as reading these."""
_MOST_NORMALIZED: Final = 50_000


class PageReading(Struct, frozen=True):
    """The result of reading the pages of parts."""

    parts: int = 0
    pages: int = 0
    links: int = 0
    unread: int = 0
    """Pages that are not in the archive, or damaged there."""


class _Part(Struct, frozen=True):
    crawl: str
    segment: str
    file: str
    name: str
    rows: int


def read_pages(
    crawl: CrawlDir,
    config: Config,
    *,
    workers: int | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> PageReading:
    """Read the pages of all parts that were not read yet; remove what was read of segments that are gone.

    ``on_progress`` gets the number of rows of finished parts and of all.
    """
    folder = SiteFolder(crawl)
    wanted = {part.name: part for part in _parts(crawl)}
    known = set(folder.names("pages-"))
    stale = [name for prefix in ("pages-", "links-") for name in folder.names(prefix)]
    # Links whose pages are missing are those of a part whose reading was interrupted.
    folder.remove(
        name for name in stale if (own := name.partition("-")[2]) not in wanted or f"pages-{own}" not in known
    )
    todo = [part for name, part in wanted.items() if f"pages-{name}" not in known]
    total, done = sum(part.rows for part in todo), 0
    found: list[PageReading] = []
    for part, result in _results(todo, config, workers):
        done += part.rows
        found.append(result)
        on_progress(done, total)
    return PageReading(*(sum(getattr(each, name) for each in found) for name in PageReading.__struct_fields__))


def part_names(crawl: CrawlDir) -> list[str]:
    """Return the names under which the present parts of all segments are read."""
    return sorted(part.name for part in _parts(crawl, count=False))


def _parts(crawl: CrawlDir, *, count: bool = True) -> Iterator[_Part]:
    for segment in crawl.all_segments():
        for file in segment.crawl_fetch().files:
            rows = pq.read_metadata(local_file(file)).num_rows if count else 0
            yield _Part(str(crawl.path), segment.name, file, f"{segment.name}-{PurePath(file).name}", rows)


def _results(todo: Sequence[_Part], config: Config, workers: int | None) -> Iterator[tuple[_Part, PageReading]]:
    number = min(len(todo), workers or len(os.sched_getaffinity(0)))
    if number <= 1 or sum(part.rows for part in todo) <= _FEW:
        for part in todo:
            yield part, _read_part(part, config)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=context, initializer=_begin) as pool:
        left = list(reversed(todo))
        running = {pool.submit(_read_part, part, config): part for part in (left.pop() for _ in range(number))}
        try:
            while running:
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
                    if left:
                        part = left.pop()
                        running[pool.submit(_read_part, part, config)] = part
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    keep_memory()
    limit_arrow_memory()


def _read_part(part: _Part, config: Config) -> PageReading:
    crawl = CrawlDir(any_path(part.crawl))
    folder = SiteFolder(crawl)
    reader = _PartReader(config)
    names = [f"{kind}-{part.name}" for kind in ("links", "pages")]
    drafts = [folder.draft(name) for name in names]
    segment = Segment(crawl.segments / part.segment)
    try:
        with disk_errors("write the tables of pages", drafts[0]), closing(reader):
            result = reader.read(segment, part.file, *drafts)
        for name, draft in zip(names, drafts, strict=True):
            folder.finish(name, draft)  # that of the pages last: it makes both valid
    except BaseException:
        for draft in drafts:
            draft.unlink(missing_ok=True)
        raise
    return result


class _PartReader:
    """Reads the pages of one part after the other."""

    def __init__(self, config: Config) -> None:
        self._paging = PageProcessor(config)
        self._encoding = config.parse.character_encoding_default
        self._agents = tuple(name.lower() for name in (config.agent.name, *config.http.robots_agents) if name)
        self._normalizers = chain("urlnormalizer", config) if config.parse.normalize_urls else ()
        self._loops = config.urlnormalizer.loop_count
        self._normal: dict[str, str | None] = {}

    def close(self) -> None:
        self._paging.close()

    def read(self, segment: Segment, file: str, links_file: Path, pages_file: Path) -> PageReading:
        pages = unread = 0
        with (
            RowsFile(pages_file, SITE_PAGES, _PAGE_ROWS) as page_rows,
            RowsFile(links_file, SITE_LINKS, _LINK_ROWS) as link_rows,
            ArchiveFolder(segment.content) as archive,
        ):
            for row in _fetched_rows(file):
                try:
                    found = self._audited(row, archive) if row["warc_file"] else None
                except UserError:  # this capture is damaged
                    found = None
                if found is None:
                    unread += 1
                elif isinstance(found, PageAudit):
                    pages += 1
                    page_rows.add(_page_row(row, found))
                    link_rows.add(*self._link_rows(row, found.links, nofollow=found.nofollow))
                else:
                    link_rows.add(*self._link_rows(row, found))
            return PageReading(1, pages, link_rows.rows, unread)

    def _audited(self, row: dict[str, Any], archive: ArchiveFolder) -> PageAudit | list[PageLink]:
        """Return what a page has, or the addresses in another document."""
        capture = archive.at(row["warc_file"], row["warc_offset"])
        plain = self._paging.decoded(capture.headers, capture.body)
        datum = datum_of(row, FETCH_STATUSES)
        cut = Truncation(row["truncated"] or "")
        content = self._paging.content(url_of(row), datum, capture.headers, plain, cut)
        if content.media_type == STYLE_TYPE:
            return style_links(plain.body.decode("utf-8", "replace"), content.url)
        if content.media_type not in HTML_TYPES:
            return []
        return audit(content, default_encoding=self._encoding, agents=self._agents)

    def _link_rows(
        self, row: dict[str, Any], links: Iterable[PageLink], *, nofollow: bool = False
    ) -> Iterator[tuple[Any, ...]]:
        url, time = row["url"], row["fetch_time"]
        seen = set()
        for link in links:
            key = (link.href, link.text, link.kind)
            if key not in seen:
                seen.add(key)
                target = self._target(link.target)
                yield url, time, target, link.href, link.fragment, link.text, link.kind, link.nofollow or nofollow

    def _target(self, target: Url | None) -> str | None:
        """Return a target as the crawl spells it."""
        if target is None or not self._normalizers:
            return None if target is None else target.text
        text = target.text
        if text not in self._normal:
            if len(self._normal) >= _MOST_NORMALIZED:
                self._normal.clear()
            normal = respell(target, self._normalizers, "outlink", self._loops)
            self._normal[text] = text if normal is None else normal.text
        return self._normal[text]


def _fetched_rows(file: str) -> Iterator[dict[str, Any]]:
    path = local_file(file) if isinstance(any_path(file), StorePath) else file
    with pq.ParquetFile(path, pre_buffer=False) as parquet:
        for batch in parquet.iter_batches(_BATCH):
            for row in batch.to_pylist():
                if row["status"] == "success":
                    yield row


def _page_row(row: dict[str, Any], found: PageAudit) -> tuple[Any, ...]:
    said = (found.titles, found.descriptions, found.headings, found.canonicals, found.names)
    return (
        *(row["url"], row["fetch_time"], *said),
        *(found.skipped, found.language, found.refresh, found.noindex, found.nofollow),
    )


class RowsFile:
    """A Parquet file that rows are added to, in row groups of a bounded size."""

    def __init__(self, path: Path, schema: Any, most: int) -> None:
        self._path = path
        self._schema = schema
        self._most = most
        self._waiting: list[tuple[Any, ...]] = []
        self.rows = 0

    def __enter__(self) -> RowsFile:
        self._writer = pq.ParquetWriter(self._path, self._schema, compression="zstd")
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()

    def add(self, *rows: tuple[Any, ...]) -> None:
        self._waiting += rows
        self.rows += len(rows)
        if len(self._waiting) >= self._most:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        columns: Iterable[tuple[Any, ...]] = zip(*self._waiting, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._waiting = []
