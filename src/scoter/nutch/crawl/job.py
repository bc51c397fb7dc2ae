"""import-nutch-crawl: import a crawl of Apache Nutch into a new crawl directory.

Everything is written to a hidden folder next to the new directory, which gets its name when the import is complete. A
killed import leaves only that folder, and the next one removes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Self

from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.export import only_row
from scoter.batch.crawldir.host_counts import record_host_counts
from scoter.batch.crawldir.segment import Segment
from scoter.config import Config
from scoter.engine import Engine, TableSource, source_of
from scoter.errors import UsageError
from scoter.nutch.crawl.layout import NutchCrawl
from scoter.nutch.crawl.reader import CrawlReader, ImportProblem
from scoter.nutch.crawl.segments import ImportedSegment, SegmentImport
from scoter.nutch.crawl.tables import import_hostdb, import_linkdb, read_crawldb, write_crawldb
from scoter.plugins.recorded import ibis
from scoter.store.disk import Closing, Scratch, check_utf8_path, disk_errors, sweep, sync_folder, sync_tree

_PARTS = ("crawldb", "linkdb", "hostdb")
_FETCHED = ("url", "status", "fetch_time")


class ImportedPart(Struct, frozen=True, kw_only=True):
    """The records of one kind: how many were read, how many rows were written, and why others were not."""

    part: str
    read: int
    imported: int
    left_out: dict[str, int]

    @property
    def is_lost(self) -> bool:
        """Whether there were records and none could be read."""
        return not self.imported and self.left_out.get("damaged", 0) > 0


class NutchImportResult(Struct, frozen=True, kw_only=True):
    """What was imported and what was not."""

    parts: tuple[ImportedPart, ...]
    segments: tuple[ImportedSegment, ...]
    pending: tuple[str, ...]
    """Fetched segments that are not in the crawldb yet."""
    problem_count: int
    problems: tuple[ImportProblem, ...]
    """The first problems, by file and offset."""


class ImportFolder(Closing):
    """The hidden folder in which a crawl is built."""

    def __init__(self, directory: str | Path) -> None:
        check_utf8_path(directory)
        self.directory = Path(directory).absolute()
        with disk_errors("create the crawl directory", self.directory):
            if self.directory.exists() and (not self.directory.is_dir() or any(self.directory.iterdir())):
                raise UsageError(
                    "the directory is not empty", where=str(directory), hint="Pass a directory that does not exist yet."
                )
        self._inside = self.directory.with_name(f".{self.directory.name}.import")
        sweep(self._inside)
        self._held = Scratch(self._inside, "crawl")
        self.crawl = self._held.path / "crawl"
        self.scratch = self._held.path / "tmp"
        self.scratch.mkdir()

    def publish(self) -> None:
        """Give the crawl its name."""
        with disk_errors("name the crawl directory", self.directory):
            sync_tree(self.crawl)
            self.crawl.rename(self.directory)  # an empty directory is replaced
            sync_folder(self.directory.parent)

    def close(self) -> None:
        """Remove the folder."""
        self._held.close()
        with suppress(OSError):  # another import is using it
            self._inside.rmdir()

    def __enter__(self) -> Self:
        return self


def import_nutch_crawl(
    source: NutchCrawl,
    folder: ImportFolder,
    engine: Engine,
    config: Config,
    *,
    now: datetime,
    progress: Callable[[str], None] = lambda doing: None,
) -> NutchImportResult:
    """Import a Nutch crawl and give the new crawl directory its name.

    ``progress`` is called with the name of each step.
    """
    reader = CrawlReader()
    crawl, scratch = CrawlDir.create(folder.crawl, now), folder.scratch
    files = {part: source.files(part) for part in _PARTS}
    rows: TableSource | None = None
    if files["crawldb"]:
        progress("crawldb")
        rows = read_crawldb(reader, files["crawldb"], scratch)
    segments: list[ImportedSegment] = []
    for each in source.segments:
        progress(f"segment {each.name}")
        segments.append(
            SegmentImport(each, scratch, reader, engine, config, now).write(Segment(crawl.segments / each.name))
        )
    applied = [] if rows is None else _applied(crawl, segments, engine, rows)
    if rows is not None:
        write_crawldb(reader, rows, crawl, engine, applied, now)
        record_host_counts(crawl, engine)
    if files["linkdb"]:
        progress("linkdb")
        parsed = [each.name for each in segments if each.is_parsed and each.name in applied]
        most = config.linkdb.max_inlinks
        import_linkdb(reader, files["linkdb"], crawl, engine, most, parsed, scratch, now)
    if files["hostdb"]:
        progress("hostdb")
        import_hostdb(reader, files["hostdb"], crawl, engine, scratch, now)
    if not any(count.imported for count in reader.counts.values()):
        first = reader.problems[0] if reader.problems else None
        raise UsageError(
            "nothing could be imported" + (f": {first.what}" if first else ": there are no records"),
            where=first.file if first else str(source.path),
        )
    folder.publish()
    fetched = [each.name for each in segments if each.is_fetched]
    return NutchImportResult(
        parts=tuple(
            ImportedPart(part=part, read=count.read, imported=count.imported, left_out=dict(+count.left_out))
            for part, count in reader.counts.items()
        ),
        segments=tuple(segments),
        pending=tuple(name for name in fetched if name not in applied),
        problem_count=reader.problem_count,
        problems=tuple(reader.problems),
    )


def _applied(crawl: CrawlDir, segments: Sequence[ImportedSegment], engine: Engine, crawldb: TableSource) -> list[str]:
    """Return the fetched segments that the crawldb was updated from. Nutch does not record them.

    An update sets the next fetch of a URL to a time after its last one. So a segment is applied if this is true of at
    least half of its pages that are in the crawldb.
    """
    known = engine.read(crawldb).select("url", due="fetch_time", state="status")
    found = []
    for each in segments:
        if not each.is_fetched:
            continue
        fetches = engine.read(source_of(Segment(crawl.segments / each.name).crawl_fetch(), _FETCHED))
        done = fetches.filter(fetches.status.isin(["success", "notmodified", "redir_temp", "redir_perm"]))
        met = done.join(known, "url")
        later = ((met.due > met.fetch_time) & (met.state != "unfetched")).ifelse(1, 0)
        counts = only_row(engine.batches(met.aggregate(pages=met.count(), later=ibis.coalesce(later.sum(), 0))))
        if counts["later"] * 2 >= counts["pages"]:
            found.append(each.name)
    return found
