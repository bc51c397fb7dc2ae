"""updatedb stays within its memory limit, whatever the input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import batch_tables

# Started by a small process: a child counts the memory of the process that started it.
MEASURE = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
LONG = " || '?' || repeat('long-text-' || (i % 1000), 100)"


def make_long(path: Path, rows: int) -> None:
    """Create a crawl whose URLs are long, but compress very well."""
    parts = dict(batch_tables._PARTS_OF_A_URL)
    batch_tables._PARTS_OF_A_URL.update({name: parts[name] + LONG for name in ("url", "key")})
    batch_tables.make(path, rows, 1)


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("long", "rows", "limit"), [(False, 1_000_000, 512), (True, 150_000, 512)])
def test_update_stays_within_its_memory_limit(tmp_path: Path, long: bool, rows: int, limit: int) -> None:
    path = tmp_path / "crawl"
    if long:
        batch_tables.apart(make_long, path, rows)
    else:
        batch_tables.apart(batch_tables.make, path, rows, 1)

    words = ["-m", "scoter.cli.main", "updatedb", str(path), "--quiet", "-D", f"engine.memory_limit={limit}MiB"]
    measured = subprocess.run([sys.executable, "-c", MEASURE, *words], check=True, stdout=subprocess.PIPE, text=True)

    assert int(measured.stdout) / 1024 <= 1.3 * limit
