"""dedup: mark pages with the same content as duplicates of the best of them.

Near-duplicates are pages whose simhashes differ in a few bits. Comparing all pairs would take too long. A 64-bit
simhash is divided into ``distance`` + 2 blocks; if two differ in at most ``distance`` bits, at least two blocks are
equal. So pages are grouped by every pair of blocks (Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling,
2007) and compared within the groups: ten pairs of 25 or 26 bits for a distance of 3, where 10 million random pages give
about as many false candidates. The best page removes those near it, then the next best of the rest, so every duplicate
has a page near it that is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import is_incremental, stored_rows
from scoter.batch.crawldir.crawldb import open_crawldb, scoring_columns
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import SegmentSources
from scoter.batch.jobs.compact import settle
from scoter.batch.urls.domains import host_domains
from scoter.config import Config
from scoter.core.datum import DbStatus, short_name
from scoter.engine import Engine, file_source, source_of
from scoter.engine.port import Rows
from scoter.errors import UsageError, UserError, nearest
from scoter.plugins.recorded import ibis, kinds
from scoter.store.disk import Scratch
from scoter.store.tables import Table
from scoter.store.tables.parquet import write_batches

DedupGroup: TypeAlias = Literal["none", "host", "domain"]
COMPARE_ORDER = "score,fetchTime,urlLength"

_LOSERS = pa.schema(schemas.texts("url", "key"))
_COMPARED = (short_name(DbStatus.FETCHED), short_name(DbStatus.NOTMODIFIED))
_DUPLICATE = short_name(DbStatus.DUPLICATE)

# The better page comes first. https wins over http for any two URLs; in Nutch only if they differ in nothing else, so
# that the result depends on the order of comparisons.
_ORDERS: Mapping[str, Callable[[Rows], Any]] = {
    "score": lambda rows: rows.score.desc(),
    "fetchTime": lambda rows: rows.fetch_time.desc(),
    "httpsOverHttp": lambda rows: rows.url.startswith("https://").desc(),
    "urlLength": lambda rows: _decoded_length(rows.url).asc(),
}


class DedupResult(Struct, frozen=True, kw_only=True):
    """The number of new duplicates: with the same signature, and with similar text."""

    exact: int
    near: int


def dedup(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    group: DedupGroup = "none",
    compare_order: str = COMPARE_ORDER,
    near: bool = False,
    distance: int = 3,
) -> DedupResult:
    """Give all fetched pages with the same signature, except the best, the status duplicate.

    ``group``: compare only pages of the same host or registered domain. ``compare_order``: criteria for the best page,
    most important first (score, fetchTime, httpsOverHttp, urlLength); ties go to the URL that sorts first. ``near``:
    also compare simhashes, which may differ in ``distance`` bits.
    """
    order = parse_order(compare_order)
    with open_crawldb(crawl, config) as crawldb, Scratch(crawl.scratch, "dedup") as scratch:
        columns = ("url", "key", "host", "status", "fetch_time", "score", "signature")
        known = engine.read(source_of(crawldb, columns))
        pages = _grouped(engine, known.filter(known.status.isin(_COMPARED)), group)
        file = scratch.path / "exact.parquet"
        exact, near_number = engine.save(_exact_duplicates(pages, order), _LOSERS, file), 0
        losers = file_source(file, _LOSERS)
        if near:
            rest = pages.anti_join(engine.read(losers), "url")
            found = near_duplicates(engine, crawl, rest, order, distance, scratch.path)
            file = scratch.path / "near.parquet"
            near_number = engine.save(found, _LOSERS, file)
            losers = replace(losers, files=(*losers.files, str(file)))
        if exact + near_number:
            known_rows = source_of(crawldb, is_sorted=True)
            extra = scoring_columns(config)
            with Table.write(crawl.crawldb, schemas.CRAWLDB, extra=extra, writer="dedup", clock=lambda: now) as new:
                if is_incremental(crawldb.manifest, crawldb.schema, config, exact + near_number):
                    stored = stored_rows(engine, known_rows, engine.read(losers), scratch.path)
                    new.extend(crawldb.version)
                    engine.write(_marked, {"crawldb": stored.source, "losers": losers}, new)
                    new.replace_rows(stored.positions)
                else:
                    engine.write(_marked, {"crawldb": known_rows, "losers": losers}, new)
                new.commit()
    settle(crawl, engine, config, now=now)
    return DedupResult(exact=exact, near=near_number)


def parse_order(text: str) -> Callable[[Rows], list[Any]]:
    """Return the sort order for a comma-separated list of criteria, the better page first."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in _ORDERS:
            close = nearest(name, _ORDERS)
            raise UsageError(
                f"{name!r} is not a criterion" + (f"; did you mean {close!r}?" if close else ""),
                where="compare order",
                hint=f"Criteria: {', '.join(_ORDERS)}; the most important first.",
            )
    if not names or len(set(names)) < len(names):
        raise UsageError(
            "no criterion given" if not names else "a criterion is given twice",
            where="compare order",
            hint=f"The default is {COMPARE_ORDER}.",
        )
    return lambda rows: [*(_ORDERS[name](rows) for name in names), rows.url.asc()]


def _grouped(engine: Engine, pages: Rows, group: DedupGroup) -> Rows:
    """Return pages with a column ``among``: only pages with equal values are compared."""
    if group == "none":
        return pages.mutate(among=ibis.literal(""))
    if group == "host":
        return pages.mutate(among=pages.host)
    domains = host_domains(engine, pages)
    joined = pages.join(domains, "host")
    return joined.select(*pages.columns, among=joined.domain)


def _exact_duplicates(pages: Rows, order: Callable[[Rows], list[Any]]) -> Rows:
    pages = pages.filter(pages.signature.notnull())
    sizes = pages.group_by(["signature", "among"]).agg(size=pages.count())
    # Most signatures are unique; the window then sorts only the few others.
    shared = pages.semi_join(sizes.filter(sizes.size > 1), ["signature", "among"])
    ranked = shared.mutate(
        place=ibis.row_number().over(group_by=[shared.signature, shared.among], order_by=order(shared))
    )
    return ranked.filter(ranked.place > 0).select("url", "key")


def _marked(tables: Mapping[str, Rows]) -> Rows:
    crawldb, losers = tables["crawldb"], tables["losers"].select(loser="url")
    joined = crawldb.left_join(losers, crawldb.url == losers.loser)
    status = joined.loser.notnull().ifelse(_DUPLICATE, joined.status)
    return joined.mutate(status=status).select(*crawldb.columns)


def _decoded_length(url: Any) -> Any:
    """Return the length of a URL with its escapes decoded as UTF-8: continuation bytes do not count."""
    beginnings = url.re_replace("%[89AB][0-9A-F]", "")
    return beginnings.re_replace("%[0-9A-F][0-9A-F]", "_").length()


BITS = 64
MAX_DISTANCE = 6

_RANKED = pa.schema([("rank", pa.int64()), *schemas.texts("url", "key", "among"), ("simhash", pa.int64())])
_BANDS = pa.schema(
    [("band", pa.int32()), ("bits", pa.int64()), ("rank", pa.int64()), ("among", pa.utf8()), ("simhash", pa.int64())]
)
_RANKS = pa.schema([("rank", pa.int64())])


@ibis.udf.scalar.builtin(name="bit_count", signature=((kinds.int64,), kinds.int64))
def bit_count(number):  # type: ignore[no-untyped-def]
    """Return the number of set bits; both engines have a function of this name."""


def near_duplicates(
    engine: Engine, crawl: CrawlDir, pages: Rows, order: Callable[[Rows], list[Any]], distance: int, folder: Path
) -> Rows:
    """Return url and key of the pages that are near a better one."""
    if not 0 <= distance <= MAX_DISTANCE:
        raise UsageError(
            f"the distance must be 0 to {MAX_DISTANCE}, not {distance}",
            hint="A distance of 3 finds pages that differ in a few words.",
        )
    hashes = _simhashes(engine, crawl)
    joined = pages.join(hashes, pages.url == hashes.page)
    numbered = joined.mutate(rank=ibis.row_number().over(order_by=order(joined)))
    file = folder / "ranked.parquet"
    number = engine.save(numbered, _RANKED, file)
    if not number:
        raise UserError(
            "no fetched page has a simhash",
            where=str(crawl.segments),
            hint="Set parse.simhash=true and parse the segments again.",
        )
    ranked = engine.read(file_source(file, _RANKED))
    best = ranked.group_by(["simhash", "among"]).agg(rank=ranked["rank"].min())
    lost = folder / "lost.parquet"
    write_batches(lost, _RANKS, _choose_duplicates(engine.batches(_pairs(engine, best, distance)), number))
    lost_best = engine.read(file_source(lost, _RANKS))
    # Of pages with the same simhash only the best can be kept.
    others = ranked.anti_join(best, "rank")
    return ibis.union(ranked.semi_join(lost_best, "rank"), others).select("url", "key")


def _simhashes(engine: Engine, crawl: CrawlDir) -> Rows:
    """Return the newest simhash of every page."""
    found = []
    for number, segment in enumerate(crawl.all_segments()):
        rows = engine.read(SegmentSources([segment]).parse_data).select("url", "simhash")
        found.append(rows.filter(rows.simhash.notnull()).mutate(segment=ibis.literal(number, "int32")))
    if not found:
        raise UserError("there are no segments", where=str(crawl.segments))
    rows = ibis.union(*found)
    return rows.group_by(page="url").agg(simhash=rows.simhash.argmax(rows.segment))


def _pairs(engine: Engine, best: Rows, distance: int) -> Rows:
    """Return the pairs of near pages, the better one first, ordered by it."""
    bands = engine.map_batches(best.select("rank", "among", "simhash"), partial(_bands, distance), _BANDS)
    other = bands.view()
    met = bands.join(
        other, [bands.band == other.band, bands.bits == other.bits, bands.among == other.among], rname="{name}_other"
    )
    near = (met["rank"] < met.rank_other) & (bit_count(met.simhash ^ met.simhash_other) <= distance)
    pairs = met.filter(near).select(better="rank", worse="rank_other").distinct()
    return pairs.order_by(["better", "worse"])


def _bands(distance: int, batch: Any) -> Any:
    """Return every row once per pair of blocks, with the bits of those blocks."""
    simhash = batch.column("simhash").to_numpy().view(np.uint64)
    edges = [BITS * number // (distance + 2) for number in range(distance + 3)]
    masks = [np.uint64((1 << high) - (1 << low)) for low, high in pairwise(edges)]
    pieces = [
        pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(len(simhash), number, np.int32)),
                pa.array((simhash & (one | two)).view(np.int64)),
                batch.column("rank"),
                batch.column("among"),
                batch.column("simhash"),
            ],
            schema=_BANDS,
        )
        for number, (one, two) in enumerate(combinations(masks, 2))
    ]
    return pa.Table.from_batches(pieces, _BANDS).combine_chunks().to_batches()[0] if len(simhash) else pieces[0]


def _choose_duplicates(pairs: Iterator[Any], pages: int) -> Iterator[Any]:
    """Yield the ranks of duplicates: the worse of a pair, unless the better one is a duplicate itself."""
    gone = bytearray(pages)  # one byte per page: 10 MB for 10 million
    for batch in pairs:
        found = []
        for better, worse in zip(batch.column("better").to_pylist(), batch.column("worse").to_pylist(), strict=True):
            if not gone[better] and not gone[worse]:
                gone[worse] = 1
                found.append(worse)
        yield pa.RecordBatch.from_pydict({"rank": found}, schema=_RANKS)
