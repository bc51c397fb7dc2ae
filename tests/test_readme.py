"""The quick start of the README works when it is copied literally, in order, with nothing else running."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
WEB_PORT, SERVICE_PORT = "18080", "8008"
MARK = "--- command"
# Output that differs between runs: times, durations, and positions in an archive.
CHANGING = re.compile(
    r"\d{14}|\d{4}-\d\d-\d\d(?= ·)|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?"
    r"|\b\d+ (?:m?s|min)\b(?: \d+ s)?(?: ago)?|(?<=gz )at [\d,]+, [\d.]+ KiB|(?<=Slowest hosts: ).+"
)
# Known only if the server of the image answers quickly.
IMAGE = re.compile(r" \(\d+ × \d+, image/png\)$")
# The request for the image, and status lines, which are overwritten on a terminal.
PROGRESS = re.compile(r"  fetched img |round \d+/\d+ |\w+ █|\d+ of \d+ messages? submitted")
LONGEST = 240.0


def quick_start() -> list[tuple[str, str]]:
    """Return the commands of the README's first two blocks and the output that it shows."""
    return [each for block in BLOCK.findall(README)[:2] for each in COMMAND.findall(block)]


def run_script(commands: list[str], folder: Path) -> list[str]:
    """Run commands in one shell on free ports; return the output of each."""
    ports = {port: str(free_port()) for port in (WEB_PORT, SERVICE_PORT)}
    waiting = "; ".join(
        f"until (: < /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep 0.2; done" for port in ports.values()
    )
    script = "\n".join(
        f"echo '{MARK}'\n{waiting if command.startswith('sleep ') else command.replace(WEB_PORT, ports[WEB_PORT])}"
        for command in commands
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        "SCOTER_LIVE__PORT": ports[SERVICE_PORT],
        "SCOTER_SERVER": f"http://127.0.0.1:{ports[SERVICE_PORT]}",
    }
    with subprocess.Popen(
        ["bash", "-c", f"{script}\nwait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment,
        start_new_session=True,
    ) as running:
        try:
            printed, _ = running.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            printed, _ = running.communicate()
    return printed.split(f"{MARK}\n")[1:]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def steady(text: str) -> str:
    """Normalise output for comparison: mask what differs between runs, ignore column widths."""
    lines = (line for line in text.splitlines() if not PROGRESS.match(line))
    return "\n".join(re.sub(r"[ ─]+", " ", CHANGING.sub("#", IMAGE.sub("", line))).rstrip() for line in lines).strip()


def test_quick_start_works_when_copied_literally(tmp_path: Path) -> None:
    commands = quick_start()

    printed = run_script([command for command, _ in commands], tmp_path)

    assert len(printed) == len(commands), printed[-1:]
    for (command, expected), found in zip(commands, map(steady, printed), strict=True):
        wanted = steady(expected)
        if wanted.endswith("…"):  # the README shows only the beginning
            wanted = wanted.removesuffix("…")
            found = found[: len(wanted)]
        assert found == wanted, command


def test_quick_start_shows_a_crawl_and_a_submission_within_twenty_lines() -> None:
    first = "\n".join(README.splitlines()[:20])

    assert "$ scoter submit" in first
    assert "$ scoter crawl" in first
    assert "make demo" in "\n".join(README.splitlines()[:5])
