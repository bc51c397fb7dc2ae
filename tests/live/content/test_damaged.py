"""Archive records of responses whose content coding is damaged."""

from __future__ import annotations

import gzip
import zlib
from datetime import timedelta
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from msgspec.structs import replace
from tests.live.fakes import NOW, PNG, READER, Bench, Script, ScriptedWeb, exchange
from tests.store.exchanges import ABOUT

from scoter.core.reply import Fetched, Headers, Truncation
from scoter.core.url import Url
from scoter.live.content.archive import WarcContent, read
from scoter.live.records import State, UrlRecord

A, B = "http://a.example/", "http://b.example/"
PLAIN = b'<title>Seals</title><meta property="og:image" content="http://b.example/">' + b"<p>Words." * 200
DAMAGED = {
    "gzip": gzip.compress(PLAIN)[:-9],
    "deflate": zlib.compress(PLAIN)[:-9],
    "br": brotli.compress(PLAIN)[:-3],
    "zstd": zstandard.compress(PLAIN)[:-3],
}


def encoded(body: bytes, coding: str, media_type: str) -> Script:
    headers: Headers = (("Content-Type", media_type), ("Content-Encoding", coding))
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(f"{name}: {value}\r\n".encode() for name, value in headers) + b"\r\n"

    def answer(url: Url) -> Fetched:
        return Fetched(
            replace(exchange(url, 200, body, headers), request_head=b"GET / HTTP/1.1\r\n\r\n", response_head=head)
        )

    return answer


async def fetched(folder: Path, page: Script, image: Script) -> UrlRecord:
    bench = Bench(ScriptedWeb({A: page, B: image}), fetch_image=True)
    async with WarcContent(folder, ABOUT, size=2**30, age=timedelta(hours=1), clock=lambda: NOW) as store:
        bench.content = store
        bench.pipeline = bench.pipeline_of(READER)
        done = await bench.submit(A)
    assert done.record is not None
    return done.record


@pytest.mark.parametrize(
    ("coding", "body", "cut"),
    [
        *((coding, body, Truncation.UNSPECIFIED) for coding, body in DAMAGED.items()),
        ("gzip", gzip.compress(PLAIN), Truncation.NOT),
    ],
    ids=[*DAMAGED, "sound"],
)
async def test_archive_record_flags_a_damaged_content_coding(
    tmp_path: Path, coding: str, body: bytes, cut: Truncation
) -> None:
    record = await fetched(tmp_path, encoded(body, coding, "text/html"), encoded(PNG, "identity", "image/png"))

    assert (record.truncated, record.state) == (bool(cut), State.OK)
    assert record.archived is not None
    assert read(tmp_path, record.archived).truncation is cut


async def test_archive_record_flags_a_damaged_image(tmp_path: Path) -> None:
    page = encoded(PLAIN, "identity", "text/html")

    record = await fetched(tmp_path, page, encoded(gzip.compress(PNG)[:-4], "gzip", "image/png"))

    assert record.related is not None
    assert record.related.archived is not None
    assert read(tmp_path, record.related.archived).truncation is Truncation.UNSPECIFIED
