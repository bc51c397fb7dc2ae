"""The page about tables: its examples run."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from scoter.store.tables import FORMAT, Manifest, Table

PAGE = (Path(__file__).parents[3] / "docs" / "tables.md").read_text("utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SQL = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    schema = pa.schema([("url", pa.utf8()), ("status", pa.utf8()), ("score", pa.float64())])
    for status in ("unfetched", "fetched"):
        with Table.write(tmp_path / "crawldb", schema) as new:
            with new.part() as part:
                row = {"url": "http://example.com/", "status": status, "score": 0.5}
                part.write(pa.RecordBatch.from_pylist([row], schema=schema))
            new.commit()
    return tmp_path


@pytest.mark.parametrize("code", PYTHON, ids=["pandas", "polars", "scan", "write", "columns"])
def test_example_on_the_page_runs(crawl: Path, code: str) -> None:
    for library in ("pandas", "polars"):
        if f"import {library}" in code and find_spec(library) is None:
            pytest.skip(f"{library} is not installed")

    done = subprocess.run([sys.executable, "-c", code], cwd=crawl, capture_output=True, text=True, check=True)

    if "print" in code:
        assert "http://example.com/" in done.stdout
    else:
        assert Table.open(crawl / "mytable").manifest.applied == ("20261115033000",)


def test_query_on_the_page_reads_the_current_version_only(crawl: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    (query,) = SQL
    here = Path.cwd()
    os.chdir(crawl)
    try:
        found = duckdb.connect().execute(query).fetchall()
    finally:
        os.chdir(here)

    assert found == [("fetched", 1, 0.5)]


def test_every_manifest_key_is_documented() -> None:
    for field in msgspec.structs.fields(Manifest):
        assert f"`{field.name}`" in PAGE
    assert f"(version {FORMAT})" in PAGE
