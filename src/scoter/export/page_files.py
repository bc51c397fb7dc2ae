"""Formats with a file per page, and an index of the files in every shard.

The index is a line of JSON per page with its URL, the name of its file, its size and digest. It is what the manifest
lists, because an export may have millions of pages.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from scoter.batch.crawldir.export import iter_rows, utc_text
from scoter.core.bounded import BoundedMap
from scoter.export.folder import MAX_NAMED, ExportedFile, ExportFolder, FinishedShard, SkippedPage
from scoter.export.formats import Shard
from scoter.store.disk import disk_errors

_UNSAFE = re.compile(r"[^\w.-]+")
_UNSAFE_HOST = re.compile(r"[^a-z0-9.-]+")
_LONGEST_NAME = 60
_DIGITS = 12
_KNOWN_FOLDERS = 10_000


class PageFile(Struct, frozen=True):
    """The file of a page: its name below the folder of the export, and its content."""

    url: str
    name: str
    content: bytes


class IndexLine(Struct, frozen=True):
    """A line of the index of a shard."""

    url: str
    file: str
    size: int
    sha256: str


class PageFileWriter:
    """Writes the pages of shards to files of their own."""

    def __init__(self, folder: ExportFolder) -> None:
        self._folder = folder
        self._made: BoundedMap[str, bool] = BoundedMap(_KNOWN_FOLDERS)

    def write(self, shard: Shard, pages: Iterator[PageFile | SkippedPage]) -> FinishedShard:
        """Write the pages of a shard and their index; writing them again replaces the files."""
        number = size = skipped = 0
        named: list[SkippedPage] = []
        name = f"index-{shard.number:05d}.jsonl"
        with self._folder.new_file(name) as index:
            for page in pages:
                if isinstance(page, SkippedPage):
                    skipped += 1
                    named += [page] if len(named) < MAX_NAMED else []
                    continue
                self._put(page)
                digest = hashlib.sha256(page.content).hexdigest()
                index.write(msgspec.json.encode(IndexLine(page.url, page.name, len(page.content), digest)) + b"\n")
                number, size = number + 1, size + len(page.content)
        return FinishedShard(
            number=shard.number,
            pages=number,
            files=(index.described(name, number),),
            skipped=skipped,
            named=tuple(named),
            counts={"page_bytes": size},
        )

    def _put(self, page: PageFile) -> None:
        path = self._folder.path / page.name
        with disk_errors("write the export", path):
            parent = str(path.parent)
            if parent not in self._made:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._made.put(parent, True)
            path.write_bytes(page.content)


class MarkdownFormat:
    """A Markdown file per page, in a folder per host; its front matter has title, URL, dates and language."""

    fields: tuple[str, ...] = (
        *("url", "host", "title", "description", "language", "authors", "published", "fetched"),
        *("markdown", "content"),
    )
    is_archived = False

    def __init__(self, folder: ExportFolder) -> None:
        self._files = PageFileWriter(folder)

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        without = 0

        def pages() -> Iterator[PageFile]:
            nonlocal without
            for row in iter_rows(rows):
                without += not row["markdown"]
                yield PageFile(row["url"], page_name(row["host"], row["url"], ".md"), markdown_page(row))

        done = self._files.write(shard, pages())
        return msgspec.structs.replace(done, counts={**done.counts, "without_markdown": without})

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()


def markdown_page(row: Mapping[str, Any]) -> bytes:
    """Return a page as Markdown with front matter in YAML; a page without Markdown has its text."""
    facts = {
        "title": row["title"],
        "url": row["url"],
        "description": row["description"],
        "authors": row["authors"],
        "language": row["language"],
        "date": row["published"],
        "fetched": row["fetched"],
    }
    lines = [f"{name}: {_yaml(value)}" for name, value in facts.items() if value]
    body = (row["markdown"] or row["content"] or "").replace("\0", "").strip("\n")
    return ("---\n" + "\n".join(lines) + f"\n---\n\n{body}\n").encode("utf-8", "replace")


def _yaml(value: Any) -> str:
    """Return a value as YAML: texts and lists as JSON, which is YAML too."""
    if isinstance(value, datetime):
        return utc_text(value.replace(microsecond=0))
    return msgspec.json.encode(value).decode()


def page_name(host: str, url: str, suffix: str) -> str:
    """Return a readable file name for a page: a folder for its host, what its path says, and a digest of its URL.

    >>> page_name("example.org", "https://example.org/a/Grey%20seals?page=2", ".md")
    'example.org/a-Grey-seals-page-2-790876f8e3c5.md'
    """
    digest = hashlib.sha256(url.encode()).hexdigest()[:_DIGITS]
    after = url.partition("://")[2]
    path = unicodedata.normalize("NFC", unquote(after.partition("/")[2], errors="replace"))
    words = _UNSAFE.sub("-", path).strip("-.")[:_LONGEST_NAME].strip("-.") or "index"
    folder = _UNSAFE_HOST.sub("_", host).strip(".") or "_"
    return str(PurePosixPath(folder[:200], f"{words}-{digest}{suffix}"))
