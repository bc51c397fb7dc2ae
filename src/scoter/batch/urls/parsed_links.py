"""The links of parsed segments, normalised and filtered, and the pages whose newest links they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.urls.chains import DERIVED, UrlChains, rewrite_urls, url_changes
from scoter.core.page import ADJUSTMENT
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows, save_source
from scoter.plugins.recorded import ibis

_LINK = ("source", "url", "key", "host", "anchor", "kind")
_PAGE = pa.schema([("source", pa.utf8()), ("key", pa.utf8()), ("segment", pa.int32())])


class ParsedLinks(Struct, frozen=True):
    """The links of segments, one source per segment, and the parsed pages: source, key, segment.

    ``places`` are the numbers of the segments. A link counts only if ``pages`` has its source with the number of its
    segment: otherwise another segment has a newer version of the page.
    """

    links: Sequence[TableSource]
    places: Sequence[int]
    pages: Rows


def read_links(
    crawl: CrawlDir,
    engine: Engine,
    chains: UrlChains,
    segments: Sequence[Segment],
    applied: frozenset[str],
    folder: Path,
    *,
    once: bool = True,
) -> ParsedLinks:
    """Return the links of segments, which are to be added to a table that others were applied to.

    ``once``: list each page once even if a segment has it twice.
    """
    links = [source_of(each.crawl_parse(), _LINK) for each in segments]
    newer = _newer_applied(crawl, segments, applied)
    order = sorted([*segments, *newer], key=lambda each: each.name)
    places = [order.index(each) for each in segments]
    parsed = _parsed(engine, [source_of(each.parse_data(), ("url", "key", "parse_status")) for each in order])
    if chains.filters or chains.normalizers:
        read = [engine.read(each) for each in links]
        named = [rows.select(url=name) for rows in read for name in ("url", "source")]
        changes = url_changes(engine, ibis.union(parsed.select(url="source"), *named), chains)
        parsed = rewrite_urls(parsed, changes, "source", {"key": DERIVED["key"]})
        new_links = [rewrite_urls(rewrite_urls(rows, changes, derived=DERIVED), changes, "source") for rows in read]
        links = [
            save_source(engine, rows, each.schema, folder / f"{number}.parquet")
            for number, (each, rows) in enumerate(zip(links, new_links, strict=True))
        ]
    if len(order) == 1 and not once:
        return ParsedLinks(links, places, parsed)
    latest = parsed.group_by("source").agg(key=parsed.key.max(), segment=parsed.segment.max())
    latest = latest.filter(latest.segment.isin(places))
    return ParsedLinks(links, places, engine.read(save_source(engine, latest, _PAGE, folder / "parsed.parquet")))


def _newer_applied(crawl: CrawlDir, segments: Sequence[Segment], applied: frozenset[str]) -> list[Segment]:
    """Return the applied segments that are newer than one of those given.

    Merged segments are ignored: their names say when they were merged, not when their pages were fetched.
    """
    given = {each.name for each in segments}
    newer = [each for each in crawl.all_segments() if each.name > min(given) and each.name not in given]
    return [each for each in newer if each.is_parsed and each.name in applied and not each.origin().merged]


def _parsed(engine: Engine, pages: Sequence[TableSource]) -> Rows:
    """Return every parsed page with its key and the number of its segment."""
    found = []
    for number, each in enumerate(pages):
        rows = engine.read(each)
        rows = rows.filter(rows.parse_status == "success")
        found.append(rows.select(source="url", key="key", segment=ibis.literal(number, "int32")))
    return ibis.union(*found)


def without_adjustments(links: Rows) -> Rows:
    """Return the links without those by which scoring filters adjust a page's own record."""
    return links.filter(links.kind.fill_null("") != ADJUSTMENT)
