"""Parts count once they have their final name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.store.tables.rows import SCHEMA, rows

from scoter.errors import Defect, UsageError, UserError
from scoter.store.tables import PartSet

ROOT = Path(__file__).parents[3]
KILLED = """
import os, signal, sys
from tests.store.tables.rows import SCHEMA, rows
from scoter.store.tables import PartSet
parts = PartSet(sys.argv[1], SCHEMA)
with parts.part() as part:
    part.write(rows(1))
left = parts.part()
left.write(rows(2))
if sys.argv[2] == "sealed":
    left.seal()
os.kill(os.getpid(), signal.SIGKILL)
"""


def listed(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("state", ["open", "sealed"])
def test_recovery_removes_unfinished_parts_only(tmp_path: Path, state: str) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), state], cwd=ROOT, check=False)
    parts = PartSet(tmp_path, SCHEMA)
    assert listed(tmp_path) == ["part-00001.parquet", "part-00002.parquet.open"]
    assert parts.count() == 10

    assert parts.recover() == ["part-00002.parquet.open"]

    assert listed(tmp_path) == ["part-00001.parquet"]
    assert parts.count() == 10


def test_recovery_keeps_parts_being_written(tmp_path: Path) -> None:
    parts = PartSet(tmp_path, SCHEMA)
    mine = parts.part()
    mine.write(rows(1))

    assert parts.recover() == []

    mine.finish()
    assert parts.count() == 10
    assert parts.recover() == []


def test_concurrently_open_parts_have_distinct_names(tmp_path: Path) -> None:
    parts = [PartSet(tmp_path, SCHEMA).part() for _ in range(3)]

    for part in reversed(parts):
        part.write(rows(1))
        part.finish()

    assert PartSet(tmp_path, SCHEMA).finished() == [f"part-0000{each}.parquet" for each in (1, 2, 3)]


def test_number_of_a_concurrently_finished_part_is_not_reused(tmp_path: Path) -> None:
    class Late(PartSet):
        """Lists the numbers, and then another writer takes one first."""

        def _numbers(self):  # type: ignore[no-untyped-def]
            found = list(super()._numbers())
            with PartSet(tmp_path, SCHEMA).part() as part:
                part.write(rows(1))
            return found

    with Late(tmp_path, SCHEMA).part() as part:
        part.write(rows(2))

    assert part.name == "part-00002.parquet"
    assert PartSet(tmp_path, SCHEMA).count() == 20


def test_failed_part_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the column mark holds"), PartSet(tmp_path, SCHEMA).part() as part:
        part.write(rows(1).set_column(1, "mark", rows(1).column("url")))

    assert listed(tmp_path) == []


def test_part_must_be_sealed_before_publishing_and_is_then_closed(tmp_path: Path) -> None:
    part = PartSet(tmp_path, SCHEMA).part()
    part.write(rows(1))
    with pytest.raises(Defect, match="before it is sealed"):
        part.publish()

    sealed = part.seal()
    with pytest.raises(Defect, match="after it was closed"):
        part.write(rows(2))
    assert part.publish() == sealed

    assert (sealed.name, sealed.rows) == ("part-00001.parquet", 10)
    assert sealed.size == (tmp_path / "part-00001.parquet").stat().st_size


def test_error_names_the_damaged_part(tmp_path: Path) -> None:
    parts = PartSet(tmp_path, SCHEMA)
    for mark in (1, 2):
        with parts.part() as part:
            part.write(rows(mark))
    second = tmp_path / "part-00002.parquet"
    data = bytearray(second.read_bytes())

    second.write_bytes(data[:-9])
    with pytest.raises(UserError, match=r"part-00002.parquet: the file is damaged"):
        parts.count()
    data[4:200] = bytes(196)
    second.write_bytes(data)
    with pytest.raises(UserError, match=r"part-00002.parquet: the file is damaged"):
        list(parts.scan())


def test_file_that_vanishes_during_listing_is_ignored(tmp_path: Path) -> None:
    with PartSet(tmp_path, SCHEMA).part() as part:
        part.write(rows(1))
    (tmp_path / "part-00002.parquet.open").symlink_to(tmp_path / "gone")

    assert PartSet(tmp_path, SCHEMA).count() == 10


def test_missing_part_set_is_empty(tmp_path: Path) -> None:
    parts = PartSet(tmp_path / "none", SCHEMA)

    assert (parts.finished(), parts.count(), list(parts.scan()), parts.recover()) == ([], 0, [], [])
