"""The page about tables: its examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scoter.store.tables import FORMAT, Manifest, Table
from scoter.store.tables.replaced import POSITIONS

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
    _, query = SQL
    here = Path.cwd()
    os.chdir(crawl)
    try:
        found = duckdb.connect().execute(query).fetchall()
    finally:
        os.chdir(here)

    assert found == [("fetched", 1, 0.5)]


def test_query_on_the_page_leaves_out_replaced_rows(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with Table.open(crawl / "crawldb") as table:
        schema, version = table.schema, table.version
    rows = [{"url": f"http://example.com/{number}", "status": "gone", "score": 1.0} for number in range(2)]
    with Table.write(crawl / "crawldb", schema) as new:  # a base part with a row that stays
        with new.part() as writer:
            writer.write(pa.RecordBatch.from_pylist(rows, schema=schema))
        new.commit()
    with Table.write(crawl / "crawldb", schema) as new:
        new.extend(version + 1)
        newer = pa.Table.from_pylist([{**rows[0], "status": "fetched"}], schema=schema)
        pq.write_table(newer, new.workspace / "delta.parquet")
        new.adopt(new.workspace / "delta.parquet")
        places = [{"part": f"v{version + 1:06d}/part-00001.parquet", "row": 0}]
        pq.write_table(pa.Table.from_pylist(places, schema=POSITIONS), new.workspace / "positions.parquet")
        new.replace_rows(new.workspace / "positions.parquet")
        new.commit()
    monkeypatch.chdir(crawl)

    found = duckdb.connect().execute(SQL[0]).fetchall()

    assert sorted(found) == [("fetched", 1, 1.0), ("gone", 1, 1.0)]


def test_every_manifest_key_is_documented() -> None:
    for field in msgspec.structs.fields(Manifest):
        assert f"`{field.name}`" in PAGE
    assert f"(version {FORMAT})" in PAGE
