"""A fetching process is quick to start."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("ibis", "duckdb", "pandas", "pyarrow.dataset")


def imported(module: str, after: str = "") -> list[str]:
    """Return which of the heavy packages a process has after an import."""
    code = f"import sys, {module}\n{after}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_a_fetching_process_imports_no_engine() -> None:
    assert imported("scoter.batch.fetching.worker") == []
    assert "ibis" in imported("scoter.batch.crawl")  # so that the first line can fail


@pytest.mark.parametrize(("is_kept_out", "expected"), [(True, []), (False, ["pandas"])])
def test_arrow_brings_pandas_along_unless_it_is_kept_out(is_kept_out: bool, expected: list[str]) -> None:
    keep_out = "sys.meta_path.insert(0, scoter.batch.fetching.worker._WithoutPandas())" if is_kept_out else ""

    found = imported("scoter.batch.fetching.worker", f"{keep_out}\nimport pyarrow\npyarrow.array([1])")

    assert found == expected
