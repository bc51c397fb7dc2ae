"""Archived exchanges are read back unchanged."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.store.exchanges import START, assert_sound, exchange, open_part, records

from scoter.core.reply import Exchange, Truncation
from scoter.errors import UserError
from scoter.store.warc import ArchivedResponse, WarcReader
from scoter.store.warc.reader import CaptureKind

NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", min_size=1, max_size=20).filter(
    lambda name: name.lower() not in ("content-length", "transfer-encoding")
)
# Any Latin-1 text that fits on one line; white space around a value is not part of it.
VALUES = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=30).map(lambda t: t.strip(" \t"))


def archive(folder: Path, *exchanges: Exchange) -> tuple[Path, list[ArchivedResponse]]:
    """Return an archive, and the capture at each location that its writer returned."""
    part = open_part(folder)
    places = [part.append(each) for each in exchanges]
    path = part.finish()
    with WarcReader(path) as reader:
        return path, [reader.at(place.offset) for place in places]


def test_exchange_is_read_from_its_location(tmp_path: Path) -> None:
    pages = [exchange(f"http://example.com/{n}", b"body %d" % n, status=200 + n) for n in range(3)]

    path, found = archive(tmp_path, *pages)

    assert_sound(path)
    assert [each.url for each in found] == [page.url.text for page in pages]
    assert [each.status for each in found] == [200, 201, 202]
    assert [each.body for each in found] == [page.body for page in pages]
    assert [each.headers for each in found] == [page.headers for page in pages]
    assert {each.date for each in found} == {START}
    assert {each.kind for each in found} == {CaptureKind.RESPONSE}
    assert {each.truncation for each in found} == {Truncation.NOT}


def test_scan_returns_the_same_captures_as_their_locations(tmp_path: Path) -> None:
    pages = [exchange(f"http://example.com/{n}", b"%d" % (n % 3) * 50) for n in range(9)]
    path, found = archive(tmp_path, *pages, exchange(body=b"", status=304, headers=()))

    with WarcReader(path) as reader:
        scanned = list(reader)

    assert scanned == found
    assert [each.body for each in scanned[:9]] == [page.body for page in pages]
    assert [each.kind for each in scanned] == [CaptureKind.RESPONSE] * 3 + [CaptureKind.REVISIT] * 7
    assert (scanned[9].status, scanned[9].body, scanned[9].truncation) == (304, b"", Truncation.NOT)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200\r\n\r\n",
        b"HTTP/1.1 200 OK\nServer: bare\n\n",
        b"HTTP/1.1 200 OK\r\nA: b\r\n  folded\r\nA: again\r\n\r\n",
        b"HTTP/1.1 200 \xe9\r\nA: \xff\xfe\r\nno colon\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: nul\0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 5_000 + b"\r\n",
        b"not HTTP at all\r\n\r\n",
    ],
)
@pytest.mark.parametrize("body", [b"", b"\r\n\r\nbody\n\n", b"\0" * 100])
def test_unusual_head_does_not_affect_the_body(tmp_path: Path, head: bytes, body: bytes) -> None:
    path, (found,) = archive(tmp_path, exchange(body=body, head=head))

    assert_sound(path)
    assert found.body == body


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(NAMES, VALUES), max_size=8), st.binary(max_size=2_000), st.sampled_from(list(Truncation)))
def test_any_headers_and_body_round_trip(
    tmp_path_factory: pytest.TempPathFactory, headers: list[tuple[str, str]], body: bytes, cut: Truncation
) -> None:
    path, (found,) = archive(
        tmp_path_factory.mktemp("any"), exchange(body=body, headers=tuple(headers), truncation=cut)
    )

    assert_sound(path)
    assert (found.headers, found.body, found.truncation) == (tuple(headers), body, cut)


def test_huge_body_is_archived_without_a_copy_and_read_up_to_the_limit(tmp_path: Path) -> None:
    body = random.Random(1).randbytes(10 * 2**20)
    page = exchange(body=body)
    part = open_part(tmp_path)

    tracemalloc.start()
    place = part.append(page)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    path = part.finish()
    assert_sound(path)
    # Incompressible data is in memory twice during compression: in pieces, and joined.
    assert peak < 2.5 * len(body)
    with WarcReader(path) as reader:
        assert reader.at(place.offset).body == body
    with WarcReader(path, limit=1_000) as reader:
        found = reader.at(place.offset)
        assert (found.body, found.truncation) == (body[:1_000], Truncation.LENGTH)


def test_resource_has_no_status(tmp_path: Path) -> None:
    page = exchange("file:///tmp/a.txt", b"text", head=b"", request=b"", headers=(("Content-Type", "text/plain"),))

    _, (found,) = archive(tmp_path, page)

    assert (found.kind, found.status, found.body) == (CaptureKind.RESOURCE, 0, b"text")
    assert found.header("content-type") == "text/plain"


def test_date_in_another_time_zone_is_converted(tmp_path: Path) -> None:
    elsewhere = START.astimezone(timezone(timedelta(hours=-5)))

    _, (found,) = archive(tmp_path, exchange(started=elsewhere))

    assert found.date == START


@pytest.mark.parametrize(("offset", "message"), [(0, "is a warcinfo"), (3, "damaged"), (10**6, "there is no record")])
def test_location_without_a_response_is_an_error(tmp_path: Path, offset: int, message: str) -> None:
    path, _ = archive(tmp_path, exchange())

    with WarcReader(path) as reader, pytest.raises(UserError, match=message):
        reader.at(offset)


@pytest.mark.parametrize("lost", [30, 60, 150, 400])
def test_truncated_record_is_an_error(tmp_path: Path, lost: int) -> None:
    path, place = _with_noise_at_its_end(tmp_path, lost)

    with WarcReader(path) as reader, pytest.raises(UserError, match="damaged"):
        reader.at(place)


@pytest.mark.parametrize("lost", [1, 5, 10, 60, 150, 400, 500])
def test_scan_reports_a_damaged_end_after_the_captures_before_it(tmp_path: Path, lost: int) -> None:
    path, _ = _with_noise_at_its_end(tmp_path, lost)

    with WarcReader(path) as reader, pytest.raises(UserError, match="damaged"):
        list(reader)
    with WarcReader(path) as reader:
        first = next(iter(reader))

    assert first.body == b"one"


def _with_noise_at_its_end(folder: Path, lost: int) -> tuple[Path, int]:
    """Return an archive without its last bytes, and the offset of its last record."""
    part = open_part(folder)
    part.append(exchange("http://example.com/1", b"one", request=b""))
    place = part.append(exchange("http://example.com/2", random.Random(2).randbytes(300), request=b""))
    path = part.finish()
    path.write_bytes(path.read_bytes()[:-lost])
    return path, place.offset


def test_flipped_bit_is_detected(tmp_path: Path) -> None:
    path, (found,) = archive(tmp_path, exchange(body=random.Random(3).randbytes(500)))
    data = bytearray(path.read_bytes())
    data[found.offset + 400] ^= 1
    path.write_bytes(data)

    with WarcReader(path) as reader, pytest.raises(UserError, match="damaged"):
        reader.at(found.offset)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the archive: No such file"):
        WarcReader(tmp_path / "none.warc.gz")


def test_revisit_of_a_capture_elsewhere_has_no_body(tmp_path: Path) -> None:
    path, _ = archive(tmp_path, exchange("http://example.com/a"), exchange("http://example.com/b"))
    data = path.read_bytes()
    text = gzip.decompress(data)
    other = text.replace(b"WARC-Refers-To-File-Offset", b"X-Refers-To-File-Offset-in")
    foreign = tmp_path / "foreign.warc"
    foreign.write_bytes(other)

    with WarcReader(foreign) as reader:
        first, second = reader

    assert first.body == b"<p>hello</p>"
    assert (second.body, second.truncation) == (b"", Truncation.LENGTH)
    assert len(records(path)) == 5
