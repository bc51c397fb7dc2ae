"""Arrow in a process that should stay small."""

from __future__ import annotations

import os
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
    # A command that another test has run in this process has made its choice for all that follow.
    env = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    command = [sys.executable, "-c", ARRAYS, how]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=env)

    assert done.stdout.splitlines() == [expected, "['x', 'y'] [1, 2]"]
