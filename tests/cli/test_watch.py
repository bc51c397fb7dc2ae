"""Output and exit codes of `scoter watch`."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run
from tests.client.service import FakeService, Said, event, stream

FAST = b"retry: 100\n\n"


def test_each_event_is_a_row(run: Run) -> None:
    with FakeService(stream(FAST, event(1), event(2, url="http://t.example/x"))) as service:
        done = run("watch", "--count", "2", "--server", service.url)

    head, *rows = done.out.splitlines()
    assert head.split() == ["time", "state", "code", "kind", "URL"]
    assert [row.split(maxsplit=4) for row in rows] == [
        ["12:00:00", "ok", "200", "other", "http://a.example/"],
        ["12:00:00", "ok", "200", "other", "http://t.example/x → http://a.example/"],
    ]


def test_json_is_one_event_per_line_and_shows_gaps(run: Run) -> None:
    gap = b'id: 9\nevent: gap\ndata: {"after":3,"first":10}\n\n'
    with FakeService(stream(FAST, gap, event(10))) as service:
        done = run("watch", "--since", "3", "--count", "1", "--server", service.url, "--json")

    first, second = map(json.loads, done.out.splitlines())
    assert first == {"gap": {"after": 3, "first": 10}}
    assert (second["number"], second["record"]["state"]) == (10, "ok")
    assert service.asked[0].target == "/v1/events?after=3"


def test_lost_connection_is_reported_and_resumed(run: Run) -> None:
    with FakeService(stream(FAST, event(1), event(2)[:30]), stream(event(2))) as service:
        done = run("watch", "--count", "2", "--server", service.url, "--json")

    assert [json.loads(line)["number"] for line in done.out.splitlines()] == [1, 2]
    assert "retrying in" in done.err
    assert service.asked[1].headers["last-event-id"] == "1"


def test_unreachable_service_is_one_message(run: Run) -> None:
    with FakeService() as service:
        url = service.url
    done = run("watch", "--server", url)

    assert (done.code, done.out) == (2, "")
    assert "scoter serve" in done.err


def test_terminal_output_is_coloured_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    parent, child = pty.openpty()
    arguments = [sys.executable, "-m", "scoter.cli.main", "watch"]
    with FakeService(Said(stream(FAST, event(7)).raw, hangs=True)) as service:
        environment = {**os.environ, "SCOTER_SERVER": service.url, "NO_COLOR": "", "TERM": "xterm"}
        running = subprocess.Popen(
            arguments, stdout=child, stderr=child, stdin=child, cwd=tmp_path, env=environment, start_new_session=True
        )
        os.close(child)
        shown = b""
        while b"/s" not in shown:
            shown += os.read(parent, 4096)
        running.send_signal(signal.SIGINT)
        while True:
            try:
                more = os.read(parent, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
        code = running.wait(timeout=10)
    os.close(parent)

    assert code == 130
    assert b"\x1b[32mok" in shown
    assert b"To continue: scoter watch --since 7" in shown
    assert b"Traceback" not in shown
