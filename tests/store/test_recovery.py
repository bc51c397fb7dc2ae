"""A killed writer loses at most the record it was writing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.store.exchanges import assert_sound, exchange, open_part

from scoter.core.reply import Truncation
from scoter.errors import UserError
from scoter.store.warc import WarcReader, recover, unfinished
from scoter.store.warc.reader import Span, whole_records

WRITER = """
import sys
from pathlib import Path
from scoter.store.warc import timing_facts
from tests.store.exchanges import exchange, open_part

part = open_part(Path(sys.argv[1]))
number = 0
while True:
    page = exchange(f"http://example.com/{number}", str(number).encode() * 5_000)
    part.append(page, facts=timing_facts(page))
    print(number, flush=True)
    number += 1
"""


def finished(folder: Path) -> tuple[Path, bytes, list[Span]]:
    """Return an archive with every kind of record, its index, and the positions of its records."""
    part = open_part(folder)
    part.append(exchange("http://example.com/b", b"one" * 20))
    part.append(
        exchange("https://example.com/a?q=%C3%A9", b"two", truncation=Truncation.TIME), facts=(("message", "7"),)
    )
    part.append(exchange("http://example.com/c", b"one" * 20))
    part.append(exchange("http://example.com/c", b"", status=304, headers=()))
    part.append(exchange("file:///tmp/a", b"text", head=b"", request=b"", headers=(("Content-Type", "text/plain"),)))
    path = part.finish()
    with path.open("rb") as file:
        return path, part.index_path.read_bytes(), list(whole_records(file))


def test_file_truncated_at_any_byte_keeps_every_record_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)  # thousands of recoveries; another test checks the order
    path, index, spans = finished(tmp_path)
    data = path.read_bytes()
    with WarcReader(path) as reader:
        captures = list(reader)
    assert spans[-1].end == len(data)
    assert len(spans) == 12

    # Every byte around the ends of records, and a sample of those inside.
    near = {end + step for end in (0, *(span.end for span in spans)) for step in range(-25, 26)}
    for size in sorted(near.intersection(range(len(data) + 1)) | set(range(0, len(data), 11))):
        folder = tmp_path / "cut"
        folder.mkdir()
        draft = folder / "part.warc.gz.open"
        draft.write_bytes(data[:size])

        result = recover(draft)

        whole = [span for span in spans if span.end <= size]
        kept = [each for each in captures if any(each.offset == span.offset for span in whole)]
        assert result.records == len(whole)
        assert result.captures == len(kept)
        assert result.kept == (whole[-1].end if whole else 0)
        assert result.dropped == size - result.kept
        if result.path is None:
            assert kept == []
        else:
            assert result.path.read_bytes() == data[: result.kept]
            lines = index.splitlines(keepends=True)
            places = {f'"offset":"{each.offset}"'.encode() for each in kept}
            expected = [line for line in lines if any(place in line for place in places)]
            assert (folder / "part.cdxj").read_bytes() == b"".join(expected)
        for each in folder.iterdir():
            assert each.name in ("part.warc.gz", "part.cdxj")
            each.unlink()
        folder.rmdir()


class DiskLog:
    """Records what recovery does to the disk, in order: truncations, renames and what is synced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[str, str]] = []
        self._fsync, self._replace = os.fsync, Path.replace
        monkeypatch.setattr("os.fsync", self.fsync)
        monkeypatch.setattr("pathlib.Path.replace", lambda path, target: self.replace(path, target))

    def fsync(self, handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        self.steps.append(("sync", path.name))
        self._fsync(handle)

    def replace(self, path: Path, target: Path) -> Path:
        self.steps.append(("name", target.name))
        return self._replace(path, target)


@pytest.mark.parametrize("tail", [b"", b"partial"])
def test_recovery_syncs_data_before_names_and_names_before_it_reports_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tail: bytes
) -> None:
    path, _, _ = finished(tmp_path)
    folder = tmp_path / "killed"
    folder.mkdir()
    draft = folder / "part.warc.gz.open"
    draft.write_bytes(path.read_bytes() + tail)
    log = DiskLog(monkeypatch)

    recover(draft)

    assert log.steps == [
        ("sync", "part.warc.gz.open"),
        ("sync", "part.cdxj.open"),
        ("name", "part.cdxj"),
        ("name", "part.warc.gz"),
        ("sync", "killed"),
    ]


def test_recovery_syncs_the_removal_of_an_archive_without_captures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()
    draft = folder / "part.warc.gz.open"
    draft.write_bytes(b"partial")
    log = DiskLog(monkeypatch)

    recover(draft)

    assert list(folder.iterdir()) == []
    assert log.steps[0] == ("sync", "part.warc.gz.open")
    assert log.steps[-1] == ("sync", "killed")


def test_recovered_archive_is_readable(tmp_path: Path) -> None:
    path, _, spans = finished(tmp_path)
    data = path.read_bytes()
    for number, span in enumerate(spans[2:]):
        draft = tmp_path / f"cut{number}.warc.gz.open"
        draft.write_bytes(data[: span.end - 1])

        result = recover(draft)

        assert result.path is not None
        assert_sound(result.path)
        with WarcReader(result.path) as reader:
            assert len(list(reader)) == result.captures > 0


@pytest.mark.parametrize("tail", [b"\0" * 5_000, b"\x1f\x8b\x08", b"garbage", bytes.fromhex("1f8b0800000000000003")])
def test_recovery_removes_bytes_after_the_last_record(tmp_path: Path, tail: bytes) -> None:
    path, index, _ = finished(tmp_path)
    draft = tmp_path / "with-tail.warc.gz.open"
    draft.write_bytes(path.read_bytes() + tail)

    result = recover(draft)

    assert result.dropped == len(tail)
    assert result.path is not None
    assert result.path.read_bytes() == path.read_bytes()
    assert (tmp_path / "with-tail.cdxj").read_bytes() == index.replace(b'"part.warc.gz"', b'"with-tail.warc.gz"')


def test_file_truncated_at_random_keeps_whole_records(tmp_path: Path) -> None:
    draw = random.Random(6)
    part = open_part(tmp_path)
    for number in range(60):
        body = draw.randbytes(draw.randrange(30_000)) if number % 2 else b"x" * draw.randrange(3_000_000)
        part.append(exchange(f"http://example.com/{number}", body))
    data = part.finish().read_bytes()
    with part.path.open("rb") as file:
        spans = list(whole_records(file))
    assert len(spans) == 121

    for _ in range(40):
        size = draw.randrange(len(data))
        draft = tmp_path / "cut.warc.gz.open"
        draft.write_bytes(data[:size])
        with draft.open("rb") as file:
            assert list(whole_records(file)) == [span for span in spans if span.end <= size]


def test_kill_loses_no_written_record(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(50)]
        (draft,) = unfinished(tmp_path)
        with pytest.raises(UserError, match="being written by another process"):
            recover(draft)
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout.read().splitlines()]

    result = recover(draft)

    assert process.returncode == -signal.SIGKILL
    assert result.path is not None
    assert_sound(result.path)
    with WarcReader(result.path) as reader:
        found = [each.body for each in reader]
    assert found[: len(told)] == [str(number).encode() * 5_000 for number in told]
    assert len(found) - len(told) in (0, 1)  # written, and killed before it could report it
    assert unfinished(tmp_path) == []


def test_recovery_does_not_overwrite_a_finished_archive(tmp_path: Path) -> None:
    path, _, _ = finished(tmp_path)
    draft = tmp_path / "part.warc.gz.open"
    draft.write_bytes(path.read_bytes())

    with pytest.raises(UserError, match="finished archive of the same name"):
        recover(draft)


def test_recovery_refuses_other_files(tmp_path: Path) -> None:
    path, _, _ = finished(tmp_path)

    with pytest.raises(UserError, match="not an unfinished archive"):
        recover(path)


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot recover the archive"):
        recover(tmp_path / "none.warc.gz.open")


def test_archive_with_very_long_urls_is_recovered(tmp_path: Path) -> None:
    long = "http://example.com/" + "x" * 40_000
    part = open_part(tmp_path)
    for url in (long, f"{long}/2", "http://example.com/"):
        part.append(exchange(url, b"the same" * 20))
    part.close()

    found = recover(part.draft)

    assert (found.captures, found.dropped) == (3, 0)
    with WarcReader(part.path) as reader:
        assert [(page.url, page.body) for page in reader] == [
            (url, b"the same" * 20) for url in (long, f"{long}/2", "http://example.com/")
        ]
