"""Reading SequenceFiles, intact and damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.nutch.crawl.writer import CODECS, ESCAPE, SYNC, Pair, datum, sequence_file, text, vint

from scoter.nutch.crawl.sequence_file import SequenceFile
from scoter.nutch.crawl.writables import WritableReader

KINDS = [("none", "DefaultCodec"), *((kind, codec) for kind in ("record", "block") for codec in CODECS)]
CHECKED = ("DefaultCodec", "GzipCodec", "BZip2Codec")  # with a checksum
PAIRS = [(text(f"http://a.example/{number:03}"), datum(1, score=number)) for number in range(42)]


def read(folder: Path, data: bytes) -> tuple[list[Pair], list[tuple[int, str]]]:
    file, problems = folder / "data", []
    file.write_bytes(data)
    found = [(record.key, record.value) for record in SequenceFile(file, lambda at, what: problems.append((at, what)))]
    return found, problems


@pytest.mark.parametrize(("kind", "codec"), KINDS)
def test_every_kind_of_compression_is_read(tmp_path: Path, kind: str, codec: str) -> None:
    assert read(tmp_path, sequence_file(PAIRS, kind, codec)[0]) == (PAIRS, [])


@pytest.mark.parametrize("codec", CODECS)
def test_long_and_repetitive_values_are_read(tmp_path: Path, codec: str) -> None:
    values = [b"", b"a", b"ab" * 5_000, bytes(100_000), bytes(range(256)) * 40 + b"x" * 700]
    pairs = [(text(f"http://a.example/{number}"), value) for number, value in enumerate(values)]

    assert read(tmp_path, sequence_file(pairs, "block", codec)[0]) == (pairs, [])


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("kind", ["none", "record", "block"])
def test_older_versions_are_read(tmp_path: Path, version: int, kind: str) -> None:
    assert read(tmp_path, sequence_file(PAIRS, kind, version=version)[0]) == (PAIRS, [])


def test_an_unsupported_codec_is_named(tmp_path: Path) -> None:
    data = sequence_file(PAIRS, "block")[0].replace(b"DefaultCodec", b"Foreign0Lzo1")

    found, problems = read(tmp_path, data)

    assert not found
    assert "compressed with Foreign0Lzo1, which is not supported" in problems[0][1]
    assert "SnappyCodec" in problems[0][1]


@pytest.mark.parametrize("data", [b"", b"SEQ", b"SEQ\x09abc", b"PK\x03\x04" * 20, b"SEQ\x06\x19org"])
def test_other_files_are_reported(tmp_path: Path, data: bytes) -> None:
    found, problems = read(tmp_path, data)

    assert not found
    assert len(problems) == 1


def test_a_damaged_sync_marker_in_the_header_loses_nothing(tmp_path: Path) -> None:
    for kind in ("none", "record", "block"):
        data = sequence_file(PAIRS, kind)[0]
        at = data.index(SYNC)
        damaged = data[:at] + b"X" + data[at + 1 :]

        found, problems = read(tmp_path, damaged)

        assert found == PAIRS
        assert [what for _, what in problems] == ["wrong sync marker"]


def test_a_compressed_buffer_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.nutch.crawl.sequence_file.MAX_RECORD", 1_000)
    bomb = [(text("http://a.example/"), bytes(100_000)), *PAIRS[:1]]

    found, problems = read(tmp_path, sequence_file(bomb, "record", every=1)[0])

    assert found == PAIRS[:1]
    assert "more than 1,000 bytes" in problems[0][1]


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(KINDS),
    place=st.floats(0, 1, exclude_max=True),
    damage=st.one_of(
        st.binary(min_size=1, max_size=8),
        st.just(b"\xff\xff\xff\xff"),
        st.just(b"\x00\x00\x00\x00"),
        st.just(b"\x00\x10\x00\x00"),
    ),
)
def test_damage_costs_at_most_its_block(tmp_path: Path, kind: tuple[str, str], place: float, damage: bytes) -> None:
    data, blocks = sequence_file(PAIRS, *kind)
    first = blocks[0][0]
    at = first + int(place * (len(data) - first))
    damaged = (data[:at] + damage)[: len(data)] + data[at + len(damage) :]

    found, problems = read(tmp_path, damaged)

    hit = {number for number, (start, end) in enumerate(blocks) if start < at + len(damage) and at < end}
    intact = [pair for number, pair in enumerate(PAIRS) if number // 4 not in hit]
    assert [pair for pair in found if pair in PAIRS] == [pair for pair in PAIRS if pair in found]
    assert [pair for pair in intact if pair not in found] == []
    if kind[0] == "block" and kind[1] in CHECKED:
        assert problems or found == PAIRS


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(KINDS), place=st.floats(0, 1, exclude_max=True))
def test_a_truncated_file_is_read_up_to_its_last_block(tmp_path: Path, kind: tuple[str, str], place: float) -> None:
    data, blocks = sequence_file(PAIRS, *kind)
    end = int(place * len(data))

    found, _ = read(tmp_path, data[:end])

    whole = sum(stop <= end for _, stop in blocks)
    assert found[: whole * 4] == PAIRS[: whole * 4]
    assert found == PAIRS[: len(found)]


@given(st.integers(-(2**63), 2**63 - 1))
def test_vints_are_read_as_written(number: int) -> None:
    reader = WritableReader(vint(number))

    assert reader.vint() == number
    assert reader.is_at_end


def test_the_escape_is_not_taken_for_a_length(tmp_path: Path) -> None:
    data = sequence_file(PAIRS, every=1)[0]

    assert data.count(ESCAPE + SYNC) == len(PAIRS) - 1
    assert read(tmp_path, data) == (PAIRS, [])
