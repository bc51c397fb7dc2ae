"""Arrow in a process that should stay small."""

from __future__ import annotations

import subprocess
import sys

SMALL = """
import sys
from scoter.store.arrow import stay_small
stay_small(), stay_small()
import pyarrow as pa
table = pa.table({"a": ["x", "y"]})
print("pandas" in sys.modules, pa.default_memory_pool().backend_name)
import pandas
print(table.to_pandas().a.tolist(), pa.array(pandas.Series([1, 2])).to_pylist())
"""


def test_arrays_are_made_without_pandas_which_stays_there_for_those_who_want_it() -> None:
    done = subprocess.run([sys.executable, "-c", SMALL], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["False system", "['x', 'y'] [1, 2]"]
