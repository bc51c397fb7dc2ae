"""scoreupdater: write ranks of the link graph to the scores of the crawldb."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import is_incremental, save_positions, save_rows
from scoter.batch.crawldir.column_rewrite import IN_PLACE, rewrite_column
from scoter.batch.crawldir.crawldb import open_crawldb, scoring_columns
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import only_row
from scoter.batch.graph.node_values import linked_values, node_rows
from scoter.batch.graph.tables import open_graph
from scoter.batch.jobs.compact import settle
from scoter.batch.jobs.linkrank import RANK_COLUMNS, RankAlgorithm
from scoter.config import Config
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.port import Rows
from scoter.engine.portable import double
from scoter.engine.sources import with_positions
from scoter.errors import UsageError, typed
from scoter.store.disk import Scratch
from scoter.store.tables import NewVersion, Table


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
        ranks = linked_values(engine, graph)
        if graph.size and not only_row(engine.batches(ranks.aggregate(n=ranks[name].count())))["n"]:
            hint = f"Run: scoter linkrank {typed(crawl.path)} --algorithm {algorithm}"
            raise UsageError(f"{algorithm} was not computed yet", where=str(crawl.webgraph), hint=hint)
        stored, file = source_of(crawldb, is_sorted=True), scratch.path / "scores.parquet"
        total = engine.save(
            _new_scores(engine, stored, node_rows(engine, graph), name, clear),
            _SCORES,
            file,
            order=IN_PLACE,
            is_temporary=True,
        )
        scores = engine.read(file_source(file, _SCORES))
        counts = {each: scores[each].cast("int64").sum() for each in ("is_ranked", "is_changed")}
        ranked, changed = (int(number or 0) for number in only_row(engine.batches(scores.aggregate(**counts))).values())
        if changed:
            extra = scoring_columns(config)
            with Table.write(
                crawl.crawldb, schemas.CRAWLDB, extra=extra, writer="scoreupdater", clock=lambda: now
            ) as new:
                if is_incremental(crawldb.manifest, crawldb.schema, config, changed):
                    _add_delta(engine, crawldb, scores, new, scratch.path)
                else:
                    rewrite_column(crawldb, "score", file, new)
                new.commit()
    settle(crawl, engine, config, now=now)
    return ScoreUpdateResult(ranked=ranked, cleared=total - ranked)


_SCORES = with_positions(pa.schema([("score", pa.float64()), ("is_ranked", pa.bool_()), ("is_changed", pa.bool_())]))


def _new_scores(engine: Engine, stored: TableSource, nodes: Rows, name: str, clear: float) -> Rows:
    """Return the positions of the crawldb's rows with their new scores."""
    urls = engine.read(source_of(stored, ("url", "score")), positions=True)
    found = nodes.select(node="url", rank=name)
    joined = urls.left_join(found, urls.url == found.node)
    rank = joined["rank"].fill_null(double(clear))
    return joined.select(
        *IN_PLACE, score=rank, is_ranked=joined.node.notnull(), is_changed=~joined.score.identical_to(rank)
    )


def _add_delta(engine: Engine, crawldb: Table, scores: Rows, new: NewVersion, folder: Path) -> None:
    """Write the records with another score as a delta part."""
    stored, file = source_of(crawldb), folder / "changed.parquet"
    rows = engine.read(stored, positions=True)
    changed = scores.filter(scores.is_changed).select(*IN_PLACE, changed_score="score")
    joined = rows.join(changed, list(IN_PLACE))
    save_rows(engine, joined.mutate(score=joined.changed_score).select(*rows.columns), stored, file)
    new.extend(crawldb.version)
    engine.write(_all_rows, {"rows": file_source(file, crawldb.schema)}, new)
    new.replace_rows(save_positions(engine, file, stored, folder))


def _all_rows(tables: Mapping[str, Rows]) -> Rows:
    return tables["rows"]
