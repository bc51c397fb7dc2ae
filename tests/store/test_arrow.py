"""Arrow in a process that should stay small."""

from __future__ import annotations

import subprocess
import sys

SMALL = """
import sys
from scoter.store.arrow import stay_small
stay_small(), stay_small()
import pyarrow as pa
assert pa.array(["a", None]).to_pylist() == ["a", None]
print("pandas" in sys.modules, pa.default_memory_pool().backend_name)
"""


def test_arrays_are_made_without_pandas_and_by_the_systems_allocator() -> None:
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "system"]
