"""The measurements of all texts of a corpus, saved part by part, so that an interrupted corpus is continued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from msgspec import Struct

from scoter.config.sections.corpus import CorpusSettings
from scoter.core.datum import DbStatus, short_name
from scoter.export.corpus.minhash import BANDS, EXACT, MinHasher, signed
from scoter.export.corpus.quality import QualityRule, QualitySignals, TextMeter, rules_of
from scoter.export.folder import ExportFolder
from scoter.export.job import ShardProgress
from scoter.export.page_rows import RowFiles
from scoter.store.disk import disk_errors, sync_file, sync_folder

_CHUNK = 10_000  # texts measured before the result is saved
_WHOLE_NUMBERS = ("words", "characters", "stop_words", "placeholders")
SIGNALS = [(name, pa.int32() if name in _WHOLE_NUMBERS else pa.float32()) for name in QualitySignals.__struct_fields__]
"""The columns of what is measured of a text."""
_MEASURED = pa.schema([("rank", pa.float64()), ("broken", pa.int64()), *SIGNALS])
NOINDEX = 62
"""The bit of pages that forbid indexing; the lower ones are of rules."""
_DUPLICATE = short_name(DbStatus.DUPLICATE)
_LAST = -1e18
"""Added to the rank of pages that the crawl found to be duplicates: one of them is kept only if no other page is."""
_READ = ("content", "language", "score", "status", "noindex")


class MeasuredFiles(Struct, frozen=True):
    """The signals of all texts, and the bands of those that keep the rules."""

    signals: RowFiles
    bands: tuple[str, ...]

    def ranks_and_verdicts(self) -> tuple[Any, Any]:
        """Return the rank of every text among its duplicates, and a bit for every rule that it breaks."""
        total = self.signals.count()
        ranks, broken = np.zeros(total, np.float64), np.zeros(total, np.int64)
        at = 0
        for batch in self.signals.batches(0, total, ["rank", "broken"]):
            end = at + batch.num_rows
            ranks[at:end] = batch.column("rank").to_numpy()
            broken[at:end] = batch.column("broken").to_numpy()
            at = end
        return ranks, broken


def measured(
    folder: ExportFolder, pages: RowFiles, settings: CorpusSettings, progress: ShardProgress, *, noindex: bool
) -> MeasuredFiles:
    """Measure texts, a part of them at a time; parts that are saved are not measured again."""
    total = pages.count()
    target = folder.work / "measured"
    meter, rules = TextMeter(), rules_of(settings)
    hasher = MinHasher(settings.minhash_bands, settings.minhash_rows, settings.shingle_words)
    signals, bands = [], []
    with disk_errors("write the measured texts", target):
        target.mkdir(exist_ok=True)
        for start in range(0, total, _CHUNK):
            stop = min(start + _CHUNK, total)
            files = [target / f"{name}-{start:012d}.parquet" for name in ("signals", "bands")]
            if not files[0].exists():
                rows = _watched(pages.batches(start, stop, list(_READ)), start, total, progress)
                made = _tables(rows, start, meter, rules, hasher, noindex=noindex)
                # The signals last: they make the part complete.
                for file, table in reversed(list(zip(files, made, strict=True))):
                    draft = folder.drafts / file.name
                    pq.write_table(table, draft, compression="zstd")
                    sync_file(draft)
                    draft.replace(file)
                sync_folder(target)
            signals.append(str(files[0]))
            bands.append(str(files[1]))
    return MeasuredFiles(RowFiles(tuple(signals)), tuple(bands))


def _watched(batches: Iterator[Any], done: int, total: int, progress: ShardProgress) -> Iterator[Any]:
    for batch in batches:
        yield batch
        done += batch.num_rows
        progress(done, total)


def _tables(
    batches: Iterator[Any],
    start: int,
    meter: TextMeter,
    rules: Sequence[QualityRule],
    hasher: MinHasher,
    *,
    noindex: bool,
) -> tuple[Any, Any]:
    """Return the signals of texts, and the bands of those that break no rule."""
    signals: list[dict[str, Any]] = []
    rows: list[int] = []
    numbers: list[int] = []
    bits: list[int] = []
    row = start
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in _READ)
        for content, language, score, status, is_noindex in zip(*columns, strict=True):
            text = content or ""
            found = meter.measure(text, language or "")
            broken = sum(1 << number for number, rule in enumerate(rules) if rule.is_broken(found.signals))
            broken |= 1 << NOINDEX if is_noindex and not noindex else 0
            rank = (score or 0.0) + (_LAST if status == _DUPLICATE else 0.0)
            signals.append({"rank": rank, "broken": broken, **msgspec.structs.asdict(found.signals)})
            if not broken:
                digests = [signed(xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace")))]
                digests += hasher.bands(found.tokens)
                rows += [row] * len(digests)
                numbers += range(EXACT, len(digests) + EXACT)
                bits += digests
            row += 1
    return (
        pa.Table.from_pylist(signals, schema=_MEASURED),
        pa.Table.from_pydict({"row": rows, "band": numbers, "bits": bits}, schema=BANDS),
    )
