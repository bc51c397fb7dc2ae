"""Recover an archive that a killed writer left: truncate the broken end, index the rest, and rename it.

Each record is a separate gzip member. The file is truncated at the first member that is incomplete,
has a wrong checksum, or does not contain a record; everything before it is kept.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from scoter.core.reply import header
from scoter.core.url import canonical
from scoter.errors import UrlError, UsageError
from scoter.store.disk import disk_errors, sync_folder, try_lock
from scoter.store.warc.cdxj import CdxEntry, CdxIndex, index_line, media_type, surt_key
from scoter.store.warc.part import OPEN, SUFFIX
from scoter.store.warc.reader import CAPTURE_KINDS, CaptureKind, captured, records, whole_records
from scoter.store.warc.record import warc_date


class Recovered(Struct, frozen=True, kw_only=True):
    """The result of a recovery; ``path`` is ``None`` if the file contained no capture."""

    path: Path | None
    records: int
    captures: int
    kept: int
    dropped: int


def unfinished(folder: Path) -> list[Path]:
    """Return the unfinished archives in a folder, including those being written."""
    return sorted(folder.glob(f"*{SUFFIX}{OPEN}"))


def recover(draft: Path) -> Recovered:
    """Truncate the broken end of an unfinished archive, write its index and give it its final name.

    Everything is on disk when this returns. An archive without captures is removed; one being written is refused.
    """
    if not draft.name.endswith(SUFFIX + OPEN):
        raise UsageError(f"not an unfinished archive (*{SUFFIX}{OPEN})", where=str(draft))
    path = draft.with_name(draft.name.removesuffix(OPEN))
    index_path = path.with_name(f"{path.name.removesuffix(SUFFIX)}.cdxj")
    with disk_errors("recover the archive", draft), draft.open("r+b") as file:
        if not try_lock(file.fileno()):
            raise UsageError("the archive is being written by another process", where=str(draft))
        if path.exists():
            raise UsageError(f"a finished archive of the same name exists: {path.name}", where=str(draft))
        size = os.fstat(file.fileno()).st_size
        count = kept = 0
        for span in whole_records(file):
            count, kept = count + 1, span.end
        file.truncate(kept)
        os.fsync(file.fileno())  # even if nothing was truncated: the killed writer may not have synced it
        captures = _write_index(draft, path.name, index_path)
        if captures:
            draft.replace(path)
        else:
            draft.unlink()
            index_path.unlink(missing_ok=True)
        sync_folder(path.parent)
    return Recovered(path=path if captures else None, records=count, captures=captures, kept=kept, dropped=size - kept)


def _write_index(draft: Path, name: str, index_path: Path) -> int:
    """Write the index as the writer would have; return the number of its lines."""
    captures = 0
    with closing(CdxIndex(index_path.parent)) as index, draft.open("rb") as places, draft.open("rb") as file:
        for span, record in zip(whole_records(places), records(file), strict=True):
            if str(record.record_type) not in CAPTURE_KINDS:
                continue
            if index.is_full:
                index.spill()
            found = captured(record, span.offset, limit=0)
            mime = (
                "warc/revisit"
                if found.kind is CaptureKind.REVISIT
                else media_type(header(found.headers, "content-type"))
            )
            entry = CdxEntry(
                url=found.url,
                mime=mime,
                status=str(found.status) if found.status else "-",
                digest=found.digest,
                length=str(span.length),
                offset=str(span.offset),
                filename=name,
            )
            index.add(index_line(_key(found.url), warc_date(found.date), entry))
            captures += 1
        index.write(index_path)
    return captures


def _key(url: str) -> str:
    try:
        return surt_key(canonical(url))
    except UrlError:
        return url
