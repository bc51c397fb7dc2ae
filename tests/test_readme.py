"""The README is short and right: its commands print what it shows, and its links work on a package index.

The commands of the README run against a small site in the place of the reader's own. Those of docs/first-steps.md work
when they are copied literally, in order, with nothing else running.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests import own_site
from tests.fetch.certificates import needs_openssl

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
FIRST_STEPS = (ROOT / "docs" / "first-steps.md").read_text("utf-8")
BLOCK = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"^\[([\w-]+)\]: (\S+)$", re.MULTILINE)
HOME = "https://github.com/scoter-crawler/scoter"
"""The project's address, unless pyproject.toml names one."""
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
WEB_PORT, SERVICE_PORT = "18080", "8008"
MARK = "--- command"
# Output that differs between runs: times, durations, and positions in an archive.
CHANGING = re.compile(
    r"^\d\d:\d\d:\d\d(?= )|\d{14}|\d{4}-\d\d-\d\d(?= ·)|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?"
    r"|\bnow(?=; due)|\b\d+ (?:m?s|min)\b(?: \d+ s)?(?: ago)?|(?<=gz )at [\d,]+, [\d.]+ (?:Ki)?B|(?<=Slowest hosts: ).+"
)
# Known only if the server of the image answers quickly.
IMAGE = re.compile(r" \(\d+ × \d+, image/png\)$")
# The request for the image, and status lines, which are overwritten on a terminal.
PROGRESS = re.compile(r"  fetched img |round \d+/\d+ |\w+ █|\d+ of \d+ messages? submitted")
LONGEST = 240.0


def session(page: str) -> list[tuple[str, str]]:
    """Return the commands of a page and the output that it shows."""
    return [each for block in BLOCK.findall(page) for each in COMMAND.findall(block)]


def run_script(
    commands: list[str],
    folder: Path,
    awaited: tuple[str, ...],
    settings: Mapping[str, str] = {},
    ports: Mapping[str, str] = {},
) -> list[str]:
    """Run commands in one shell on free ports, or on those given; return the output of each.

    A ``sleep`` waits for the awaited ports instead.
    """
    ports = {port: ports.get(port) or str(free_port()) for port in (WEB_PORT, SERVICE_PORT)}
    waiting = "; ".join(
        f"until (: < /dev/tcp/127.0.0.1/{ports[port]}) 2> /dev/null; do sleep 0.2; done" for port in awaited
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
        **settings,
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


def check(commands: list[tuple[str, str]], printed: list[str]) -> None:
    assert len(printed) == len(commands), printed[-1:]
    for (command, expected), found in zip(commands, map(steady, printed), strict=True):
        wanted = steady(expected)
        if wanted.endswith("…"):  # the page shows only the beginning
            wanted = wanted.removesuffix("…")
            found = found[: len(wanted)]
        assert found == wanted, command


@pytest.mark.slow
def test_first_steps_work_when_copied_literally(tmp_path: Path) -> None:
    commands = session(FIRST_STEPS)

    printed = run_script([command for command, _ in commands], tmp_path, (WEB_PORT, SERVICE_PORT))

    assert len(commands) >= 10
    check(commands, printed)


@pytest.mark.slow
@needs_openssl
def test_readme_commands_print_what_it_shows(tmp_path: Path) -> None:
    commands, folder = session(README), tmp_path / "work"
    folder.mkdir()

    with own_site.serving(tmp_path) as port:
        settings = {
            "SCOTER_FETCH__CONNECT_TO": f'["*:443=127.0.0.1:{port}"]',
            "SCOTER_HTTP__TLS_CERTIFICATES_CHECK": "false",
            "SCOTER_FETCH__DELAY": "0s",
        }
        printed = run_script([command for command, _ in commands], folder, (SERVICE_PORT,), settings)

    assert len(commands) >= 8
    check(commands, printed)


def test_readme_has_at_most_150_lines_and_begins_with_what_everybody_needs() -> None:
    lines = README.splitlines()

    assert len(lines) <= 150
    assert "make demo" in "\n".join(lines[:5])
    assert "make test" in "\n".join(lines[:5])
    assert sum(line.count("![") for line in lines) == 1
    steps = ("## Install", "$ scoter crawl", "$ scoter search", "$ scoter submit")
    places = [README.index(each) for each in (*steps, "## Where to read on", "## What it does not do")]
    assert places == sorted(places)
    assert "$ scoter crawl" in "\n".join(lines[:30])


def test_readme_shows_no_command_that_is_not_run() -> None:
    """Commands with a prompt are run as they are; the others set up an environment, as `make test-install` does."""
    for kind, block in FENCE.findall(README):
        assert kind in ("text", "sh"), block
        assert kind == "text" or all(re.match(r"python3 -m venv|source ", line) for line in block.splitlines()), block
        assert kind == "sh" or block.startswith("$ "), block


def test_links_of_the_readme_are_absolute_and_lead_to_files() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    home = project.get("urls", {}).get("Source", HOME).removesuffix("/")
    links = dict(LINK.findall(README))

    assert re.findall(r"\]\(", README) == []  # links are listed at the end
    assert set(re.findall(r"\]\[([\w-]+)\]", README)) == links.keys()
    for target in links.values():
        found = re.fullmatch(rf"{re.escape(home)}/(?:blob|raw)/main/([^#]+)", target)
        assert found, target
        assert (ROOT / found[1]).exists(), target
