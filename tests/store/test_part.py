"""A file from its opening to its final name, and what happens when the disk fails."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.store.exchanges import ABOUT, START, assert_sound, exchange, open_part, records

from scoter.core.url import canonical
from scoter.errors import Defect, UsageError, UserError
from scoter.store.disk import disk_error
from scoter.store.warc import WarcPart, WarcReader
from scoter.store.warc.cdxj import CdxEntry, CdxIndex, index_line, media_type, surt_key

NOISE = random.Random(4)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of files of this process: the kernel truncates a write, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def index_of(path: Path) -> list[tuple[str, str, dict[str, str]]]:
    """Return the key, time and fields of each line."""
    lines = path.read_text("utf-8").splitlines()
    return [(key, stamp, json.loads(facts)) for key, stamp, facts in (line.split(" ", 2) for line in lines)]


def test_index_is_sorted_and_points_to_every_capture(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    urls = (
        "http://b.example/",
        "http://a.example/z",
        "https://a.example/",
        "http://a.example/z?q=%20x",
        "http://b.example/",
    )
    places = [part.append(exchange(url, b"body of " + url.encode())) for url in urls]
    not_modified = part.append(exchange("http://c.example/", b"", status=304, headers=()))

    path = part.finish()

    lines = part.index_path.read_bytes().splitlines(keepends=True)
    assert lines == sorted(lines)
    entries = index_of(part.index_path)
    assert [key for key, _, _ in entries] == [
        "example,a)/",
        "example,a)/z",
        "example,a)/z?q=%20x",
        "example,b)/",
        "example,b)/",
        "example,c)/",
    ]
    assert {stamp for _, stamp, _ in entries} == {"20261115023600"}
    told = {(int(facts["offset"]), int(facts["length"])) for _, _, facts in entries}
    assert told == {(place.offset, place.length) for place in (*places, not_modified)}
    with WarcReader(path) as reader:
        for _, _, facts in entries:
            found = reader.at(int(facts["offset"]))
            assert (found.url, str(found.status), found.digest) == (facts["url"], facts["status"], facts["digest"])
            assert facts["filename"] == path.name == "part.warc.gz"
    assert [facts["mime"] for _, _, facts in entries] == ["text/html"] * 4 + ["warc/revisit"] * 2


def test_location_is_one_gzip_member(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    part.append(exchange())
    place = part.append(exchange(body=b"second"))

    data = part.finish().read_bytes()[place.offset : place.offset + place.length]

    text = gzip.decompress(data)
    assert text.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
    assert text.endswith(b"second\r\n\r\n")


def test_index_larger_than_memory_is_sorted(tmp_path: Path) -> None:
    draw = random.Random(5)
    lines = [b"%06d\n" % draw.randrange(10**6) for _ in range(1_000)]
    index = CdxIndex(tmp_path, run=64)
    for line in lines:
        if index.is_full:
            index.spill()
        index.add(line)

    index.write(tmp_path / "a.cdxj")
    index.close()

    assert (tmp_path / "a.cdxj").read_bytes() == b"".join(sorted(lines))
    assert [each.name for each in tmp_path.iterdir()] == ["a.cdxj"]


def test_index_memory_and_open_files_are_bounded(tmp_path: Path) -> None:
    draw = random.Random(5)
    lines = [b"%06d%b\n" % (draw.randrange(10**6), bytes(1_000)) for _ in range(1_000)]
    index, held, most_held = CdxIndex(tmp_path, run_bytes=10_000), 0, 0
    files = Path("/proc/self/fd")
    before, most_files = len(list(files.iterdir())), 0
    for line in lines:
        if index.is_full:
            index.spill()
            held = 0
        index.add(line)
        held += len(line)
        most_held = max(most_held, held)
        most_files = max(most_files, len(list(files.iterdir())) - before)

    index.write(tmp_path / "a.cdxj")
    index.close()

    assert most_held <= 11_000
    assert most_files <= 66
    assert (tmp_path / "a.cdxj").read_bytes() == b"".join(sorted(lines))


def test_index_key_contains_no_space() -> None:
    entry = CdxEntry(url="u", mime="m", status="-", digest="-", length="1", offset="2", filename="f")

    line = index_line("com,example)/a b", "2026-11-05T07:08:09.123456Z", entry)

    assert line == (
        b'com,example)/a%20b 20261105070809 {"url":"u","mime":"m","status":"-","digest":"-",'
        b'"length":"1","offset":"2","filename":"f"}\n'
    )


@pytest.mark.parametrize(("text", "expected"), [("", "unk"), (" Text/HTML ;charset=x", "text/html"), (";", "unk")])
def test_media_type_has_no_parameters(text: str, expected: str) -> None:
    assert media_type(text) == expected


def test_file_gets_its_final_name_when_finished(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    part.append(exchange())

    part.sync()
    assert [each.name for each in tmp_path.iterdir()] == ["part.warc.gz.open"]
    part.seal()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["part.cdxj", "part.warc.gz.open"]
    part.publish()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["part.cdxj", "part.warc.gz"]


def test_discarded_file_is_removed(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    part.append(exchange())

    part.discard()

    assert list(tmp_path.iterdir()) == []


def test_sealed_file_accepts_no_more_records(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    part.append(exchange())
    part.seal()

    with pytest.raises(Defect):
        part.append(exchange())

    part.publish()


def test_unsealed_file_cannot_be_published(tmp_path: Path) -> None:
    part = open_part(tmp_path)

    with pytest.raises(Defect):
        part.publish()

    part.discard()


@pytest.mark.parametrize("existing", ["part.warc.gz", "part.warc.gz.open"])
def test_existing_archive_is_not_overwritten(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_bytes(b"precious")

    with pytest.raises(UsageError, match="of this name already"):
        open_part(tmp_path)

    assert (tmp_path / existing).read_bytes() == b"precious"


def test_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(UserError, match="cannot open the archive"):
        open_part(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_write_permission_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)

    with pytest.raises(UsageError, match="cannot open the archive: Permission denied"):
        open_part(tmp_path)


def test_full_disk_is_an_error_and_damages_no_earlier_record(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    first = part.append(exchange("http://example.com/1", NOISE.randbytes(2_000)))

    with largest_file(part.size + 3_000), pytest.raises(UserError, match="cannot write the archive") as told:
        part.append(exchange("http://example.com/2", NOISE.randbytes(20_000)))

    assert "Make room" in str(told.value)
    assert part.draft.stat().st_size == part.size
    # Once there is space, writing to the same file continues.
    third = part.append(exchange("http://example.com/3", b"three"))
    path = part.finish()
    assert_sound(path)
    with WarcReader(path) as reader:
        assert [each.url for each in reader] == ["http://example.com/1", "http://example.com/3"]
        assert reader.at(first.offset).url.endswith("/1")
        assert reader.at(third.offset).body == b"three"
    assert len(index_of(part.index_path)) == 2


def test_disk_too_full_for_the_first_record_leaves_no_file(tmp_path: Path) -> None:
    with largest_file(10), pytest.raises(UserError, match="cannot write the archive"):
        open_part(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_file_can_be_finished_after_a_full_disk_prevented_the_index(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    part.append(exchange())

    with largest_file(10), pytest.raises(UserError, match="cannot write the index"):
        part.finish()

    assert_sound(part.finish())


def test_body_that_could_not_be_written_is_not_referenced(tmp_path: Path) -> None:
    part, body = open_part(tmp_path), NOISE.randbytes(20_000)
    with largest_file(part.size + 3_000), pytest.raises(UserError):
        part.append(exchange("http://example.com/1", body))

    part.append(exchange("http://example.com/2", body))

    assert [fields["WARC-Type"] for fields, _ in records(part.finish())] == ["warcinfo", "response", "request"]


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, UserError), (errno.EACCES, UsageError)])
def test_full_disk_is_not_a_usage_error(number: int, kind: type[UserError]) -> None:
    found = disk_error("write", Path("/a"), OSError(number, os.strerror(number)))

    assert type(found) is kind
    assert str(found).startswith(f"/a: cannot write: {os.strerror(number)}")


def test_repr_shows_captures_and_size(tmp_path: Path) -> None:
    part = WarcPart(tmp_path, "name", ABOUT, opened=START)
    part.append(exchange())

    assert repr(part) == f"WarcPart({tmp_path}/name.warc.gz.open, 1 captures, {part.size} bytes)"
    part.close()


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.org/", "org,example)/"),
        ("https://www12.Example.org:443/A/", "org,example)/a"),
        ("http://www.example.org:8080/", "org,example:8080)/"),
        ("http://wwwa.example.org./", "org,example,wwwa)/"),
        ("http://192.168.1.2/a", "2,1,168,192)/a"),
        ("http://[2001:db8::1]:81/a", "2001:db8::1:81)/a"),
        ("http://example.org//a//b/", "org,example)/a/b"),
        ("http://example.org/a%20b%2Fc%7e", "org,example)/a%20b/c~"),
        ("http://example.org/%C3%A9?%FF", "org,example)/%c3%a9?%ff"),
        ("http://example.org/a%2525b", "org,example)/a%25b"),
        ("http://example.org/%23?x=%23", "org,example)/%23?x=%23"),
        ("http://example.org/?b=1&a=2&A=10&b", "org,example)/?a=10&a=2&b&b=1"),
        ("http://example.org/?", "org,example)/"),
        ("http://example.org/?b=2&sid=0123456789abcdef0123456789abcdef", "org,example)/?&b=2"),
        ("http://example.org/?cfid=1&cftoken=2&z=1", "org,example)/?z=1"),
        ("http://example.org/(S(4hqa0555fwsecu455xqckv45))/x.aspx", "org,example)/x.aspx"),
        ("ftp://example.org/a/b", "org,example)/a/b"),
        ("file:///a/b", "file:/a/b"),
    ],
)
def test_index_keys_are_those_of_other_archive_tools(url: str, key: str) -> None:
    assert surt_key(canonical(url)) == key
