"""Compiled queries are found again, bounded, and never out of date."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest

from scoter.plugins import query_cache
from scoter.plugins.query_cache import QueryCache


def test_value_is_found_by_another_process(tmp_path: Path) -> None:
    QueryCache(tmp_path / "queries").put("key", {"sql": "SELECT 'ü'"})

    assert QueryCache(tmp_path / "queries").get("key") == {"sql": "SELECT 'ü'"}
    assert QueryCache(tmp_path / "queries").get("other") is None


@pytest.mark.parametrize("left", [b"", b'{"key": "key"', b"[]", b'{"key": "other", "value": 1}', b"\xff"])
def test_damaged_file_counts_as_missing_and_is_replaced(tmp_path: Path, left: bytes) -> None:
    QueryCache(tmp_path).put("key", 1)
    [file] = tmp_path.iterdir()
    file.write_bytes(left)

    assert QueryCache(tmp_path).get("key") is None

    QueryCache(tmp_path).put("key", 2)
    assert QueryCache(tmp_path).get("key") == 2


@pytest.mark.parametrize("package", ["scoter", "ibis-framework", "sqlglot", "duckdb"])
def test_another_version_has_other_entries(tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    QueryCache(tmp_path).put("key", 1)

    monkeypatch.setattr(query_cache, "version", lambda name: "99" if name == package else version(name))

    assert QueryCache(tmp_path).get("key") is None


def test_files_are_bounded(tmp_path: Path) -> None:
    cache = QueryCache(tmp_path, most=10)
    for number in range(100):
        cache.put(f"key {number}", number)

    assert len(list(tmp_path.iterdir())) <= 10
    assert QueryCache(tmp_path).get("key 99") == 99


def test_writers_at_the_same_time_leave_whole_files(tmp_path: Path) -> None:
    def write(number: int) -> None:
        QueryCache(tmp_path, most=20).put(f"key {number % 7}", "x" * 100_000)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(100)))

    assert {json.loads(file.read_bytes())["value"] for file in tmp_path.iterdir()} == {"x" * 100_000}
    assert len(list(tmp_path.iterdir())) == 7


def test_without_a_place_values_are_kept_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = QueryCache(tmp_path / "file" / "queries")

    cache.put("key", 1)

    assert cache.get("key") == 1
