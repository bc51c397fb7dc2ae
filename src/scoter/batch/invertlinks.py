"""invertlinks: add the links of segments to the linkdb, by target.

Nutch only adds links. Here the links of a page that was parsed again replace its earlier ones: the linkdb is rewritten
anyway, and this costs one look-up of each link's source. If a newer segment was added first, the links of its
pages are kept as long as that segment exists. Nutch also filters the existing links; here only new links are filtered
(``mergelinkdb --filter`` filters all).
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import ibis
import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import linkdb_snapshot, remove_backup
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.linkdb import merge_links, popular_urls, unnest_inlinks, weighted
from scoter.batch.crawldir.segment import Segment
from scoter.batch.urls.chains import DERIVED, UrlChains, rewrite_urls, url_changes
from scoter.config import Config
from scoter.config.sections.links import LinkdbSettings
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Rows, save_source
from scoter.errors import UsageError, typed
from scoter.store.disk import Scratch
from scoter.store.tables import Table

_LINK = ("source", "url", "key", "host", "anchor")
_PARSED = pa.schema([("source", pa.utf8()), ("segment", pa.int32())])


class InvertResult(Struct, frozen=True, kw_only=True):
    """The segments added to the linkdb, and the number of URLs with inlinks."""

    segments: tuple[str, ...]
    urls: int
    urls_before: int


def pending(crawl: CrawlDir) -> list[Segment]:
    """Return the parsed segments that are not in the linkdb yet, oldest first."""
    with linkdb_snapshot(crawl) as linkdb:
        return [each for each in crawl.all_segments() if each.is_parsed and not each.is_in(linkdb.applied)]


def invertlinks(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    segments: Sequence[Segment],
    *,
    now: datetime,
    filter: bool = True,
    normalize: bool = True,
    force: bool = False,
) -> InvertResult:
    """Add the links of parsed segments to the linkdb; ``force`` also adds segments that are already in it."""
    if not segments:
        raise UsageError("no segment given", where=str(crawl.segments))
    with linkdb_snapshot(crawl) as linkdb, Scratch(crawl.scratch, "invertlinks") as scratch:
        folder = scratch.path
        segments = sorted(segments, key=lambda each: each.name)
        for each in segments:
            _check(each, linkdb.applied, force)
        chains = UrlChains.from_config(config, "linkdb", filter=filter, normalize=normalize)
        links = [source_of(each.crawl_parse(), _LINK) for each in segments]
        newer = _newer_applied(crawl, segments, linkdb.applied)
        order = sorted([*segments, *newer], key=lambda each: each.name)
        pages = [source_of(each.parse_data(), ("url", "parse_status")) for each in order]
        places = [order.index(each) for each in segments]
        parsed = _parsed(engine, pages)
        if chains.filters or chains.normalizers:
            read = [engine.read(each) for each in links]
            named = [rows.select(url=name) for rows in read for name in ("url", "source")]
            changes = url_changes(engine, ibis.union(parsed.select(url="source"), *named), chains)
            parsed = rewrite_urls(parsed, changes, "source")
            new_links = [rewrite_urls(rewrite_urls(rows, changes, derived=DERIVED), changes, "source") for rows in read]
            links = [
                save_source(engine, rows, each.schema, folder / f"{number}.parquet")
                for number, (each, rows) in enumerate(zip(links, new_links, strict=True))
            ]
        latest = parsed.group_by("source").agg(segment=parsed.segment.max())
        latest = latest.filter(latest.segment.isin(places))
        latest = engine.read(save_source(engine, latest, _PARSED, folder / "parsed.parquet"))
        inputs = {"linkdb": linkdb.source, **{f"links{number}": each for number, each in enumerate(links)}}

        most = config.linkdb.max_inlinks
        popular = popular_urls(engine, links, [linkdb.source], most, folder / "popular.parquet")

        def job(tables: Mapping[str, Rows]) -> Rows:
            found = [_wanted(tables[f"links{n}"], config.linkdb, place) for n, place in enumerate(places)]
            fresh = ibis.union(*found).semi_join(latest, ["source", "segment"]).drop("segment")
            before = unnest_inlinks(tables["linkdb"]).anti_join(latest, "source")
            return merge_links({0: before, 1: fresh}, most, popular)

        with Table.write(crawl.linkdb, schemas.LINKDB, writer="invertlinks", clock=lambda: now) as new:
            engine.write(job, weighted(inputs), new)
            names = tuple(each.name for each in segments)
            manifest = new.commit(applied=[name for name in names if name not in linkdb.applied])
    remove_backup(crawl.linkdb, config)
    return InvertResult(segments=names, urls=manifest.rows, urls_before=linkdb.rows)


def _newer_applied(crawl: CrawlDir, segments: Sequence[Segment], applied: frozenset[str]) -> list[Segment]:
    """Return the segments in the linkdb that are newer than one of those given.

    Merged segments are ignored: their names say when they were merged, not when their pages were fetched.
    """
    given = {each.name for each in segments}
    newer = [each for each in crawl.all_segments() if each.name > min(given) and each.name not in given]
    return [each for each in newer if each.is_parsed and each.name in applied and not each.origin().merged]


def _check(segment: Segment, applied: frozenset[str], force: bool) -> None:
    if not segment.is_parsed:
        raise UsageError(
            "the segment is not parsed yet",
            where=str(segment.path),
            hint=f"Run: scoter parse {typed(segment.path.parent.parent)} {segment.name}",
        )
    if segment.is_in(applied) and not force:
        raise UsageError(
            f"segment {segment.name} is already in the linkdb",
            where=str(segment.path),
            hint="To add it again, for example with other filters, use --force.",
        )


def _wanted(links: Rows, config: LinkdbSettings, segment: int) -> Rows:
    """Return the links of a segment that the settings keep, with the segment's number."""
    if config.ignore_internal_links:
        links = links.filter(~_is_internal(links))
    if config.ignore_external_links:
        links = links.filter(_is_internal(links))
    anchor = links.anchor.substr(0, config.max_anchor_length)
    return links.select("url", "key", "source", anchor=anchor, segment=ibis.literal(segment, "int32"))


def _is_internal(links: Rows) -> Rows:
    """Return whether a link stays on its host. In a canonical URL the host directly follows the slashes."""
    source, host = links.source, links.host
    rest = source.substr(source.find("://") + 3)
    by_web = [
        # http URLs always have a path; comparing the whole prefix saves a quarter of the job's time.
        (source.startswith(web), source.startswith(web + host + "/") | source.startswith(web + host + ":"))
        for web in map(ibis.literal, ("http://", "https://"))
    ]
    return ibis.cases(
        *by_web,
        else_=rest.startswith(host) & rest.substr(host.length(), 1).isin(["/", ":", "?", ""]),
    )


def _parsed(engine: Engine, pages: Sequence[TableSource]) -> Rows:
    """Return every parsed page with the number of its segment."""
    found = []
    for number, each in enumerate(pages):
        rows = engine.read(each)
        rows = rows.filter(rows.parse_status == "success")
        found.append(rows.select(source="url", segment=ibis.literal(number, "int32")))
    return ibis.union(*found)
