"""The nodes and links that segments add to the link graph, as files to be added to its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.segment import Segment
from scoter.batch.graph.buckets import LinkBuckets, choose_rows, group_of
from scoter.batch.graph.links import marks
from scoter.batch.graph.node_values import Ids, Numbers, write_file
from scoter.batch.graph.tables import NO_NODE
from scoter.batch.graph.urls import NumberedUrls, number_urls
from scoter.batch.urls.parsed_links import ParsedLinks, without_adjustments
from scoter.config.sections.links import LinkSettings
from scoter.core.datum import FetchStatus, short_name
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.duckdb import ROW_GROUP
from scoter.engine.port import save_source
from scoter.engine.sources import survey
from scoter.plugins.recorded import ibis

_GONE = short_name(FetchStatus.GONE)
_URLS = pa.schema(schemas.texts("url"))
_NOT_PARSED = -1


class FoundLinks(Struct, frozen=True):
    """The links to be added, in buckets; ``rows`` has a file per bucket with the rows to keep.

    ``page_segment`` has the number of the segment of each parsed page, or -1; ``is_linked`` the URLs with links.
    """

    urls: NumberedUrls
    page_segment: Ids
    is_linked: Any
    buckets: LinkBuckets
    rows: Callable[[int], Path]


def gone_pages(engine: Engine, parsed: ParsedLinks, segments: Sequence[Segment], folder: Path) -> TableSource:
    """Save the URLs that were gone when they were last fetched, and not parsed since."""
    found = []
    for segment, place in zip(segments, parsed.places, strict=True):
        rows = engine.read(source_of(segment.crawl_fetch(), ("url", "status")))
        found.append(rows.filter(rows.status == _GONE).select("url", place=ibis.literal(place, "int32")))
    rows = ibis.union(*found)
    last = rows.group_by("url").agg(place=rows.place.max())
    pages = parsed.pages
    joined = last.left_join(pages.select("source", "segment"), last.url == pages.source)
    gone = joined.filter(joined.segment.isnull() | (joined.segment < joined.place)).select("url")
    return save_source(engine, gone, _URLS, folder / "gone.parquet")


def find_links(
    engine: Engine, settings: LinkSettings, parsed: ParsedLinks, gone: TableSource | None, folder: Path
) -> FoundLinks:
    """Read the links of segments, except those that the settings leave out."""
    pages = parsed.pages
    if gone is not None:
        left = engine.read(gone)
        pages = pages.anti_join(left, pages.source == left.url)
    named = [engine.read(source_of(each, ("url", "key"))) for each in parsed.links]
    by_page = settings.ignore_limit_page and not settings.ignore_limit_domain
    urls = number_urls(
        engine, [*named, pages.select("key", url="source").select("url", "key")], folder, by_page=by_page
    )
    page_segment = np.full(urls.size, _NOT_PARSED, np.int32)
    for (numbers,), batch in urls.numbered(engine, pages.select("source", "segment"), ("source",)):
        page_segment[numbers] = batch["segment"].to_numpy()
    links = sum(survey(source_of(each, ("source",))).rows for each in parsed.links)
    buckets = LinkBuckets(folder, np.flatnonzero(page_segment != _NOT_PARSED), urls.size, links)
    buckets.fill(_kept(settings, urls, page_segment, _numbered_links(engine, parsed, urls)))

    def rows(number: int) -> Path:
        return folder / f"rows-{number}.npy"

    is_linked = np.zeros(urls.size, bool)
    groups = group_of(settings, urls.domain_of, urls.page_of)
    for number in range(buckets.count):
        source, target, anchor = buckets.read(number)
        chosen = choose_rows(source, target, anchor, groups)
        is_linked[source[chosen]] = True
        is_linked[target[chosen]] = True
        np.save(rows(number), chosen)
    return FoundLinks(urls, page_segment, is_linked, buckets, rows)


def _numbered_links(engine: Engine, parsed: ParsedLinks, urls: NumberedUrls) -> Iterator[tuple[list[Ids], Any]]:
    read = [
        without_adjustments(engine.read(source_of(each, ("source", "url", "anchor", "kind"))))
        .drop("kind")
        .mutate(segment=ibis.literal(place, "int32"))
        for each, place in zip(parsed.links, parsed.places, strict=True)
    ]
    return urls.numbered(engine, ibis.union(*read), ("source", "url"))


def _kept(
    settings: LinkSettings, urls: NumberedUrls, page_segment: Ids, batches: Iterator[tuple[list[Ids], Any]]
) -> Iterator[tuple[Ids, Ids, Any]]:
    """Yield the links of the newest version of each page that the settings do not ignore."""
    for (source, target), batch in batches:
        anchor = pc.fill_null(batch["anchor"], "") if batch["anchor"].null_count else batch["anchor"]
        kept = page_segment[source] == batch["segment"].to_numpy()
        # Links within a host are links within its domain.
        site_of = urls.domain_of if settings.ignore_internal_domain else urls.host_of
        if settings.ignore_internal_domain or settings.ignore_internal_host:
            kept &= site_of[source] != site_of[target]
        if kept.all():
            yield source, target, anchor
        else:
            yield source[kept], target[kept], anchor.filter(pa.array(kept))


def write_links(found: FoundLinks, ids: Ids, run: int, lost: Numbers, file: Path) -> Numbers:
    """Write the links with the lasting numbers of URLs, and marks for pages that lost theirs; return all sources."""
    schema = schemas.GRAPH_LINKS
    has_links = np.zeros(int(max(ids.max(initial=-1), lost.max(initial=-1))) + 1, bool)

    def batches() -> Iterator[Any]:
        for number in range(found.buckets.count):
            source, target, anchor = found.buckets.read(number)
            chosen = np.load(found.rows(number))
            source, target = ids[source[chosen]], ids[target[chosen]]
            key = (source.astype(np.int64) << 32) | target
            if len(key) and (key[1:] < key[:-1]).any():
                order = np.argsort(key)
                source, target, chosen = source[order], target[order], chosen[order]
            has_links[source] = True
            texts = anchor.take(pa.array(chosen)).cast(pa.utf8())
            runs = pa.array(np.full(len(source), run, np.int32))
            found.buckets.remove(number)
            yield pa.RecordBatch.from_arrays([pa.array(source), pa.array(target), runs, texts], schema=schema)
        without = lost[~has_links[lost]]
        has_links[without] = True
        yield marks(without, NO_NODE, run, schema)

    write_file(file, schema, batches())
    return np.flatnonzero(has_links)


def new_nodes(found: FoundLinks, ids: Ids, first: int, hosts: Ids, file: Path) -> int:
    """Write the nodes whose numbers are ``first`` and above; return how many there are."""
    schema = schemas.GRAPH_NODES

    def batches() -> Iterator[Any]:
        at = 0
        with pq.ParquetFile(found.urls.file) as urls:
            for batch in urls.iter_batches(2**17, columns=["url", "key"]):
                numbers = ids[at : at + batch.num_rows]
                host = hosts[found.urls.host_of[at : at + batch.num_rows]]
                at += batch.num_rows
                is_new = numbers >= first
                columns = [*batch.columns, pa.array(numbers), pa.array(host)]
                whole = pa.RecordBatch.from_arrays(columns, schema=schema)
                yield whole if is_new.all() else whole.filter(pa.array(is_new))

    return write_file(file, schema, batches(), ROW_GROUP)
