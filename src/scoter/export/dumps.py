"""The exports of Nutch: ``dump``, raw content in files, and ``commoncrawldump``, content and headers as records.

File names and keys are those that Nutch gives, so that programs which read its dumps find what they expect. Two things
differ. Every page is written, also where Nutch would take a file that exists for the page's own. And the body of a
record is the content itself, where Nutch has a description of it for people.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Literal, TypeAlias

import msgspec

from scoter import __version__
from scoter.batch.crawldir.export import iter_rows
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.readseg import ArchivedContent, archived_content
from scoter.core.reply import header
from scoter.core.url import canonical
from scoter.errors import UserError
from scoter.export.folder import MAX_NAMED, ExportedFile, ExportFolder, FinishedShard, SkippedPage
from scoter.export.formats import SUFFIXES, CompressedOutput, Compression, Shard
from scoter.export.page_files import PageFile, PageFileWriter, page_name
from scoter.export.page_rows import ExportSource
from scoter.store.disk import Closing
from scoter.store.warc import ArchiveFolder

Layout: TypeAlias = Literal["host", "hash", "flat", "reverse"]
RecordEncoding: TypeAlias = Literal["json", "cbor"]
_LONGEST_NAME, _LONGEST_SUFFIX = 32, 5
_UNSAFE = re.compile(r"[^\w.%+~@=,-]")
_CBOR_TAG: Final = b"\xd9\xd9\xf7"  # RFC 8949, 3.4.6: the data that follows is CBOR
_CBOR_TEXT: Final = 0x60
_FIRST_HEADERS = ("Content-Encoding", "Content-Type", "Date", "Server")
_SUFFIX_OF_TYPE = {"text/html": ".html", "application/pdf": ".pdf", "text/plain": ".txt", "image/jpeg": ".jpg"}


class FilesFormat:
    """The content of every page in a file of its own, without content codings."""

    fields: tuple[str, ...] = ("warc_file", "warc_offset", "host", "content_type")
    is_archived = True

    def __init__(self, folder: ExportFolder, source: ExportSource, layout: Layout) -> None:
        self._files = PageFileWriter(folder)
        self._source = source
        self._name = _LAYOUTS[layout]

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        def pages() -> Iterator[PageFile | SkippedPage]:
            with _SegmentArchives(self._source) as archives:
                for row in iter_rows(rows):
                    found = archives.content(row)
                    yield (
                        found if isinstance(found, SkippedPage) else PageFile(row["url"], self._name(row), found.body)
                    )

        return self._files.write(shard, pages())

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()


def _in_host_folder(row: Mapping[str, Any]) -> str:
    suffix = _SUFFIX_OF_TYPE.get(row["content_type"] or "") or f".{_suffix(row['url'], 'bin')}"
    return page_name(row["host"], row["url"], suffix)


def _in_hash_folders(row: Mapping[str, Any]) -> str:
    digest = hashlib.md5(row["url"].encode()).hexdigest()
    return f"{digest[0]}{digest[8]}/{digest[16]}{digest[24]}/{nutch_file_name(row['url'])}"


def _in_one_folder(row: Mapping[str, Any]) -> str:
    return nutch_file_name(row["url"])


def _in_reversed_folders(row: Mapping[str, Any]) -> str:
    host = "/".join(part for part in reversed(row["host"].split(".")) if part)
    return f"{_UNSAFE_FOLDER.sub('_', host) or '_'}/{hashlib.sha256(row['url'].encode()).hexdigest().upper()}"


_UNSAFE_FOLDER = re.compile(r"[^a-z0-9/-]+")
_LAYOUTS: Mapping[Layout, Callable[[Mapping[str, Any]], str]] = {
    "host": _in_host_folder,
    "hash": _in_hash_folders,
    "flat": _in_one_folder,
    "reverse": _in_reversed_folders,
}


def nutch_file_name(url: str) -> str:
    """Return the name that Nutch gives to the file of a URL: the MD5 digest, the last part of the path, and its suffix.

    >>> nutch_file_name("http://example.org/docs/a.pdf"), nutch_file_name("http://example.org/docs/")
    ('a51ed2d33ccf744288503e011d1bf270_a.pdf', 'af59868561325da69a62fadbd3e7195d_.html')
    """
    digest = hashlib.md5(url.encode()).hexdigest()
    last = url.rpartition("/")[2]
    name, dot, _ = last.rpartition(".")
    base = name if dot else last
    return f"{digest}_{_UNSAFE.sub('', base[:_LONGEST_NAME])}.{_suffix(url, 'html')}"


def _suffix(url: str, otherwise: str) -> str:
    """Return the suffix of the last part of a URL."""
    _, dot, suffix = url.rpartition("/")[2].rpartition(".")
    return (_UNSAFE.sub("", suffix[:_LONGEST_SUFFIX]) if dot else "") or otherwise


class CommonCrawlFormat:
    """Request, response and key of every page as a record: a line of JSON, or JSON within CBOR."""

    fields: tuple[str, ...] = ("warc_file", "warc_offset", "host", "fetched", "ip")
    is_archived = True

    def __init__(
        self,
        folder: ExportFolder,
        source: ExportSource,
        *,
        encoding: RecordEncoding,
        compression: Compression,
        key: Literal["url", "reverse"],
    ) -> None:
        self._folder = folder
        self._source = source
        self._encoding = encoding
        self._compression: Compression = compression
        self._key = key
        agent, http = source.config.agent, source.config.http
        self._client = {
            "hostname": "",
            "address": "",
            "software": f"Scoter/{__version__}",
            "robots": "CLASSIC",
            "contact": {"name": agent.name, "email": agent.email},
        }
        self._asked = {
            "Accept": http.accept,
            "Accept-Encoding": "",
            "Accept-Language": http.accept_language,
            "User-Agent": agent.name,
        }

    def write(self, shard: Shard, rows: Iterator[Any]) -> FinishedShard:
        suffix = ".jsonl" if self._encoding == "json" else ".cbor"
        name = shard.name(suffix + SUFFIXES[self._compression])
        number = skipped = 0
        named: list[SkippedPage] = []
        with (
            self._folder.new_file(name) as file,
            CompressedOutput(file, self._compression) as out,
            _SegmentArchives(self._source) as archives,
        ):
            for row in iter_rows(rows):
                found = archives.content(row)
                if isinstance(found, SkippedPage):
                    skipped += 1
                    named += [found] if len(named) < MAX_NAMED else []
                    continue
                text = msgspec.json.encode(self._record(row, found))
                out.write(text + b"\n" if self._encoding == "json" else cbor_text(text))
                number += 1
        described = file.described(name, number)
        return FinishedShard(number=shard.number, pages=number, files=(described,), skipped=skipped, named=tuple(named))

    def finish(self) -> tuple[ExportedFile, ...]:
        return ()

    def _record(self, row: Mapping[str, Any], content: ArchivedContent) -> dict[str, Any]:
        sent = {name: header(content.headers, name) for name in _FIRST_HEADERS}
        known = {name.lower() for name in sent}
        sent |= {name: value for name, value in content.headers if name.lower() not in known}
        fetched = _millis(row["fetched"])
        return {
            "url": row["url"],
            "timestamp": _millis_of_date(header(content.headers, "Last-Modified")) or fetched,
            "request": {"method": "GET", "client": self._client, "headers": self._asked, "body": None},
            "response": {
                "status": str(content.status or ""),
                "server": {"hostname": row["host"], "address": row["ip"] or ""},
                "headers": sent,
                "body": content.body.decode("utf-8", "replace"),
            },
            "key": reverse_key(row["url"], fetched) if self._key == "reverse" else row["url"],
            "imported": fetched,
        }


def reverse_key(url: str, millis: str) -> str:
    """Return the key of a record: the reversed host, the SHA-1 digest of the URL, and the time.

    >>> reverse_key("http://www.example.org/", "1411623696000")
    'org_example_www_2e4b030e0710d03e541ea6af29554fa73cd5cf88_1411623696000'
    """
    host = "_".join(part for part in reversed(canonical(url).host.split(".")) if part)
    return f"{host}_{hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()}_{millis}"


def cbor_text(text: bytes) -> bytes:
    """Return a text in UTF-8 as CBOR, marked as CBOR.

    >>> cbor_text(b"{}").hex()
    'd9d9f7627b7d'
    """
    size = len(text)
    if size < 24:
        head = bytes([_CBOR_TEXT | size])
    else:
        width = next(width for width in (1, 2, 4, 8) if size < 256**width)
        head = bytes([_CBOR_TEXT | {1: 24, 2: 25, 4: 26, 8: 27}[width]]) + size.to_bytes(width, "big")
    return _CBOR_TAG + head + text


def _millis(moment: datetime | None) -> str:
    return str(int(moment.timestamp() * 1000)) if moment is not None else ""


def _millis_of_date(text: str) -> str:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return ""
    return _millis(found if found.tzinfo else found.replace(tzinfo=UTC))


class _SegmentArchives(Closing):
    """Reads captures from the archives of all segments; the one used last stays open."""

    def __init__(self, source: ExportSource) -> None:
        self._segments = source.crawl.segments
        self._name = ""
        self._open: ArchiveFolder | None = None

    def content(self, row: Mapping[str, Any]) -> ArchivedContent | SkippedPage:
        """Return the archived content of a page without content codings, or why it cannot be read."""
        if self._open is None or self._name != row["segment"]:
            self.close()
            self._name = row["segment"]
            self._open = ArchiveFolder(Segment(self._segments / self._name).content)
        try:
            found = archived_content(self._open, dict(row), recode=False)
        except UserError as failure:
            return SkippedPage(row["url"], str(failure).partition("\n")[0])
        return found or SkippedPage(row["url"], "it is not in the archive")

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None
