"""updatedb with delta parts, and compact, killed at every step on the files of the crawldb."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("command", ["updatedb", "compact"])
def test_killed_command_leaves_the_version_before_or_after(tmp_path: Path, command: str) -> None:
    words = [sys.executable, "-m", "tests.batch.incremental_kills", str(tmp_path), command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)

    told = [tuple(json.loads(line)) for line in done.stdout.splitlines()]
    assert [(step, wrong) for step, wrong in told if wrong] == []
    steps = [step for step, _ in told]
    assert any(step.startswith("os.rename /CURRENT.new /CURRENT") for step in steps)
    assert any("_replaced" in step for step in steps) or command == "compact"
    assert any(step.startswith(("os.remove", "os.rmdir")) for step in steps)  # while sweeping
    assert steps[-1] == ""
