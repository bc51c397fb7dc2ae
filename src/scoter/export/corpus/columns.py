"""The columns of a corpus, and of the list of pages that it drops.

docs/export.md describes them. No text and no number is null: what is unknown is empty or 0, so that every program reads
the same types from every file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.export.corpus.measurements import SIGNALS
from scoter.export.corpus.verdicts import Verdicts
from scoter.export.page_rows import RowFiles

_LICENSE: Final = "License-Url"  # of the parse filter creativecommons
_LICENSE_PLACE: Final = "License-Location"

CORPUS = pa.schema(
    [
        *schemas.texts("text", "url", "host", "title", "language"),
        ("date", schemas.TIME),
        ("fetched", schemas.TIME),
        *schemas.texts("content_type", "license", "license_source"),
        *((name, pa.bool_()) for name in ("noindex", "noarchive", "nosnippet")),
        ("warc_file", pa.utf8()),
        *((name, pa.int64()) for name in ("warc_offset", "warc_length")),
        *schemas.texts("sha256", "duplicate_of"),
        *SIGNALS,
    ]
)
"""The columns of a corpus."""

DROPPED = pa.schema(
    [
        *schemas.texts("url", "title", "language"),
        ("reasons", pa.list_(pa.utf8())),
        ("duplicate_of", pa.utf8()),
        *SIGNALS,
    ]
)
"""The columns of the list of dropped pages."""

READ: Final = (
    *("url", "host", "title", "language", "published", "fetched", "score", "status", "content_type"),
    *("noindex", "noarchive", "nosnippet", "warc_file", "warc_offset", "warc_length", "metadata", "about", "content"),
)
"""The fields of a page that a corpus is made from."""
_NAMES: Final = {"date": "published"}
_MADE: Final = ("text", "license", "license_source", "sha256", "duplicate_of")


class RowUrls:
    """URLs of rows, in a temporary file: there may be as many as pages."""

    def __init__(self, pages: RowFiles, rows: Any, file: Path) -> None:
        self._rows = np.unique(rows)
        sizes = np.zeros(len(self._rows) + 1, np.int64)
        at = 0
        with file.open("wb") as out:
            for batch in pages.pick(self._rows, ["url"]):
                for url in batch.column("url").to_pylist():
                    at += 1
                    sizes[at] = out.write(url.encode("utf-8", "replace"))
        self._ends = np.cumsum(sizes)
        self._file = os.open(file, os.O_RDONLY)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def at(self, row: int) -> str:
        """Return the URL of a row."""
        number = int(np.searchsorted(self._rows, row))
        start, end = int(self._ends[number]), int(self._ends[number + 1])
        return os.pread(self._file, end - start, start).decode()


class ChosenRows:
    """Some pages of a corpus by row, numbered through, with what was measured and found of them."""

    def __init__(self, pages: RowFiles, signals: RowFiles, verdicts: Verdicts, rows: Any, urls: RowUrls) -> None:
        self._pages = pages
        self._signals = signals
        self._verdicts = verdicts
        self._rows = rows
        self._urls = urls

    def count(self) -> int:
        """Return the number of pages."""
        return len(self._rows)

    def pieces(self, start: int, stop: int, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, Any, Any]]:
        """Yield the rows from one number to another, with columns of their pages and all signals."""
        rows = self._rows[start:stop]
        signals = _BatchReader(self._signals.pick(rows, [name for name, _ in SIGNALS]))
        at = 0
        for pages in self._pages.pick(rows, columns):
            yield rows[at : at + pages.num_rows], pages, signals.take(pages.num_rows)
            at += pages.num_rows

    def originals(self, rows: Any) -> list[str]:
        """Return the URL of the page that each of some pages repeats, or an empty text."""
        best = self._verdicts.best[rows]
        return ["" if row == other else self._urls.at(other) for row, other in zip(rows, best, strict=True)]


class KeptRows(ChosenRows):
    """The pages that a corpus keeps, as its rows."""

    def batches(self, start: int, stop: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the pages from one number to another."""
        for rows, pages, signals in self.pieces(start, stop):
            yield _corpus_batch(pages, signals, self.originals(rows))


class DroppedRows(ChosenRows):
    """The pages that a corpus drops, as the rows of a list."""

    def batches(self) -> Iterator[Any]:
        """Yield all rows."""
        reasons = tuple(self._verdicts.reasons())
        for rows, pages, signals in self.pieces(0, self.count(), ["url", "title", "language"]):
            found = [(reason.name, reason.applies(rows)) for reason in reasons]
            names = [[name for name, applies in found if applies[at]] for at in range(len(rows))]
            known = {name: pages.column(name) for name in pages.schema.names}
            known |= {"reasons": pa.array(names, pa.list_(pa.utf8())), "duplicate_of": self.originals(rows)}
            yield _batch(known, signals, DROPPED)


def text_of(pages: Any) -> Any:
    """Return the texts of pages: the Markdown if it was asked for and there is some, otherwise the main text."""
    text = pages.column("content")
    if "markdown" in pages.schema.names:
        markdown = pages.column("markdown")
        text = pc.coalesce(pc.if_else(pc.equal(markdown, ""), None, markdown), text)
    return pc.replace_substring(text, "\0", "")


def _corpus_batch(pages: Any, signals: Any, originals: list[str]) -> Any:
    text = text_of(pages)
    known = {name: pages.column(_NAMES.get(name, name)) for name in CORPUS.names[: -len(SIGNALS)] if name not in _MADE}
    terms = list(map(_license, pages.column("about").to_pylist(), _maps(pages.column("metadata"))))
    known |= {
        "text": text,
        "license": [url for url, _ in terms],
        "license_source": [source for _, source in terms],
        "sha256": [hashlib.sha256((each or "").encode("utf-8", "replace")).hexdigest() for each in text.to_pylist()],
        "duplicate_of": originals,
    }
    return _batch(known, signals, CORPUS)


def _batch(known: Mapping[str, Any], signals: Any, schema: Any) -> Any:
    columns = []
    for field in schema:
        column = known[field.name] if field.name in known else signals.column(field.name)
        column = pa.array(column, field.type) if isinstance(column, list) else column.cast(field.type)
        if field.type not in (schemas.TIME, pa.list_(pa.utf8())):
            column = pc.fill_null(column, pa.scalar(_EMPTY.get(field.type, 0), field.type))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


_EMPTY: Final = {pa.utf8(): "", pa.bool_(): False}


class _Licence(Struct):
    license: str = ""
    sources: Mapping[str, str] = {}


_licence_decoder = msgspec.json.Decoder(_Licence)


def _license(about: str | None, metadata: Mapping[str, str]) -> tuple[str, str]:
    """Return the URL of a page's licence, and where the page names it."""
    if url := metadata.get(_LICENSE):
        return url, metadata.get(_LICENSE_PLACE, "")
    try:
        found = _licence_decoder.decode(about) if about else _Licence()
    except msgspec.DecodeError:
        found = _Licence()
    return found.license, found.sources.get("license", "") if found.license else ""


def _maps(column: Any) -> list[Mapping[str, str]]:
    return [each or {} for each in column.to_pylist(maps_as_pydicts="lossy")]


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
