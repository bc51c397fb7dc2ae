"""Finds archived copies: the nearest in time to a segment, after redirects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import table_exists
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.lookup import url_rows
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.jobs.readseg import ArchivedContent, archived_content, fetched_last
from scoter.batch.urls.seeds import with_scope
from scoter.config import Config
from scoter.core.chain import trace_normalize
from scoter.core.url import Url, canonical
from scoter.engine.sources import source_of
from scoter.plugins import chain
from scoter.store.tables import Table
from scoter.store.warc import ArchiveFolder

_HOPS: Final = 10
_SEGMENTS: Final = 100
"""Segments that are searched for any URL, the nearest first. A page may name many resources that no segment has, so the
others are searched only for URLs that the crawl has fetched, as its crawldb says."""
_NOT_MODIFIED: Final = 304
_KNOWN: Final = ("key", "url", "status", "signature")


class ArchivedCopy(Struct, frozen=True, kw_only=True):
    """The archived response to a URL, or to the last URL that it redirects to."""

    url: str
    segment: str
    fetched: datetime | None
    content: ArchivedContent


def find_copy(crawl: CrawlDir, config: Config, url: str, *, segment: str = "", near: str = "") -> ArchivedCopy | None:
    """Return the copy of a URL in a segment, or the one nearest to a segment (to the newest if none is given).

    Redirects are followed to the copy of their target, in whatever segment that is. A URL is also looked up as the
    crawl's normalisers write it.
    """
    start = segment or near
    if start:
        crawl.segment(start)  # raises if there is none
    nearby = _by_distance(crawl.all_segments(), start)
    searched: Sequence[Segment] = [each for each in nearby if each.name == segment] if segment else nearby
    wanted, seen = canonical(url), set[str]()
    for _ in range(_HOPS):
        if wanted.text in seen:
            return None
        seen.add(wanted.text)
        found = _find(crawl, config, wanted, searched)
        if found is None:
            return None
        place, row = found
        target = row["redirect_to"]
        if target and row["http_status"] != _NOT_MODIFIED:
            wanted, searched = canonical(target), nearby
            continue
        with ArchiveFolder(place.content) as archive:
            content = archived_content(archive, row, recode=False)
        if content is None:
            return None
        return ArchivedCopy(url=wanted.text, segment=place.name, fetched=row["fetch_time"], content=content)
    return None


def _by_distance(segments: Sequence[Segment], start: str) -> list[Segment]:
    """Return segments, the nearest to one first; of two at the same distance, the older one."""
    names = [each.name for each in segments]
    middle = names.index(start) if start in names else len(names) - 1
    order = sorted(range(len(names)), key=lambda at: (abs(at - middle), at))
    return [segments[at] for at in order]


def _find(
    crawl: CrawlDir, config: Config, url: Url, segments: Sequence[Segment]
) -> tuple[Segment, Mapping[str, Any]] | None:
    found = _nearest(crawl, url, segments)
    if found is None:
        scoped = with_scope(config, crawl)
        normal, _ = trace_normalize(
            url.text, chain("urlnormalizer", scoped), "default", scoped.urlnormalizer.loop_count
        )
        if normal is not None and normal.text != url.text:
            found = _nearest(crawl, normal, segments)
    return found


def _nearest(crawl: CrawlDir, url: Url, segments: Sequence[Segment]) -> tuple[Segment, Mapping[str, Any]] | None:
    found = next(_archived_rows(url, segments[:_SEGMENTS]), None)
    if found is None and len(segments) > _SEGMENTS and _was_fetched(crawl, url):
        found = next(_archived_rows(url, segments[_SEGMENTS:]), None)
    return found


def _was_fetched(crawl: CrawlDir, url: Url) -> bool:
    """Return whether the crawldb has a record of a URL that was fetched at least once."""
    if not table_exists(crawl.crawldb):
        return True
    with Table.open(crawl.crawldb, schemas.CRAWLDB) as table:
        row = next(url_rows(source_of(table, _KNOWN), url), None)
    return row is not None and (row["status"] != "unfetched" or row["signature"] is not None)


def _archived_rows(url: Url, segments: Sequence[Segment]) -> Iterator[tuple[Segment, Mapping[str, Any]]]:
    """Yield the last fetch of a URL in each segment that has a copy of it or knows its redirect."""
    for segment in segments:
        row = max(url_rows(SegmentSources([segment]).fetch, url), key=fetched_last, default=None)
        if row is not None and (row["redirect_to"] or (row["warc_file"] and row["http_status"] != _NOT_MODIFIED)):
            yield segment, row
