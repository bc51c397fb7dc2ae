"""Arrow in a process that should stay small."""

from __future__ import annotations

import subprocess
import sys

import pytest

ARRAYS = """
import sys
import pyarrow as pa
from scoter.store.arrow import stay_small
if sys.argv[1] == "small":
    stay_small(), stay_small()
table = pa.table({"a": ["x", "y"]})
print("pandas" in sys.modules, pa.default_memory_pool().backend_name == "jemalloc")
import pandas
print(table.to_pandas().a.tolist(), pa.array(pandas.Series([1, 2])).to_pylist())
"""


@pytest.mark.parametrize(("how", "expected"), [("small", "False True"), ("as it is", "True False")])
def test_arrays_are_made_without_pandas_which_stays_there_for_those_who_want_it(how: str, expected: str) -> None:
    done = subprocess.run([sys.executable, "-c", ARRAYS, how], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.splitlines() == [expected, "['x', 'y'] [1, 2]"]
