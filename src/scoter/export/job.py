"""export: select pages, save their rows, and write them shard by shard.

An export that is killed is continued by the same command: finished shards stay, and the next one is written again from
its first row. The result is the same as that of an export that was not killed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from scoter import __version__
from scoter.batch.crawldir.directory import CrawlDir
from scoter.core.page import EMPTY
from scoter.export.fields import DEFAULT_FIELDS, schema_of
from scoter.export.folder import ExportFolder, ExportManifest, ExportPlan
from scoter.export.formats import ExportFormat, Shard
from scoter.export.page_rows import ExportSource, staged_rows
from scoter.export.registry import FORMATS, SHARD_SIZE, FormatChoices
from scoter.export.selection import PageFilter, captures_schema

ShardProgress = Callable[[int, int], None]
"""Called with the number of pages that are written, and of all pages."""


class ExportOptions(Struct, frozen=True, kw_only=True):
    """What to export, and how; ``shard_size`` is in pages."""

    format: str
    filter: PageFilter = PageFilter()
    fields: tuple[str, ...] = DEFAULT_FIELDS
    shard_size: int | None = None
    choices: FormatChoices = FormatChoices()


class ExportResult(Struct, frozen=True, kw_only=True):
    """What an export holds; ``was_finished``: there was nothing left to do."""

    manifest: ExportManifest
    was_finished: bool = False


def export(
    source: ExportSource,
    out: Path,
    options: ExportOptions,
    *,
    now: datetime,
    progress: ShardProgress = lambda done, total: None,
) -> ExportResult:
    """Write pages of a crawl to a new directory, or continue an export that was interrupted."""
    known = FORMATS[options.format]
    options.filter.expression()
    source.segments(is_archived=known.is_archived)
    with ExportFolder.open(out, plan_of(source.crawl, _flat(options), now)) as folder:
        if folder.manifest is not None:
            return ExportResult(manifest=folder.manifest, was_finished=True)
        form = known.make(folder, source, options.fields, options.choices)
        size = options.shard_size or SHARD_SIZE
        rows = staged_rows(source, folder, options.filter, form.fields, is_archived=known.is_archived)
        return ExportResult(manifest=write_shards(folder, form, rows, size, progress))


def _flat(options: ExportOptions) -> dict[str, Any]:
    parts = msgspec.structs.asdict(options)
    nested = [msgspec.structs.asdict(parts.pop(name)) for name in ("filter", "choices")]
    return {**parts, **nested[0], **nested[1]}


def plan_of(crawl: CrawlDir, options: Mapping[str, Any], now: datetime) -> ExportPlan:
    """Return the plan of an export with given options."""
    # As they will be read back.
    given = msgspec.json.decode(msgspec.json.encode({"crawl": str(crawl.path.resolve()), **options}))
    return ExportPlan(options=given, created=now, scoter=__version__)


class NumberedRows(Protocol):
    """Rows that are numbered through."""

    def count(self) -> int:
        """Return the number of rows."""
        ...

    def batches(self, start: int, stop: int, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows from one number to another, as small record batches."""
        ...


def write_shards(
    folder: ExportFolder,
    form: ExportFormat,
    rows: NumberedRows,
    size: int,
    progress: ShardProgress,
    counts: Mapping[str, Any] = EMPTY,
) -> ExportManifest:
    """Write the shards that are missing, and then the manifest; return it. ``counts`` are for the manifest."""
    total = rows.count()
    shards = folder.finished()
    columns = list((captures_schema(form.fields) if form.is_archived else schema_of(form.fields)).names)
    for number in range(len(shards), -(-total // size)):
        start, stop = number * size, min((number + 1) * size, total)
        watched = _watched(rows.batches(start, stop, columns), start, total, progress)
        shard = form.write(Shard(number, stop - start), watched)
        folder.add(shard)
        shards.append(shard)
    return folder.finish(shards, form.finish(), counts)


def _watched(batches: Iterator[Any], done: int, total: int, progress: ShardProgress) -> Iterator[Any]:
    for batch in batches:
        yield batch
        done += batch.num_rows
        progress(done, total)
