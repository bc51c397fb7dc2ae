"""Formats of archived bytes: WARC files, and WACZ packages of them.

Whole records are copied as they are compressed, with the requests and metadata that belong to a response. Each is
decompressed only to check it: a damaged one is left out and named in the manifest.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from scoter import __version__
from scoter.batch.crawldir.archives import ArchiveFile, CaptureIndex
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.segment import Segment
from scoter.errors import UserError
from scoter.export.folder import MAX_NAMED, ExportedFile, ExportFolder, FinishedShard, SkippedPage, described_file
from scoter.export.formats import Shard
from scoter.export.page_rows import ExportSource
from scoter.export.wacz import PAGES_HEADER, PageLine, pack_wacz
from scoter.store.disk import disk_errors
from scoter.store.warc import ArchiveInfo

_READ_AS_PAGES = ("text/html", "application/xhtml+xml", "application/pdf", "text/plain")


class CopiedCaptures(Struct, frozen=True):
    """The result of copying captures: how many, and which were left out."""

    number: int
    skipped: int
    named: tuple[SkippedPage, ...]


class WarcFormat:
    """A WARC file per shard, with its CDXJ index."""

    fields: tuple[str, ...] = ("warc_file", "warc_offset")
    is_archived = True

    def __init__(self, folder: ExportFolder, source: ExportSource) -> None:
        self._folder = folder
        self._copier = CaptureCopier(folder, source)

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        archive, index = (self._folder.drafts / shard.name(suffix) for suffix in (".warc.gz", ".cdxj"))
        done = self._copier.copy(archive, iter_rows(rows))
        files = tuple(described_file(file, file.name, done.number) for file in (archive, index))
        for file in (index, archive):
            self._folder.adopt(file, file.name)
        return FinishedShard(
            number=shard.number, pages=done.number, files=files, skipped=done.skipped, named=done.named
        )

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()


class WaczFormat:
    """A WACZ package per shard, which replay tools open as a whole."""

    fields: tuple[str, ...] = ("warc_file", "warc_offset", "fetched", "title", "content_type")
    is_archived = True

    def __init__(self, folder: ExportFolder, source: ExportSource) -> None:
        self._folder = folder
        self._copier = CaptureCopier(folder, source)

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        drafts = self._folder.drafts
        name, archive, index = shard.name(".wacz"), drafts / shard.name(".warc.gz"), drafts / shard.name(".cdxj")
        pages = drafts / "pages.jsonl"
        with disk_errors("write the export", pages), pages.open("wb") as out:
            out.write(PAGES_HEADER)
            done = self._copier.copy(
                archive, iter_rows(rows), lambda row: out.write(page_line(row)) if _is_page(row) else None
            )
        draft = drafts / name
        with disk_errors("write the export", draft):
            pack_wacz(draft, archive, index, pages, self._folder.plan.created)
            for file in (archive, index, pages):
                file.unlink()
        described = described_file(draft, name, done.number)
        self._folder.adopt(draft, name)
        return FinishedShard(
            number=shard.number, pages=done.number, files=(described,), skipped=done.skipped, named=done.named
        )

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()


def page_line(row: Mapping[str, Any]) -> bytes:
    """Return the line of a page in the list of pages."""
    page = PageLine(id=uuid.uuid5(uuid.NAMESPACE_URL, row["url"]).hex, url=row["url"], ts=row["fetched"])
    return msgspec.json.encode(msgspec.structs.replace(page, title=row["title"] or "")) + b"\n"


def _is_page(row: Mapping[str, Any]) -> bool:
    return (row["content_type"] or "") in _READ_AS_PAGES


class CaptureCopier:
    """Copies captures of the segments of a crawl into new archives."""

    def __init__(self, folder: ExportFolder, source: ExportSource) -> None:
        agent = source.config.agent
        self._crawl = source.crawl
        self._created = folder.plan.created
        self._about = ArchiveInfo(software=f"Scoter/{__version__}", agent=agent.name, operator=agent.email or agent.url)

    def copy(
        self,
        target: Path,
        rows: Iterator[dict[str, Any]],
        on_copied: Callable[[dict[str, Any]], object] = lambda row: None,
    ) -> CopiedCaptures:
        """Copy the captures of rows, which are in the order of the archives, into a new archive with an index."""
        number = skipped = 0
        named: list[SkippedPage] = []

        def leave_out(row: Mapping[str, Any], failure: UserError) -> None:
            nonlocal skipped
            skipped += 1
            if len(named) < MAX_NAMED:
                named.append(SkippedPage(row["url"], str(failure).partition("\n")[0]))

        with disk_errors("write the export", target):
            # The same name and time give the same archive.
            identity = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{target.name} {self._created.isoformat()}"))
            archive = ArchiveFile(target, self._about, self._created, identity)
            try:
                for (segment, file), group in groupby(rows, lambda row: (row["segment"], row["warc_file"])):
                    found = {row["warc_offset"]: row for row in group}
                    try:
                        path = Segment(self._crawl.segments / segment).content / Path(file).name
                        captures = CaptureIndex.read(path, found)
                    except UserError as failure:
                        for row in found.values():
                            leave_out(row, failure)
                        continue
                    for place, _ in archive.take(captures, lambda at, why, found=found: leave_out(found[at], why)):  # type: ignore[misc]
                        on_copied(found[place])
                        number += 1
                archive.finish()
            finally:
                archive.close()
        return CopiedCaptures(number, skipped, tuple(named))
