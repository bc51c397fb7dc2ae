"""What the README shows of a crawl and of the live service is what comes when it is typed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from examples.demo import CONFIG
from examples.demo import serving as demo_web

pytestmark = pytest.mark.service

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
WEB_PORT = "18080"
# What differs from one run to the next: moments, how long something took, and where it lies in an archive.
CHANGING = re.compile(r"\d{14}|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?|\b\d+ m?s\b(?: ago)?|(?<=gz )at \d+, [\d,]+ bytes")
PROGRESS = re.compile(r"round \d+/\d+ ")  # one line that changes, on a terminal
ENDS = 20.0


def shown(beginning: str) -> list[tuple[str, str]]:
    """Return the commands of the block that begins like this, and what the README says they print."""
    (block,) = (each for each in BLOCK.findall(README) if each.startswith(beginning))
    return [(command.replace("\\\n", ""), printed) for command, printed in COMMAND.findall(block)]


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    return {**kept, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", **more}


def check(command: str, expected: str, folder: Path, **more: str) -> None:
    done = subprocess.run(
        ["bash", "-c", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment(**more),
        check=False,
        timeout=60,
    )
    found, wanted = steady(done.stdout), steady(expected)
    if wanted.endswith("…"):  # the README breaks off there
        wanted = wanted.removesuffix("…")
        found = found[: len(wanted)]
    assert found == wanted, command


def steady(text: str) -> str:
    """Return what two runs have in common, line by line, whatever the width of columns."""
    told = (line for line in text.splitlines() if not PROGRESS.match(line))
    lines = (re.sub(r"[ ─]+", " ", CHANGING.sub("#", line)).rstrip() for line in told)
    return "\n".join(lines).strip()


@contextmanager
def in_another_terminal(command: str, folder: Path, until: str) -> Iterator[str]:
    """Run a command that does not end by itself; give the line by which it says that it has begun."""
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=environment(),
    ) as running:
        assert running.stdout is not None
        try:
            said = []
            for line in running.stdout:
                said.append(line)
                if until in line:
                    yield line
                    break
            else:
                raise AssertionError(f"{command} ended: {''.join(said)}")
        finally:
            running.send_signal(signal.SIGINT)
            try:
                running.wait(ENDS)
            finally:
                running.kill()


def test_a_crawl_prints_what_the_readme_shows(tmp_path: Path) -> None:
    commands = shown("$ scoter crawl mycrawl")
    with demo_web() as (port, _):
        (tmp_path / "scoter.toml").write_text(CONFIG.format(port=port))
        for command, printed in commands:
            check(command, printed, tmp_path)

    assert [command.split()[1] for command, _ in commands] == ["crawl", "sql", "explain"]


def test_the_live_service_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (web, _), (serve, _) = shown("$ scoter simweb")
    with in_another_terminal(web.replace(f"--port {WEB_PORT}", "--port 0"), tmp_path, "http://") as begun:
        (port,) = re.findall(r":(\d+)\b", begun)[:1]
        serve = serve.replace(WEB_PORT, port) + " --port 0"
        with in_another_terminal(serve, tmp_path, "Listening on ") as begun:
            (server,) = re.findall(r"Listening on (\S+) with ", begun)
            for command, printed in shown("$ scoter submit"):
                check(command, printed, tmp_path, SCOTER_SERVER=server)
