"""Nutch's records, of every version that it reads itself."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.nutch.crawl.writer import (
    content,
    datum,
    host,
    inlinks,
    map_writable,
    parse_data,
    parse_text,
    protocol_status,
    string,
    text,
)

from scoter.nutch.crawl import records
from scoter.nutch.crawl.codecs import Damage

READERS = (
    records.read_key,
    records.read_datum,
    records.read_content,
    records.read_parse,
    records.read_parse_text,
    records.read_inlinks,
    records.read_host,
)


def test_a_datum_has_all_its_fields() -> None:
    more = map_writable(
        {
            "_pst_": (1, protocol_status(12, "http://b.example/")),
            "text": (-116, text("é")),
            "long": (-122, struct.pack(">q", -5)),
            "float": (-124, struct.pack(">f", 0.1)),
            "null": (-119, b""),
            "md5": (-120, bytes(16)),
            "inner": (-121, map_writable({"a": (-116, text("b"))})),
        },
        {1: "org.apache.nutch.protocol.ProtocolStatus"},
    )

    found = records.read_datum(datum(2, retries=3, score=0.5, modified=7, signature=b"0123456789abcdef", more=more))

    assert found == records.NutchDatum(
        status=2,
        fetch_time=1_794_700_800_000,
        retries=3,
        interval=2_592_000,
        score=0.5,
        modified_time=7,
        signature=b"0123456789abcdef",
        metadata={
            "_pst_": "moved(12), lastModified=0: http://b.example/",
            "text": "é",
            "long": "-5",
            "float": "0.1",
            "null": "",
            "md5": "00" * 16,
            "inner": "a=b",
        },
    )


@pytest.mark.parametrize(
    ("version", "stored", "status"),
    [(1, 1, 0x01), (2, 5, 0x21), (3, 4, 0x43), (4, 7, 0x25), (4, 6, 0x22), (4, 0, 0x41), (5, 0x21, 0x21), (6, 2, 2)],
)
def test_old_versions_of_a_datum_are_read(version: int, stored: int, status: int) -> None:
    found = records.read_datum(datum(stored, version=version, interval=30))

    assert (found.status, found.interval) == (status, 30)


def test_metadata_of_an_unknown_class_costs_only_what_follows_it() -> None:
    more = map_writable({"known": (-116, text("kept")), "other": (1, b"??")}, {1: "com.example.Foreign"})

    found = records.read_datum(datum(2, more=more))

    assert found.metadata == {"known": "kept"}
    assert "Foreign" in found.unread


@pytest.mark.parametrize("version", [-1, 0, 1, 2])
def test_contents_of_every_version_are_read(version: int) -> None:
    found = records.read_content(content("http://a.example/", b"\0body", {"A": ["1", "2"]}, version=version))

    assert (found.url, found.body, found.metadata) == ("http://a.example/", b"\0body", {"A": ("1", "2")})


@pytest.mark.parametrize("flags", [True, False])
def test_parse_data_is_read_with_and_without_metadata_of_links(flags: bool) -> None:
    links = [("http://b.example/", "B"), ("http://c.example/", "")]

    found = records.read_parse(parse_data("Title", links, about={"k": ["v"]}, flags=flags))

    assert [(each.url, each.anchor) for each in found.outlinks] == links
    assert (found.title, found.parse_metadata) == ("Title", {"k": ("v",)})


def test_texts_are_read_in_both_versions() -> None:
    packed = gzip.compress("old é".encode())

    assert records.read_parse_text(parse_text("new é")) == "new é"
    assert records.read_parse_text(b"\1" + struct.pack(">i", len(packed)) + packed) == "old é"


def test_hosts_have_counts_of_eight_or_four_bytes() -> None:
    short = (
        struct.pack(">fq", 0.5, 1_000) + text("http://a.example/") + struct.pack(">8i", *range(8)) + map_writable({})
    )

    for data in (host("http://a.example/", range(8)), short):
        found = records.read_host(data)
        assert (found.homepage, found.dns_failures, found.gone) == ("http://a.example/", 0, 7)


def test_a_record_must_end_with_its_bytes() -> None:
    with pytest.raises(Damage, match="1 bytes after the record"):
        records.read_datum(datum(2) + b"\0")


def test_a_count_cannot_be_larger_than_the_record() -> None:
    with pytest.raises(Damage):
        records.read_inlinks(struct.pack(">i", 2**30))
    with pytest.raises(Damage):
        records.read_content(struct.pack(">i", -1) + text("u") + text("u") + struct.pack(">i", 2**31 - 1))


@settings(max_examples=examples(60), deadline=None)
@given(
    read=st.sampled_from(READERS),
    start=st.sampled_from(
        [
            datum(2),
            content("http://a.example/", b"x", {"A": ["1"]}),
            parse_data("T", [("u", "a")]),
            inlinks([("u", "a")]),
        ]
    ),
    at=st.integers(0, 100),
    noise=st.binary(max_size=40),
)
def test_any_bytes_are_a_record_or_damaged(
    read: Callable[[bytes], object], start: bytes, at: int, noise: bytes
) -> None:
    for data in (noise, start[:at] + noise, start[:at] + noise + start[at + len(noise) :]):
        try:
            read(data)
        except Damage:
            continue


def test_a_string_array_cannot_be_longer_than_the_record() -> None:
    with pytest.raises(Damage):
        records.read_parse(bytes([5]) + struct.pack(">bbhi", 2, 1, 0, 2**30) + string("x"))
