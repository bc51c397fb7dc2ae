"""A worker starts quickly."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("ibis", "duckdb", "pandas", "pyarrow.dataset", "regex", "numpy.ma")


def imported(module: str) -> list[str]:
    """Return which of the heavy packages an import loads."""
    code = f"import sys, {module}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_loading_the_jobs_of_a_crawl_does_not_load_ibis() -> None:
    assert "ibis" not in imported("scoter.batch.jobs.crawl, scoter.engine.duckdb, scoter.builtin.schedules")


def test_worker_imports_no_engine() -> None:
    assert imported("scoter.batch.worker.process") == []
    assert "ibis" in imported("scoter.engine.duckdb_compiler")  # so that the first line can fail
