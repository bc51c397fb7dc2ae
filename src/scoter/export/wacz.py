"""WACZ packages: a WARC file, its index, a list of pages and a description of them, in one ZIP file.

Everything follows version 1.1.1 of the specification (https://specs.webrecorder.net/wacz/1.1.1/). The index is divided
into compressed blocks, with a second index of the blocks, so that replay tools read only a few of them for a page.
Nothing is compressed by ZIP, so that they can read ranges of the file.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Iterator
from datetime import datetime
from io import BufferedReader
from pathlib import Path
from typing import IO

import msgspec
from isal import igzip_lib
from msgspec import Struct

from scoter import __version__
from scoter.batch.crawldir.export import utc_text

PAGES_HEADER = msgspec.json.encode({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}) + b"\n"
_BLOCK_LINES = 1_024
_COMPRESSED, _BLOCKS = "index.cdx.gz", "index.idx"
_VERSION = "1.1.1"
_DATE = (1980, 1, 1, 0, 0, 0)  # the first that ZIP knows: equal content gives equal files
_COPIED = 2**20


class PageLine(Struct, frozen=True, kw_only=True):
    """A line of the list of pages."""

    id: str
    url: str
    ts: datetime
    title: str = ""


class PackagedFile(Struct, frozen=True):
    """A file in the package, as ``datapackage.json`` lists it."""

    name: str
    path: str
    hash: str
    bytes: int


def pack_wacz(target: Path, archive: Path, index: Path, pages: Path, created: datetime) -> None:
    """Write a package of an archive, its CDXJ index and a list of pages."""
    with zipfile.ZipFile(target, "x", zipfile.ZIP_STORED, allowZip64=True) as package:
        resources = []
        with archive.open("rb") as source:
            resources.append(_put(package, f"archive/{archive.name}", source))
        blocks = target.with_name(_BLOCKS)
        compressed = target.with_name(_COMPRESSED)
        try:
            _compress_index(index, compressed, blocks)
            for file, path in ((compressed, "indexes"), (blocks, "indexes"), (pages, "pages")):
                with file.open("rb") as source:
                    resources.append(_put(package, f"{path}/{file.name}", source))
        finally:
            for file in (compressed, blocks):
                file.unlink(missing_ok=True)
        about = {
            "profile": "data-package",
            "wacz_version": _VERSION,
            "title": target.stem,
            "software": f"Scoter {__version__}",
            "created": utc_text(created.replace(microsecond=0)),
            "resources": resources,
        }
        text = msgspec.json.format(msgspec.json.encode(about), indent=2)
        _put_bytes(package, "datapackage.json", text)
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(text).hexdigest()}"}
        _put_bytes(package, "datapackage-digest.json", msgspec.json.encode(digest))


def _compress_index(index: Path, compressed: Path, blocks: Path) -> None:
    """Write the lines of an index in compressed blocks, and the index of the blocks."""
    with index.open("rb") as lines, compressed.open("wb") as out, blocks.open("wb") as listed:
        listed.write(b"!meta 0 " + msgspec.json.encode({"format": "cdxj-gzip-1.0", "filename": _COMPRESSED}) + b"\n")
        offset = 0
        for block in _blocks(lines):
            packed = igzip_lib.compress(b"".join(block), 3, igzip_lib.COMP_GZIP)
            out.write(packed)
            key, date, _ = block[0].split(b" ", 2)
            place = {
                "offset": offset,
                "length": len(packed),
                "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}",
                "filename": _COMPRESSED,
            }
            listed.write(b"%b %b %b\n" % (key, date, msgspec.json.encode(place)))
            offset += len(packed)


def _blocks(lines: IO[bytes]) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    for line in lines:
        block.append(line)
        if len(block) == _BLOCK_LINES:
            yield block
            block = []
    if block:
        yield block


def _put(package: zipfile.ZipFile, path: str, source: BufferedReader) -> PackagedFile:
    digest = hashlib.file_digest(source, "sha256").hexdigest()
    size = source.tell()
    source.seek(0)
    with package.open(_entry(path), "w", force_zip64=size >= 2**31) as out:
        shutil.copyfileobj(source, out, _COPIED)
    return PackagedFile(path.rpartition("/")[2], path, f"sha256:{digest}", size)


def _put_bytes(package: zipfile.ZipFile, path: str, content: bytes) -> None:
    package.writestr(_entry(path), content)


def _entry(path: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, _DATE)
    entry.external_attr = 0o644 << 16
    return entry
