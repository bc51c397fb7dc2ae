"""Seed lists: what arguments name, what lines say."""

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


def test_a_folder_stands_for_the_files_below_it_by_name(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "one").write_text("http://b.org/\n")
    (tmp_path / "z.txt").write_text("http://z.org/\n")
    (tmp_path / "a.txt").write_text("http://a.org/\n")
    (tmp_path / ".swp").write_text("http://hidden.org/\n")
    assert lines(tmp_path) == ["http://a.org/", "http://z.org/", "http://b.org/"]


def test_urls_files_and_standard_input_come_in_the_order_given(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_text("http://f.org/")
    found = lines("http://u.org/", "-", file, stdin=b"http://s.org/\n")
    assert found == ["http://u.org/", "http://s.org/", "http://f.org/"]


def test_comments_empty_lines_byte_order_marks_and_foreign_line_ends_say_nothing(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_bytes(b"\xef\xbb\xbfhttp://a.org/\r\n\r\n  # no\n\t\nhttp://b.org/\xff\n")
    assert lines(file) == ["http://a.org/", "http://b.org/�"]


def test_a_gzipped_file_is_read_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_bytes(gzip.compress(b"http://a.org/\n"))
    assert lines(file) == ["http://a.org/"]


def test_a_damaged_gzip_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = tmp_path / "seeds.gz"
    file.write_bytes(gzip.compress(b"http://a.org/\n" * 1000)[:-12])
    with pytest.raises(UsageError, match=r"seeds\.gz.*damaged"):
        lines(file)


def test_a_line_without_end_is_complained_about_and_the_next_one_read(tmp_path: Path) -> None:
    file = tmp_path / "seeds"
    file.write_bytes(b"x" * (3 * MAX_LINE) + b"\nhttp://a.org/\n")
    first, second = read_seeds(seed_sources([str(file)]))
    assert isinstance(first, SeedProblem)
    assert len(first.text) < 1000
    assert second == SeedLine("http://a.org/", f"{file}:2")


def test_what_is_neither_file_nor_url_is_an_error_before_anything_is_read() -> None:
    with pytest.raises(UsageError, match=r"neither a file nor a URL[^$]*https://example\.org"):
        seed_sources(["http://a.org/", "example.org"])
    with pytest.raises(UsageError, match="no such file"):
        seed_sources(["http://a.org/"], may_be_urls=False)
    with pytest.raises(UsageError):
        seed_sources(["x" * 10_000])


def test_reserved_names_are_score_and_intervals_and_others_metadata() -> None:
    seed = parse_seed("http://a.org/ \t nutch.score = 2.5\tnutch.fetchInterval=60\tlang=en=GB\t")
    assert (seed.text, seed.score, seed.interval) == ("http://a.org/", 2.5, timedelta(seconds=60))
    assert seed.metadata == {"lang": "en=GB"}
    assert not seed.wrong


def test_a_fixed_interval_wins_and_is_remembered() -> None:
    seed = parse_seed("http://a.org/\tnutch.fetchInterval.fixed=600\tnutch.fetchInterval=60")
    assert seed.interval == timedelta(seconds=600)
    assert seed.metadata == {"fixedInterval": "600"}


@pytest.mark.parametrize(
    "field", ["lang", "=en", "nutch.score=high", "nutch.score=nan", "nutch.score", "nutch.fetchInterval=-5"]
)
def test_a_field_that_means_nothing_is_left_out_and_told(field: str) -> None:
    seed = parse_seed(f"http://a.org/\t{field}\tk=v")
    assert len(seed.wrong) == 1
    assert (seed.score, seed.interval, seed.metadata) == (None, None, {"k": "v"})


@given(st.text(), st.lists(st.text()))
def test_any_line_can_be_read(url: str, fields: list[str]) -> None:
    seed = parse_seed("\t".join([url, *fields]))
    assert seed.interval is None or timedelta(0) < seed.interval


def test_what_is_no_text_in_an_argument_is_replaced_as_it_is_in_a_file(tmp_path: Path) -> None:
    data = b"http://a.org/\tk=\xff"
    file = tmp_path / "seeds"
    file.write_bytes(data)

    (of_file,) = read_seeds([file])
    (of_argument,) = read_seeds(seed_sources([data.decode("utf-8", "surrogateescape")]))

    assert isinstance(of_file, SeedLine)
    assert isinstance(of_argument, SeedLine)
    assert parse_seed(of_file.text).metadata == {"k": "\ufffd"}
    assert set(parse_seed(of_argument.text).metadata["k"]) == {"\ufffd"}
