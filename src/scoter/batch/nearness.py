"""Pages of nearly the same text: those whose simhashes differ in a few bits.

Comparing all with all is out of the question. A simhash of 64 bits is cut into ``distance`` + 2 blocks; where two
differ in at most ``distance`` bits, at least two blocks are equal. So pages are brought together by every pair of
blocks (Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, 2007) and compared there: ten pairs of 25 or
26 bits for a distance of 3, at which 10 million random pages meet about as many strangers.

The best page comes first and takes those near it out; the next best that is left does the same. So every page that
goes has one near it that stays.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scoter.batch.counted import counted
from scoter.batch.directory import CrawlDir
from scoter.engine import Engine, Source
from scoter.engine.port import Rows
from scoter.errors import UsageError, UserError

BITS = 64
MOST_DISTANCE = 6

_RANKED = pa.schema(
    [("rank", pa.int64()), ("url", pa.utf8()), ("key", pa.utf8()), ("among", pa.utf8()), ("simhash", pa.int64())]
)
_BANDS = pa.schema(
    [("band", pa.int32()), ("bits", pa.int64()), ("rank", pa.int64()), ("among", pa.utf8()), ("simhash", pa.int64())]
)
_RANKS = pa.schema([("rank", pa.int64())])


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def bit_count(number: dt.int64) -> dt.int64:
    """Return how many bits of a number are set; both engines call it so."""


def near_losers(
    engine: Engine, crawl: CrawlDir, pages: Rows, order: Callable[[Rows], list[Any]], distance: int, folder: Path
) -> Rows:
    """Return url and key of the pages that are near a better one."""
    if not 0 <= distance <= MOST_DISTANCE:
        raise UsageError(
            f"simhashes can be compared up to a distance of {MOST_DISTANCE}, not {distance}",
            hint="3 finds pages that differ in a few words.",
        )
    hashes = _simhashes(engine, crawl)
    joined = pages.join(hashes, pages.url == hashes.page)
    numbered = joined.mutate(rank=ibis.row_number().over(order_by=order(joined)))
    file = folder / "ranked.parquet"
    number = engine.save(numbered, _RANKED, file)
    if not number:
        raise UserError(
            "no fetched page has a simhash to be compared by",
            where=str(crawl.segments),
            hint="It is made while pages are parsed, with the setting parse.simhash=true.",
        )
    ranked = engine.read(Source(files=(str(file),), schema=_RANKED, defaults={}))
    best = ranked.group_by(["simhash", "among"]).agg(rank=ranked["rank"].min())
    lost = folder / "lost.parquet"
    _write_ranks(lost, _greedily(engine.batches(_pairs(engine, best, distance)), number))
    lost_best = engine.read(Source(files=(str(lost),), schema=_RANKS, defaults={}))
    # Pages of one simhash: whatever becomes of the best of them, the others are near what stays.
    others = ranked.anti_join(best, "rank")
    return ibis.union(ranked.semi_join(lost_best, "rank"), others).select("url", "key")


def _simhashes(engine: Engine, crawl: CrawlDir) -> Rows:
    """Return the newest simhash of every page."""
    found = []
    for number, segment in enumerate(crawl.all_segments()):
        rows = engine.read(counted([segment]).parse_data).select("url", "simhash")
        found.append(rows.filter(rows.simhash.notnull()).mutate(segment=ibis.literal(number, "int32")))
    if not found:
        raise UserError("there are no segments, so no page can be compared by its text", where=str(crawl.segments))
    rows = ibis.union(*found)
    return rows.group_by(page="url").agg(simhash=rows.simhash.argmax(rows.segment))


def _pairs(engine: Engine, best: Rows, distance: int) -> Rows:
    """Return the pairs that are near each other, the better one first, in the order of the better one."""
    bands = engine.map_batches(best.select("rank", "among", "simhash"), partial(_bands, distance), _BANDS)
    other = bands.view()
    met = bands.join(
        other, [bands.band == other.band, bands.bits == other.bits, bands.among == other.among], rname="{name}_other"
    )
    near = (met["rank"] < met.rank_other) & (bit_count(met.simhash ^ met.simhash_other) <= distance)
    pairs = met.filter(near).select(better="rank", worse="rank_other").distinct()
    return pairs.order_by(["better", "worse"])


def _bands(distance: int, batch: Any) -> Any:
    """Return every row once for each pair of blocks, with the bits of those blocks."""
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


def _greedily(pairs: Iterator[Any], pages: int) -> Iterator[list[int]]:
    """Yield the ranks of those that go: the worse of a pair, unless the better has gone itself."""
    gone = bytearray(pages)  # a byte a page: 10 MB for 10 million
    for batch in pairs:
        found = []
        for better, worse in zip(batch.column("better").to_pylist(), batch.column("worse").to_pylist(), strict=True):
            if not gone[better] and not gone[worse]:
                gone[worse] = 1
                found.append(worse)
        yield found


def _write_ranks(file: Path, ranks: Iterator[list[int]]) -> None:
    with pq.ParquetWriter(file, _RANKS) as writer:
        for each in ranks:
            writer.write_batch(pa.RecordBatch.from_pydict({"rank": each}, schema=_RANKS))
