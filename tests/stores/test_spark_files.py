"""What Spark's executors do in an object store, without Spark: they write parts, and read pieces of tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa
import pytest
from tests.stores.proxy import StoreProxy

from scoter.engine.sources import source_of, survey
from scoter.engine.spark_files import PART, ROW, _pieces, part_writer, row_reader
from scoter.errors import StoreConflict
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table
from scoter.store.tables.versions import StoredPart

pytest.importorskip("pyspark", reason="Spark is not installed")
pytestmark = [pytest.mark.stores, pytest.mark.timeout(120)]

SCHEMA = pa.schema([("url", pa.utf8()), ("key", pa.utf8()), ("score", pa.float64())])


def batches(*names: str) -> list[Any]:
    rows = [{"url": f"http://a.example/{name}", "key": f"example,a)/{name}", "score": 1.0} for name in names]
    return [pa.RecordBatch.from_pylist([row], schema=SCHEMA) for row in rows]


def written(folder: str, name: str, found: list[Any]) -> list[StoredPart]:
    """Do what a task does with the rows of its partition, and return what it reports."""
    reports = part_writer(folder, name, SCHEMA)(iter(found))
    return [msgspec.msgpack.decode(row["report"], type=StoredPart) for each in reports for row in each.to_pylist()]


def test_only_the_parts_of_successful_tasks_count(url: str) -> None:
    with Table.write(url, SCHEMA) as new:
        folder, name = new.reserve()
        written(folder, name, batches("a", "c"))  # its executor was lost before it could report
        new.register(written(folder, name, batches("a", "c")))
        new.register(written(*new.reserve(), batches("d")))
        assert written(folder, name, []) == []
        manifest = new.commit()

    with Table.open(url, SCHEMA) as table:
        table.verify()
        assert [key[-1] for batch in table.scan() for key in batch["key"].to_pylist()] == ["a", "c", "d"]
        there = {each.name for each in (StorePath.of(url) / manifest.name).glob("*.parquet")}
        assert there == {part.name for part in manifest.parts}
        assert [(part.lowest, part.highest) for part in manifest.parts] == [
            ("example,a)/a", "example,a)/c"),
            ("example,a)/d", "example,a)/d"),
        ]


def test_failed_task_leaves_nothing_and_its_error_is_that_of_the_store(url: str, store: StoreProxy) -> None:
    with Table.write(url, SCHEMA) as new:
        folder, name = new.reserve()

        def broken() -> Any:
            yield from batches("a")
            raise StoreConflict("the rows cannot be read", where=folder)

        with pytest.raises(StoreConflict):
            list(part_writer(folder, name, SCHEMA)(broken()))
        assert not list(StorePath.of(folder).glob("*.parquet"))
        new.commit()


def test_pieces_together_have_every_row_once_with_its_position(url: str) -> None:
    with Table.write(url, SCHEMA) as new:
        for names in (("a", "b"), ("c",), ("d", "e", "f")):
            new.register(written(*new.reserve(), batches(*names)))
        new.commit()

    with Table.open(url, SCHEMA) as table:
        found = survey(source_of(table))
        for size in (1, 100, 10**9):
            pieces = _pieces(found.groups, found.row_bytes, size)
            numbers = pa.RecordBatch.from_pydict({"id": list(range(len(pieces)))})
            rows = [
                row
                for each in row_reader(pieces, SCHEMA, 2, positions=True)(iter([numbers]))
                for row in each.to_pylist()
            ]
            assert [row["key"][-1] for row in rows] == list("abcdef")
            assert [row[ROW] for row in rows] == [0, 1, 0, 0, 1, 2]
            assert [row[PART].rpartition("/")[2] for row in rows] == [
                part.name for part in table.manifest.parts for _ in range(part.rows)
            ]
            assert len(pieces) == (1 if size == 10**9 else len(pieces))
