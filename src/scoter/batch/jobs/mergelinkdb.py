"""mergelinkdb: merge linkdbs; every URL keeps its inlinks up to the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import linkdb_snapshot
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.linkdb import merge_links, popular_urls, unnest_inlinks, weighted
from scoter.batch.jobs.mergedb import check_new
from scoter.batch.urls.chains import UrlChains, rewrite_urls, url_changes
from scoter.config import Config
from scoter.engine import Engine, TableSource
from scoter.engine.port import Rows, save_source
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.tables import Table

_LINKS = pa.schema(schemas.texts("url", "key", "source", "anchor"))


class MergelinkdbResult(Struct, frozen=True, kw_only=True):
    """The number of rows read, and of URLs written."""

    records: int
    urls: int


def mergelinkdb(
    out: CrawlDir,
    crawls: Sequence[CrawlDir],
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    filter: bool = False,
    normalize: bool = False,
) -> MergelinkdbResult:
    """Write the linkdb of a crawl that has none, from those of others.

    A page that links to a URL in several of them counts once. The segments applied to any of the linkdbs count as
    applied to the new one.
    """
    check_new(out, out.linkdb, "linkdb")
    chains = UrlChains.from_config(config, "linkdb", filter=filter, normalize=normalize)
    has_chains = bool(chains.filters or chains.normalizers)
    with ExitStack() as stack:
        known = [stack.enter_context(linkdb_snapshot(each)) for each in crawls]
        folder = stack.enter_context(Scratch(out.scratch, "mergelinkdb")).path
        sources = [each.source for each in known]
        if has_chains:
            sources = [_rewrite_links(engine, each, chains, folder / f"{n}.parquet") for n, each in enumerate(sources)]
        most = config.linkdb.max_inlinks
        links, linkdbs = (sources, []) if has_chains else ([], sources)
        popular = popular_urls(engine, links, linkdbs, most, folder / "popular.parquet")

        def job(tables: Mapping[str, Rows]) -> Rows:
            found = [rows if has_chains else unnest_inlinks(rows) for rows in tables.values()]
            return merge_links({0: ibis.union(*found)}, most, popular)

        new = stack.enter_context(Table.write(out.linkdb, schemas.LINKDB, writer="mergelinkdb", clock=lambda: now))
        engine.write(job, weighted({str(number): each for number, each in enumerate(sources)}), new)
        manifest = new.commit(applied={name for each in known for name in each.applied})
        return MergelinkdbResult(records=sum(each.rows for each in known), urls=manifest.rows)


def _rewrite_links(engine: Engine, linkdb: TableSource, chains: UrlChains, file: Path) -> TableSource:
    """Return one row per link of a linkdb, with the chains applied to source and target."""
    links = unnest_inlinks(engine.read(linkdb))
    changes = url_changes(engine, ibis.union(links.select("url"), links.select(url="source")), chains)
    links = rewrite_urls(rewrite_urls(links, changes, derived={"key": "its_key"}), changes, "source")
    return save_source(engine, links, _LINKS, file)
