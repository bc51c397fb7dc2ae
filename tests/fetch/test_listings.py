"""Listings of FTP servers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import seconds_of

from scoter.fetch.protocols.listings import FolderEntry, read_list, read_mlsd

NAMES = st.binary(min_size=1, max_size=30).filter(
    lambda name: name not in (b".", b"..") and b"/" not in name and all(byte >= 32 and byte != 127 for byte in name)
)


@given(st.lists(st.builds(FolderEntry, NAMES, st.booleans())))
def test_mlsd_listing_is_read(items: list[FolderEntry]) -> None:
    kinds = {True: b"dir", False: b"file"}
    lines = [b"modify=20261105070809;type=%s;perm=el; %s\r\n" % (kinds[each.is_folder], each.name) for each in items]

    assert read_mlsd(b"".join(lines)) == items


@given(st.lists(st.builds(FolderEntry, NAMES.filter(lambda name: name == name.strip()), st.booleans())))
def test_unix_listing_is_read(items: list[FolderEntry]) -> None:
    lines = [
        b"%srwxr-xr-x   1 ftp      ftp          4096 Nov 05 07:08 %s\r\n"
        % (b"d" if each.is_folder else b"-", each.name)
        for each in items
    ]

    assert read_list(b"total 8\r\n" + b"".join(lines)) == items


@pytest.mark.parametrize(
    ("line", "item"),
    [
        (b"-rw-r--r--  1 owner  group  12 Nov  5  2025 a b.txt", FolderEntry(b"a b.txt")),
        (b"-rw-r--r--+ 1 the owner group 12 2026-11-05 07:08 a.txt", FolderEntry(b"a.txt")),
        (b"drwxrwsr-t  3 0 0 4096 Jan 31 23:59 Jan 31 23:59 x", FolderEntry(b"Jan 31 23:59 x", True)),
        (b"lrwxrwxrwx  1 0 0 7 Nov  5 07:08 link -> target/", FolderEntry(b"link")),
        (b"11-05-26  07:08AM       <DIR>          sub", FolderEntry(b"sub", True)),
        (b"11-05-2026  07:08                 1234 a b.txt", FolderEntry(b"a b.txt")),
    ],
)
def test_the_usual_forms_are_known(line: bytes, item: FolderEntry) -> None:
    assert read_list(line + b"\r\n") == [item]


@pytest.mark.parametrize(
    "line",
    [
        b"total 12",
        b"prw-r--r--  1 0 0 0 Nov  5 07:08 pipe",
        b"crw-r--r--  1 0 0 1, 3 Nov  5 07:08 device",
        b"drwxr-xr-x  2 0 0 0 Nov  5 07:08 .",
        b"drwxr-xr-x  2 0 0 0 Nov  5 07:08 ..",
        b"-rw-r--r--  1 0 0 0 Nov  5 07:08 ../../etc/passwd",
        b"-rw-r--r--  1 0 0 0 Nov  5 07:08 a\x01b",
        b"-rw-r--r--  1 0 0 0 Nov  5 07:08 " + b"n" * 5_000,
        b"",
        b"\xff\xfe\x00",
    ],
)
def test_invalid_list_lines_are_skipped(line: bytes) -> None:
    assert read_list(line + b"\r\n") == []


@pytest.mark.parametrize("line", [b"type=cdir; .", b"type=pdir; ..", b"type=dir; a/b", b"type=file;", b"x; "])
def test_invalid_mlsd_lines_are_skipped(line: bytes) -> None:
    assert read_mlsd(line + b"\r\n") == []


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_complaint(text: bytes) -> None:
    assert all(item.name for item in (*read_list(text), *read_mlsd(text)))


@pytest.mark.parametrize(
    "line", [b"-rw-r--r-- " + b" " * 4_000, b"-rw-r--r-- " + b"a Nov  5 " * 400, b"drwxrwxrwx 1 " * 300, b"x"]
)
def test_hostile_listing_is_read_in_linear_time(line: bytes) -> None:
    text = (line + b"\n") * (1_048_576 // (len(line) + 1))

    assert seconds_of(lambda: read_list(text)) < 2
