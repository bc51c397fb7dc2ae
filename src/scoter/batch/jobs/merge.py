"""merge: merge whole crawls into a new one, by the jobs mergedb, mergesegs and mergelinkdb."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.batch.crawldir.crawldb import open_crawldb, open_linkdb, table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.mergedb import check_new, mergedb
from scoter.batch.jobs.mergelinkdb import mergelinkdb
from scoter.batch.jobs.mergesegs import check_segments, check_without_segments, finished_segments, mergesegs
from scoter.config import Config
from scoter.engine import Engine
from scoter.store.tables.local import storage_at

ORDER_FILE: Final = "merge.json"
"""What is being merged into a crawl; removed when that is complete."""


class MergeResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The new crawl: URLs in its crawldb, its segments and their pages, URLs in its linkdb."""

    urls: int = 0
    segments: tuple[str, ...] = ()
    pages: int = 0
    linked_urls: int = 0


class MergeSources(Struct, frozen=True, kw_only=True):
    """What is merged, and the segments that are left out because they are not completely fetched."""

    crawldbs: Sequence[CrawlDir] = ()
    segments: Sequence[Segment] = ()
    linkdbs: Sequence[CrawlDir] = ()
    left_out: Sequence[Segment] = ()

    def __bool__(self) -> bool:
        return bool(self.crawldbs or self.segments or self.linkdbs)


def merge_sources(directories: Sequence[str], wanted: Sequence[str], config: Config) -> MergeSources:
    """Return what to merge of crawls, or raise if that cannot be merged.

    ``wanted`` are ``crawldb``, ``segments`` and ``linkdb``; without any, everything is merged, the linkdbs only if
    every crawl has one.
    """
    crawls = [CrawlDir.open(each) for each in directories]
    segments, left_out = finished_segments(directories) if not wanted or "segments" in wanted else ([], [])
    has_linkdbs = all(table_exists(each.linkdb) for each in crawls)
    found = MergeSources(
        crawldbs=crawls if not wanted or "crawldb" in wanted else (),
        segments=sorted(segments, key=lambda each: each.name),
        linkdbs=crawls if "linkdb" in wanted or (not wanted and has_linkdbs) else (),
        left_out=left_out,
    )
    for crawl in found.crawldbs:
        open_crawldb(crawl, config).close()
    for crawl in found.linkdbs:
        open_linkdb(crawl).close()
    if found.segments:
        check_segments(found.segments)
    return found


def merge(
    out: CrawlDir,
    sources: MergeSources,
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    filter: bool = False,
    normalize: bool = False,
) -> MergeResult:
    """Write the tables and segments of a crawl that has none of them yet, or continue an interrupted merge."""
    storage = storage_at(out.path)
    order = msgspec.json.encode(_order(sources, filter=filter, normalize=normalize))
    is_begun = storage.read(ORDER_FILE) == order
    if not is_begun:
        _check_new(out, sources)
        storage.replace(ORDER_FILE, order)
    choices: dict[str, Any] = {"now": now, "filter": filter, "normalize": normalize}
    if sources.crawldbs and not table_exists(out.crawldb):
        mergedb(out, sources.crawldbs, engine, config, **choices)
    if sources.segments and not out.all_segments():
        mergesegs(out, sources.segments, engine, config, **choices)
    if sources.linkdbs and not table_exists(out.linkdb):
        mergelinkdb(out, sources.linkdbs, engine, config, **choices)
    storage.remove(ORDER_FILE)
    return _result(out, sources, config)


def _order(sources: MergeSources, **choices: bool) -> dict[str, Any]:
    """Return what a merge that is continued must have in common with the interrupted one."""
    return {
        "crawldbs": [str(each.path) for each in sources.crawldbs],
        "segments": [str(each.path) for each in sources.segments],
        "linkdbs": [str(each.path) for each in sources.linkdbs],
        **choices,
    }


def _check_new(out: CrawlDir, sources: MergeSources) -> None:
    """Raise if a crawl already has something that would be written."""
    if sources.crawldbs:
        check_new(out, out.crawldb, "crawldb")
    if sources.segments:
        check_without_segments(out)
    if sources.linkdbs:
        check_new(out, out.linkdb, "linkdb")


def _result(out: CrawlDir, sources: MergeSources, config: Config) -> MergeResult:
    urls = linked = 0
    if sources.crawldbs:
        with open_crawldb(out, config) as table:
            urls = table.manifest.rows
    if sources.linkdbs:
        with open_linkdb(out) as table:
            linked = table.manifest.rows
    made = out.all_segments() if sources.segments else []
    names = tuple(each.name for each in made)
    return MergeResult(urls=urls, segments=names, pages=sum(each.info().urls for each in made), linked_urls=linked)
