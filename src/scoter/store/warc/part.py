"""One WARC file, from its opening to its final name.

While being written it is called ``NAME.warc.gz.open``. ``seal`` syncs it and its index to disk, ``publish`` renames it;
in between, the caller can seal what belongs to it. Nothing is buffered, so a killed process leaves at most one broken
record, at the end. The writing process holds a lock that recovery respects. Not thread-safe.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from scoter.core.reply import Exchange
from scoter.errors import Defect, NameTaken, UserError
from scoter.store.disk import disk_error, disk_errors, make_folder, sync_folder, try_lock
from scoter.store.warc import record
from scoter.store.warc.capture import ArchiveInfo, EarlierCapture, Facts, Location, SharedBody
from scoter.store.warc.cdxj import CdxEntry, CdxIndex, index_line, media_type, surt_key
from scoter.store.warc.record import archived_request, archived_response, member

SUFFIX = ".warc.gz"
OPEN = ".open"
SHARED = 4_096
"""Bodies remembered to detect duplicates: about 2 MB."""

_COPIED = 2**20


def new_id() -> str:
    """Return a random UUID."""
    # The same as uuid.uuid4 in a third of the time, with version and variant set (RFC 9562, 5.4).
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) & 3]}{text[17:20]}-{text[20:]}"


class WarcPart:
    """An archive that accepts exchanges until it is finished."""

    def __init__(
        self,
        folder: Path,
        name: str,
        about: ArchiveInfo,
        *,
        opened: datetime,
        make_id: Callable[[], str] = new_id,
        shared: int = SHARED,
    ) -> None:
        self.path = folder / f"{name}{SUFFIX}"
        self.index_path = folder / f"{name}.cdxj"
        self.draft = folder / f"{name}{SUFFIX}{OPEN}"
        self.opened = opened
        self.size = 0
        self.captures = 0
        self._make_id = make_id
        self._shared_limit = shared
        self._shared: dict[str, SharedBody] = {}
        self._index = CdxIndex(folder)
        self._sealed = False
        self._file = _open_new(self.path, self.draft)
        date = record.warc_date(opened)
        try:
            self._write([member(record.warcinfo(about, self.path.name, record_id=make_id(), date=date))])
        except BaseException:
            self.discard()
            raise

    def __repr__(self) -> str:
        shown = self.path if self._file.closed else self.draft
        return f"WarcPart({shown}, {self.captures} captures, {self.size} bytes)"

    @property
    def is_sealed(self) -> bool:
        return self._sealed

    def append(self, exchange: Exchange, facts: Facts = (), earlier: EarlierCapture | None = None) -> Location:
        """Archive an exchange and return the position of its response.

        ``facts`` go into a metadata record; ``earlier`` is the capture that a 304 confirms. On failure the file is
        unchanged.
        """
        if self._index.is_full:
            with disk_errors("sort the index of the archive", self.draft):
                self._index.spill()
        answer, date, offset = self._make_id(), record.warc_date(exchange.started), self.size
        first, entry, shared, copy = self._answer(exchange, earlier, answer, date)
        members = [first]
        if is_not_modified(exchange):
            head = archived_response(exchange.response_head, None)
            built = record.not_modified_head(exchange, head, record_id=self._make_id(), date=date, answer=answer)
            members.append(member(built))
        if exchange.request_head:
            asked = archived_request(exchange.request_head)
            built = record.request(exchange, asked, record_id=self._make_id(), date=date, answer=answer)
            members.append(member(built))
        if facts:
            built = record.metadata(exchange, facts, record_id=self._make_id(), date=date, answer=answer)
            members.append(member(built))
        # One write is faster than several, but a large record is not copied for it.
        self._write([b"".join(members)] if len(first) <= _COPIED else members)
        self._index.add(index_line(surt_key(exchange.url), date, entry))
        self.captures += 1
        if shared is not None:
            self._shared[entry.digest] = shared
            if len(self._shared) > self._shared_limit:
                del self._shared[next(iter(self._shared))]
        return Location(self.path.name, offset, len(first), copy)

    def sync(self) -> None:
        """Sync everything written so far to disk."""
        self._check_open()
        with disk_errors("write the archive", self.draft):
            os.fdatasync(self._file.fileno())

    def seal(self) -> None:
        """Sync the file and its index to disk, under their working names; nothing can be added afterwards."""
        if not self._sealed:
            self.sync()
            with disk_errors("write the index of the archive", self.index_path):
                self._index.write(self.index_path)
            self._index.close()
            self._sealed = True

    def publish(self) -> Path:
        """Give a sealed file its final name and return the path."""
        if not self._sealed:
            raise Defect(f"{self.draft} is published before it is sealed")
        with disk_errors("name the archive", self.path):
            self.draft.replace(self.path)
            sync_folder(self.path.parent)
        self._file.close()
        return self.path

    def finish(self) -> Path:
        """Seal and publish."""
        self.seal()
        return self.publish()

    def discard(self) -> None:
        """Remove the unfinished file."""
        self.close()
        for path in (self.draft, self.index_path):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file as it is; recovery can finish it."""
        self._index.close()
        self._file.close()

    def _answer(
        self, exchange: Exchange, earlier: EarlierCapture | None, answer: str, date: str
    ) -> tuple[bytes, CdxEntry, SharedBody | None, EarlierCapture | None]:
        """Return the response or revisit, its index entry, what to remember for duplicates, and where its body is."""
        body, raw = exchange.body, exchange.response_head
        is_304 = is_not_modified(exchange)
        head = archived_response(raw, len(body)) if raw else b""
        payload = record.digest(body) if not is_304 else earlier.digest if earlier else "-"
        whole = bool(body and head) and not exchange.truncation
        duplicate_of = self._shared.get(payload) if whole else None
        mime = "warc/revisit"
        remember: SharedBody | None = None
        copy: EarlierCapture | None = None
        if is_304:
            built = member(record.not_modified(exchange, earlier, record_id=answer, date=date))
        elif duplicate_of is not None:
            revisit = record.duplicate(exchange, head, duplicate_of, record_id=answer, date=date, payload=payload)
            built = member(revisit)
            copy = EarlierCapture(duplicate_of.url, duplicate_of.date, payload)
        else:
            built = member(record.response(exchange, head, record_id=answer, date=date, payload=payload))
            mime = media_type(exchange.header("content-type"))
            remember = SharedBody(answer, exchange.url.text, date, self.size) if whole else None
            copy = EarlierCapture(exchange.url.text, date, payload)
        entry = CdxEntry(
            url=exchange.url.text,
            mime=mime,
            status=str(exchange.status) if head else "-",
            digest=payload,
            length=str(len(built)),
            offset=str(self.size),
            filename=self.path.name,
        )
        return built, entry, remember, copy

    def _write(self, pieces: Sequence[bytes]) -> None:
        if self._sealed:
            raise Defect(f"{self.draft} is written to after it was sealed")
        self._check_open()
        try:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    rest = rest[self._file.write(rest) :]
        except BaseException as failure:
            self._roll_back()
            if isinstance(failure, OSError):
                raise disk_error("write the archive", self.draft, failure) from failure
            raise
        self.size += sum(map(len, pieces))

    def _check_open(self) -> None:
        if self._file.closed:
            hint = "Recovery will finish it with everything written so far."
            raise UserError("the archive was closed before it was finished", where=str(self.draft), hint=hint)

    def _roll_back(self) -> None:
        """Remove a partial record, so that the next one follows a complete one."""
        try:
            self._file.truncate(self.size)
            self._file.seek(self.size)
        except OSError:
            self.close()  # nothing may follow a broken record; recovery keeps everything before it


def is_not_modified(exchange: Exchange) -> bool:
    """Tell whether a response is a 304 over HTTP."""
    return exchange.status == 304 and bool(exchange.response_head) and not exchange.body


def _open_new(path: Path, draft: Path) -> io.FileIO:
    taken = NameTaken("an archive of this name already exists", where=str(path), hint="Choose another name.")
    with disk_errors("open the archive", draft):
        make_folder(path.parent)
        if path.exists():
            raise taken
        try:
            # Unbuffered: what was written is with the kernel, and survives a kill of this process.
            file = io.FileIO(draft, "x")
        except FileExistsError:
            raise taken from None
        is_ours = try_lock(file.fileno()) and os.fstat(file.fileno()).st_nlink > 0
        if is_ours and not path.exists():
            return file
        # Meanwhile another process finished an archive of this name, or recovered ours.
        file.close()
        if is_ours:
            draft.unlink()
        raise taken
