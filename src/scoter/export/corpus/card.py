"""The README of a corpus: for people, and at its head what the library ``datasets`` reads."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from scoter.batch.crawldir import schemas
from scoter.core.display import count
from scoter.export.corpus.columns import CORPUS
from scoter.export.corpus.files import DROPPED_FILE, SAMPLE_FILE, CorpusForm
from scoter.export.corpus.report import CorpusReport


def card(report: CorpusReport, form: CorpusForm) -> Iterator[str]:
    """Yield the pieces of the README."""
    yield "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n"
    yield f"    path: data/*.{form}\ndataset_info:\n  features:\n"
    for field in CORPUS:
        yield f"  - name: {field.name}\n    dtype: {_dtype(field.type, form)}\n"
    yield "---\n\n# Texts of a crawl\n\n"
    yield f"{count(report.kept, 'text')} of {count(report.selected, 'page')}, selected by `scoter corpus`. "
    yield "What the columns mean: docs/export.md of Scoter.\n\n"
    yield f"- `data/`: the texts\n- `{DROPPED_FILE}`: the pages that were dropped, and why\n"
    yield f"- `{SAMPLE_FILE}`: a sample of both, for a person to judge\n"
    yield "- `manifest.json`: options, counts and digests\n\n"
    yield "The texts belong to the owners of their pages. `license` is what a page says about its licence; most pages "
    yield "say nothing, which permits nothing.\n\n"
    yield "| dropped because | pages | only because of this |\n|---|--:|--:|\n"
    for rule in report.rules:
        if rule.pages:
            yield f"| {rule.reason} | {rule.pages:,} | {rule.only:,} |\n"
    yield f"| **dropped** | **{report.selected - report.kept:,}** | |\n"


def _dtype(kind: pa.DataType, form: CorpusForm) -> str:
    if kind == schemas.TIME:
        return "string" if form == "jsonl" else "timestamp[us, tz=UTC]"
    return {pa.float32(): "float32", pa.bool_(): "bool"}.get(kind, str(kind))
