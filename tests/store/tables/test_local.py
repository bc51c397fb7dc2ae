"""Tables on a local disk: locks, readers that hold a version, and disk failures."""

from __future__ import annotations

import errno
import gc
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.store.tables.rows import SCHEMA, marks, rows, write

from scoter.errors import UsageError, UserError
from scoter.store.tables import Table, break_lock, clean
from scoter.store.tables.local import LocalStorage

ROOT = Path(__file__).parents[3]
WRITER = """
import sys
from tests.store.tables.rows import SCHEMA
from scoter.store.tables import Table
with Table.write(sys.argv[1], SCHEMA, writer="updatedb"):
    print("locked", flush=True)
    sys.stdin.read()
"""


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of files of this process: the kernel truncates a write, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class ReadOnly(LocalStorage):
    """A read-only disk; file modes would not do, because root ignores them."""

    def make(self, name: str = "") -> None:
        self._refuse(name)

    def _refuse(self, name: str) -> None:
        from scoter.store.disk import disk_error

        failure = OSError(errno.EROFS, os.strerror(errno.EROFS))
        raise disk_error("create the folder", self.root / name, failure)


def versions(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.name.startswith("v"))


def test_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"

        with pytest.raises(UsageError, match=rf"it is being written by process {other.pid} on .* \(updatedb\)"):
            write(str(tmp_path), 2)
        with pytest.raises(UsageError, match=f"process {other.pid}"):
            clean(tmp_path)
        assert marks(Table.open(tmp_path)) == [1] * 10

        other.kill()
        other.wait()

    assert write(str(tmp_path), 2).previous == 1
    assert versions(tmp_path) == ["v000001", "v000003"]


def test_local_lock_cannot_be_broken(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="stop that process"):
        break_lock(tmp_path)


def test_version_is_kept_while_it_is_read(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    reader = Table.open(tmp_path)
    batches = reader.scan()

    for mark in range(2, 6):
        write(str(tmp_path), mark)

    assert versions(tmp_path) == ["v000001", "v000004", "v000005"]
    assert sum(batch.num_rows for batch in batches) == 10
    assert marks(reader) == [1] * 10
    reader.close()
    reader.close()
    assert clean(tmp_path) == ["v000001"]


def test_garbage_collected_reader_holds_no_version(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    reader = Table.open(tmp_path)
    del reader
    gc.collect()

    write(str(tmp_path), 2)
    write(str(tmp_path), 3)

    assert versions(tmp_path) == ["v000002", "v000003"]


def test_error_for_a_version_lost_while_read_says_to_reopen(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    reader = Table.open(tmp_path)
    write(str(tmp_path), 2)
    (tmp_path / "v000001" / "part-00001.parquet").unlink()

    with pytest.raises(UsageError, match=r"part-00001.parquet: this version no longer exists.*\nOpen the table"):
        marks(reader)


def test_missing_file_of_the_current_version_is_an_error(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    (tmp_path / "v000001" / "part-00001.parquet").unlink()

    with pytest.raises(UserError, match=r"part-00001.parquet: a file of the current version is missing"):
        Table.open(tmp_path)


def test_previous_version_can_be_restored(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    write(str(tmp_path), 2)

    (tmp_path / "CURRENT").write_text("v000001\n")

    assert marks(Table.open(tmp_path)) == [1] * 10
    assert write(str(tmp_path), 3).previous == 1


def test_full_disk_keeps_the_last_version_and_the_next_write_succeeds(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    noise = np.random.default_rng(4).integers(0, 2**62, 200_000)
    big = pa.record_batch([pa.array([f"u{each}" for each in noise]), pa.array(noise)], schema=SCHEMA)

    with (
        largest_file(100_000),
        pytest.raises(UserError, match=r"part-00001.parquet.open: cannot write the file: .*\nMake room on the disk"),
        Table.write(tmp_path, SCHEMA) as new,
        new.part() as part,
    ):
        part.write(big)

    assert versions(tmp_path) == ["v000001"]
    assert marks(Table.open(tmp_path)) == [1] * 10
    with Table.write(tmp_path, SCHEMA) as new:
        with new.part() as part:
            part.write(big)
        new.commit()
    assert Table.open(tmp_path).count() == 200_000


def test_disk_full_at_the_manifest_keeps_the_last_version(tmp_path: Path) -> None:
    write(str(tmp_path), 1)

    with Table.write(tmp_path, SCHEMA) as new:
        with new.part() as part:
            part.write(rows(2))
        with largest_file(100), pytest.raises(UserError, match=r"manifest.json: cannot write the file: File too large"):
            new.commit()

    assert versions(tmp_path) == ["v000001"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["CURRENT", "LOCK", "v000001"]
    assert marks(Table.open(tmp_path)) == [1] * 10


def test_clean_works_on_a_full_disk(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    (tmp_path / "v000007").mkdir()

    with largest_file(0):
        removed = clean(tmp_path)
        with pytest.raises(
            UserError, match=r"part-00001.parquet.open: cannot write the file: .*\nMake room on the disk"
        ):
            write(str(tmp_path), 2)

    assert removed == ["v000007"]
    assert versions(tmp_path) == ["v000001"]
    assert marks(Table.open(tmp_path)) == [1] * 10


def test_table_on_a_read_only_disk_is_readable_and_refuses_writes(tmp_path: Path) -> None:
    write(str(tmp_path), 1)
    place = ReadOnly(tmp_path)

    assert marks(Table.open(place)) == [1] * 10
    with pytest.raises(UsageError, match="cannot create the folder: Read-only file system"), Table.write(place, SCHEMA):
        pass
    assert marks(Table.open(tmp_path)) == [1] * 10


@pytest.mark.skipif(not Path("/proc/self/mounts").exists(), reason="no /proc")
def test_folder_that_cannot_be_created_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot create the folder"), Table.write("/proc/nothing/table", SCHEMA):
        pass
    with pytest.raises(UsageError, match="cannot list the folder: Not a directory"):
        Table.open("/proc/version")


def test_adopted_file_may_be_on_another_disk(tmp_path: Path) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second disk")
    import pyarrow.parquet as pq

    source = memory / f"scoter-{os.getpid()}.parquet"
    pq.write_table(pa.Table.from_batches([rows(5)]), source)

    with Table.write(tmp_path, SCHEMA) as new:
        new.adopt(source)
        new.commit()

    table = Table.open(tmp_path)
    table.verify()
    assert marks(table) == [5] * 10
    assert not source.exists()
