"""The contract of every table, in a folder or in an object store."""

from __future__ import annotations

import os
import socket
import threading
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.store.tables.rows import NOW, SCHEMA, marks, rows
from tests.store.tables.stores import Store, make_store

from scoter.errors import UsageError, UserError
from scoter.plugins import Column
from scoter.store.tables import PartLimits, PartSet, clean


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return make_store(request.param, tmp_path)


def test_committed_rows_are_read(store: Store) -> None:
    made = store.write(7, parts=2, applied=["20261115033000"])

    table = store.open()

    assert (table.version, table.count(), made.version) == (1, 20, 1)
    assert marks(table) == [7] * 20
    assert table.manifest == made
    assert (made.created, made.writer, made.applied, made.previous) == (NOW, "test", ("20261115033000",), None)
    assert table.schema.equals(SCHEMA)
    assert [name.rsplit("/", 1)[1] for name in table.files] == ["part-00001.parquet", "part-00002.parquet"]
    assert store.names("v000001") == {"part-00001.parquet", "part-00002.parquet", "_manifest.json"}
    table.verify()


def test_uncommitted_version_is_invisible(store: Store) -> None:
    store.write(1)

    with store.new() as new:
        with new.part() as part:
            part.write(rows(2))
        assert marks(store.open()) == [1] * 10
        new.commit()
        assert marks(store.open()) == [2] * 10


def test_version_without_a_commit_is_removed(store: Store) -> None:
    store.write(1)
    before = store.names()

    with store.new() as new, new.part() as part:
        part.write(rows(2))
    with pytest.raises(UsageError, match="the column url is missing and"), store.new() as new, new.part() as part:
        part.write(rows(2).select(["mark"]))

    assert store.names() == before
    assert marks(store.open()) == [1] * 10
    assert store.write(3).version == 2


def test_only_the_previous_version_is_kept(store: Store) -> None:
    for mark in range(1, 5):
        store.write(mark)

    assert store.versions() == [3, 4]
    assert marks(store.open(version=3)) == [3] * 10
    with pytest.raises(UsageError, match=r"v000002: this version no longer exists.*\n.*again"):
        store.open(version=2)


def test_keep_retains_more_versions(store: Store) -> None:
    for mark in range(1, 5):
        with store.new(keep=2) as new:
            with new.part() as part:
                part.write(rows(mark))
            new.commit()

    assert store.versions() == [2, 3, 4]


def test_clean_removes_only_unfinished_versions(store: Store) -> None:
    store.write(1)
    store.write(2)
    place = store.place
    for stray in ("v000003", "v000009"):
        place.make(stray)
        place.replace(f"{stray}/part-00001.parquet", b"half")

    assert clean(store.root, options=store.options) == ["v000003", "v000009"]

    assert store.versions() == [1, 2]
    assert marks(store.open()) == [2] * 10


def test_next_writer_removes_unfinished_versions_and_skips_their_numbers(store: Store) -> None:
    store.write(1)
    place = store.place
    place.make("v000004")
    place.replace("v000004/part-00001.parquet", b"half")

    made = store.write(2)

    assert (made.version, made.previous) == (5, 1)
    assert store.versions() == [1, 5]


def test_applied_segments_are_remembered_and_cannot_be_applied_twice(store: Store) -> None:
    store.write(1, applied=["a", "b"])
    store.write(2)
    with pytest.raises(UsageError, match="the segment b was already applied"):
        store.write(3, applied=["c", "b"])
    assert store.write(4, applied=["c"]).applied == ("a", "b", "c")

    with store.new() as new:
        assert new.previous is not None
        assert new.previous.applied == ("a", "b", "c")
        assert new.commit(forget=["a"]).applied == ("b", "c")


def test_error_for_a_second_writer_names_the_first(store: Store) -> None:
    store.write(1)
    with store.new(writer="updatedb", clock=lambda: NOW) as new:
        with pytest.raises(UsageError) as refused, store.new():
            pass
        with new.part() as part:
            part.write(rows(2))
        new.commit()

    told = str(refused.value)
    assert f"process {os.getpid()} on {socket.gethostname()} (updatedb), since 2026-11-15 03:30:00" in told
    assert store.root in told
    assert marks(store.open()) == [2] * 10
    assert store.write(3).version == 3


def test_empty_table_has_its_columns(store: Store) -> None:
    with store.new() as new:
        assert new.commit().rows == 0

    table = store.open()

    assert (table.count(), marks(table), len(table.files)) == (0, [], 1)
    assert table.schema.equals(SCHEMA)


def test_size_limits_determine_files_and_row_groups(store: Store) -> None:
    bounds = PartLimits(row_group_rows=100, part_bytes=1_000)
    with store.new(bounds=bounds) as new:
        with new.part() as part:
            for mark in range(20):
                part.write(rows(mark, 70))
        made = new.commit()

    assert made.rows == 1_400
    assert len(made.parts) > 3
    assert sum(part.rows for part in made.parts) == 1_400
    assert all(part.size < 6_000 for part in made.parts)
    table = store.open()
    assert marks(table) == [mark for mark in range(20) for _ in range(70)]
    filesystem = store.place.filesystem
    for each in made.parts:
        path = store.place.arrow_path(f"{made.name}/{each.name}")
        meta = pq.read_metadata(path, filesystem=filesystem)
        sizes = [meta.row_group(at).num_rows for at in range(meta.num_row_groups)]
        assert set(sizes[:-1]) <= {100}
        assert sizes[-1] <= 100
        assert meta.row_group(0).column(0).compression == "ZSTD"


def test_files_written_elsewhere_are_adopted(store: Store, tmp_path: Path) -> None:
    elsewhere = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_batches([rows(1)]), elsewhere)
    with store.new() as new:
        inside = new.workspace / "y.parquet"
        pq.write_table(pa.Table.from_batches([rows(2)]), inside)
        (new.workspace / "left-over").write_text("x")
        new.adopt(elsewhere)
        new.adopt(inside)
        made = new.commit()

    table = store.open()
    table.verify()
    assert marks(table) == [1] * 10 + [2] * 10
    assert store.names("v000001") == {"part-00001.parquet", "part-00002.parquet", "_manifest.json"}
    assert made.rows == 20
    assert not elsewhere.exists()
    assert not inside.parent.exists()


def test_scan_selects_columns_and_filters_rows(store: Store) -> None:
    store.write(1)
    table = store.open()

    found = list(table.scan(["url"], pc.field("url") == "http://example.com/1/3"))

    assert [batch.schema.names for batch in found if batch.num_rows] == [["url"]]
    assert sum(batch.num_rows for batch in found) == 1
    assert table.count(pc.field("mark") > 1) == 0
    with pytest.raises(UsageError, match=r"there is no column marc\nDid you mean mark\?"):
        list(table.scan(["marc"]))
    with pytest.raises(UsageError, match="the filter does not match"):
        list(table.scan(None, pc.field("nothing") > 1))


def test_plugin_columns_can_be_added_and_removed(store: Store) -> None:
    depth = Column("depth", "int32", 7)
    store.write(1)

    with store.open(SCHEMA, extra=[depth]) as before:
        (batch,) = before.scan(["depth", "mark"])
        assert batch.column("depth").to_pylist() == [7] * 10
        assert (before.count(pc.field("depth") == 7), before.count(pc.field("depth") == 8)) == (10, 0)
        assert before.missing == {"depth": pa.scalar(7, pa.int32())}

    with store.new(extra=[depth]) as new:
        with new.part() as part:
            part.write(rows(2))
        made = new.commit()
    assert made.plugin_columns == (depth,)
    assert [column.name for column in made.columns] == ["url", "mark", "depth"]

    with store.open(SCHEMA, extra=[Column("depth", "int64", 9)]) as wider:
        (batch,) = wider.scan()
        assert batch.schema.field("depth").type == pa.int64()
        assert batch.column("depth").to_pylist() == [7] * 10
    with store.open(SCHEMA) as without:
        assert without.schema.names == ["url", "mark"]
        assert marks(without) == [2] * 10
    with pytest.raises(UsageError, match=r"the column depth holds int32, but string is expected"):
        store.open(SCHEMA, extra=[Column("depth", "utf8")])


def test_reader_sees_whole_versions_while_a_writer_commits_fifty(store: Store) -> None:
    versions = 6 if store.is_remote else 50
    store.write(1, parts=2)
    done = threading.Event()
    failures: list[BaseException] = []
    seen: list[int] = []
    progress = threading.Condition()

    def has_seen(mark: int) -> bool:
        return bool(seen) and seen[-1] >= mark

    def commit_all() -> None:
        try:
            for mark in range(2, versions + 1):
                store.write(mark, parts=2)
                if mark <= 4:  # the reader must not miss all of them on a busy machine
                    with progress:
                        assert progress.wait_for(partial(has_seen, mark), timeout=120)
        except BaseException as failure:
            failures.append(failure)
        finally:
            done.set()

    writer = threading.Thread(target=commit_all)
    writer.start()
    while not done.is_set():
        try:
            with store.open() as table:
                assert marks(table) == [table.version] * 20
                with progress:
                    seen.append(table.version)
                    progress.notify()
        except UsageError:
            # In an object store readers hold no version: two versions later a reader must reopen the table.
            if not store.is_remote:
                raise
    writer.join()

    assert failures == []
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert marks(store.open()) == [versions] * 20


def test_parts_of_a_segment_are_read_as_one_table(store: Store) -> None:
    parts = PartSet(store.root, SCHEMA, options=store.options)
    for mark in (1, 2):
        with parts.part() as part:
            part.write(rows(mark))
    given = parts.part("list-7")
    given.write(rows(3))
    assert parts.count() == 20
    given.seal()
    assert parts.count() == 20
    given.publish()

    assert parts.count() == 30
    found = [each for batch in parts.scan(["mark"]) for each in batch.column("mark").to_pylist()]
    assert sorted(found) == [1] * 10 + [2] * 10 + [3] * 10
    assert "list-7.parquet" in parts.finished()
    assert len(parts.files) == 3
    taken = r"a part of this name already exists|another process has changed it"
    with pytest.raises(UserError, match=taken), parts.part("list-7") as second:
        second.write(rows(4))
    parts.close()


def test_parts_of_older_schemas_are_read_with_current_columns(store: Store) -> None:
    with PartSet(store.root, SCHEMA, options=store.options).part("a") as part:
        part.write(rows(1))
    today = PartSet(store.root, SCHEMA, extra=[Column("depth", "int32", 4)], options=store.options)
    with today.part("b") as part:
        part.write(rows(2).append_column("depth", pa.array(range(10), pa.int32())))

    found = [each for batch in today.scan(["depth"]) for each in batch.column("depth").to_pylist()]

    assert found == [4] * 10 + list(range(10))
    assert PartSet(store.root, SCHEMA, options=store.options).count() == 20
    today.close()
