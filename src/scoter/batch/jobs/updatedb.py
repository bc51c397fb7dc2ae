"""updatedb: update the crawldb from fetched segments.

``scoter.core.update`` defines the rule for one URL; ``scoter.batch.update`` implements it as column expressions. The
manifest of a crawldb version lists the segments applied to it, so that no segment is applied twice.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import is_incremental, key_spans, replaced_rows, write_positions
from scoter.batch.crawldir.crawldb import (
    TableSnapshot,
    changed_statuses,
    count_by_status,
    count_statuses,
    crawldb_snapshot,
    recorded_statuses,
)
from scoter.batch.crawldir.directory import CrawlDir, applied_segments
from scoter.batch.crawldir.export import iter_rows, only_row
from scoter.batch.crawldir.host_counts import update_host_counts
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.compact import settle
from scoter.batch.update import hooks, inputs, transition
from scoter.batch.update.links import may_exceed
from scoter.batch.urls.chains import UrlChains
from scoter.config import Config
from scoter.core.datum import FetchStatus, short_name
from scoter.engine import Engine, TableSource, source_of
from scoter.engine.port import Job, Rows, save_source
from scoter.engine.sources import read_footer, with_positions
from scoter.errors import UsageError, typed
from scoter.plugins import Column, chain
from scoter.plugins.points import SCHEDULE_COLUMNS
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.tables import NewVersion, Table

REPLACED = with_positions(pa.schema([("old_host", pa.utf8()), ("old_status", pa.utf8()), ("old_score", pa.float64())]))
"""What is needed of a replaced record."""
_PLACES = "replaced"
_SUCCESSES = (FetchStatus.SUCCESS, FetchStatus.NOTMODIFIED)


class UpdateResult(Struct, frozen=True, kw_only=True):
    """The result of an update."""

    segments: tuple[str, ...]
    unparsed: tuple[str, ...]
    """Segments that were not parsed: their links are missing."""
    outcomes: int
    """URLs of the segments that were requested, or refused before a request."""
    fetched: int
    """Those of them that gave a page, or whose page had not changed."""
    links: int
    urls: int
    urls_before: int
    new: int
    statuses: Mapping[str, int]


def pending(crawl: CrawlDir) -> list[Segment]:
    """Return the fetched segments that are not in the crawldb yet, oldest first."""
    done = applied_segments(crawl.crawldb) or ()
    return [each for each in crawl.all_segments() if each.is_fetched and not each.is_in(done)]


def updatedb(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    segments: Sequence[Segment],
    *,
    now: datetime,
    additions: bool | None = None,
    filter: bool | None = None,
    normalize: bool | None = None,
    force: bool = False,
) -> UpdateResult:
    """Update the crawldb from fetched segments.

    ``force`` accepts segments that are not completely fetched or already in the crawldb. Options that are ``None``
    follow the ``db`` settings.
    """
    update = CrawldbUpdate(config, additions=additions, filter=filter, normalize=normalize)
    return update.run(crawl, engine, segments, now=now, force=force)


class CrawldbUpdate:
    """Runs updates with one configuration; plug-ins and rules are shared between runs."""

    def __init__(
        self,
        config: Config,
        *,
        additions: bool | None = None,
        filter: bool | None = None,
        normalize: bool | None = None,
    ) -> None:
        self._config = config
        self._db = db = config.db
        self._additions = db.update_additions_allowed if additions is None else additions
        self._chains = UrlChains.from_config(
            config,
            "crawldb",
            filter=db.url_filters if filter is None else filter,
            normalize=db.url_normalizers if normalize is None else normalize,
        )
        self._scoring = chain("scoring", config)
        self._schedule = chain("schedule", config)[0][1]
        self._limits = transition.UpdateLimits(max_retries=db.fetch_retry_max, max_interval=db.fetch_interval_max)
        self._extra: tuple[Column, ...] = schemas.plugin_columns(self._scoring)
        self._has_columns = all(callable(getattr(self._schedule, name, None)) for name in SCHEDULE_COLUMNS)

    def run(
        self, crawl: CrawlDir, engine: Engine, segments: Sequence[Segment], *, now: datetime, force: bool = False
    ) -> UpdateResult:
        """Like ``updatedb``."""
        # Apply a segment only once, or its scores would count twice.
        segments = sorted({each.name: each for each in segments}.values(), key=lambda each: each.name)
        extra = self._extra
        with crawldb_snapshot(crawl, extra) as known, Scratch(crawl.scratch, "updatedb") as scratch:
            _check(crawl, segments, known.applied, force)
            sources, shape = self._sources(engine, known.source, segments, scratch.path)
            before = _count(engine, sources[inputs.CRAWLDB], shape, known)
            names = tuple(each.name for each in segments)
            fresh = [name for name in names if name not in known.applied]
            with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=extra, writer="updatedb", clock=lambda: now) as new:
                if self._is_incremental(known, sources, shape):
                    properties = self._add_delta(engine, known, sources, shape, scratch.path, new, now)
                    manifest = new.commit(fresh, properties=properties)
                    _update_host_counts(crawl, engine, known, scratch.path / _PLACES)
                else:
                    engine.write(self._job(engine, shape, scratch.path, now), {**sources, inputs.NOW: now}, new)
                    manifest = new.commit(fresh)
            outcomes, fetched = _count_outcomes(
                engine, [sources[f"{inputs.FETCH}{each}"] for each in range(len(names))]
            )
            links = _rows(sources[inputs.LINKS])
        settle(crawl, engine, self._config, now=now)
        return UpdateResult(
            segments=names,
            unparsed=tuple(each.name for each in segments if not each.is_parsed),
            outcomes=outcomes,
            fetched=fetched,
            links=links,
            urls=manifest.rows,
            urls_before=known.rows,
            new=manifest.rows - before,
            statuses=count_by_status(crawl, engine),
        )

    def _add_delta(
        self,
        engine: Engine,
        known: TableSnapshot,
        sources: Mapping[str, TableSource],
        shape: inputs.UpdateShape,
        folder: Path,
        new: NewVersion,
        now: datetime,
    ) -> Mapping[str, str]:
        """Write the touched records as a delta part; return the properties of the new version."""
        shape = replace(shape, is_partial=True, spans=key_spans(engine, known.source, _touched(engine, sources)))
        # Old records only pass by, unless they are touched.
        share = min(1.0, _count_touched(sources) / max(known.rows, 1))
        crawldb = replace(known.source, has_positions=True, weight=known.source.weight * share)
        new.extend(known.version)
        places = folder / _PLACES
        places.mkdir()
        given: dict[str, TableSource | datetime] = {**sources, inputs.CRAWLDB: crawldb, inputs.NOW: now}
        engine.write(self._job(engine, shape, folder, now), given, new, replaced=places)
        replaced = replaced_rows(places, REPLACED)
        positions = write_positions(engine, engine.read(replaced), known.source, folder / "positions.parquet")
        new.replace_rows(positions)
        before = None if known.manifest is None else recorded_statuses(known.manifest)
        return changed_statuses(
            count_statuses(engine, known.source) if before is None else before,
            _count_replaced(engine, replaced),
            count_statuses(engine, replace(known.source, files=new.added, changed=frozenset())),
        )

    def _is_incremental(
        self, known: TableSnapshot, sources: Mapping[str, TableSource], shape: inputs.UpdateShape
    ) -> bool:
        """Return whether only the rows that the segments mention can change, and they are few."""
        chains = self._chains
        if chains.filters or chains.normalizers or shape.purged or hooks.changes_untouched(self._scoring):
            return False
        return is_incremental(known.manifest, known.source.schema, self._config, _count_touched(sources))

    def _sources(
        self, engine: Engine, crawldb: TableSource, segments: Sequence[Segment], folder: Path
    ) -> tuple[dict[str, TableSource], inputs.UpdateShape]:
        """Return the inputs of an update and their shape."""
        collect = hooks.wants_links(self._scoring)
        carried = any(getattr(plugin, "carries_metadata", False) for _, plugin in self._scoring)
        keys, extra, count, chains = self._db.parsemeta_to_crawldb, self._extra, len(segments), self._chains
        found = inputs.update_sources(
            crawldb, segments, extra, parse_metadata=bool(keys), link_metadata=collect or carried
        )
        found = inputs.with_redirects(engine, found, count, extra, folder)
        if chains.filters or chains.normalizers:
            found = inputs.apply_chains(engine, found, chains, folder)
        limit = self._db.update_max_inlinks
        pointing = [found[name] for name in (inputs.LINKS, inputs.REDIRECTS) if name in found]
        is_limited = sum(map(_rows, pointing)) > limit and may_exceed(engine, pointing, limit)
        purged = ("gone",) * self._db.update_purge_404 + ("orphan",) * self._db.update_purge_orphans
        shape = inputs.UpdateShape(
            segments=count,
            extra=extra,
            is_merged=bool(chains.normalizers),
            link_limit=limit if is_limited else None,
            purged=purged,
            parse_keys=tuple(keys),
            collect=collect,
            carried=carried,
        )
        return found, shape

    def _job(self, engine: Engine, shape: inputs.UpdateShape, folder: Path, now: datetime) -> Job:
        """Return the job from the inputs to the new crawldb.

        If all plug-ins use columns, inputs of the same shape get the same job, whose query engines cache.
        """
        query = UpdateQuery(
            shape=shape,
            additions=self._additions,
            marks_failures=self._config.parse.delete_failed_parse,
            schedule=self._schedule,
            scoring=tuple(self._scoring),
            limits=self._limits,
        )
        if self._has_columns and not hooks.needs_rows(self._scoring):
            return _column_job(query) if _is_hashable(query) else _column_job.__wrapped__(query)

        def run(tables: Mapping[str, Rows]) -> Rows:
            # Row-by-row plug-ins read their input several times; it is computed once and stored.
            rows = _stored(engine, query.merged(tables), folder)
            if self._has_columns:
                rows = transition.transition(rows, self._schedule, self._limits)
            else:
                new_record = hooks.by_transition(self._schedule, self._limits, now, self._extra)
                rows = hooks.map_rows(engine, rows, transition.is_touched(rows), new_record, self._extra)
            return query.selected(hooks.apply_scoring(rows, self._scoring, engine, now, self._extra))

        return run


class UpdateQuery(Struct, frozen=True, kw_only=True):
    """Everything that the query of an update depends on."""

    shape: inputs.UpdateShape
    additions: bool
    marks_failures: bool
    schedule: Any
    scoring: hooks.Chain
    limits: transition.UpdateLimits

    def merged(self, tables: Mapping[str, Rows]) -> Rows:
        """Return the joined inputs with the records before any rule."""
        rows = inputs.join_inputs(tables, self.shape)
        if not self.additions:
            rows = rows.filter(rows.old_url.notnull())
        rows = transition.outcomes(rows, tables[inputs.NOW], marks_failures=self.marks_failures)
        return transition.merge_records(rows, self.shape.extra)

    def selected(self, rows: Rows) -> Rows:
        """Return the columns to write."""
        names = [*schemas.CRAWLDB.names, *schemas.column_names(self.shape.extra)]
        if not self.shape.is_partial:
            return rows.select(*names)
        return rows.mutate(old_host=rows.host).select(*names, *REPLACED.names)  # the host follows from the URL


@lru_cache(maxsize=16)
def _column_job(query: UpdateQuery) -> Job:
    """Return the job of an update whose plug-ins all use columns; the same one for equal queries."""

    def run(tables: Mapping[str, Rows]) -> Rows:
        rows = transition.transition(query.merged(tables), query.schedule, query.limits)
        return query.selected(hooks.apply_column_hooks(rows, query.scoring))

    return run


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:  # of a plug-in, for example
        return False
    return True


def _stored(engine: Engine, rows: Rows, folder: Path) -> Rows:
    for left in folder.glob("stored-*.parquet"):  # written for the previous range
        left.unlink()
    schema = rows.schema().to_pyarrow()
    file = Path(tempfile.mktemp(prefix="stored-", suffix=".parquet", dir=folder))  # noqa: S306 - a private folder
    return engine.read(save_source(engine, rows, schema, file))


def _check(crawl: CrawlDir, segments: Sequence[Segment], applied: frozenset[str], force: bool) -> None:
    if not segments:
        raise UsageError("no segment given", where=str(crawl.segments))
    for each in () if force else segments:
        if not each.is_fetched:
            raise UsageError(
                "the segment is not completely fetched",
                where=str(each.path),
                hint=f"Run: scoter fetch {typed(crawl.path)} {each.name}; or use --force to apply what was fetched.",
            )
        origin = each.origin()
        if origin.is_in(applied):
            raise UsageError(
                f"segment {each.name} is already in the crawldb",
                where=str(crawl.crawldb),
                hint="Its scores would count twice. To apply it again anyway, use --force.",
            )
        if origin.is_partly_in(applied):
            shown = ", ".join(one.name for one in origin.merged if not one.is_in(applied))
            raise UsageError(
                f"the merged segment {each.name} is partly in the crawldb, without {shown}",
                where=str(crawl.crawldb),
                hint="Apply all segments before merging them; or use --force, which counts some scores twice.",
            )


def _names_urls(name: str) -> bool:
    """Return whether an input has the URLs that an update touches; parsed pages are among the fetched."""
    return name in (inputs.LINKS, inputs.REDIRECTS) or name.startswith(inputs.FETCH)


def _count_touched(sources: Mapping[str, TableSource]) -> int:
    """Return the highest number of URLs that an update may touch."""
    return sum(_rows(each) for name, each in sources.items() if _names_urls(name))


def _touched(engine: Engine, sources: Mapping[str, TableSource]) -> Rows:
    """Return the URLs that were fetched, linked to, or the targets of redirects, with their keys."""
    urls = [engine.read(source_of(each, ("url", "key"))) for name, each in sources.items() if _names_urls(name)]
    return ibis.union(*urls) if len(urls) > 1 else urls[0]


def _count(engine: Engine, crawldb: TableSource, shape: inputs.UpdateShape, known: TableSnapshot) -> int:
    """Return the number of crawldb URLs before the update, without purged ones."""
    if not shape.purged and not shape.is_merged:
        return known.rows if crawldb is known.source else _rows(crawldb)
    rows = engine.read(crawldb)
    kept = rows.filter(~rows.status.isin(shape.purged)) if shape.purged else rows
    return int(only_row(engine.batches(kept.aggregate(urls=kept.url.nunique())))["urls"])


def _count_outcomes(engine: Engine, fetches: Sequence[TableSource]) -> tuple[int, int]:
    """Return how many URLs have an outcome in fetched segments, and how many of these are successes."""
    counts = sum((Counter(count_statuses(engine, each)) for each in fetches), Counter())
    return counts.total() - counts[schemas.DEFERRED], sum(counts[short_name(each)] for each in _SUCCESSES)


def _count_replaced(engine: Engine, replaced: TableSource) -> dict[str, int]:
    rows = engine.read(replaced)
    counts = rows.group_by("old_status").agg(urls=rows.count())
    return {row["old_status"]: row["urls"] for row in iter_rows(engine.batches(counts))}


def _update_host_counts(crawl: CrawlDir, engine: Engine, known: TableSnapshot, places: Path) -> None:
    old = engine.read(replaced_rows(places, REPLACED))
    old = old.select(host=old.old_host, status=old.old_status, score=old.old_score)
    update_host_counts(crawl, engine, known.version, old)


def _rows(source: TableSource) -> int:
    return sum(read_footer(file).num_rows for file in source.files)
