"""Commands run inside the test's own process: what they import is imported once."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from unittest import mock

from tests.cli.conftest import Outcome

from scoter.cli.invocation import Invocation
from scoter.cli.main import _run


def run_inside(folder: Path, *arguments: str | Path) -> Outcome:
    """Run `scoter` as a person would in a folder, without a process of its own."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    clean = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    with (
        mock.patch.dict(os.environ, clean, clear=True),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _run([str(each) for each in arguments], Invocation())
        out.flush()
        err.flush()
    return Outcome(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())
