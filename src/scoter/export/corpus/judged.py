"""The pages of a corpus, with the verdict on each.

Pages are selected as in any export, but with those that forbid indexing and those that the crawl found to be
duplicates, so that the report can tell about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from scoter.errors import UsageError, typed
from scoter.export.corpus.columns import READ, DroppedRows, KeptRows, RowUrls
from scoter.export.corpus.files import CorpusForm
from scoter.export.corpus.measurements import MeasuredFiles, measured
from scoter.export.corpus.report import CorpusReport, ReasonCounts
from scoter.export.corpus.verdicts import CorpusRule, Verdicts, verdicts
from scoter.export.folder import ExportFolder
from scoter.export.page_rows import ExportSource, RowFiles, staged_rows
from scoter.export.selection import PageFilter

TextKind: TypeAlias = Literal["main", "markdown"]
CorpusProgress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is done with texts (``measuring``, ``writing``), with how many it is done, and with all of them."""
SHARD_SIZE = 50_000


class CorpusOptions(Struct, frozen=True, kw_only=True):
    """What to take: which pages, their main text or Markdown, and whether repeated texts are kept."""

    filter: PageFilter = PageFilter()
    text: TextKind = "main"
    form: CorpusForm = "parquet"
    keep_duplicates: bool = False
    keep_near_duplicates: bool = False
    shard_size: int = SHARD_SIZE


class JudgedPages(Struct, frozen=True):
    """The pages of a corpus, with the verdict on each."""

    pages: RowFiles
    measured: MeasuredFiles
    verdicts: Verdicts
    reasons: tuple[CorpusRule, ...]
    is_dropped: Any
    urls: RowUrls
    report: CorpusReport

    def kept(self) -> KeptRows:
        """Return the pages that are kept."""
        rows = np.flatnonzero(~self.is_dropped)
        return KeptRows(self.pages, self.measured.signals, self.verdicts, rows, self.urls)

    def dropped(self) -> DroppedRows:
        """Return the pages that are dropped."""
        rows = np.flatnonzero(self.is_dropped)
        return DroppedRows(self.pages, self.measured.signals, self.verdicts, rows, self.urls)


@contextmanager
def judged_pages(
    source: ExportSource, folder: ExportFolder, options: CorpusOptions, progress: CorpusProgress
) -> Iterator[JudgedPages]:
    """Select pages, measure them and judge them."""
    fields = [*READ, *(["markdown"] if options.text == "markdown" else [])]
    everything = msgspec.structs.replace(options.filter, noindex=True, duplicates=True)
    pages = staged_rows(source, folder, everything, fields, is_archived=False)
    if not pages.count():
        folder.discard()
        hint = f"Select others (--where, --sql, --type), or fetch more: scoter crawl {typed(source.crawl.path)}"
        raise UsageError("no page is selected", where=str(source.crawl.path), hint=hint)
    settings = source.config.corpus
    found = measured(folder, pages, settings, partial(progress, "measuring"), noindex=options.filter.noindex)
    judged = verdicts(source.engine, pages, found, settings, folder.work / "signatures")
    same, near = not options.keep_duplicates, not (options.keep_duplicates or options.keep_near_duplicates)
    is_dropped = judged.is_dropped(same=same, near=near)
    reasons = tuple(judged.reasons(same=same, near=near))
    counts = ReasonCounts(judged, reasons)
    repeated = np.unique(judged.best[judged.best != np.arange(len(judged))])
    urls = RowUrls(pages, np.concatenate((repeated, np.array(counts.examples(), np.int64))), folder.work / "urls")
    try:
        report = CorpusReport(
            selected=len(judged),
            rules=counts.rules(urls.at),
            **judged.counts(same=same, near=near),
            kept=int(np.count_nonzero(~is_dropped)),
        )
        yield JudgedPages(pages, found, judged, reasons, is_dropped, urls, report)
    finally:
        urls.close()
