"""Settings that keep Arrow small."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ARRAYS = """
import sys
import pyarrow as pa
from scoter.store.arrow import limit_arrow_memory
if sys.argv[1] == "small":
    limit_arrow_memory(), limit_arrow_memory()
table = pa.table({"a": ["x", "y"]})
print("pandas" in sys.modules, pa.default_memory_pool().backend_name == "jemalloc")
import pandas
print(table.to_pandas().a.tolist(), pa.array(pandas.Series([1, 2])).to_pylist())
"""


COMMAND = """
import sys
from contextlib import suppress
from scoter.cli.main import main
with suppress(SystemExit):
    main(["--version"])
import pyarrow as pa
import pyarrow.compute as pc
print(pa.default_memory_pool().backend_name, pc.round(pa.scalar(1.26), ndigits=1), "pydoc" in sys.modules)
"""
WITHOUT = """
import pyarrow as pa
def lacking(*_):
    raise pa.ArrowNotImplementedError("not built in")
pa.jemalloc_set_decay_ms = pa.jemalloc_memory_pool = lacking
from scoter.store.arrow import limit_arrow_memory
limit_arrow_memory()
print(pa.default_memory_pool().backend_name)
"""


def printed(*command: str) -> list[str]:
    # A command run in this process by another test has already set the variable.
    env = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    whole = [sys.executable, "-c", *command]
    return subprocess.run(whole, capture_output=True, text=True, check=True, timeout=60, env=env).stdout.splitlines()


@pytest.mark.parametrize(("how", "expected"), [("small", "False True"), ("as it is", "True False")])
def test_arrays_are_created_without_importing_pandas(how: str, expected: str) -> None:
    assert printed(ARRAYS, how) == [expected, "['x', 'y'] [1, 2]"]


def test_command_selects_the_allocator_before_loading_arrow_without_its_documentation() -> None:
    assert printed(COMMAND)[-1] == "jemalloc 1.3 False"


def test_arrow_without_jemalloc_uses_the_system_allocator() -> None:
    assert printed(WITHOUT) == ["system"]
