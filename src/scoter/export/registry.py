"""The formats of an export by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from scoter.export.captures import WaczFormat, WarcFormat
from scoter.export.dumps import CommonCrawlFormat, FilesFormat, Layout, RecordEncoding
from scoter.export.folder import ExportFolder
from scoter.export.formats import Compression, ExportFormat, ParquetFormat, csv_format, jsonl_format
from scoter.export.page_files import MarkdownFormat
from scoter.export.page_rows import ExportSource
from scoter.export.sqlite import SqliteFormat


class FormatChoices(Struct, frozen=True, kw_only=True):
    """Options of single formats."""

    compression: Compression = "none"
    exact: bool = False
    fts: bool = False
    layout: Layout = "host"
    encoding: RecordEncoding = "json"
    key: Literal["url", "reverse"] = "url"


class KnownFormat(Struct, frozen=True, kw_only=True):
    """A format: how it is made, whether of captures, and which options of single formats it takes."""

    make: Callable[[ExportFolder, ExportSource, tuple[str, ...], FormatChoices], ExportFormat]
    is_archived: bool = False
    takes: tuple[str, ...] = ()


FORMATS: Mapping[str, KnownFormat] = {
    "warc": KnownFormat(
        make=lambda folder, source, fields, choices: WarcFormat(folder, source), is_archived=True, takes=("redirects",)
    ),
    "wacz": KnownFormat(
        make=lambda folder, source, fields, choices: WaczFormat(folder, source), is_archived=True, takes=("redirects",)
    ),
    "jsonl": KnownFormat(
        make=lambda folder, source, fields, choices: jsonl_format(folder, fields, choices.compression),
        takes=("fields", "compression"),
    ),
    "csv": KnownFormat(
        make=lambda folder, source, fields, choices: csv_format(
            folder, fields, choices.compression, exact=choices.exact
        ),
        takes=("fields", "compression", "exact"),
    ),
    "parquet": KnownFormat(
        make=lambda folder, source, fields, choices: ParquetFormat(folder, fields), takes=("fields",)
    ),
    "markdown": KnownFormat(make=lambda folder, source, fields, choices: MarkdownFormat(folder)),
    "sqlite": KnownFormat(
        make=lambda folder, source, fields, choices: SqliteFormat(folder, fields, fts=choices.fts),
        takes=("fields", "fts"),
    ),
    "files": KnownFormat(
        make=lambda folder, source, fields, choices: FilesFormat(folder, source, choices.layout),
        is_archived=True,
        takes=("layout",),
    ),
    "commoncrawl": KnownFormat(
        make=lambda folder, source, fields, choices: CommonCrawlFormat(
            folder, source, encoding=choices.encoding, compression=choices.compression, key=choices.key
        ),
        is_archived=True,
        takes=("compression", "encoding", "key"),
    ),
}
SHARD_SIZE = 10_000
"""The usual number of pages in a shard."""
