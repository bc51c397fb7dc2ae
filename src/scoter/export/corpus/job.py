"""corpus: texts for language models, without poor and repeated ones.

Every text is measured (``quality``), and its words are hashed (``minhash``). Texts that break a rule are dropped; of
those that are equal or nearly so, one is kept. What was measured is saved, so that a corpus that is interrupted is
continued where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from scoter.export.corpus.card import card
from scoter.export.corpus.files import CARD_FILE, SAMPLE_FILE, CorpusFormat, write_page
from scoter.export.corpus.judged import CorpusOptions, CorpusProgress, JudgedPages, judged_pages
from scoter.export.corpus.report import CorpusReport
from scoter.export.corpus.sample import sample_groups
from scoter.export.corpus.sample_page import sample_page
from scoter.export.folder import ExportFolder, ExportManifest
from scoter.export.job import ExportResult, plan_of, write_shards
from scoter.export.page_rows import ExportSource

SAMPLE = 50
"""Pages in each part of the sample report."""


def corpus(
    source: ExportSource,
    out: Path,
    options: CorpusOptions,
    *,
    now: datetime,
    sample: int = SAMPLE,
    progress: CorpusProgress = lambda step, done, total: None,
) -> ExportResult:
    """Write a corpus to a new directory, or continue one that was interrupted."""
    with _opened(source, out, options, now) as folder:
        if folder.manifest is not None:
            return ExportResult(manifest=folder.manifest, was_finished=True)
        with judged_pages(source, folder, options, progress) as judged:
            texts = [(CARD_FILE, card(judged.report, options.form))]
            texts += [(SAMPLE_FILE, _page(source, judged, sample))] if sample else []
            manifest: ExportManifest = write_shards(
                folder,
                CorpusFormat(folder, options.form, judged.dropped(), texts),
                judged.kept(),
                options.shard_size,
                partial(progress, "writing"),
                msgspec.to_builtins(judged.report),
            )
        return ExportResult(manifest=manifest)


def examine(
    source: ExportSource,
    scratch: Path,
    options: CorpusOptions,
    *,
    now: datetime,
    sample: int = SAMPLE,
    page: Path | None = None,
    progress: CorpusProgress = lambda step, done, total: None,
) -> CorpusReport:
    """Return what a corpus would keep and drop, without writing it; write a sample report if ``page`` is given."""
    with (
        _opened(source, scratch, options, now) as folder,
        judged_pages(source, folder, options, progress) as judged,
    ):
        if page is not None:
            write_page(_page(source, judged, sample), page)
        return judged.report


def _page(source: ExportSource, judged: JudgedPages, number: int) -> Iterator[str]:
    return sample_page(judged.report, sample_groups(judged, number), title=f"Corpus of {source.crawl.path.name}")


def _opened(source: ExportSource, out: Path, options: CorpusOptions, now: datetime) -> ExportFolder:
    options.filter.expression()
    source.segments(is_archived=False)
    parts = msgspec.structs.asdict(options)
    chosen = msgspec.structs.asdict(parts.pop("filter"))
    settings = msgspec.structs.asdict(source.config.corpus)
    return ExportFolder.open(out, plan_of(source.crawl, {"format": "corpus", **parts, **chosen, **settings}, now))
