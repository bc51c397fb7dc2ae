"""corpus: texts for language models, without poor and repeated ones, as Parquet files.

Pages are selected as in any export. Then every text is measured (``quality``), and its words are hashed (``minhash``).
Texts that break a rule are left out; of those that are equal or nearly so, one is kept. What was measured is saved, so
that a corpus that is interrupted is continued where it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import xxhash
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.config.sections.corpus import CorpusSettings
from scoter.engine import Engine, TableSource
from scoter.export.folder import ExportedFile, ExportFolder, ExportManifest, FinishedShard
from scoter.export.formats import Shard, one_file, write_parquet
from scoter.export.job import ExportResult, ShardProgress, plan_of, write_shards
from scoter.export.minhash import BANDS, EXACT, DuplicateGroups, MinHasher, signed
from scoter.export.page_rows import ExportSource, RowFiles, staged_rows
from scoter.export.quality import QualityRule, QualitySignals, TextMeter, rules_of
from scoter.export.selection import PageFilter
from scoter.store.disk import disk_errors, sync_file, sync_folder

TextKind: TypeAlias = Literal["main", "markdown"]
SHARD_SIZE = 50_000
_CHUNK = 10_000  # texts measured before the result is saved
_WHOLE_NUMBERS = ("words", "characters", "stop_words", "placeholders")
_SIGNALS = [(name, pa.int32() if name in _WHOLE_NUMBERS else pa.float32()) for name in QualitySignals.__struct_fields__]
_MEASURED = pa.schema([("score", pa.float32()), ("broken", pa.int64()), *_SIGNALS])
_PAGE = (*schemas.texts("text", "url", "title", "language"), ("date", schemas.TIME), ("fetched", schemas.TIME))
CORPUS = pa.schema([*_PAGE, *_SIGNALS])
"""The columns of a corpus."""


class CorpusOptions(Struct, frozen=True, kw_only=True):
    """What to take: which pages, their main text or Markdown, and whether repeated texts are kept."""

    filter: PageFilter = PageFilter()
    text: TextKind = "main"
    keep_duplicates: bool = False
    keep_near_duplicates: bool = False
    shard_size: int = SHARD_SIZE


class CorpusReport(Struct, frozen=True, kw_only=True):
    """How many pages were selected, broke each rule (a page may break several), were left out, and are kept."""

    selected: int
    broken: Mapping[str, int]
    poor: int
    exact_duplicates: int
    near_duplicates: int
    kept: int


def corpus(
    source: ExportSource,
    out: Path,
    options: CorpusOptions,
    *,
    now: datetime,
    progress: ShardProgress = lambda done, total: None,
) -> ExportResult:
    """Write a corpus to a new directory, or continue one that was interrupted."""
    with _opened(source, out, options, now) as folder:
        if folder.manifest is not None:
            return ExportResult(manifest=folder.manifest, was_finished=True)
        rows, report = _examined(source, folder, options, progress)
        manifest: ExportManifest = write_shards(
            folder, CorpusFormat(folder), rows, options.shard_size, progress, msgspec.structs.asdict(report)
        )
        return ExportResult(manifest=manifest)


def examine(
    source: ExportSource, scratch: Path, options: CorpusOptions, *, now: datetime, progress: ShardProgress
) -> CorpusReport:
    """Return what a corpus would leave out, without writing it."""
    with _opened(source, scratch, options, now) as folder:
        return _examined(source, folder, options, progress)[1]


def _opened(source: ExportSource, out: Path, options: CorpusOptions, now: datetime) -> ExportFolder:
    options.filter.expression()
    source.segments(is_archived=False)
    parts = msgspec.structs.asdict(options)
    chosen = msgspec.structs.asdict(parts.pop("filter"))
    settings = msgspec.structs.asdict(source.config.corpus)
    return ExportFolder.open(out, plan_of(source.crawl, {"format": "corpus", **parts, **chosen, **settings}, now))


def _examined(
    source: ExportSource, folder: ExportFolder, options: CorpusOptions, progress: ShardProgress
) -> tuple[KeptRows, CorpusReport]:
    fields = ["url", "title", "language", "published", "fetched", "score", "content"]
    fields += ["markdown"] if options.text == "markdown" else []
    pages = staged_rows(source, folder, options.filter, fields, is_archived=False)
    settings = source.config.corpus
    measured = _measure(folder, pages, settings, progress)
    scores, broken = _columns_of(measured.signals)
    exact, near = _repeated(source.engine, measured.bands, scores, options)
    kept = np.flatnonzero((broken == 0) & ~exact & ~near)
    rules = rules_of(settings)
    report = CorpusReport(
        selected=len(broken),
        broken={rule.name: int(np.count_nonzero(broken >> number & 1)) for number, rule in enumerate(rules)},
        poor=int(np.count_nonzero(broken)),
        exact_duplicates=int(np.count_nonzero(exact)),
        near_duplicates=int(np.count_nonzero(near)),
        kept=len(kept),
    )
    return KeptRows(pages, measured.signals, kept), report


class MeasuredFiles(Struct, frozen=True):
    """The signals of all texts, and the bands of those that keep the rules."""

    signals: RowFiles
    bands: tuple[str, ...]


def _measure(folder: ExportFolder, pages: RowFiles, settings: CorpusSettings, progress: ShardProgress) -> MeasuredFiles:
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
                rows = pages.batches(start, stop, ["content", "language", "score"])
                made = _measured(rows, start, meter, rules, hasher)
                # The signals last: they make the part complete.
                for file, table in reversed(list(zip(files, made, strict=True))):
                    draft = folder.drafts / file.name
                    pq.write_table(table, draft, compression="zstd")
                    sync_file(draft)
                    draft.replace(file)
                sync_folder(target)
                progress(stop, total)
            signals.append(str(files[0]))
            bands.append(str(files[1]))
    return MeasuredFiles(RowFiles(tuple(signals)), tuple(bands))


def _measured(
    batches: Iterator[Any], start: int, meter: TextMeter, rules: Sequence[QualityRule], hasher: MinHasher
) -> tuple[Any, Any]:
    """Return the signals of texts, and the bands of those that break no rule."""
    signals: list[dict[str, Any]] = []
    rows: list[int] = []
    numbers: list[int] = []
    bits: list[int] = []
    row = start
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("content", "language", "score"))
        for content, language, score in zip(*columns, strict=True):
            text = content or ""
            measured = meter.measure(text, language or "")
            broken = sum(1 << number for number, rule in enumerate(rules) if rule.is_broken(measured.signals))
            signals.append({"score": score, "broken": broken, **msgspec.structs.asdict(measured.signals)})
            if not broken:
                found = [signed(xxhash.xxh3_64_intdigest(text.encode("utf-8", "replace")))]
                found += hasher.bands(measured.tokens)
                rows += [row] * len(found)
                numbers += range(EXACT, len(found) + EXACT)
                bits += found
            row += 1
    return (
        pa.Table.from_pylist(signals, schema=_MEASURED),
        pa.Table.from_pydict({"row": rows, "band": numbers, "bits": bits}, schema=BANDS),
    )


def _columns_of(signals: RowFiles) -> tuple[Any, Any]:
    """Return the score of every text, and which rules it breaks."""
    total = signals.count()
    scores, broken = np.zeros(total, np.float32), np.zeros(total, np.int64)
    at = 0
    for batch in signals.batches(0, total, ["score", "broken"]):
        end = at + batch.num_rows
        scores[at:end] = pc.fill_null(batch.column("score"), 0.0).to_numpy(zero_copy_only=False)
        broken[at:end] = batch.column("broken").to_numpy()
        at = end
    return scores, broken


def _repeated(engine: Engine, files: tuple[str, ...], scores: Any, options: CorpusOptions) -> tuple[Any, Any]:
    """Return which texts repeat another, exactly and nearly."""
    groups = DuplicateGroups(scores)
    if files and not options.keep_duplicates:
        rows = engine.read(TableSource(files=files, schema=BANDS, defaults={}))
        if options.keep_near_duplicates:
            rows = rows.filter(rows.band == EXACT)
        # Every text of a group is linked to one of them: many equal texts give many links, but not all pairs.
        shared = rows.group_by(["band", "bits"]).agg(one=rows.row.min(), number=rows.count())
        shared = shared.filter(shared.number > 1)
        links = rows.join(shared, ["band", "bits"])
        links = links.filter(links.row != links.one).select("band", "one", other=links.row)
        groups.link(engine.batches(links))
    return groups.lost()


class KeptRows:
    """The pages that a corpus keeps, numbered through, with what was measured."""

    def __init__(self, pages: RowFiles, signals: RowFiles, kept: Any) -> None:
        self._pages = pages
        self._signals = signals
        self._kept = kept

    def count(self) -> int:
        """Return the number of pages."""
        return len(self._kept)

    def batches(self, start: int, stop: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the pages from one number to another."""
        wanted = self._kept[start:stop]
        if not len(wanted):
            return
        first, last = int(wanted[0]), int(wanted[-1]) + 1
        signals = _BatchReader(self._signals.batches(first, last, [name for name, _ in _SIGNALS]))
        at = first
        for pages in self._pages.batches(first, last):
            beside = signals.take(pages.num_rows)
            low, high = np.searchsorted(wanted, [at, at + pages.num_rows])
            at += pages.num_rows
            if low < high:
                places = pa.array(wanted[low:high] - (at - pages.num_rows))
                yield _corpus_batch(pages.take(places), beside.take(places))


def _corpus_batch(pages: Any, signals: Any) -> Any:
    text = pages.column("content")
    if "markdown" in pages.schema.names:
        markdown = pages.column("markdown")
        text = pc.coalesce(pc.if_else(pc.equal(markdown, ""), None, markdown), text)
    text = pc.replace_substring(text, "\0", "")
    known = {name: pages.column(name) for name in ("url", "title", "language", "fetched")}
    known |= {"text": text, "date": pages.column("published")}
    return pa.RecordBatch.from_arrays(
        [known[name] if name in known else signals.column(name) for name in CORPUS.names], schema=CORPUS
    )


class _BatchReader:
    """Reads a given number of rows at a time, however they are batched."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self._rest: Any = None

    def take(self, number: int) -> Any:
        pieces = []
        while number:
            rest = self._rest if self._rest is not None and self._rest.num_rows else next(self._batches)
            pieces.append(rest.slice(0, number))
            self._rest = rest.slice(number)
            number -= pieces[-1].num_rows
        return pa.Table.from_batches(pieces).combine_chunks().to_batches()[0]


class CorpusFormat:
    """A Parquet file per shard, named as the library ``datasets`` expects the training data."""

    fields: tuple[str, ...] = ()
    is_archived = False

    def __init__(self, folder: ExportFolder) -> None:
        self._folder = folder

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        name = f"data/train-{shard.number:05d}.parquet"
        sums: Counter[str] = Counter()

        def counted() -> Iterator[Any]:
            for batch in rows:
                for total in ("words", "characters"):
                    sums[total] += pc.sum(batch.column(total)).as_py() or 0
                yield batch

        with self._folder.new_file(name) as file:
            number = write_parquet(file, CORPUS, counted())
        return msgspec.structs.replace(one_file(shard, file.described(name, number)), counts=dict(sums))

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()
