from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest


class Outcome(msgspec.Struct, frozen=True):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `scoter` as a person would, in an empty folder."""

    def command(*arguments: str | Path, stdin: str | bytes = b"", **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "scoter.cli.main", *map(str, arguments)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**{key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}, **environment},
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return command
