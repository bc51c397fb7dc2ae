"""The writer starts a new file by size and age."""

from __future__ import annotations

import fcntl
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.store.exchanges import ABOUT, START, assert_sound, exchange

from scoter.errors import UsageError
from scoter.store.warc import WarcReader, WarcWriter

HOUR = timedelta(hours=1)


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_large_file_is_finished_before_the_next_exchange(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, "crawl", ABOUT, size=1_000, age=HOUR, now=FakeClock()) as writer:
        places = [writer.write(exchange(f"http://example.com/{n}", b"%d" % n)) for n in range(6)]

    files = sorted(tmp_path.glob("*.warc.gz"))
    assert len(files) > 1
    assert [each.name for each in files] == [
        f"crawl-20261115023600-{number:05d}.warc.gz" for number in range(1, len(files) + 1)
    ]
    assert names(tmp_path) == sorted(
        [*(each.name for each in files), *(each.name.replace(".warc.gz", ".cdxj") for each in files)]
    )
    for number, place in enumerate(places):
        with WarcReader(tmp_path / place.file) as reader:
            assert reader.at(place.offset).body == b"%d" % number
    for each in files:
        assert_sound(each)


def test_old_file_is_finished(tmp_path: Path) -> None:
    clock = FakeClock()
    with WarcWriter(tmp_path, "crawl", ABOUT, size=2**30, age=HOUR, now=clock) as writer:
        first = writer.write(exchange())
        clock.time += HOUR - timedelta(seconds=1)
        assert writer.finish_if_due() is None
        assert writer.write(exchange()).file == first.file
        clock.time += timedelta(seconds=1)

        assert writer.finish_if_due() == tmp_path / first.file
        assert writer.finish_if_due() is None
        second = writer.write(exchange())

    assert second.file == "crawl-20261115033600-00002.warc.gz"


def test_duplicates_are_detected_within_one_file_only(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, "crawl", ABOUT, size=2**30, age=HOUR, now=FakeClock()) as writer:
        kinds = []
        for is_last in (False, True, False):
            place = writer.write(exchange())
            path = writer.finish() if is_last else None
            kinds.append((place, path))

    found = []
    for place, _ in kinds:
        with WarcReader(tmp_path / place.file) as reader:
            found.append(reader.at(place.offset).kind.value)
    assert found == ["response", "revisit", "response"]


def test_unused_writer_leaves_no_file(tmp_path: Path) -> None:
    with WarcWriter(tmp_path, "crawl", ABOUT, size=2**30, age=HOUR) as writer:
        writer.sync()

    assert names(tmp_path) == []


def test_existing_names_are_skipped(tmp_path: Path) -> None:
    for name in ("crawl-20261115023600-00001.warc.gz", "crawl-20261115023600-00002.warc.gz.open"):
        (tmp_path / name).write_bytes(b"precious")

    with WarcWriter(tmp_path, "crawl", ABOUT, size=2**30, age=HOUR, now=FakeClock()) as writer:
        place = writer.write(exchange())

    assert place.file == "crawl-20261115023600-00003.warc.gz"


@pytest.mark.parametrize("rival", ["finishes", "recovers", "removed"])
def test_name_taken_concurrently_by_another_process_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rival: str
) -> None:
    first = tmp_path / "crawl-20261115023600-00001.warc.gz"

    locked: list[int] = []

    def flock(handle: int, how: int) -> None:
        locked.append(handle)
        if len(locked) > 1:
            return
        if rival == "finishes":
            first.write_bytes(b"precious")
        elif rival == "removed":
            Path(f"{first}.open").unlink()
        else:
            raise BlockingIOError

    monkeypatch.setattr(fcntl, "flock", flock)
    with WarcWriter(tmp_path, "crawl", ABOUT, size=2**30, age=HOUR, now=FakeClock()) as writer:
        place = writer.write(exchange())

    assert place.file == "crawl-20261115023600-00002.warc.gz"
    assert (tmp_path / place.file).exists()
    assert rival != "finishes" or first.read_bytes() == b"precious"


def test_file_is_finished_when_the_block_raises(tmp_path: Path) -> None:
    def fail() -> None:
        with WarcWriter(tmp_path, "crawl", ABOUT, size=2**30, age=HOUR, now=FakeClock()) as writer:
            writer.write(exchange())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert names(tmp_path) == ["crawl-20261115023600-00001.cdxj", "crawl-20261115023600-00001.warc.gz"]


@pytest.mark.parametrize("prefix", ["", "a/b", ".hidden"])
def test_invalid_prefix_is_refused(tmp_path: Path, prefix: str) -> None:
    with pytest.raises(UsageError, match="is not a valid file name prefix"):
        WarcWriter(tmp_path, prefix, ABOUT, size=2**30, age=HOUR)
