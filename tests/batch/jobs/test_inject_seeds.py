"""Seed lists: arguments, files and lines."""

from __future__ import annotations

import gzip
import io
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.batch.urls.seeds import MAX_LINE, SeedLine, SeedProblem, parse_seed, read_seeds, seed_sources
from scoter.errors import UsageError


def lines(*seeds: str | Path, stdin: bytes = b"") -> list[str]:
    found = read_seeds(seed_sources(map(str, seeds)), io.BytesIO(stdin))
    return [each.text if isinstance(each, SeedLine) else each.why for each in found]


def test_folder_means_the_files_below_it_in_name_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one").write_text("http://b.org/\n")
    (tmp_path / "z.txt").write_text("http://z.org/\n")
    (tmp_path / "a.txt").write_text("http://a.org/\n")
    (tmp_path / ".swp").write_text("http://hidden.org/\n")
    assert lines(tmp_path) == ["http://a.org/", "http://z.org/", "http://b.org/"]


def test_urls_files_and_standard_input_are_read_in_the_given_order(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_text("http://f.org/")
    found = lines("http://u.org/", "-", file, stdin=b"http://s.org/\n")
    assert found == ["http://u.org/", "http://s.org/", "http://f.org/"]


def test_comments_empty_lines_byte_order_marks_and_line_endings_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_bytes(b"\xef\xbb\xbfhttp://a.org/\r\n\r\n  # no\n\t\nhttp://b.org/\xff\n")
    assert lines(file) == ["http://a.org/", "http://b.org/�"]


def test_gzipped_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_bytes(gzip.compress(b"http://a.org/\n"))
    assert lines(file) == ["http://a.org/"]


def test_damaged_gzip_file_is_named_in_the_error(tmp_path: Path) -> None:
    file = tmp_path / "seeds.gz"
    file.write_bytes(gzip.compress(b"http://a.org/\n" * 1000)[:-12])
    with pytest.raises(UsageError, match=r"seeds\.gz.*damaged"):
        lines(file)


def test_overlong_line_is_reported_and_the_next_one_read(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_bytes(b"x" * (3 * MAX_LINE) + b"\nhttp://a.org/\n")
    first, second = read_seeds(seed_sources([str(file)]))
    assert isinstance(first, SeedProblem)
    assert len(first.text) < 1000
    assert second == SeedLine("http://a.org/", f"{file}:2")


def test_argument_that_is_neither_file_nor_url_is_rejected_first() -> None:
    with pytest.raises(UsageError, match=r"neither a file nor a URL[^$]*https://example\.org"):
        seed_sources(["http://a.org/", "example.org"])
    with pytest.raises(UsageError, match="no such file"):
        seed_sources(["http://a.org/"], may_be_urls=False)
    with pytest.raises(UsageError):
        seed_sources(["x" * 10_000])


def test_reserved_names_set_score_and_interval_others_are_metadata() -> None:
    seed = parse_seed("http://a.org/ \t nutch.score = 2.5\tnutch.fetchInterval=60\tlang=en=GB\t")
    assert (seed.text, seed.score, seed.interval) == ("http://a.org/", 2.5, timedelta(seconds=60))
    assert seed.metadata == {"lang": "en=GB"}
    assert not seed.wrong


def test_fixed_interval_wins_and_is_stored() -> None:
    seed = parse_seed("http://a.org/\tnutch.fetchInterval.fixed=600\tnutch.fetchInterval=60")
    assert seed.interval == timedelta(seconds=600)
    assert seed.metadata == {"fixedInterval": "600"}


@pytest.mark.parametrize(
    "field", ["lang", "=en", "nutch.score=high", "nutch.score=nan", "nutch.score", "nutch.fetchInterval=-5"]
)
def test_invalid_field_is_ignored_and_reported(field: str) -> None:
    seed = parse_seed(f"http://a.org/\t{field}\tk=v")
    assert len(seed.wrong) == 1
    assert (seed.score, seed.interval, seed.metadata) == (None, None, {"k": "v"})


@given(st.text(), st.lists(st.text()))
def test_any_line_can_be_parsed(url: str, fields: list[str]) -> None:
    seed = parse_seed("\t".join([url, *fields]))
    assert seed.interval is None or timedelta(0) < seed.interval


def test_invalid_utf_8_is_replaced_in_arguments_as_in_files(tmp_path: Path) -> None:
    data = b"http://a.org/\tk=\xff"
    file = tmp_path / "seeds"
    file.write_bytes(data)

    (of_file,) = read_seeds([file])
    (of_argument,) = read_seeds(seed_sources([data.decode("utf-8", "surrogateescape")]))

    assert isinstance(of_file, SeedLine)
    assert isinstance(of_argument, SeedLine)
    assert parse_seed(of_file.text).metadata == {"k": "\ufffd"}
    assert set(parse_seed(of_argument.text).metadata["k"]) == {"\ufffd"}
