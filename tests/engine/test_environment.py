"""The archive with the packages of Spark's executors."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from scoter.engine import environment
from scoter.errors import UsageError


@pytest.mark.slow
def test_packed_packages_suffice_to_run_row_functions(tmp_path: Path) -> None:
    packed = environment.pack(tmp_path / "environment.tar.gz")
    with tarfile.open(packed.file) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    program = (
        "import botocore, scoter.engine.spark_files, scoter.plugins as p; print(len(p.installed()), scoter.__file__)"
    )

    # Isolated from this environment: only the interpreter and the archive.
    done = subprocess.run(
        [str(Path(sys.base_prefix) / "bin" / "python3"), "-S", "-c", program],
        env={"PYTHONPATH": str(tmp_path / "unpacked"), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    count, file = done.stdout.split()
    assert int(count) > 50
    assert Path(file).is_relative_to(tmp_path / "unpacked")
    assert any(each.startswith("scoter ") for each in packed.packages)
    assert not any(each.startswith(("pyspark ", "pytest ")) for each in packed.packages)


@pytest.mark.parametrize(("name", "problem"), [("e.zip", "must end in .tar.gz"), ("there.tar.gz", "the file exists")])
def test_unsuitable_name_is_refused(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "there.tar.gz").touch()

    with pytest.raises(UsageError, match=problem):
        environment.pack(tmp_path / name)
    assert (tmp_path / "there.tar.gz").stat().st_size == 0
