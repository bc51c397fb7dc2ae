"""Log lines as JSON: one object per line, with what it is about."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from datetime import datetime
from io import StringIO
from typing import Any

import pytest

from scoter.http.logs import JsonLines, logging_about


class Log:
    """A logger that writes JSON lines to memory."""

    def __init__(self) -> None:
        self._out = StringIO()
        handler = logging.StreamHandler(self._out)
        handler.setFormatter(JsonLines())
        self.logger = logging.getLogger("scoter.test")
        self.logger.setLevel(logging.INFO)
        self.logger.handlers.clear()
        self.logger.addHandler(handler)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._out.getvalue().splitlines()]


@pytest.fixture
def log() -> Log:
    return Log()


def test_a_line_has_time_level_process_logger_and_message(log: Log) -> None:
    log.logger.warning("cannot %s\n%r", "do it", 'a "quoted" text')

    (line,) = log.lines
    assert datetime.fromisoformat(line.pop("time")).utcoffset() is not None
    assert line.pop("process") > 0
    assert line == {"level": "WARNING", "logger": "scoter.test", "message": "cannot do it\n'a \"quoted\" text'"}


def test_a_line_names_the_message_url_and_domain_that_it_is_about(log: Log) -> None:
    with logging_about(message_id="m1", url="https://www.example.org/a", domain="example.org"):
        log.logger.info("first")
        with logging_about(url="https://me:pw@other.example/"):
            log.logger.info("second")
    log.logger.info("third", extra={"domain": "example.net"})

    first, second, third = ({name: line.get(name) for name in ("message_id", "url", "domain")} for line in log.lines)
    assert first == {"message_id": "m1", "url": "https://www.example.org/a", "domain": "example.org"}
    assert second == {"message_id": "m1", "url": "https://***@other.example/", "domain": "example.org"}
    assert third == {"message_id": None, "url": None, "domain": "example.net"}


async def test_tasks_do_not_mix_up_what_they_are_about(log: Log) -> None:
    both = asyncio.Barrier(2)

    async def work(url: str) -> None:
        with logging_about(url=url):
            await both.wait()
            await asyncio.create_task(child(url))

    async def child(url: str) -> None:
        log.logger.info(url)

    await asyncio.gather(work("https://a.example/"), work("https://b.example/"))

    assert {(line["message"], line["url"]) for line in log.lines} == {(f"https://{n}.example/",) * 2 for n in "ab"}


def test_a_traceback_is_in_the_line_without_passwords(log: Log) -> None:
    try:
        raise ValueError("http://me:pw@a.example/")
    except ValueError:
        log.logger.exception("a defect")

    (line,) = log.lines
    assert line["error"].startswith("Traceback")
    assert line["error"].endswith("ValueError: http://***@a.example/")


@pytest.mark.parametrize(("form", "is_json"), [("json", True), ("text", False)])
def test_a_process_logs_in_the_format_of_the_setting(form: str, is_json: bool) -> None:
    script = "import sys, logging\nfrom scoter.http.logs import configure_logging\n"
    script += "configure_logging('INFO', sys.argv[1])\nlogging.getLogger('a').info('from http://me:pw@a.example/')\n"

    done = subprocess.run([sys.executable, "-c", script, form], capture_output=True, text=True, check=True)

    (line,) = done.stderr.splitlines()
    assert line.startswith("{") is is_json
    assert "from http://***@a.example/" in (json.loads(line)["message"] if is_json else line)
