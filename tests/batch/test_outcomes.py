"""From replies to rows, several at a time."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from msgspec.structs import replace
from tests.fetch.fakes import exchange
from warcio.archiveiterator import ArchiveIterator

from scoter.batch.crawldir.segment import Segment
from scoter.batch.worker.outcomes import OutcomeWriter
from scoter.batch.worker.pages import PageProcessor
from scoter.batch.worker.records import RequestContext, decode_context, encode_context
from scoter.batch.worker.segment_part import FetchPart
from scoter.config import load
from scoter.core.reply import Failed, Fetched, Moved, NotModified, Reason, Reply, Request, Truncation
from scoter.core.url import canonical
from scoter.store.warc.capture import ArchiveInfo
from scoter.store.warc.reader import CaptureKind, WarcReader

PLAIN = b'<title>Seals</title><p>Grey seals</p><a href="/more">More</a>'
LONG = b"<p>x</p>" * 9_000 + b"end"  # so many elements are parsed in a process of their own
A, B, C = (f"http://{name}.example/" for name in "abc")


class Desk:
    """An outcome writer with its own part, and the requests it queues."""

    def __init__(self, folder: Path, *settings: str) -> None:
        config = load(overrides=["agent.name=test", *settings])
        opened = datetime(2026, 11, 16, tzinfo=UTC)
        self.part = FetchPart(
            Segment(folder), "part-0", (), about=ArchiveInfo(software="test"), parses=True, opened=opened
        )
        self.paging = PageProcessor(config)
        self.queued: list[tuple[str, bool]] = []
        self.requests: list[Request] = []
        self.outcomes = OutcomeWriter(
            config, (), part=lambda: self.part, pages=self.paging, parses=True, belongs=lambda url: True
        )
        self.outcomes.add = self._add

    def _add(self, asked: Request, *, even_if_full: bool = False) -> None:
        self.queued.append((asked.url.text, even_if_full))
        self.requests.append(asked)

    def rows(self, *replies: tuple[str, Reply], metadata: dict[str, str] | None = None) -> list[bool]:
        """Write replies; return which were finished immediately."""
        taken = self.outcomes.take([(_request(url, metadata), reply) for url, reply in replies])

        async def finish() -> None:
            await asyncio.gather(*(each for each in taken if each is not None))

        asyncio.run(finish())
        return [each is None for each in taken]

    def written(self, segment: Segment) -> tuple[dict[str, Any], dict[str, Any]]:
        self.part.finish()
        fetches, pages = (
            {row["url"]: row for batch in parts.scan() for row in batch.to_pylist()}
            for parts in (segment.crawl_fetch(), segment.parse_data())
        )
        return fetches, pages


def _request(url: str, metadata: dict[str, str] | None = None) -> Request:
    return Request(
        url=canonical(url), context=encode_context(RequestContext(interval=60, score=1.0, metadata=metadata))
    )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "20261116000000", "fetch.redirect_max=3")
    yield made
    made.paging.close()


def _page(url: str, body: bytes) -> Reply:
    headers = (("content-type", "text/html"),)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n"
    return Fetched(replace(exchange(canonical(url), 200, body, headers), response_head=head))


def test_page_parsed_in_another_process_does_not_delay_others(desk: Desk, tmp_path: Path) -> None:
    at_once = desk.rows((A, _page(A, LONG)), (B, _page(B, PLAIN)))

    assert at_once == [False, True]
    fetches, pages = desk.written(Segment(tmp_path / "20261116000000"))
    assert {url: row["status"] for url, row in fetches.items()} == {A: "success", B: "success"}
    assert {url: (row["parse_status"], row["title"]) for url, row in pages.items()} == {
        A: ("success", None),
        B: ("success", "Seals"),
    }
    assert fetches[A]["warc_offset"] < fetches[B]["warc_offset"]


def _with_etag(url: str, body: bytes) -> Reply:
    head = b'HTTP/1.1 200 OK\r\netag: "1"\r\n\r\n'
    return Fetched(replace(exchange(canonical(url), 200, body, (("etag", '"1"'),)), response_head=head))


def test_304_refers_to_the_capture_with_our_copy(desk: Desk, tmp_path: Path) -> None:
    # The body of B is stored once, with A.
    desk.rows((A, _with_etag(A, PLAIN)), (B, _with_etag(B, PLAIN)))
    fetches, _ = desk.written(Segment(tmp_path / "20261116000000"))
    later = Desk(tmp_path / "20261117000000")
    for url in (A, B):
        unchanged = replace(exchange(canonical(url), 304, b"", ()), response_head=b"HTTP/1.1 304 Not Modified\r\n\r\n")
        later.rows((url, NotModified(unchanged)), metadata=dict(fetches[url]["metadata"]))
    again, _ = later.written(Segment(tmp_path / "20261117000000"))
    later.paging.close()

    (first,) = Segment(tmp_path / "20261116000000").content.glob("*.warc.gz")
    (second,) = Segment(tmp_path / "20261117000000").content.glob("*.warc.gz")
    copy, *_ = _records(first, "response")
    for revisit, url in zip(_records(second, "revisit"), (A, B), strict=True):
        assert revisit["WARC-Target-URI"] == url
        assert revisit["WARC-Refers-To-Target-URI"] == copy["WARC-Target-URI"] == A
        assert revisit["WARC-Refers-To-Date"] == copy["WARC-Date"]
        assert revisit["WARC-Payload-Digest"] == copy["WARC-Payload-Digest"]
        assert again[url]["metadata"] == fetches[url]["metadata"]


def _records(archive: Path, kind: str) -> list[dict[str, str]]:
    with archive.open("rb") as file:
        return [dict(each.rec_headers.headers) for each in ArchiveIterator(file) if each.rec_type == kind]


@pytest.mark.parametrize("said", ["", "never sha1:A", "2026-11-16T00:00:00Z sha1:A\r\nX: y", "2026-11-16T00:00:00Z"])
def test_304_for_an_unknown_copy_refers_to_nothing(desk: Desk, tmp_path: Path, said: str) -> None:
    unchanged = replace(exchange(canonical(A), 304, b"", ()), response_head=b"HTTP/1.1 304 Not Modified\r\n\r\n")
    desk.rows((A, NotModified(unchanged)), metadata={"ETag": '"1"', "Archived": said})
    desk.written(Segment(tmp_path / "20261116000000"))

    (archive,) = Segment(tmp_path / "20261116000000").content.glob("*.warc.gz")
    (revisit,) = _records(archive, "revisit")
    assert not {"WARC-Refers-To-Target-URI", "WARC-Refers-To-Date", "WARC-Payload-Digest"} & set(revisit)


def test_urls_not_requested_are_counted_and_not_written(desk: Desk, tmp_path: Path) -> None:
    stopped = Failed(canonical(A), Reason.STOPPED, "")

    assert desk.rows((A, stopped), (B, _page(B, PLAIN))) == [True, True]

    assert dict(desk.outcomes.not_requested) == {"stopped": 1}
    assert list(desk.written(Segment(tmp_path / "20261116000000"))[0]) == [B]


def test_redirect_target_is_queued_even_if_the_queues_are_full(desk: Desk) -> None:
    moved = Moved(exchange(canonical(A), 301, headers=(("location", C),)), canonical(C), permanent=True)

    desk.rows((A, moved))

    assert desk.queued == [(C, True)]


@pytest.mark.parametrize("kept", [True, False])
def test_redirect_to_itself_that_sets_a_cookie_is_followed_once(tmp_path: Path, kept: bool) -> None:
    made = Desk(tmp_path / "20261116000000", f"http.keep_cookies={str(kept).lower()}", "fetch.redirect_max=3")
    headers = (("location", A), ("set-cookie", "seen=1"))
    moved = Moved(exchange(canonical(A), 302, headers=headers), canonical(A), permanent=False)

    made.rows((A, moved))
    queued = list(made.requests)
    for request in queued:
        made.outcomes.take([(request, moved)])

    fetches, _ = made.written(Segment(tmp_path / "20261116000000"))
    made.paging.close()
    assert [request.url.text for request in queued] == ([A] if kept else [])
    assert len(made.requests) == len(queued)
    assert [row["status"] for row in fetches.values()] == ["redir_temp"]


def test_cookie_is_sent_to_redirect_targets_on_the_same_host_only(desk: Desk) -> None:
    for target in (A + "next", C):
        moved = Moved(exchange(canonical(A), 301, headers=(("location", target),)), canonical(target), permanent=True)
        desk.rows((A, moved), metadata={"Cookie": "id=1", "topic": "seals"})

    near, far = desk.requests
    assert near.headers == (("Cookie", "id=1"),)
    assert decode_context(near.context).metadata == {"Cookie": "id=1", "topic": "seals", "_repr_": A}
    assert far.headers == ()
    assert decode_context(far.context).metadata == {"topic": "seals"}


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(PLAIN * 50)[:-9]),
        ("deflate", zlib.compress(PLAIN * 50)[:-9]),
        ("br", brotli.compress(PLAIN * 50)[:-3]),
        ("zstd", zstandard.compress(PLAIN * 50)[:-3]),
        ("gzip", gzip.compress(PLAIN * 50)[:-8] + b"\xff" * 8),
    ],
    ids=["gzip", "deflate", "br", "zstd", "checksum"],
)
def test_damaged_content_coding_is_flagged_in_the_row_and_in_the_archive(
    desk: Desk, tmp_path: Path, coding: str, body: bytes
) -> None:
    headers = (("content-type", "text/html"), ("content-encoding", coding), ("etag", '"1"'))
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: {coding}\r\n\r\n".encode()

    desk.rows((A, Fetched(replace(exchange(canonical(A), 200, body, headers), response_head=head))))

    segment = Segment(tmp_path / "20261116000000")
    fetches, pages = desk.written(segment)
    row = fetches[A]
    assert (row["status"], row["truncated"]) == ("success", "unspecified")
    assert "ETag" not in dict(row["metadata"])
    assert (pages[A]["parse_status"], pages[A]["reason"]) == ("skipped", "truncated")
    with WarcReader(segment.content / row["warc_file"]) as archive:
        assert archive.at(row["warc_offset"]).truncation is Truncation.UNSPECIFIED
    raw = gzip.decompress((segment.content / row["warc_file"]).read_bytes())
    assert b"WARC-Truncated: unspecified\r\n" in raw


def test_content_of_other_protocols_is_archived(desk: Desk, tmp_path: Path) -> None:
    url, headers = canonical("file:///srv/page.html"), (("Content-Type", "text/html"),)
    same = canonical("file:///srv/same.html")
    read = replace(exchange(url, 200, PLAIN, headers), request_head=b"", response_head=b"")
    unchanged = replace(exchange(same, 304, b"", ()), request_head=b"", response_head=b"")

    desk.rows((url.text, Fetched(read)), (same.text, NotModified(unchanged)))

    segment = Segment(tmp_path / "20261116000000")
    fetches, _ = desk.written(segment)
    place = fetches[url.text]
    with WarcReader(segment.content / place["warc_file"]) as archive:
        found = archive.at(place["warc_offset"])
    assert (found.kind, found.body, found.headers) == (CaptureKind.RESOURCE, PLAIN, headers)
    assert fetches[same.text]["warc_file"] is None
