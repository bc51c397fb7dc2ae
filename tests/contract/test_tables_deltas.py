"""The contract of delta parts and replaced rows, in a folder or in an object store."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.store.tables.rows import SCHEMA, marks, rows
from tests.store.tables.stores import Store, make_store

from scoter.errors import Defect, UsageError
from scoter.plugins import Column
from scoter.store.tables import Manifest, clean
from scoter.store.tables.replaced import POSITIONS


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return make_store(request.param, tmp_path)


def extend(store: Store, mark: int, replaced: dict[str, list[int]], count: int = 2) -> Manifest:
    """Add a delta part, and replace rows of earlier parts."""
    with store.new() as new:
        assert new.previous is not None
        new.extend(new.previous.version)
        file = new.workspace / "delta.parquet"
        pq.write_table(pa.Table.from_batches([rows(mark, count)]), file)
        new.adopt(file)
        places = [{"part": part, "row": row} for part, numbers in replaced.items() for row in numbers]
        positions = new.workspace / "positions.parquet"
        pq.write_table(pa.Table.from_pylist(places, schema=POSITIONS), positions)
        assert new.replace_rows(positions) == len(places)
        return new.commit()


FIRST = "v000001/part-00001.parquet"


def test_reader_gets_base_and_delta_without_replaced_rows(store: Store) -> None:
    store.write(1)

    made = extend(store, 2, {FIRST: [0, 9]})
    made = extend(store, 3, {FIRST: [4], f"{made.name}/part-00001.parquet": [1]})

    table = store.open()
    assert sorted(marks(table)) == [1] * 7 + [2] + [3] * 2
    assert (table.count(), made.rows, made.format) == (10, 10, 2)
    assert (table.count(pc.field("mark") == 1), table.count(pc.field("mark") == 3)) == (7, 2)
    urls = [url for batch in table.scan(["url"], pc.field("mark") < 3) for url in batch["url"].to_pylist()]
    gone = {f"http://example.com/1/{number}" for number in (0, 4, 9)}
    assert len(urls) == 8
    assert gone.isdisjoint(urls)
    table.verify()
    assert table.files[0].endswith(f"/table/{FIRST}")


def test_files_that_newer_versions_need_are_not_removed(store: Store) -> None:
    store.write(1)
    for mark in (2, 3, 4, 5):
        extend(store, mark, {FIRST: [mark]})
    clean(store.root, keep=0, options=store.options)

    with store.open() as table:
        table.verify()
        assert sorted(marks(table)) == [1] * 6 + [2, 2, 3, 3, 4, 4, 5, 5]
    assert "part-00001.parquet" in store.names("v000001")
    assert "_manifest.json" not in store.names("v000001")
    with pytest.raises(UsageError, match="this version no longer exists"):
        store.open(version=1)

    for mark in (6, 7):
        store.write(mark)
    assert len(store.versions()) == 2
    assert marks(store.open()) == [7] * 10


def test_previous_version_is_whole(store: Store) -> None:
    store.write(1)
    extend(store, 2, {FIRST: [1]})
    store.write(3)

    before = store.open(version=2)

    before.verify()
    assert sorted(marks(before)) == [1] * 9 + [2, 2]


def test_part_without_rows_left_is_dropped(store: Store) -> None:
    store.write(1)

    made = extend(store, 2, {FIRST: list(range(10))})

    assert [part.rows for part in made.parts] == [2]
    assert (made.replaced, made.format) == ((), 1)
    assert marks(store.open()) == [2, 2]


def test_outdated_version_cannot_be_extended(store: Store) -> None:
    store.write(1)
    store.write(2)

    with store.new() as new, pytest.raises(UsageError, match="another process has changed the table meanwhile"):
        new.extend(1)
    with store.new(extra=[Column("depth", "int32", 0)]) as new, pytest.raises(Defect, match="other columns"):
        new.extend(2)
    assert marks(store.open()) == [2] * 10


def test_row_is_not_replaced_twice(store: Store) -> None:
    store.write(1)
    extend(store, 2, {FIRST: list(range(9))})

    with pytest.raises(Defect, match="which has fewer"):
        extend(store, 3, {FIRST: [1, 2]})

    assert sorted(marks(store.open())) == [1, 2, 2]


def test_folder_of_a_plain_version_is_a_dataset(store: Store) -> None:
    store.write(1, parts=2)
    place = store.place

    found = ds.dataset(place.arrow_path("v000001"), filesystem=place.filesystem)
    table = pq.read_table(place.arrow_path("v000001"), filesystem=place.filesystem)

    assert (found.count_rows(), table.num_rows) == (20, 20)


def test_pandas_reads_the_folder_of_a_version(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    store = make_store("folder", tmp_path)
    store.write(1)
    extend(store, 2, {FIRST: [1]})

    assert len(pandas.read_parquet(tmp_path / "table" / "v000001")) == 10
    assert len(pandas.read_parquet(tmp_path / "table" / "v000002")) == 2  # only what this version added


def test_manifest_under_its_former_name_is_read(store: Store) -> None:
    store.write(1)
    place = store.place
    data = place.read("v000001/_manifest.json") or b""
    place.replace("v000001/manifest.json", data)
    place.remove("v000001/_manifest.json")

    assert marks(store.open()) == [1] * 10
    extend(store, 2, {FIRST: [0]})
    assert sorted(marks(store.open())) == [1] * 9 + [2, 2]
    store.write(3)
    store.write(4)
    assert store.versions() == [3, 4]
    assert store.open().schema.equals(SCHEMA)
