"""Exchanges for archive tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from fastwarc.warc import ArchiveIterator
from warcio.checker import Checker

from scoter.core.reply import Exchange, Headers, Timings, Truncation
from scoter.core.url import canonical
from scoter.store.warc import ArchiveInfo, WarcPart

START = datetime(2026, 11, 15, 2, 36, 0, 123456, tzinfo=UTC)
ABOUT = ArchiveInfo(software="Scoter/test", agent="tester/1.0 (+https://example.org/bot)", operator="The operator")


def exchange(
    url: str = "http://example.com/",
    body: bytes = b"<p>hello</p>",
    *,
    head: bytes | None = None,
    status: int = 200,
    headers: Headers | None = None,
    truncation: Truncation = Truncation.NOT,
    started: datetime = START,
    http: str = "1.1",
    tls: str = "",
    request: bytes | None = None,
) -> Exchange:
    """Return one request and its response."""
    where = canonical(url)
    fields = (("Content-Type", "text/html"), ("Content-Length", str(len(body)))) if headers is None else headers
    if head is None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        head = f"HTTP/1.1 {status} Some Reason\r\n{lines}\r\n".encode("latin-1")
    asked = f"GET {where.target} HTTP/1.1\r\nHost: {where.host}\r\n\r\n".encode() if request is None else request
    return Exchange(
        url=where,
        started=started,
        request_head=asked,
        response_head=head,
        status=status,
        headers=fields,
        body=body,
        truncation=truncation,
        peer="192.0.2.7",
        http_version=http,
        tls_version=tls,
        timings=Timings(total=0.25, first_byte=0.125),
    )


def numbered() -> Callable[[], str]:
    """Return a function that makes predictable IDs."""
    numbers = count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012d}"


def open_part(folder: Path, name: str = "part", shared: int = 1_000) -> WarcPart:
    """Return a new file with predictable bytes."""
    return WarcPart(folder, name, ABOUT, opened=START, make_id=numbered(), shared=shared)


class _Command:
    def __init__(self, path: Path) -> None:
        self.inputs = [str(path)]
        self.verbose = False


def assert_sound(path: Path) -> None:
    """Fail unless warcio and fastwarc can read every record and all digests are correct."""
    assert Checker(_Command(path)).process_all() == 0
    with path.open("rb") as file:
        everything = sum(1 for _ in ArchiveIterator(file, parse_http=False))
    with path.open("rb") as file:
        checked = sum(1 for _ in ArchiveIterator(file, parse_http=True, verify_digests=True, max_header_len=2**20))
    assert checked == everything > 0


def records(path: Path) -> list[tuple[dict[str, str], bytes]]:
    """Return each record's headers and block, read by fastwarc."""
    with path.open("rb") as file:
        return [
            (dict(record.headers.items()), record.reader.read()) for record in ArchiveIterator(file, parse_http=False)
        ]
