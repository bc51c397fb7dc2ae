"""Faults of tables, in a folder or an object store: each gives a clear message, and the last version stays."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.store.tables.rows import marks, rows
from tests.store.tables.stores import Store, make_store

from scoter.errors import Defect, UsageError, UserError
from scoter.store.tables import clean


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return make_store(request.param, tmp_path)


def test_file_with_another_schema_is_not_adopted(store: Store, tmp_path: Path) -> None:
    half, lacking, other = (tmp_path / name for name in ("half.parquet", "lacking.parquet", "other.parquet"))
    half.write_bytes(b"PAR1 and no end")
    pq.write_table(pa.table({"url": ["a"]}), lacking)
    pq.write_table(pa.table({"url": ["a"], "mark": ["text"]}), other)

    with store.new() as new:
        with pytest.raises(UserError, match=r"half.parquet: this is not a complete Parquet file"):
            new.adopt(half)
        with pytest.raises(UserError, match=r"lacking.parquet: the column mark is missing"):
            new.adopt(lacking)
        with pytest.raises(UserError, match=r"the column mark holds string, but int64 is expected"):
            new.adopt(other)
        with pytest.raises(UserError, match=r"cannot read the file: No such file"):
            new.adopt(tmp_path / "none.parquet")

    assert half.exists()


def test_opening_a_table_names_a_truncated_file(store: Store) -> None:
    store.write(1)
    place = store.place
    data = place.read("v000001/part-00001.parquet")
    assert data is not None
    place.replace("v000001/part-00001.parquet", data[:-10])

    with pytest.raises(UserError, match=r"part-00001.parquet: the file is damaged: it has \d+ bytes, not \d+"):
        store.open()


def test_reading_or_verifying_names_a_damaged_file(store: Store) -> None:
    store.write(1, parts=2)
    place = store.place
    data = bytearray(place.read("v000001/part-00002.parquet") or b"")
    data[4:200] = bytes(196)
    place.replace("v000001/part-00002.parquet", bytes(data))
    table = store.open()

    with pytest.raises(UserError, match=r"part-00002.parquet: the file is damaged: its checksum is"):
        table.verify()
    with pytest.raises(UserError, match=r"part-00002.parquet: the file is damaged: its checksum is"):
        list(table.scan())


def test_errors_distinguish_missing_unfinished_and_foreign_folders(store: Store) -> None:
    place = store.place
    with pytest.raises(UsageError, match="there is no table here: no such folder"):
        store.open()
    with pytest.raises(UsageError, match="there is no table here"):
        clean(store.root, options=store.options)

    place.make("v000001")
    place.replace("v000001/part-00001.parquet", b"half")
    with pytest.raises(UsageError, match="no finished version"):
        store.open()

    place.remove("v000001")
    place.replace("holiday.jpg", b"x")
    with pytest.raises(UsageError, match="this folder is not a table"):
        store.open()
    with pytest.raises(UsageError, match=r"this folder is not a table: it holds holiday\.jpg"), store.new():
        pass
    assert store.names() == {"holiday.jpg"}


def damage(store: Store, name: str, data: bytes) -> None:
    """Change a file that is written only once."""
    store.place.remove(name)
    store.place.replace(name, data)


def test_table_of_a_newer_format_is_refused_and_unchanged(store: Store) -> None:
    store.write(1)
    place = store.place
    data = place.read("v000001/_manifest.json") or b""
    damage(store, "v000001/_manifest.json", data.replace(b'"format": 1', b'"format": 9, "more": [1]'))
    before = store.names()

    with pytest.raises(UserError, match=r"newer version of Scoter .format 9, this version reads up to 2"):
        store.open()
    with pytest.raises(UserError, match="format 9"), store.new():
        pass

    assert store.names() - {"LOCK"} == before - {"LOCK"}


def test_unreadable_manifest_is_named(store: Store) -> None:
    store.write(1)

    for text in (b"", b"{", b"\xff\xfe", b'{"format": 1}', b"[]"):
        damage(store, "v000001/_manifest.json", text)
        with pytest.raises(UserError, match=r"manifest.json: the manifest cannot be read"):
            store.open()


def test_current_without_a_valid_version_is_an_error(store: Store) -> None:
    store.write(1)
    place = store.place

    place.replace("CURRENT", b"\xffnonsense")
    with pytest.raises(UserError, match=r"CURRENT: it does not name a version: .*nonsense"):
        store.open()
    place.replace("CURRENT", b"v000077\n")
    with pytest.raises(UserError, match=r"v000077/_manifest.json: the manifest of the current version is missing"):
        store.open()
    with pytest.raises(UserError, match="is missing"), store.new():
        pass


def test_damaged_manifest_of_the_previous_version_does_not_block_writers(store: Store) -> None:
    store.write(1)
    store.write(2)
    damage(store, "v000001/_manifest.json", b"{")

    assert clean(store.root) == []

    assert store.versions() == [1, 2]
    assert store.write(3).previous == 2


def test_versions_are_kept_if_current_is_lost(store: Store) -> None:
    store.write(1)
    store.write(2)
    store.place.remove("CURRENT")

    with pytest.raises(UserError, match=r"CURRENT: it is missing, though the table had versions"), store.new():
        pass

    assert store.versions() == [1, 2]


def test_version_cannot_be_committed_with_an_open_part_or_used_after_commit(store: Store) -> None:
    with store.new() as new:
        part = new.part()
        part.write(rows(1))
        with pytest.raises(Defect, match="while a part of it is being written"):
            new.commit()
        part.close()
        with pytest.raises(Defect, match="not as one name"):
            new.commit("20261115033000")
        new.commit()
        with pytest.raises(Defect, match="not open"):
            new.part()
    assert marks(store.open()) == [1] * 10
