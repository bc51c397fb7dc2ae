"""Index writers of files: every run adds one file of documents, and one of deleted ids if there are any.

Files are named by the number of the run and appear when the run commits, so a run that is killed and repeated leaves
each document once. A later file replaces documents of earlier ones by id.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.config import Setting
from scoter.core.csv_cells import csv_cell
from scoter.core.document import Document, RejectedDocument
from scoter.errors import ConfigError
from scoter.plugins import IndexRun, Setup
from scoter.store.disk import disk_errors, sync_folder


class FilesSettings(Struct, frozen=True):
    """Where the files go."""

    folder: Annotated[
        Path | None, Setting("Folder for the files; by default, one in the crawl directory.", example='"out"')
    ] = None


class _FileWriter:
    """Opens the files of a run as drafts, and gives them their names when the run commits."""

    Settings: type[Struct] = FilesSettings
    kind = ""

    def __init__(self, setup: Setup) -> None:
        self.settings: Any = setup.settings
        self._folder = Path()
        self._stem = ""
        self._replaces_all = False
        self._documents: BinaryIO | None = None
        self._deleted: BinaryIO | None = None
        self._stack = ExitStack()

    def open(self, run: IndexRun) -> None:
        self._folder = self.settings.folder or run.directory / f"documents-{self.kind}"
        self._stem = f"{run.number:06d}"
        with disk_errors("create the folder", self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        self._replaces_all = run.rebuild

    def write(self, documents: Sequence[Document]) -> Sequence[RejectedDocument]:
        with disk_errors("write the documents", self._folder):
            if self._documents is None:
                self._documents = self._draft(f"documents-{self._stem}.{self.kind}")
                self._begin(self._documents)
            self._add(self._documents, documents)
        return ()

    def delete(self, ids: Sequence[str]) -> None:
        with disk_errors("write the deleted ids", self._folder):
            if self._deleted is None:
                self._deleted = self._draft(f"deleted-{self._stem}.txt")
            self._deleted.write("".join(f"{each}\n" for each in ids).encode())

    def commit(self) -> Sequence[RejectedDocument]:
        with disk_errors("finish the files", self._folder):
            if self._documents is not None:
                self._end()
            for file in (self._documents, self._deleted):
                if file is not None:
                    file.flush()
                    os.fsync(file.fileno())
                    draft = Path(file.name)
                    draft.replace(draft.with_name(draft.name.removeprefix(".")))
            if self._replaces_all:
                self._remove_earlier()
            sync_folder(self._folder)
            self._documents = self._deleted = None
        return ()

    def close(self) -> None:
        for file in (self._documents, self._deleted):
            if file is not None:
                with suppress(OSError):
                    Path(file.name).unlink(missing_ok=True)
        self._stack.close()

    def _remove_earlier(self) -> None:
        for pattern in (f"documents-*.{self.kind}", "deleted-*.txt"):
            for old in self._folder.glob(pattern):
                if self._stem not in old.name:
                    old.unlink()

    def _draft(self, name: str) -> BinaryIO:
        return self._stack.enter_context((self._folder / f".{name}").open("wb"))

    def _begin(self, file: BinaryIO) -> None:
        """Write what comes before the first document."""

    def _add(self, file: BinaryIO, documents: Sequence[Document]) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        """Write what comes after the last document."""


class JsonlIndexWriter(_FileWriter):
    """Writes each document as a line of JSON."""

    kind = "jsonl"

    def _add(self, file: BinaryIO, documents: Sequence[Document]) -> None:
        file.write(b"".join(msgspec.json.encode(json_fields(document)) + b"\n" for document in documents))


class CsvWriterSettings(FilesSettings, frozen=True):
    """The columns and the format of the file."""

    fields: Annotated[tuple[str, ...], Setting("Columns of the file.")] = ("id", "title", "content")
    header: Annotated[bool, Setting("Write the names of the columns first.")] = True
    charset: Annotated[str, Setting("Character encoding of the file.")] = "utf-8"
    separator: Annotated[str, Setting("Separator of columns: one character.")] = ","
    valuesep: Annotated[str, Setting("Separator of the values of one field.")] = "|"
    quotechar: Annotated[str, Setting("Quotation mark: one character.")] = '"'
    maxfieldlength: Annotated[int, Setting("Maximum length of a value, in characters.", at_least=1)] = 4096
    maxfieldvalues: Annotated[int, Setting("Maximum number of values of a field.", at_least=1)] = 12
    exact: Annotated[
        bool, Setting("Write values as they are, even those that a spreadsheet would take for formulas.")
    ] = False


class CsvIndexWriter(_FileWriter):
    """Writes selected fields of each document as a line of CSV."""

    Settings = CsvWriterSettings
    kind = "csv"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        for name in ("separator", "quotechar"):
            if len(getattr(self.settings, name)) != 1:
                raise ConfigError("must be one character", where=f"plugin.indexwriter-csv.{name}")
        try:
            "".encode(self.settings.charset)
        except LookupError as error:
            raise ConfigError(str(error), where="plugin.indexwriter-csv.charset") from error

    def _begin(self, file: BinaryIO) -> None:
        if self.settings.header:
            file.write(self._lines([self.settings.fields]))

    def _add(self, file: BinaryIO, documents: Sequence[Document]) -> None:
        file.write(self._lines([self._cells(document) for document in documents]))

    def _cells(self, document: Document) -> list[str]:
        settings = self.settings
        fields = {"id": (document.id,), "boost": (document.boost,), **document.fields}
        return [
            settings.valuesep.join(
                csv_cell(value, text_value(value), exact=settings.exact)[: settings.maxfieldlength]
                for value in fields.get(name, ())[: settings.maxfieldvalues]
            )
            for name in settings.fields
        ]

    def _lines(self, rows: Sequence[Sequence[str]]) -> bytes:
        out = io.StringIO()
        csv.writer(
            out, delimiter=self.settings.separator, quotechar=self.settings.quotechar, lineterminator="\n"
        ).writerows(rows)
        return out.getvalue().encode(self.settings.charset, "replace")


_TEXTS: Final = (
    *("id", "url", "host", "domain", "title", "content", "lang", "digest", "segment"),
    *("description", "image", "site"),
)
_LISTS: Final = ("anchor", "type", "author", "keywords", "heading")
_TIMES: Final = ("tstamp", "date", "lastModified", "published")
DOCUMENT_SCHEMA: Final = pa.schema(
    [
        *((name, pa.utf8()) for name in _TEXTS),
        *((name, pa.list_(pa.utf8())) for name in _LISTS),
        *((name, pa.timestamp("us", tz="UTC")) for name in _TIMES),
        ("contentLength", pa.int64()),
        ("boost", pa.float64()),
        ("fields", pa.map_(pa.utf8(), pa.list_(pa.utf8()))),
    ]
)
"""The columns of documents in Parquet; ``fields`` has the fields without a column, as texts."""


class ParquetIndexWriter(_FileWriter):
    """Writes documents to Parquet: known fields as typed columns, others in a map."""

    kind = "parquet"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self._parquet: Any = None

    def _begin(self, file: BinaryIO) -> None:
        self._parquet = pq.ParquetWriter(file, DOCUMENT_SCHEMA, compression="zstd")

    def _add(self, file: BinaryIO, documents: Sequence[Document]) -> None:
        rows = [document_columns(document) for document in documents]
        self._parquet.write_batch(pa.RecordBatch.from_pylist(rows, schema=DOCUMENT_SCHEMA))

    def _end(self) -> None:
        self._parquet.close()

    def close(self) -> None:
        self._parquet = None
        super().close()


class DummyIndexWriter(_FileWriter):
    """Writes a line for each added or deleted document, to see what an index would get."""

    kind = "txt"

    def _add(self, file: BinaryIO, documents: Sequence[Document]) -> None:
        file.write("".join(f"add\t{document.id}\n" for document in documents).encode())


def json_fields(document: Document) -> dict[str, Any]:
    """Return a document as JSON has it: a field with one value is that value, others are lists.

    >>> json_fields(Document(id="a", fields={"type": ("text/html", "text"), "title": ("Seals",)}))
    {'id': 'a', 'type': ['text/html', 'text'], 'title': 'Seals'}
    """
    fields = {name: values[0] if len(values) == 1 else list(values) for name, values in document.fields.items()}
    return {"id": document.id, **fields}


def document_columns(document: Document) -> dict[str, Any]:
    """Return a document as a row of ``DOCUMENT_SCHEMA``."""
    fields: Mapping[str, tuple[Any, ...]] = {"id": (document.id,), "boost": (document.boost,), **document.fields}
    row: dict[str, Any] = {name: _first(fields, name, str) for name in _TEXTS}
    row.update({name: [text_value(value) for value in fields.get(name, ())] or None for name in _LISTS})
    row.update({name: _first(fields, name, datetime) for name in _TIMES})
    row["contentLength"] = _first(fields, "contentLength", int)
    row["boost"] = float(document.boost)
    others = [(name, [*map(text_value, values)]) for name, values in fields.items() if name not in row]
    return {**row, "fields": others or None}


def _first(fields: Mapping[str, tuple[Any, ...]], name: str, kind: type) -> Any:
    values = fields.get(name)
    return values[0] if values and isinstance(values[0], kind) else None


def text_value(value: Any) -> str:
    """Return a value as text; times in ISO 8601.

    >>> text_value(datetime(2026, 11, 15, tzinfo=UTC)), text_value(True), text_value("Seals")
    ('2026-11-15T00:00:00Z', 'true', 'Seals')
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case _:
            return str(value)
