"""The protocol plug-in for file: URLs: files as they are, folders as pages of links.

It is off unless ``fetch.protocols`` names it. Then a link on any page may lead to any file that this process may read;
``file.folders`` restricts that. Pipes, devices and sockets are not opened: reading them could block or never end.
"""

from __future__ import annotations

import asyncio
import errno
import io
import os
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from msgspec.structs import replace

from scoter.core.dates import parse_date
from scoter.core.reply import (
    Exchange,
    Failed,
    Fetched,
    Gone,
    Headers,
    Moved,
    NotModified,
    Reason,
    Reply,
    Request,
    Timings,
    Truncation,
)
from scoter.core.url import canonical
from scoter.fetch.protocols.listings import MAX_NAMES, FolderEntry, link_page, media_type, path_text
from scoter.plugins import Setup

THREADS = 4  # more do not make a disk faster, and a dead network file system blocks no more than these

_READ = 1 << 20
_GONE = {
    errno.ENOENT: Reason.NOT_FOUND,
    errno.ENOTDIR: Reason.NOT_FOUND,
    errno.ELOOP: Reason.NOT_FOUND,
    errno.ENAMETOOLONG: Reason.BAD_REQUEST,
}


class FileProtocol:
    """Reads local files, and shows folders as pages of links."""

    schemes: tuple[str, ...] = ("file",)

    def __init__(self, setup: Setup, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        settings = setup.config.file
        self._limit = settings.content_limit
        self._parent = settings.crawl_parent
        self._redirect = settings.crawl_redirect_noncanonical
        self._folders = tuple(os.fsencode(Path(folder).resolve()) for folder in settings.folders)
        self._now = now
        self._threads: ThreadPoolExecutor | None = None

    async def fetch(self, request: Request) -> Reply:
        """Read one file or folder in a thread, since a disk may be slow."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, "file")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, request)

    async def close(self) -> None:
        """Release the threads without waiting for a disk that does not answer."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    def _read(self, request: Request) -> Reply:
        url = request.url
        path = unquote_to_bytes(url.path)
        if url.host:
            return Gone(url, Reason.BAD_REQUEST, f"a file: URL must not name a host, but this one names {url.host}")
        if b"\0" in path:
            return Gone(url, Reason.BAD_REQUEST, "a file name cannot contain NUL")
        try:
            return self._answer(request, path)
        except OSError as error:
            detail = error.strerror or str(error)
            if error.errno in _GONE:
                return Gone(url, _GONE[error.errno], detail)
            if error.errno in (errno.EACCES, errno.EPERM):
                return Failed(url, Reason.FORBIDDEN, detail, blames_host=False)
            return Failed(url, Reason.SERVER_ERROR, detail, blames_host=False)

    def _answer(self, request: Request, path: bytes) -> Reply:
        url, started, began = request.url, self._now(), time.monotonic()
        real = os.path.realpath(path, strict=True)
        if not self._may_read(real):
            return Failed(url, Reason.FORBIDDEN, "not in file.folders", transient=False, blames_host=False)
        facts = os.stat(real)  # noqa: PTH116 - a path of bytes
        is_folder = stat.S_ISDIR(facts.st_mode)
        if not is_folder and not stat.S_ISREG(facts.st_mode):
            return Gone(url, Reason.BAD_REQUEST, "neither a file nor a folder")
        if is_folder:
            real = real.rstrip(b"/") + b"/"
        modified = _moment(facts.st_mtime)
        base = Exchange(
            url=url,
            started=started,
            request_head=b"",
            response_head=b"",
            status=200,
            headers=() if modified is None else (("Last-Modified", format_datetime(modified, usegmt=True)),),
            body=b"",
        )
        proper = canonical(f"file://{path_text(real)}")
        if self._redirect and proper != url:
            headers: Headers = (("Location", proper.text),)
            return Moved(_with(base, began, status=301, headers=headers), proper, permanent=True)
        if modified is not None and modified == parse_date(request.last_modified):
            return NotModified(_with(base, began, status=304))
        if is_folder:
            body, cut = self._list(real)
            kind, size = "text/html; charset=utf-8", len(body)
        else:
            body, size, cut = self._contents(real)
            kind = media_type(os.fsdecode(real))
        headers = (("Content-Type", kind), ("Content-Length", str(size)), *base.headers)
        return Fetched(_with(base, began, headers=headers, body=body, truncation=cut))

    def _may_read(self, real: bytes) -> bool:
        # realpath has resolved all links: this is the path that is opened.
        return not self._folders or any(
            real == folder or real.startswith(folder.rstrip(b"/") + b"/") for folder in self._folders
        )

    def _list(self, folder: bytes) -> tuple[bytes, Truncation]:
        items: list[FolderEntry] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                # List a link to a folder as a file: a request for it is redirected to the folder.
                items.append(FolderEntry(entry.name, entry.is_dir(follow_symlinks=False)))
                if len(items) > MAX_NAMES:
                    break
        above = os.path.dirname(folder.rstrip(b"/")) or b"/"  # noqa: PTH120 - a path of bytes
        page = link_page(folder, items[:MAX_NAMES], parent=self._parent and self._may_read(above), limit=self._limit)
        return page.body, Truncation.LENGTH if len(items) > MAX_NAMES else page.truncation

    def _contents(self, path: bytes) -> tuple[bytes, int, Truncation]:
        # Non-blocking: since the check, the file may have been replaced by a pipe that nobody writes to.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with io.FileIO(handle, "rb") as file:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise FileNotFoundError(errno.ENOENT, "no longer a file")
            limit = self._limit
            pieces: list[bytes] = []
            size = 0
            # One byte beyond the limit shows that there is more; a file may grow while it is read.
            while limit is None or size <= limit:
                piece = file.read(_READ if limit is None else min(_READ, limit + 1 - size))
                if not piece:
                    break
                pieces.append(piece)
                size += len(piece)
        body = b"".join(pieces)
        if limit is not None and len(body) > limit:
            return body[:limit], max(facts.st_size, len(body)), Truncation.LENGTH
        return body, len(body), Truncation.NOT


def _moment(seconds: float) -> datetime | None:
    """Return a file's time, or ``None`` if it is out of range, which some file systems allow."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _with(base: Exchange, began: float, **changes: Any) -> Exchange:
    """Return an exchange with its result and duration."""
    return replace(base, timings=Timings(total=time.monotonic() - began), **changes)
