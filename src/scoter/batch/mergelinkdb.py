"""Merge the linkdbs of several crawls: of each URL all its links, as many as are kept."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import ibis
import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import linkdb_snapshot
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.linkdb import merge_links, popular_urls, unnest_inlinks, weighted
from scoter.batch.mergedb import check_new
from scoter.batch.urls.chains import UrlChains, rewrite_urls, url_changes
from scoter.config import Config
from scoter.engine import Engine, TableSource
from scoter.engine.port import Rows
from scoter.store.tables import Table

_LINKS = pa.schema([("url", pa.utf8()), ("key", pa.utf8()), ("source", pa.utf8()), ("anchor", pa.utf8())])


class MergelinkdbResult(Struct, frozen=True, kw_only=True):
    """How many rows there were in all, and how many URLs have inlinks now."""

    records: int
    urls: int


def mergelinkdb(
    out: CrawlDir,
    crawls: Sequence[CrawlDir],
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    filter: bool = False,  # noqa: A002 - as the option is called
    normalize: bool = False,
) -> MergelinkdbResult:
    """Write the linkdb of a crawl that has none yet out of those of others.

    A page that links to a URL in several of them counts once. The new linkdb knows of every segment that was brought
    into one of them.
    """
    check_new(out, out.linkdb, "linkdb")
    chains = UrlChains.from_config(config, "linkdb", filter=filter, normalize=normalize)
    is_sifted = bool(chains.filters or chains.normalizers)
    out.scratch.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        known = [stack.enter_context(linkdb_snapshot(each)) for each in crawls]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=out.scratch)))
        inputs = {
            str(number): _sifted(engine, each.source, chains, folder / f"{number}.parquet")
            if is_sifted
            else each.source
            for number, each in enumerate(known)
        }

        most = config.linkdb.max_inlinks
        sources = list(inputs.values())
        links, linkdbs = (sources, []) if is_sifted else ([], sources)
        crowds = popular_urls(engine, links, linkdbs, most, folder / "crowds.parquet")

        def job(tables: Mapping[str, Rows]) -> Rows:
            found = [rows if is_sifted else unnest_inlinks(rows) for rows in tables.values()]
            return merge_links({0: ibis.union(*found)}, most, crowds)

        new = stack.enter_context(Table.write(out.linkdb, schemas.LINKDB, writer="mergelinkdb", clock=lambda: now))
        engine.write(job, weighted(inputs), new)
        manifest = new.commit(applied={name for each in known for name in each.applied})
        return MergelinkdbResult(records=sum(each.rows for each in known), urls=manifest.rows)


def _sifted(engine: Engine, linkdb: TableSource, chains: UrlChains, file: Path) -> TableSource:
    """Return a linkdb's links one by one, from and to the URLs that pass."""
    links = unnest_inlinks(engine.read(linkdb))
    changes = url_changes(engine, ibis.union(links.select("url"), links.select(url="source")), chains)
    links = rewrite_urls(rewrite_urls(links, changes, beside={"key": "its_key"}), changes, "source")
    engine.save(links, _LINKS, file)
    return TableSource(files=(str(file),), schema=_LINKS, defaults={})
