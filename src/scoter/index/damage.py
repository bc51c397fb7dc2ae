"""Damaged indexes: the errors for them, and how they are found before they are written to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from struct import Struct as Layout
from typing import Final, TypeAlias
from zlib import crc32

import msgspec
import zstandard
from msgspec import Struct

from scoter.errors import UserError, typed

_UNREADABLE: Final = (ValueError, OSError, msgspec.DecodeError, zstandard.ZstdError)
_BLOCK: Final = 2**20
# A file of tantivy ends with a footer in JSON, the footer's length and a magic number.
_END: Final = Layout("<II")
_MAGIC: Final = 1337
_LONGEST_FOOTER: Final = 2**16
_KINDS: Final = ("fast", "fieldnorm", "idx", "pos", "store", "term")
FileStamp: TypeAlias = tuple[int, int, int, int]
"""What changes if a file is written, replaced or copied: inode, size, and the times of its data and of its inode."""

_PANIC: Final = "PanicException"  # not importable, and not an Exception


def damaged(folder: Path, failure: BaseException) -> UserError:
    """Return the error for an index that cannot be read."""
    return UserError(
        f"the index is damaged: {str(failure).partition(chr(10))[0][:200]}",
        where=str(folder),
        hint=f"Build it again with: scoter index {typed(folder.parent)} --force",
    )


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Raise the errors of libraries that read an index as damage."""
    try:
        yield
    except _UNREADABLE as failure:
        raise damaged(folder, failure) from failure
    except BaseException as failure:
        if is_panic(failure):
            raise damaged(folder, failure) from failure
        raise


def is_panic(failure: BaseException) -> bool:
    """Return whether tantivy failed in a way that it does not expect, which damaged files can cause."""
    return type(failure).__name__ == _PANIC


class _Deletes(Struct, frozen=True):
    """Which of a segment's files has its deleted documents."""

    opstamp: int


class _SegmentFiles(Struct, frozen=True):
    """A segment in tantivy's list."""

    segment_id: str
    deletes: _Deletes | None = None


class _TantivyMeta(Struct, frozen=True):
    """Tantivy's list of the segments in use."""

    segments: tuple[_SegmentFiles, ...]


class _Footer(Struct, frozen=True):
    """The end of a file of tantivy, with the checksum of the rest."""

    crc: int


def check_files(data: Path, known: Mapping[str, FileStamp]) -> None:
    """Raise a ``ValueError`` if a file in use does not have its checksum, apart from those with a known stamp.

    Tantivy checks only what it opens, and a merge of damaged segments fails in a thread, again and again.
    """
    for name in _names_in_use(data):
        if name not in known or known[name] != _stamp_of(data / name):
            _check_file(data / name)


def file_stamps(data: Path) -> dict[str, FileStamp]:
    """Return the stamps of the files in use."""
    return {name: _stamp_of(data / name) for name in _names_in_use(data)}


def _stamp_of(file: Path) -> FileStamp:
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _names_in_use(data: Path) -> Iterator[str]:
    known = msgspec.json.decode((data / "meta.json").read_bytes(), type=_TantivyMeta)
    for each in known.segments:
        for kind in (*_KINDS, *(() if each.deletes is None else (f"{each.deletes.opstamp}.del",))):
            yield f"{each.segment_id.replace('-', '')}.{kind}"


def _check_file(file: Path) -> None:
    with file.open("rb") as source:
        size = source.seek(0, 2)
        source.seek(max(0, size - _END.size))
        length, magic = _END.unpack(source.read(_END.size)) if size >= _END.size else (0, 0)
        body = size - _END.size - length
        if magic != _MAGIC or length > _LONGEST_FOOTER or body < 0:
            raise ValueError(f"{file.name} is truncated")
        source.seek(body)
        footer = msgspec.json.decode(source.read(length), type=_Footer)
        source.seek(0)
        checksum = 0
        while body > 0 and (block := source.read(min(_BLOCK, body))):
            checksum = crc32(block, checksum)
            body -= len(block)
    if checksum != footer.crc:
        raise ValueError(f"the checksum of {file.name} is wrong")
