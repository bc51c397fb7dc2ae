"""The crawldb's own URLs sent through the normalisers and filters once more.

Where two records come to have one URL, the one that was fetched last stays.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from pathlib import Path

import ibis
from msgspec.structs import replace

from scoter.batch.rewriting import changes_of, rewritten
from scoter.batch.sift import Sieve
from scoter.engine import Engine, Source
from scoter.engine.portable import first_rows

_BESIDE = {"key": "its_key", "host": "its_host"}


def resifted(engine: Engine, known: Source, sieve: Sieve, folder: Path) -> tuple[Source, int, bool]:
    """Return the records that are left, how many are not, and whether anything has changed."""
    rows = engine.read(known)
    changes = changes_of(engine, rows, sieve)
    counted = rows.aggregate(rows=rows.count()).cross_join(changes.aggregate(changes=changes.count()))
    total, changed = next((row["rows"], row["changes"]) for each in engine.batches(counted) for row in each.to_pylist())
    if not changed:
        return known, 0, False
    was = rows.mutate(sift_was=rows.url)
    new = rewritten(was, changes, beside=_BESIDE)
    last = ibis.ifelse(new.status == "unfetched", 0, new.fetch_time.epoch_seconds() - new.interval)
    kept = first_rows(new, ["url"], [last.desc(), new.fetch_time.desc(), new.sift_was])
    file = folder / "resifted.parquet"
    left = engine.save(kept, known.schema, file)
    return replace(known, files=(str(file),), is_sorted=False), total - left, True
