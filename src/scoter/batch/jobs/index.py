"""index and clean: write the documents of a crawl to search indexes, and delete those of pages that are gone.

The indexdb records what every document was made from: the segment that holds the page, the rough score, and the anchor
texts of its inlinks. A run compares this with what the documents should be made from now, and writes only the
differences. When the indexes have committed, the new indexdb does. A run that is killed in between is repeated, and
since a document replaces the one with the same id, the result is the same.

A document is written again if its page was parsed again, if its score changed by half, or if the set of anchor texts
changed; all are if the settings for documents change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.crawldb import TableSnapshot, indexdb_snapshot, linkdb_snapshot, open_crawldb, remove_backup
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.pages import PageSources, crawled_pages, owner_of
from scoter.batch.crawldir.segment import Segment, SegmentSources
from scoter.batch.main_text.job import MainTextProgress, make_main_text
from scoter.config import Config
from scoter.core.datum import DbStatus, short_name
from scoter.core.document import CrawledPage
from scoter.core.url import canonical
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.port import Rows, save_source
from scoter.engine.portable import double
from scoter.errors import UsageError, typed
from scoter.index.delivery import DocumentDelivery, check_folders, needs_rebuild
from scoter.index.documents import DocumentChain
from scoter.index.routes import WriterPlan, configured_plan
from scoter.plugins import IndexRun
from scoter.plugins.recorded import ibis
from scoter.store.disk import Scratch
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table
from scoter.store.tables.parquet import write_batches

_INDEXABLE = tuple(short_name(status) for status in (DbStatus.FETCHED, DbStatus.NOTMODIFIED))
_NOTMODIFIED = short_name(DbStatus.NOTMODIFIED)
_SETTINGS = "settings"
_RUN = "run"
_WANTED = pa.schema([field for field in schemas.INDEXDB if field.name != "indexed"])
_URLS = pa.schema(schemas.texts("url", "key"))
_CHANGED = pa.schema(schemas.texts("url", "key", "owner", "segment"))
_STEPS = 2.0  # per doubling of a score
_SMALLEST_SCORE = 1e-9
_LARGEST_SCORE = 1e300
_BATCH = 4_096
_SHOWN = 10
_REPORTED = 256
_UNIMPORTANT = frozenset(
    (
        *("username", "password", "api_key", "ca_file", "timeout", "retries"),
        *("bulk_size", "bulk_documents", "memory", "options", "secret_options"),
    )
)
"""Settings of index writers that change neither documents nor where they are."""

DocumentProgress: TypeAlias = Callable[[int, int], None]
"""Called with the number of documents that are done, and with the number of all."""


class IndexResult(Struct, frozen=True, kw_only=True):
    """What a run did: documents written, deleted, left out by filters, without a route, and rejected by an index.

    ``rejections`` are some of the latter, with the reason. ``rebuilt``: all documents were written again.
    """

    written: int
    deleted: int
    left_out: int
    unrouted: int = 0
    rejected: int = 0
    rejections: tuple[str, ...] = ()
    rebuilt: bool = False


def index(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    force: bool = False,
    only_delete: bool = False,
    dry_run: bool = False,
    on_progress: DocumentProgress = lambda done, total: None,
    on_main_text: MainTextProgress = lambda done, total: None,
) -> IndexResult:
    """Bring the search indexes up to date with the crawl.

    ``force``: write all documents again. ``only_delete``: only delete the documents of pages that are gone.
    ``dry_run``: only count. ``on_progress`` is told how many of the documents are done, and
    ``on_main_text`` of how many pages the main text was made that the crawl did not store.
    """
    plan = configured_plan(config)
    if not plan.writers:
        raise UsageError("no index writer is active", where="index.writers", hint='For example: ["tantivy"]')
    directory = crawl.path
    if isinstance(directory, StorePath):
        check_folders(plan, config)
        directory = crawl.scratch
    chain = DocumentChain.from_config(config)
    segments = [each for each in crawl.all_segments() if each.is_parsed]
    if not segments:
        hint = f"Run: scoter crawl {typed(crawl.path)}"
        raise UsageError("there are no parsed segments", where=str(crawl.segments), hint=hint)
    settings = _settings_digest(config, plan)
    with (
        open_crawldb(crawl, config) as crawldb,
        linkdb_snapshot(crawl) as linkdb,
        indexdb_snapshot(crawl) as indexdb,
        Scratch(crawl.scratch, "index") as scratch,
    ):
        if config.index.main_text and not only_delete and not dry_run:
            make_main_text(crawl, config, scratch.path, progress=on_main_text)
        # Not the version of the table: a killed run may leave a gap in those.
        number = int(indexdb.properties.get(_RUN, indexdb.version)) + 1
        run = IndexRun(directory=directory, number=number, rebuild=force)
        if not force and not only_delete:
            is_same = indexdb.properties.get(_SETTINGS, settings) == settings
            run = replace(run, rebuild=not is_same or needs_rebuild(plan, config, run))
        wanted = _wanted(engine, config, segments, source_of(crawldb), linkdb.source, indexdb, scratch.path)
        changed, written = _changed(engine, wanted, indexdb, scratch.path, every=run.rebuild, none=only_delete)
        removed, deleted = _removed(engine, wanted, indexdb, scratch.path, any=config.index.delete or only_delete)
        result = IndexResult(written=written, deleted=deleted, left_out=0, rebuilt=run.rebuild)
        if dry_run:
            return result
        dropped = file_source(scratch.path / "dropped.parquet", _URLS)
        with DocumentDelivery(plan, config, run, now) as delivery:
            for row in iter_rows(engine.batches(engine.read(removed))):
                delivery.delete(row["url"])
            sources = PageSources(
                crawldb=source_of(crawldb), linkdb=linkdb.source, changed=changed, folder=scratch.path
            )
            pages = crawled_pages(engine, config, segments, sources, outlinks=chain.reads_outlinks)
            pages = _reported(pages, written, on_progress)
            left_out = _write(config, chain, pages, delivery, Path(dropped.files[0]))
            delivery.commit()
            rejected, unrouted = dict(delivery.rejected), delivery.unrouted
        write_batches(scratch.path / "rejected.parquet", _URLS, [_urls(rejected)])
        inputs = {"wanted": wanted, "changed": changed, "removed": removed, "dropped": dropped, "old": indexdb.source}
        inputs["rejected"] = file_source(scratch.path / "rejected.parquet", _URLS)
        with Table.write(crawl.indexdb, schemas.INDEXDB, writer="index", clock=lambda: now) as new:
            engine.write(_kept if only_delete else _next_rows, inputs, new)
            applied = [] if only_delete else [each.name for each in segments if each.name not in indexdb.applied]
            kept = indexdb.properties.get(_SETTINGS, settings) if only_delete else settings
            new.commit(applied, properties={_SETTINGS: kept, _RUN: str(number)})
    remove_backup(crawl.indexdb, config)
    shown = tuple(islice((f"{url}: {reason}" for url, reason in rejected.items()), _SHOWN))
    return replace(
        result,
        written=written - left_out - unrouted - len(rejected),
        left_out=left_out,
        unrouted=unrouted,
        rejected=len(rejected),
        rejections=shown,
    )


def _urls(found: Iterable[str]) -> Any:
    urls = sorted(found)
    return pa.RecordBatch.from_pydict({"url": urls, "key": [canonical(url).key for url in urls]}, schema=_URLS)


def _wanted(
    engine: Engine,
    config: Config,
    segments: Sequence[Segment],
    crawldb: TableSource,
    linkdb: TableSource,
    indexdb: TableSnapshot,
    folder: Path,
) -> TableSource:
    """Save what every document should be made from."""
    best = _best_parses(engine, segments, skip_noindex=config.index.delete_robots_noindex)
    known = engine.read(source_of(crawldb, ("url", "status", "score")))
    known = known.filter(known.status.isin(_INDEXABLE)).select(page="url", status="status", score="score")
    found = best.join(known, best.owner == known.page)
    links = engine.read(linkdb)
    anchors = links.inlinks.map(lambda each: each.anchor.lower()).unique().sort().join("\n")
    digests = links.select(target="url", anchors=anchors.hexdigest("md5"))
    found = found.left_join(digests, found.url == digests.target)
    if config.index.skip_notmodified:
        old = engine.read(indexdb.source).select(before="url")
        found = found.left_join(old, found.url == old.before)
        found = found.filter((found.status != _NOTMODIFIED) | found.before.notnull())
    rows = found.select(
        "url", "key", "owner", "segment", score_step=_score_step(found.score), anchors=found.anchors.fill_null("")
    )
    return save_source(engine, rows, _WANTED, folder / "wanted.parquet")


def _best_parses(engine: Engine, segments: Sequence[Segment], *, skip_noindex: bool) -> Rows:
    """Return the newest parse of every page; an entry of a feed counts only if its page was not fetched itself."""
    found = []
    for segment in segments:
        rows = engine.read(
            source_of(SegmentSources([segment]).parse_data, ("url", "key", "parse_status", "part_of", "noindex"))
        )
        rows = rows.filter(rows.parse_status == "success")
        owner = owner_of(rows)
        place = (owner == rows.url).ifelse("1", "0") + ibis.literal(segment.name)
        found.append(rows.select("url", "key", "noindex", owner=owner, place=place))
    rows = ibis.union(*found)
    best = rows.group_by("url").agg(
        key=rows.key.min(),
        place=rows.place.max(),
        owner=rows.owner.argmax(rows.place),
        noindex=rows.noindex.argmax(rows.place),
    )
    if skip_noindex:
        best = best.filter(~best.noindex.fill_null(False))
    return best.select("url", "key", "owner", segment=best.place.substr(1))


def _score_step(score: Any) -> Any:
    """Return the logarithm of a score in half steps: it changes if the score grows or shrinks by about half."""
    usable = (score >= double(_SMALLEST_SCORE)) & (score <= double(_LARGEST_SCORE))
    bounded = usable.fill_null(False).ifelse(score, double(_SMALLEST_SCORE))
    return (bounded.log2() * double(_STEPS)).floor().cast("int32")


def _changed(
    engine: Engine, wanted: TableSource, indexdb: TableSnapshot, folder: Path, *, every: bool, none: bool
) -> tuple[TableSource, int]:
    """Save the documents to write, and return their number."""
    rows = engine.read(wanted)
    if none:
        rows = rows.filter(ibis.literal(False))
    elif not every:
        old = engine.read(indexdb.source)
        old = old.select(before="url", old_segment="segment", old_step="score_step", old_anchors="anchors")
        joined = rows.left_join(old, rows.url == old.before)
        differs = (
            joined.before.isnull()
            | (joined.segment != joined.old_segment)
            | (joined.score_step != joined.old_step)
            | (joined.anchors != joined.old_anchors)
        )
        rows = joined.filter(differs)
    file = folder / "changed.parquet"
    number = engine.save(rows.select(*_CHANGED.names), _CHANGED, file)
    return file_source(file, _CHANGED), number


def _removed(
    engine: Engine, wanted: TableSource, indexdb: TableSnapshot, folder: Path, *, any: bool
) -> tuple[TableSource, int]:
    """Save the documents to delete, and return their number."""
    old = engine.read(indexdb.source)
    gone = old.filter(old.indexed if any else ibis.literal(False)).anti_join(engine.read(wanted), "url")
    file = folder / "removed.parquet"
    number = engine.save(gone.select("url", "key"), _URLS, file)
    return file_source(file, _URLS), number


def _reported(pages: Iterable[CrawledPage], total: int, on_progress: DocumentProgress) -> Iterator[CrawledPage]:
    for number, page in enumerate(pages):
        if number % _REPORTED == 0:
            on_progress(number, total)
        yield page
    on_progress(total, total)


def _write(
    config: Config,
    chain: DocumentChain,
    pages: Iterable[CrawledPage],
    delivery: DocumentDelivery,
    dropped: Path,
) -> int:
    """Deliver the changed documents; save the pages that filters drop, and return their number."""
    number = 0

    def left_out() -> Iterator[Any]:
        nonlocal number
        found: list[dict[str, str]] = []
        for crawled in pages:
            document = chain.document(crawled)
            if document is not None:
                delivery.add(document)
                continue
            number += 1
            url = crawled.page.url
            found.append({"url": url.text, "key": url.key})
            if config.index.delete_skipped_by_indexingfilter:
                delivery.delete(url.text)
            if len(found) == _BATCH:
                yield pa.RecordBatch.from_pylist(found, schema=_URLS)
                found = []
        yield pa.RecordBatch.from_pylist(found, schema=_URLS)

    write_batches(dropped, _URLS, left_out())
    return number


def _next_rows(tables: Mapping[str, Rows]) -> Rows:
    """Return the rows of the next indexdb."""
    wanted, old = tables["wanted"], tables["old"]
    changed = tables["changed"].select(new="url")
    dropped = tables["dropped"].select(lost="url")
    before = old.select(known="url", was_indexed="indexed")
    rows = wanted.left_join(changed, wanted.url == changed.new)
    rows = rows.left_join(dropped, rows.url == dropped.lost)
    rows = rows.left_join(before, rows.url == before.known)
    is_indexed = ibis.cases(
        (rows.lost.notnull(), False), (rows.new.notnull(), True), else_=rows.was_indexed.fill_null(False)
    )
    # A rejected document is unknown to the indexdb, so that the next run tries it again.
    rows = rows.select(*wanted.columns, indexed=is_indexed).anti_join(tables["rejected"], "url")
    # Documents that should be gone but are not deleted.
    rest = old.filter(old.indexed).anti_join(tables["removed"], "url").anti_join(wanted, "url")
    return ibis.union(rows, rest.select(*rows.columns))


def _kept(tables: Mapping[str, Rows]) -> Rows:
    """Return the rows of the indexdb without the deleted documents."""
    return tables["old"].anti_join(tables["removed"], "url")


def _settings_digest(config: Config, plan: WriterPlan) -> str:
    """Return a digest of the settings that documents and their places depend on."""
    names = (*config.index.writers, *config.index.filters)
    tables = {
        name: {key: given.value for key, given in table.items() if not name.startswith("indexwriter") or _matters(key)}
        for name, table in config.plugin.items()
        if name.startswith(("indexingfilter", "indexwriter", "exchange"))
    }
    entries = [
        (entry.name, entry.type, {key: each for key, each in entry.settings.items() if _matters(key)})
        for entry in plan.writers
    ]
    routes = [(route.writers, route.expr) for route in plan.routes]
    text = msgspec.json.encode(
        [
            [names, config.index, config.lang.index_languages, tables, entries, routes, plan.fallback],
            [entry.mapping for entry in plan.writers],
        ],
        enc_hook=str,
        order="deterministic",
    )
    return hashlib.sha256(text).hexdigest()[:32]


def _matters(key: str) -> bool:
    return key not in _UNIMPORTANT
