"""How tests run commands: in their own process, where modules are imported once, or in a new one."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import msgspec
import pytest

from scoter.cli.invocation import Invocation
from scoter.cli.main import run as run_command


class Outcome(msgspec.Struct, frozen=True):
    """The output and exit code of a command."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run `scoter` in an empty folder, in the test's own process."""
    return partial(run_in_process, tmp_path)


@pytest.fixture
def run_process(tmp_path: Path) -> Run:
    """Run `scoter` in an empty folder, in a new process."""

    def command(*arguments: str | Path, stdin: str | bytes = b"", **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "scoter.cli.main", *map(str, arguments)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=tmp_path,
            env={**_clean_environment(), **environment},
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return command


def run_in_process(folder: Path, *arguments: str | Path, stdin: str | bytes = b"", **environment: str) -> Outcome:
    """Run `scoter` in a folder without starting a process."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with (
        mock.patch.dict(os.environ, {**_clean_environment(), **environment}, clear=True),
        contextlib.chdir(folder),
        _standard_input(stdin.encode() if isinstance(stdin, str) else stdin),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = run_command([str(each) for each in arguments], Invocation())
        out.flush()
        err.flush()
    return Outcome(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())


def _clean_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}


@contextlib.contextmanager
def _standard_input(data: bytes) -> Iterator[None]:
    """Replace the descriptor too: commands read /dev/stdin."""
    saved = os.dup(0)
    try:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            os.dup2(file.fileno(), 0)
            with open(0, closefd=False) as stdin, mock.patch.object(sys, "stdin", stdin):
                yield
    finally:
        os.dup2(saved, 0)
        os.close(saved)
