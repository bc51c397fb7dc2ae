"""The built-in publisher: its lines, where they go, and failed writes."""

from __future__ import annotations

import json
import logging
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scoter.builtin.publishers import LONGEST_LINE, FilePublisher, FilePublisherSettings
from scoter.config import Config, load
from scoter.errors import ConfigError
from scoter.plugins import POINTS, Setup, chain, find

MOMENT = datetime(2026, 11, 5, 7, 8, 9, tzinfo=UTC)


def publisher(path: Path | None) -> FilePublisher:
    return FilePublisher(Setup(Config(), FilePublisherSettings(path)), now=lambda: MOMENT)


def test_event_is_a_line_with_time_name_and_facts(tmp_path: Path) -> None:
    told = publisher(tmp_path / "events.jsonl")

    told.publish("start", {})
    told.publish("report", {"pages": 3, "slowest": [("a.example", 1.5)], "event": "forged", "note": "two\nlines"})
    told.close()

    lines = (tmp_path / "events.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"time": "2026-11-05T07:08:09.000+00:00", "event": "start"},
        {
            "time": "2026-11-05T07:08:09.000+00:00",
            "event": "report",
            "pages": 3,
            "slowest": [["a.example", 1.5]],
            "note": "two\nlines",
        },
    ]


def test_line_is_appended_as_soon_as_it_is_published(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text('{"event":"old"}\n', "utf-8")
    first, second = publisher(path), publisher(path)

    first.publish("a", {})
    second.publish("b", {})
    first.publish("c", {})

    assert [json.loads(line)["event"] for line in path.read_text("utf-8").splitlines()] == ["old", "a", "b", "c"]
    first.close()
    second.close()


def test_facts_of_a_too_long_line_are_omitted(tmp_path: Path) -> None:
    told = publisher(tmp_path / "events.jsonl")

    told.publish("report", {"much": "x" * LONGEST_LINE})
    told.close()

    line = (tmp_path / "events.jsonl").read_bytes()
    assert len(line) < 200
    assert "bytes of facts" in json.loads(line)["left_out"]


@pytest.mark.parametrize("path", ["-", '""'])
def test_dash_or_empty_path_means_stdout(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = load(overrides=["publisher.publishers=file", f"plugin.publisher-file.path={path}"])
    ((name, told),) = chain("publisher", config)

    told.publish("end", {"pages": 1})

    assert name == "file"
    assert json.loads(capsys.readouterr().out)["event"] == "end"


def test_publisher_is_registered_as_file() -> None:
    assert find(POINTS["publisher"], "file").load() is FilePublisher


def test_unwritable_file_is_reported_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^plugin\.publisher-file\.path: .*No such file or directory") as caught:
        publisher(tmp_path / "missing" / "events.jsonl")

    assert '"-" for stdout' in str(caught.value)


def test_pipe_without_reader_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ConfigError, match="cannot write to"):
        publisher(tmp_path / "pipe")


def test_full_disk_is_logged_once_without_an_error(caplog: pytest.LogCaptureFixture) -> None:
    told = publisher(Path("/dev/full"))

    with caplog.at_level(logging.WARNING):
        told.publish("a", {})
        told.publish("b", {})
    told.close()

    assert [record.getMessage() for record in caplog.records] == [
        "cannot write events to /dev/full: [Errno 28] No space left on device"
    ]
    assert repr(told) == "FilePublisher(/dev/full, 2 events lost)"
