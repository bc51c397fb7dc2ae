"""The CDXJ index of an archive: one line per capture, sorted by key and time.

    com,example)/page 20261115023600 {"url": …, "mime": …, "status": …, "digest": …, "length": …, "offset": …,
    "filename": …}

All values are strings, as in pywb and Common Crawl. The type of a revisit is ``warc/revisit``. Keys are those of the
Internet Archive's tools (SURT), so that replay tools find every page; they are coarser than those of Scoter's tables.
"""

from __future__ import annotations

import heapq
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from scoter.core.url import Url

RUN = 4_096
"""Lines sorted in memory, about 1.5 MB. Longer indexes are sorted on disk, run by run."""

RUN_BYTES = 3 * 2**20
"""Bytes of lines in memory: a line contains its URL twice, and a URL may have thousands of characters."""

_RUNS = 64  # more open files than this are merged into one

_WWW = re.compile(r"\Awww\d*\.")
_PLAIN_PATH = re.compile(r"(?:/[a-z0-9_~-][a-z0-9._~-]*)*/?")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_TO_ESCAPE = re.compile(r"[^!-\x22$&-~]")
# As the Internet Archive's tools recognise them.
_SESSION_IN_PATH = re.compile(r"/\((?:[a-z]\([0-9a-z]{24}\)|[0-9a-z]{24})\)/(?=[^/?]+\.aspx)", re.IGNORECASE)
_SESSIONS_IN_QUERY = tuple(
    re.compile(rf"\A(.*){name}(?:&|\Z)", re.IGNORECASE | re.DOTALL)
    for name in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def index_line(key: str, date: str, entry: CdxEntry) -> bytes:
    """Return an index line; ``date`` is a WARC-Date."""
    stamp = f"{date[:4]}{date[5:7]}{date[8:10]}{date[11:13]}{date[14:16]}{date[17:19]}"
    return b"%b %b %b\n" % (key.replace(" ", "%20").encode("utf-8", "replace"), stamp.encode(), _encode(entry))


def surt_key(url: Url) -> str:
    """Return the key under which web archives index a URL (Sort-friendly URI Reordering Transform).

    Spellings that mostly lead to the same page share a key: the host loses ``www.``, everything is in lower case with
    as few escapes as possible, the path loses its last slash, the query its session ids, and parameters are sorted.

    >>> from scoter.core.url import canonical
    >>> surt_key(canonical("http://www2.Example.org:8080/A/b%7e/?C=d&b=1"))
    'org,example:8080)/a/b~?b=1&c=d'
    """
    text = url.text
    if not url.host:
        return text.replace("://", ":", 1)
    path, _, query = url.target.partition("?")
    name = url.host.strip("[]").removesuffix(".")
    port = "" if url.port is None else f":{url.port}"
    host = ",".join(reversed(_WWW.sub("", name).split(".")))
    path = _path_key(path)
    query = _query_key(query) if query else ""
    return f"{host}{port}){path}?{query}" if query else f"{host}{port}){path}"


def _path_key(path: str) -> str:
    if _PLAIN_PATH.fullmatch(path) is None:
        segments: list[str] = []
        for segment in _unescaped(path).split("/"):
            if segment == ".." and segments:
                segments.pop()
            elif segment not in ("", "."):
                segments.append(segment)
        path = _SESSION_IN_PATH.sub("/", "/" + "/".join(segments))
    return _escaped(path).lower().rstrip("/") or "/"


def _query_key(query: str) -> str:
    query = _unescaped(query)
    for pattern in _SESSIONS_IN_QUERY:
        query = pattern.sub(lambda found: found[1], query, count=1)
    parameters = (each.partition("=") for each in _escaped(query).lower().split("&"))
    return "&".join("".join(each) for each in sorted(parameters))


def _unescaped(text: str) -> str:
    """Decode escapes until none is left; every character of the result is one byte."""
    while "%" in text and (decoded := _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)) != text:
        text = decoded
    return text


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(lambda found: f"%{ord(found[0]):02x}", text)


def media_type(content_type: str) -> str:
    """Return a content type without its parameters, or ``unk``.

    >>> media_type("Text/HTML; charset=utf-8")
    'text/html'
    """
    return content_type.partition(";")[0].strip().lower() or "unk"


class CdxIndex:
    """Collects lines and writes them sorted, within bounded memory."""

    def __init__(self, folder: Path, run: int = RUN, run_bytes: int = RUN_BYTES) -> None:
        self._folder = folder
        self._run = run
        self._run_bytes = run_bytes
        self._bytes = 0
        self._lines: list[bytes] = []
        self._runs: list[IO[bytes]] = []

    @property
    def is_full(self) -> bool:
        """Whether ``spill`` must be called before the next line."""
        return len(self._lines) >= self._run or self._bytes >= self._run_bytes

    def spill(self) -> None:
        """Move the lines in memory to disk."""
        if len(self._runs) >= _RUNS:
            earlier = self._runs
            self._runs = [self._stored(_merged(*earlier))]
            for run in earlier:
                run.close()
        self._runs.append(self._stored(sorted(self._lines)))
        self._lines.clear()
        self._bytes = 0

    def _stored(self, lines: Iterable[bytes]) -> IO[bytes]:
        # An unnamed file: nothing is left behind if the process is killed.
        with ExitStack() as stack:
            run = stack.enter_context(tempfile.TemporaryFile(dir=self._folder))
            run.writelines(lines)
            run.flush()
            stack.pop_all()
        return run

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        self._bytes += len(line)

    def write(self, path: Path) -> None:
        """Write all lines sorted; the file gets its name once it is synced."""
        draft = path.with_name(path.name + ".open")
        with draft.open("wb") as out:
            out.writelines(heapq.merge(_merged(*self._runs), sorted(self._lines)))
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)

    def close(self) -> None:
        """Discard all lines."""
        self._lines.clear()
        self._bytes = 0
        with ExitStack() as stack:
            for run in self._runs:
                stack.enter_context(run)
        self._runs.clear()


def _merged(*runs: IO[bytes]) -> Iterator[bytes]:
    for run in runs:
        run.seek(0)
    return heapq.merge(*runs)


_encode = msgspec.json.Encoder().encode


class CdxEntry(Struct, frozen=True, kw_only=True):
    """The JSON fields of an index line, in order."""

    url: str
    mime: str
    status: str
    digest: str
    length: str
    offset: str
    filename: str
