"""Reading objects in few requests."""

from __future__ import annotations

import io
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.store.objects import query_files
from scoter.store.objects.client import ObjectClient
from scoter.store.objects.query_files import ObjectReader, QueryFiles


class CountingStore:
    """Objects in memory, and what was read of them."""

    def __init__(self, **objects: bytes) -> None:
        self.objects = objects
        self.reads: list[tuple[str, int, int]] = []

    def url(self, key: str) -> str:
        return f"s3://bucket/{key}"

    def arrow_path(self, key: str) -> str:
        return f"bucket/{key}".rstrip("/")

    def entries(self, folder: str) -> dict[str, int | None]:
        below = (key.removeprefix(f"{folder}/") for key in self.objects if key.startswith(f"{folder}/"))
        return {
            name.partition("/")[0]: None if "/" in name else len(self.objects[f"{folder}/{name}"]) for name in below
        }

    def end(self, key: str, most: int) -> tuple[bytes, int] | None:
        data = self.objects.get(key)
        if data is None:
            return None
        self.reads.append((key, max(0, len(data) - most), len(data)))
        return data[-most:], len(data)

    def range(self, key: str, start: int, until: int) -> bytes:
        self.reads.append((key, start, until))
        return self.objects[key][start:until]


def files_of(store: CountingStore) -> QueryFiles:
    return QueryFiles(cast("ObjectClient", store))


def test_small_object_is_read_in_one_request() -> None:
    store = CountingStore(part=b"0123456789")
    files = files_of(store)

    assert files.exists("s3://bucket/part")
    assert files.size("bucket/part") == 10
    assert files.open("s3://bucket/part").read() == b"0123456789"
    assert len(store.reads) == 2, "once by its URL, and once by its path"
    assert files.open("s3://bucket/part").read(3) == b"012"
    assert len(store.reads) == 2


def test_missing_object_does_not_exist() -> None:
    files = files_of(CountingStore())

    assert not files.exists("s3://bucket/part")
    with pytest.raises(FileNotFoundError):
        files.open("s3://bucket/part")


def test_folders_are_listed() -> None:
    files = files_of(CountingStore(**{"v1/part": b"12", "v1/more/part": b""}))

    assert files.ls("bucket/v1/", detail=False) == ["bucket/v1/part", "bucket/v1/more"]
    assert files.find("bucket/v1") == ["bucket/v1/more/part", "bucket/v1/part"]
    assert [files.info(f"bucket/{name}")["type"] for name in ("v1", "v1/part")] == ["directory", "file"]


def test_objects_are_not_written() -> None:
    with pytest.raises(PermissionError):
        files_of(CountingStore(part=b"")).open("s3://bucket/part", "wb")


def test_kept_ends_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_files, "_MOST_KEPT", 25)
    store = CountingStore(**{f"part{number}": bytes(10) for number in range(4)})
    files = files_of(store)

    for number in (0, 1, 0, 2, 0, 1):
        files.open(f"s3://bucket/part{number}")

    assert [key for key, _, _ in store.reads] == ["part0", "part1", "part2", "part1"], "the last ones are kept"


@given(
    st.integers(0, 400),
    st.integers(1, 100),
    st.integers(1, 60),
    st.lists(st.tuples(st.integers(0, 420), st.integers(-1, 200)), max_size=8),
)
def test_any_range_is_read_right(size: int, end: int, block: int, ranges: list[tuple[int, int]]) -> None:
    data = bytes(number % 251 for number in range(size))
    store = CountingStore(part=data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_files, "_BLOCK", block)
        reader = ObjectReader(cast("ObjectClient", store), "part", data[-end:], size)
        for start, length in ranges:
            assert reader.seek(start) == start
            assert reader.read(length) == (data[start:] if length < 0 else data[start : start + length])
        assert reader.seek(-1, io.SEEK_END) == max(0, size - 1)
    assert all(start < until <= size for _, start, until in store.reads)


def test_columns_of_a_large_table_are_read_without_the_others() -> None:
    large = pa.table({"a": list(range(300_000)), "b": [f"{number * 7919:x}" * 3 for number in range(300_000)]})
    sink = io.BytesIO()
    pq.write_table(large, sink, row_group_size=100_000, compression="none")
    store = CountingStore(part=sink.getvalue())

    reader: Any = files_of(store).open("s3://bucket/part")
    found = pq.read_table(reader, columns=["a"])

    assert found["a"].to_pylist() == list(range(300_000))
    assert sum(until - start for _, start, until in store.reads) < 0.7 * len(sink.getvalue())
    assert len(store.reads) <= 4
