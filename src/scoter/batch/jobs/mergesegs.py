"""mergesegs: merge segments. Each page keeps its newest fetch, with text, links and archived bytes.

Fetches that will be retried, or that found a page not modified, have no content and are dropped. Nutch takes the newest
row of each table separately; here all rows of a page come from one segment, so a page that is gone does not keep an
older text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter import __version__
from scoter.batch.crawldir.archives import ArchiveCopier
from scoter.batch.crawldir.crawldb import scoring_columns
from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.merge_filters import KEPT, merge_verdicts
from scoter.batch.crawldir.schemas import DEFERRED
from scoter.batch.crawldir.segment import (
    FETCHED,
    INFO_FILE,
    PARSED,
    Segment,
    SegmentInfo,
    SegmentOrigin,
    SegmentSources,
)
from scoter.batch.urls.chains import DERIVED, UrlChains, rewrite_urls, url_changes
from scoter.config import Config
from scoter.core.datum import FetchStatus, short_name
from scoter.engine import Engine, TableSource, file_source
from scoter.engine.port import Rows
from scoter.engine.portable import first_rows
from scoter.errors import UsageError, typed
from scoter.plugins import Column, SegmentMergeFilter, chain
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch, disk_errors
from scoter.store.objects.path import any_path
from scoter.store.tables import PartSet
from scoter.store.warc import ArchiveInfo

_WITHOUT_CONTENT = [short_name(FetchStatus.RETRY), short_name(FetchStatus.NOTMODIFIED), DEFERRED]
_MOVED = pa.schema([("page", pa.utf8()), ("file", pa.utf8()), ("offset", pa.int64()), ("size", pa.int64())])


class MergesegsResult(Struct, frozen=True, kw_only=True):
    """The new segments, and their total number of pages."""

    segments: tuple[str, ...]
    urls: int


def finished_segments(paths: Sequence[str]) -> tuple[list[Segment], list[Segment]]:
    """Return the segments of crawls, or given by their own paths: the fetched ones, and the others."""
    found: list[Segment] = []
    for path in paths:
        alone = any_path(path)
        found += [Segment(alone)] if (alone / INFO_FILE).is_file() else CrawlDir.open(path).all_segments()
    return [each for each in found if each.is_fetched], [each for each in found if not each.is_fetched]


def mergesegs(
    out: CrawlDir,
    segments: Sequence[Segment],
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    filter: bool = False,
    normalize: bool = False,
    slice: int | None = None,
) -> MergesegsResult:
    """Write the segments of a crawl that has none, from others, with at most ``slice`` URLs each.

    A segment is newer if its name sorts later. The new segments are named after the newest source, with a number, and
    record their sources: a crawldb that all sources were applied to counts them as applied.
    """
    segments = sorted(segments, key=lambda each: each.name)
    _check(out, segments, slice)
    chains = UrlChains.from_config(config, "default", filter=filter, normalize=normalize)
    with Scratch(out.scratch, "mergesegs") as scratch:
        filters = chain("segmentmergefilter", config)
        merge = _SegmentMerge(engine, segments, scoring_columns(config), chains, filters, scratch.path)
        urls = merge.choose(slice)
        number = math.ceil(urls / slice) if slice else 1
        names = [f"{segments[-1].name}-{each:03d}" for each in range(1, max(number, 1) + 1)]
        origins = tuple(each.origin() for each in segments)
        agent = config.agent
        about = ArchiveInfo(software=f"Scoter/{__version__}", agent=agent.name, operator=agent.email or agent.url)
        for each, name in enumerate(names):
            _write(out, name, now, origins, partial(merge.fill, each, about, now))
    return MergesegsResult(segments=tuple(names), urls=urls)


def _check(out: CrawlDir, segments: Sequence[Segment], most: int | None) -> None:
    if most is not None and most < 1:
        raise UsageError(f"must be at least 1, not {most}", where="--slice")
    check_without_segments(out)
    if not segments:
        raise UsageError("there are no segments to merge")
    check_segments(segments)


def check_without_segments(out: CrawlDir) -> None:
    """Raise if a crawl already has segments."""
    if out.all_segments():
        raise UsageError("this crawl already has segments", where=str(out.path), hint="Pass a new directory.")


def check_segments(segments: Sequence[Segment]) -> None:
    """Raise if segments cannot be merged with each other."""
    for each in segments:
        if not each.is_fetched:
            raise UsageError("the segment is not completely fetched", where=str(each.path))
    if len({each.is_parsed for each in segments}) > 1:
        left = next(each for each in segments if not each.is_parsed)
        raise UsageError(
            "the segment is not parsed, but others are",
            where=str(left.path),
            hint=f"Run: scoter parse {typed(left.path.parent.parent)} {left.name}",
        )
    # Check the crawldb of each segment: either all segments must be applied or none.
    is_in = {
        each.path: each.is_in(applied_segments(CrawlDir(each.path.parent.parent).crawldb) or ()) for each in segments
    }
    if len(set(is_in.values())) > 1:
        left = next(each for each in segments if not is_in[each.path])
        raise UsageError(
            "the segment is not in its crawldb, but others are in theirs",
            where=str(left.path),
            hint=f"Run: scoter updatedb {typed(left.path.parent.parent)} {left.name}",
        )


def _write(
    out: CrawlDir,
    name: str,
    now: datetime,
    origins: tuple[SegmentOrigin, ...],
    fill: Callable[[Segment], tuple[int, bool]],
) -> None:
    """Write a segment under a temporary name and rename it when it is complete."""
    draft = out.draft_segment(name)
    with disk_errors("write the segment", draft.path):
        urls, is_parsed = fill(draft)
        about = SegmentInfo(created=now, lists=1, urls=urls, made_by="mergesegs", merged=origins)
        draft.storage.replace(INFO_FILE, msgspec.json.encode(about) + b"\n")
        draft.finish(FETCHED)
        if is_parsed:
            draft.finish(PARSED)
        out.publish_segment(draft, name)


class _SegmentMerge:
    """The rows of the source segments, and which of them are kept."""

    def __init__(
        self,
        engine: Engine,
        segments: Sequence[Segment],
        extra: Sequence[Column],
        chains: UrlChains,
        filters: Sequence[tuple[str, SegmentMergeFilter]],
        folder: Path,
    ) -> None:
        self._engine = engine
        self._segments = segments
        self._counted = [SegmentSources([each], extra) for each in segments]
        self._extra = extra
        self._chains = chains
        self._filters = filters
        self._folder = folder
        self._changes: Rows | None = None

    def choose(self, most: int | None) -> int:
        """Choose the newest fetch of each page, assign them to slices by key, and return their number."""
        fetches = self._all(lambda each: each.fetch)
        fetches = fetches.filter(fetches.status.notin(_WITHOUT_CONTENT))
        if self._chains.filters or self._chains.normalizers:
            texts = ibis.union(
                fetches.select("url"),
                fetches.filter(fetches.redirect_to.notnull()).select(url="redirect_to"),
                self._all(lambda each: each.links).select("url"),
                self._all(lambda each: each.parse_data).select("url"),
            )
            self._changes = url_changes(self._engine, texts, self._chains)
        fetches = self._redirected(self._rewritten(fetches.mutate(was=fetches.url)))
        newest = [ibis.desc("segment"), ibis.desc("fetch_time"), "was", "warc_file", "warc_offset"]
        chosen = self._kept(first_rows(fetches, ["url"], newest))
        place = ibis.row_number().over(order_by=[chosen.key, chosen.url])
        number = (place / most).floor().cast("int32") if most else ibis.literal(0, "int32")
        schema = self._counted[0].fetch.schema
        for name, kind in (("was", pa.utf8()), ("segment", pa.int32()), ("slice", pa.int32())):
            schema = schema.append(pa.field(name, kind))
        file = self._folder / "chosen.parquet"
        urls = self._engine.save(chosen.mutate(slice=number), schema, file)
        self._chosen = self._engine.read(file_source(file, schema))
        return urls

    def _kept(self, chosen: Rows) -> Rows:
        """Return the chosen fetches that the segment merge filters keep."""
        if not self._filters:
            return chosen
        pages = self._all(lambda each: each.parse_data).filter(lambda rows: rows.part_of.isnull())
        texts = self._all(lambda each: each.parse_text).filter(lambda rows: rows.part_of.isnull())
        names = [each.name for each in self._segments]
        verdicts = merge_verdicts(self._engine, chosen, pages, texts, self._filters, names, self._extra)
        file = self._folder / "kept.parquet"
        self._engine.save(verdicts, KEPT, file)
        return chosen.semi_join(self._engine.read(file_source(file, KEPT)), "url")

    def fill(self, number: int, about: ArchiveInfo, now: datetime, into: Segment) -> tuple[int, bool]:
        """Write a slice into a segment; return how many pages it has, and whether they are parsed."""
        chosen = self._chosen.filter(self._chosen.slice == number)
        with ArchiveCopier(into.archive_drafts, f"{into.name.removeprefix('.')}-merged", about, now) as archive:
            moved = self._engine.read(self._moved(chosen, archive, self._folder / f"moved-{number}.parquet"))
        joined = chosen.left_join(moved, chosen.url == moved.page)
        fetches = joined.mutate(warc_file=joined.file, warc_offset=joined.offset, warc_length=joined.size)
        urls = self._save(fetches, into.crawl_fetch(self._extra))
        self._save(
            self._of(chosen, self._all(lambda each: each.generate)), into.crawl_generate(self._extra), "list-00000"
        )
        if not self._segments[0].is_parsed:
            return urls, False
        self._save(self._pages(chosen, self._all(lambda each: each.parse_data)), into.parse_data())
        self._save(self._pages(chosen, self._all(lambda each: each.parse_text)), into.parse_text())
        self._save(self._links(chosen), into.crawl_parse(self._extra))
        return urls, True

    def _all(self, part: Callable[[SegmentSources], TableSource]) -> Rows:
        """Return the rows of one table of all segments, with the segment's number."""
        found = [self._engine.read(part(each)) for each in self._counted]
        return ibis.union(*(rows.mutate(segment=ibis.literal(n, "int32")) for n, rows in enumerate(found)))

    def _of(self, chosen: Rows, rows: Rows) -> Rows:
        """Return the rows of chosen pages with their new URLs."""
        names = [name for name in ("url", "key", "host") if name in rows.columns]
        now = chosen.select("was", in_segment="segment", **{f"new_{name}": name for name in names})
        joined = rows.join(now, [rows.url == now.was, rows.segment == now.in_segment])
        return joined.mutate(**{name: joined[f"new_{name}"] for name in names})

    def _pages(self, chosen: Rows, rows: Rows) -> Rows:
        """Return the rows of chosen pages and of the documents inside them."""
        rows = self._rewritten(rows.mutate(before=rows.url, page=ibis.coalesce(rows.part_of, rows.url)))
        now = chosen.select("was", in_segment="segment", new_page="url")
        joined = rows.join(now, [rows.page == now.was, rows.segment == now.in_segment])
        return joined.mutate(part_of=ibis.ifelse(joined.part_of.isnull(), joined.part_of, joined.new_page))

    def _links(self, chosen: Rows) -> Rows:
        links = self._rewritten(self._all(lambda each: each.links))
        pages = self._pages(chosen, self._all(lambda each: each.parse_data))
        now = pages.select("before", in_segment="segment", new_source="url").distinct()
        joined = links.join(now, [links.source == now.before, links.segment == now.in_segment])
        return joined.mutate(source=joined.new_source)

    def _rewritten(self, rows: Rows) -> Rows:
        if self._changes is None:
            return rows
        return rewrite_urls(rows, self._changes, derived={at: its for at, its in DERIVED.items() if at in rows.columns})

    def _redirected(self, fetches: Rows) -> Rows:
        """Return fetches with their redirect targets changed; null if the target is dropped."""
        if self._changes is None:
            return fetches
        changes = self._changes.select(to="changed", new_to="becomes", new_key="its_key", new_host="its_host")
        joined = fetches.left_join(changes, fetches.redirect_to == changes.to)
        dropped = joined.to.notnull() & joined.new_to.isnull()
        new = {
            f"redirect_{name}": joined.to.isnull().ifelse(joined[f"redirect_{name}"], joined[f"new_{name}"])
            for name in ("to", "key", "host")
        }
        new["detail"] = dropped.ifelse(ibis.literal("target not kept: filtered: ") + joined.redirect_to, joined.detail)
        return joined.mutate(**new).select(*fetches.columns)

    def _save(self, rows: Rows, parts: PartSet, name: str = "part-00001") -> int:
        file = Path(parts.location(f"{name}.parquet"))
        file.parent.mkdir(exist_ok=True)
        return self._engine.save(rows.select(*parts.schema.names), parts.schema, file)

    def _moved(self, chosen: Rows, archive: ArchiveCopier, file: Path) -> TableSource:
        """Copy the captures of chosen pages, archive by archive, and return their new locations."""
        wanted = chosen.filter(chosen.warc_file.notnull())
        wanted = wanted.select("segment", "warc_file", "warc_offset", "url")
        rows = iter_rows(self._engine.batches(wanted.order_by(["segment", "warc_file", "warc_offset"])))
        with pq.ParquetWriter(file, _MOVED) as writer:
            for (segment, name), pages in groupby(rows, key=itemgetter("segment", "warc_file")):
                # All captures of an archive at once, because the copier needs their offsets.
                urls: dict[int, list[str]] = {}
                for row in pages:
                    urls.setdefault(row["warc_offset"], []).append(row["url"])
                found = [
                    {"page": url, "file": location.file, "offset": location.offset, "size": location.length}
                    for place, location in archive.take(self._segments[segment].content / name, urls)
                    for url in urls[place]
                ]
                writer.write_batch(pa.RecordBatch.from_pylist(found, schema=_MOVED))
        return file_source(file, _MOVED)
