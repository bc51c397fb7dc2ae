"""A writer killed at any moment leaves the last version unchanged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.store.tables.killing import RANDOM_KILLS
from tests.store.tables.rows import marks, write

from scoter.store.tables import Table

ROOT = Path(__file__).parents[3]


def deaths(folder: Path, how: str) -> list[tuple[str, int, int, str]]:
    command = [sys.executable, "-m", "tests.store.tables.killing", str(folder), how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def test_writer_killed_at_any_step_leaves_the_last_version(tmp_path: Path) -> None:
    told = deaths(tmp_path / "t", "steps")

    assert [wrong for _, _, _, wrong in told if wrong] == []
    steps = [step for step, _, _, _ in told]
    assert any(step.startswith("os.rename") and "manifest.json" in step for step in steps)
    assert any(step.startswith("open /CURRENT.new") for step in steps)  # between the manifest and CURRENT
    assert any(step.startswith("os.rename /CURRENT.new /CURRENT") for step in steps)
    assert any(step.startswith("os.remove") and "manifest.json" in step for step in steps)  # while sweeping
    for step, before, after, _ in told:
        if step.startswith(("os.mkdir", "os.rename")):
            assert after == before, step
    assert steps.count("") == 2  # the last writer of each series finished
    assert all(after > before for step, before, after, _ in told if not step)


def test_writer_killed_at_random_moments_is_cleaned_up_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "t"

    told = deaths(folder, "1")

    assert len(told) == RANDOM_KILLS
    assert [wrong for _, _, _, wrong in told if wrong] == []
    assert told[-1][2] > 0
    write(str(folder), 1)
    made = write(str(folder), 2)
    assert marks(Table.open(folder)) == [2] * 10
    assert {each.name for each in folder.iterdir()} == {"CURRENT", "LOCK", f"v{made.previous:06d}", made.name}
    assert {each.name for each in (folder / made.name).iterdir()} == {"_manifest.json", "part-00001.parquet"}
