"""Tests that need several processes: kills at random times, and two schedulers on one journal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(module: str, folder: Path, *arguments: int) -> str:
    command = [sys.executable, "-m", f"tests.live.stores.{module}", str(folder), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-4_000:]
    return done.stdout


@pytest.mark.slow
def test_killed_service_keeps_acknowledged_messages_and_records_once(tmp_path: Path) -> None:
    assert run("crashes", tmp_path, 15, 20260301).startswith("15 kills, ")


def test_two_schedulers_never_hold_the_same_entry(tmp_path: Path) -> None:
    assert run("shared_journal", tmp_path, 150, 7).startswith("150 entries, each recorded once")
