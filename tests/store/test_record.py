"""The content of each type of WARC record."""

from __future__ import annotations

import base64
import hashlib
import uuid
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import given
from hypothesis import strategies as st
from tests.store.exchanges import assert_sound, exchange, open_part, records

from scoter.core.reply import Exchange, Truncation
from scoter.store.warc import EarlierCapture, Facts, WarcReader, timing_facts
from scoter.store.warc.part import new_id
from scoter.store.warc.record import digest


def sha1(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def test_file_starts_with_a_description_of_the_crawl(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    part.append(exchange())

    path = part.finish()

    fields, block = records(path)[0]
    assert fields["WARC-Type"] == "warcinfo"
    assert fields["WARC-Filename"] == "part.warc.gz"
    assert b"software: Scoter/test\r\n" in block
    assert b"format: WARC File Format 1.1\r\n" in block
    assert b"conformsTo: http" in block
    assert b"robots: obeyed" in block
    assert b"operator: The operator\r\n" in block
    assert b"http-header-user-agent: tester/1.0" in block


def test_response_is_followed_by_its_request_and_metadata(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    page = exchange(http="2", tls="TLSv1.3")

    part.append(page, facts=(*timing_facts(page), ("message", "one\r\nWARC-Type: two")))

    path = part.finish()
    assert_sound(path)
    _, (response, block), (request, asked), (metadata, facts) = records(path)
    assert response["WARC-Type"] == "response"
    assert response["WARC-Target-URI"] == "http://example.com/"
    assert response["WARC-Date"] == "2026-11-15T02:36:00.123456Z"
    assert response["WARC-IP-Address"] == "192.0.2.7"
    assert response["WARC-Payload-Digest"] == sha1(page.body)
    assert response["WARC-Block-Digest"] == sha1(block)
    assert response["Content-Type"] == "application/http; msgtype=response"
    assert block == page.response_head + page.body
    assert "WARC-Truncated" not in response
    assert request["WARC-Type"] == "request"
    assert request["Content-Type"] == "application/http; msgtype=request"
    assert asked == page.request_head
    assert metadata["WARC-Type"] == "metadata"
    assert facts == b"fetchTimeMs: 250\r\nfirstByteMs: 125\r\nmessage: one WARC-Type: two\r\n"
    assert request["WARC-Concurrent-To"] == metadata["WARC-Concurrent-To"] == response["WARC-Record-ID"]


@pytest.mark.parametrize(
    ("http", "tls", "expected"),
    [
        ("1.0", "", ["http/1.0"]),
        ("1.1", "TLSv1.2", ["http/1.1", "tls/1.2"]),
        ("2", "TLSv1.3", ["h2", "tls/1.3"]),
        ("2", "", ["h2c"]),
        ("3", "TLSv1.3", ["h3", "tls/1.3"]),
        ("1.1", "TLSv1", ["http/1.1", "tls/1.0"]),
        ("1.1", "unknown", ["http/1.1"]),
    ],
)
def test_record_names_the_protocols_used(tmp_path: Path, http: str, tls: str, expected: list[str]) -> None:
    part = open_part(tmp_path)
    part.append(exchange(http=http, tls=tls))

    path = part.finish()

    with path.open("rb") as file:
        found = next(iter(ArchiveIterator(file, record_types=WarcRecordType.response)))
        assert list(found.headers.get_multiple("WARC-Protocol")) == expected


@pytest.mark.parametrize("cut", [Truncation.LENGTH, Truncation.TIME, Truncation.DISCONNECT])
def test_truncated_body_has_a_reason(tmp_path: Path, cut: Truncation) -> None:
    part = open_part(tmp_path)
    part.append(exchange(truncation=cut))

    assert records(part.finish())[1][0]["WARC-Truncated"] == cut.value


def test_not_modified_response_is_a_revisit_of_the_earlier_capture(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fresh = exchange(body=b"", status=304, headers=(("ETag", '"1"'), ("Content-Length", "12")))
    earlier = EarlierCapture("http://example.com/old", "2026-11-14T02:36:00.123456Z", "sha1:COPY")

    part.append(fresh, earlier=earlier)
    part.append(fresh)

    path = part.finish()
    assert_sound(path)
    _, (known, block), (about, head), _, (unknown, _), _, _ = records(path)
    assert known["WARC-Type"] == unknown["WARC-Type"] == "revisit"
    assert known["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert known["WARC-Refers-To-Target-URI"] == "http://example.com/old"
    assert known["WARC-Refers-To-Date"] == "2026-11-14T02:36:00.123456Z"
    assert known["WARC-Payload-Digest"] == "sha1:COPY"
    assert not {"WARC-Refers-To-Date", "WARC-Payload-Digest"} & set(unknown)
    assert block == b""  # otherwise pywb replays an empty 304
    assert (about["WARC-Type"], about["WARC-Concurrent-To"]) == ("metadata", known["WARC-Record-ID"])
    assert head == fresh.response_head  # Content-Length is that of the page, and is kept
    with WarcReader(path) as archive:
        assert [(found.status, found.digest) for found in archive] == [(304, "sha1:COPY"), (304, "-")]


def test_duplicate_body_in_one_file_is_stored_once(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    first = part.append(exchange("http://example.com/a"))

    part.append(exchange("http://example.com/b"))

    path = part.finish()
    assert_sound(path)
    _, (response, _), _, (revisit, block), _ = records(path)
    assert revisit["WARC-Type"] == "revisit"
    assert revisit["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert revisit["WARC-Refers-To"] == response["WARC-Record-ID"]
    assert revisit["WARC-Refers-To-Target-URI"] == "http://example.com/a"
    assert revisit["WARC-Refers-To-Date"] == response["WARC-Date"]
    assert revisit["WARC-Refers-To-File-Offset"] == str(first.offset)
    assert revisit["WARC-Payload-Digest"] == response["WARC-Payload-Digest"]
    assert revisit["WARC-Truncated"] == "length"
    assert block == exchange("http://example.com/b").response_head


@pytest.mark.parametrize("page", [exchange(body=b""), exchange(truncation=Truncation.LENGTH)], ids=["empty", "cut"])
def test_empty_and_truncated_bodies_are_never_duplicates(tmp_path: Path, page: Exchange) -> None:
    part = open_part(tmp_path)
    part.append(page)
    part.append(page)

    kinds = [fields["WARC-Type"] for fields, _ in records(part.finish())]

    assert kinds == ["warcinfo", "response", "request", "response", "request"]


def test_remembered_bodies_are_bounded(tmp_path: Path) -> None:
    part = open_part(tmp_path, shared=2)
    for body in (b"one", b"two", b"three", b"one", b"three"):
        part.append(exchange(body=body))

    kinds = [fields["WARC-Type"] for fields, _ in records(part.finish())][1::2]

    assert kinds == ["response", "response", "response", "response", "revisit"]


def test_capture_without_http_is_a_resource(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    file = exchange("file:///tmp/a.txt", b"text", head=b"", request=b"", headers=(("Content-Type", "text/plain"),))

    part.append(file)

    path = part.finish()
    assert_sound(path)
    fields, block = records(path)[1]
    assert (fields["WARC-Type"], fields["Content-Type"], block) == ("resource", "text/plain", b"text")
    assert len(records(path)) == 2


def test_credentials_are_not_archived(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    head = b"GET / HTTP/1.1\r\nAuthorization: Basic c2VjcmV0\r\nCookie: id=secret;\r\n more=secret\r\nHost: a\r\n\r\n"

    part.append(exchange(request=head))

    _, block = records(part.finish())[2]
    assert block == b"GET / HTTP/1.1\r\nAuthorization: removed\r\nCookie: removed\r\nHost: a\r\n\r\n"


def test_record_ids_are_random_uuids() -> None:
    made = [uuid.UUID(new_id()) for _ in range(200)]

    assert {each.version for each in made} == {4}
    assert {each.variant for each in made} == {uuid.RFC_4122}
    assert len(set(made)) == 200


@given(st.lists(st.binary(max_size=50), max_size=3))
def test_digest_matches_the_standard_library(pieces: list[bytes]) -> None:
    assert digest(*pieces) == sha1(b"".join(pieces))


def test_timings_of_skipped_phases_are_omitted() -> None:
    expected: Facts = (("fetchTimeMs", "250"), ("firstByteMs", "125"))

    assert timing_facts(exchange()) == expected
