"""scoreupdater: write ranks of the link graph to the scores of the crawldb."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import is_incremental, save_positions, save_rows
from scoter.batch.crawldir.crawldb import open_crawldb, scoring_columns
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import only_row
from scoter.batch.graph.node_values import node_rows
from scoter.batch.graph.tables import open_graph
from scoter.batch.jobs.compact import settle
from scoter.batch.jobs.linkrank import RANK_COLUMNS, RankAlgorithm
from scoter.config import Config
from scoter.engine import Engine, file_source, source_of
from scoter.engine.port import Rows, save_source
from scoter.engine.portable import double
from scoter.errors import UsageError, typed
from scoter.store.disk import Scratch
from scoter.store.tables import Table


class ScoreUpdateResult(Struct, frozen=True, kw_only=True):
    """The number of URLs that got a rank, and of those that are not in the link graph."""

    ranked: int
    cleared: int


def scoreupdater(
    crawl: CrawlDir, engine: Engine, config: Config, *, now: datetime, algorithm: RankAlgorithm = "linkrank"
) -> ScoreUpdateResult:
    """Give every URL of the crawldb its rank as score; those that are not in the graph get the configured score."""
    name = RANK_COLUMNS[algorithm]
    clear = config.link.score_updater_clear_score
    with (
        open_graph(crawl) as graph,
        open_crawldb(crawl, config) as crawldb,
        Scratch(crawl.scratch, "scoreupdater") as scratch,
    ):
        schema = pa.schema([*schemas.texts("url", "key"), (name, pa.float64())])
        ranks = save_source(
            engine, node_rows(engine, graph).select(*schema.names), schema, scratch.path / "ranks.parquet"
        )
        known = engine.read(ranks)
        if graph.size and not only_row(engine.batches(known.aggregate(n=known[name].count())))["n"]:
            hint = f"Run: scoter linkrank {typed(crawl.path)} --algorithm {algorithm}"
            raise UsageError(f"{algorithm} was not computed yet", where=str(crawl.webgraph), hint=hint)

        def job(tables: Mapping[str, Rows]) -> Rows:
            urls, found = tables["crawldb"], tables["ranks"].select(node="url", rank=name)
            joined = urls.left_join(found, urls.url == found.node)
            return joined.mutate(score=joined["rank"].fill_null(double(clear))).select(*urls.columns)

        stored = source_of(crawldb, is_sorted=True)
        urls = engine.read(stored, positions=True)
        found = known.select(node="url", rank=name)
        joined = urls.left_join(found, urls.url == found.node)
        changed = joined.filter(~joined.score.identical_to(joined["rank"].fill_null(double(clear))))
        file = scratch.path / "changed.parquet"
        number = save_rows(engine, changed.select(*urls.columns), stored, file)
        extra = scoring_columns(config)
        total = crawldb.manifest.rows
        if number:
            with Table.write(
                crawl.crawldb, schemas.CRAWLDB, extra=extra, writer="scoreupdater", clock=lambda: now
            ) as new:
                if is_incremental(crawldb.manifest, crawldb.schema, config, number):
                    new.extend(crawldb.version)
                    engine.write(job, {"crawldb": file_source(file, crawldb.schema), "ranks": ranks}, new)
                    new.replace_rows(save_positions(engine, file, stored, scratch.path))
                else:
                    engine.write(job, {"crawldb": stored, "ranks": ranks}, new)
                new.commit()
        urls = engine.read(source_of(crawldb, ("url",)))
        ranked = only_row(engine.batches(urls.semi_join(known, "url").aggregate(n=lambda rows: rows.count())))["n"]
    settle(crawl, engine, config, now=now)
    return ScoreUpdateResult(ranked=ranked, cleared=total - ranked)
