"""invertlinks: add the links of segments to the linkdb, by target.

Nutch only adds links. Here the links of a page that was parsed again replace its earlier ones: the linkdb is rewritten
anyway, and this costs one look-up of each link's source. If a newer segment was added first, the links of its
pages are kept as long as that segment exists. Nutch also filters the existing links; here only new links are filtered
(``mergelinkdb --filter`` filters all).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import linkdb_snapshot, remove_backup
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.linkdb import merge_links, popular_urls, unnest_inlinks, weighted
from scoter.batch.crawldir.segment import Segment
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.parsed_links import read_links, without_adjustments
from scoter.config import Config
from scoter.config.sections.links import LinkdbSettings
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.errors import UsageError, typed
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.tables import Table


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
        parsed = read_links(crawl, engine, chains, segments, linkdb.applied, folder)
        latest, links = parsed.pages, parsed.links
        inputs = {"linkdb": linkdb.source, **{f"links{number}": each for number, each in enumerate(links)}}

        most = config.linkdb.max_inlinks
        popular = popular_urls(engine, links, [linkdb.source], most, folder / "popular.parquet")

        def job(tables: Mapping[str, Rows]) -> Rows:
            found = [_wanted(tables[f"links{n}"], config.linkdb, place) for n, place in enumerate(parsed.places)]
            fresh = ibis.union(*found).semi_join(latest, ["source", "segment"]).drop("segment")
            before = unnest_inlinks(tables["linkdb"]).anti_join(latest, "source")
            return merge_links({0: before, 1: fresh}, most, popular)

        with Table.write(crawl.linkdb, schemas.LINKDB, writer="invertlinks", clock=lambda: now) as new:
            engine.write(job, weighted(inputs), new)
            names = tuple(each.name for each in segments)
            manifest = new.commit(applied=[name for name in names if name not in linkdb.applied])
    remove_backup(crawl.linkdb, config)
    return InvertResult(segments=names, urls=manifest.rows, urls_before=linkdb.rows)


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
    # A link of a page to itself is internal.
    links = links.filter(~_is_internal(links)) if config.ignore_internal_links else without_adjustments(links)
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
