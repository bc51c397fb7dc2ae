"""Temporary folders: removed on close, swept after their owner was killed, kept while in use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scoter.errors import UsageError
from scoter.store.disk import Scratch, sweep

_OWNER = """
import sys
from pathlib import Path
from scoter.store.disk import Scratch
scratch = Scratch(Path(sys.argv[1]), "job")
(scratch.path / "data").write_text("x")
print(scratch.path.name, flush=True)
sys.stdin.read()
"""


def test_folder_is_created_with_parents_and_removed_on_close(tmp_path: Path) -> None:
    inside = tmp_path / "crawl" / "tmp"
    first, second = Scratch(inside, "job"), Scratch(inside, "job")
    (first.path / "data").write_text("x")

    first.close()

    assert [path.name for path in inside.iterdir()] == [second.path.name]
    second.close()
    assert list(inside.iterdir()) == []


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, "job")

    scratch.close()
    scratch.close()

    assert list(tmp_path.iterdir()) == []


def test_sweep_removes_folders_of_killed_processes_only(tmp_path: Path) -> None:
    ours = Scratch(tmp_path, "ours")
    command = [sys.executable, "-c", _OWNER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        theirs = owner.stdout.readline().strip()

        while_alive = sweep(tmp_path)
        owner.kill()
        owner.wait()
        afterwards = sweep(tmp_path)

    assert while_alive == []
    assert afterwards == [theirs]
    assert list(tmp_path.iterdir()) == [ours.path]
    ours.close()


def test_sweep_removes_other_folders_and_files(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "data").write_text("x")
    (tmp_path / "stray.parquet").write_text("x")

    assert sweep(tmp_path) == ["old", "stray.parquet"]

    assert list(tmp_path.iterdir()) == []


def test_sweeping_a_missing_folder_finds_nothing(tmp_path: Path) -> None:
    assert sweep(tmp_path / "nowhere") == []


def test_folder_that_cannot_be_created_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(UsageError, match="cannot create a folder for temporary files"):
        Scratch(tmp_path / "file" / "tmp", "job")
