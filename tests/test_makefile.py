"""`make help` stays short, `make help-all` complete, and `.ci/run` says what it ran."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
DESCRIBED = set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.MULTILINE))


def listed(target: str) -> list[str]:
    done = subprocess.run(
        ["make", "--no-print-directory", target], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return re.findall(r"^  make ([a-z-]+) ", done.stdout, re.MULTILINE)


def test_help_shows_at_most_ten_targets() -> None:
    everyday = listed("help")

    assert {"dev", "demo", "test", "check", "docs", "release"} <= set(everyday)
    assert len(everyday) <= 10


def test_help_all_shows_every_target_once() -> None:
    shown = listed("help-all")

    assert len(shown) == len(set(shown))
    assert set(shown) == DESCRIBED


def test_targets_that_are_not_files_are_described() -> None:
    (phony,) = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)", MAKEFILE, re.MULTILINE)

    assert set(phony.replace("\\", "").split()) - {"help-all", "nginx", "wrk"} == DESCRIBED
    assert {name for name in DESCRIBED if f" {name}" not in phony} == set()


def run_ci(tmp_path: Path, *, fails: str = "", minutes: int = 75) -> subprocess.CompletedProcess[str]:
    """Run `.ci/run` with a `make` that does nothing, or fails for one target."""
    fake = tmp_path / "make"
    fake.write_text(f'#!/bin/sh\necho "output of $1"\ntest -z "{fails}" || test "$1" != "{fails}"\n')
    fake.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CI_MINUTES": str(minutes)}
    return subprocess.run([ROOT / ".ci" / "run"], env=env, capture_output=True, text=True, check=False)


def test_ci_lists_the_suites_that_ran_with_their_times(tmp_path: Path) -> None:
    done = run_ci(tmp_path)
    ran = re.findall(r"^==   *(\d+) s  (.*)$", done.stdout.partition("== ran:")[2], re.MULTILINE)

    assert done.returncode == 0
    assert {"test and check", "test-slow", "demo", "kill-live LIVE_KILLS=8", "test-cluster"} <= {
        name for _, name in ran
    }
    assert "== not run: nothing" in done.stdout


def test_ci_lists_the_suites_that_did_not_run_for_lack_of_time(tmp_path: Path) -> None:
    done = run_ci(tmp_path, minutes=5)
    missed = done.stdout.partition("== not run:")[2]

    assert done.returncode == 0
    assert "test-slow (no time left)" in missed
    assert "demo" not in missed


def test_ci_that_fails_names_the_suite_and_lists_what_came_before_and_after(tmp_path: Path) -> None:
    done = run_ci(tmp_path, fails="test-cluster")
    ran, _, missed = done.stdout.partition("== ran:")[2].partition("== not run:")

    assert done.returncode != 0
    assert "kill-workers" in ran
    assert "FAILED test-cluster" in ran
    assert "test-browser (stopped before it)" in missed
    assert missed.endswith("== FAILED: test-cluster\noutput of test-cluster\n")
