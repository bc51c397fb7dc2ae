"""The embedded engine beyond the contract: ranges, progress, temporary files, and errors."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engine.rows import NOW, SCHEMA, column, new_table, page, source, stored

from scoter.engine import sources
from scoter.engine.duckdb import DuckDbEngine
from scoter.engine.monitor import JobProgress
from scoter.engine.sources import TableSource
from scoter.errors import OutOfMemory, UserError
from scoter.store.tables import Table

MEMORY = 2**28


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[DuckDbEngine]:
    with DuckDbEngine(tmp_path / "engine", MEMORY, threads=2, ranges=4) as opened:
        yield opened


def _pages(file: Path, count: int, **more: Any) -> str:
    return stored(file, [{**page(f"{number:06d}"), **more} for number in range(count)])


def test_each_range_is_a_part_and_no_key_is_in_two(engine: DuckDbEngine, tmp_path: Path) -> None:
    old = source(_pages(tmp_path / "old.parquet", 1_000), is_sorted=True)
    new = source(_pages(tmp_path / "new.parquet", 1_000))

    with new_table(tmp_path / "table") as made:
        engine.write(lambda inputs: inputs["old"].union(inputs["new"]), {"old": old, "new": new}, made)
        made.commit()

    parts = [pq.read_table(file)["key"].to_pylist() for file in Table.open(tmp_path / "table").files]
    assert [len(part) for part in parts] == [500] * 4
    assert all(before[-1] < after[0] for before, after in pairwise(parts))


def test_job_is_compiled_once_for_all_ranges_times_and_engines(engine: DuckDbEngine, tmp_path: Path) -> None:
    rows = source(_pages(tmp_path / "new.parquet", 400))
    asked = []

    def job(inputs: Any) -> Any:
        asked.append(1)
        return inputs["new"]

    for number in range(2):
        with new_table(tmp_path / f"table{number}") as made:
            engine.write(job, {"new": rows, "now": NOW}, made)
            made.commit()
    with (
        DuckDbEngine(tmp_path / "other", MEMORY, threads=1) as other,
        new_table(tmp_path / "table2") as made,
    ):
        other.write(job, {"new": rows, "now": NOW}, made)
        made.commit()

    assert [Table.open(tmp_path / f"table{number}").count() for number in range(3)] == [400] * 3
    assert len(asked) == 1


@pytest.mark.parametrize("ranges", [3, 6])
def test_rows_without_key_are_in_the_last_range(tmp_path: Path, ranges: int) -> None:
    pages = [page(f"{number:06d}") for number in range(600)]
    rows = source(stored(tmp_path / "new.parquet", [{**pages[0], "key": None}, *pages[1:]]))

    with (
        DuckDbEngine(tmp_path / "engine", MEMORY, threads=2, ranges=ranges) as engine,
        new_table(tmp_path / "table") as made,
    ):
        engine.write(lambda inputs: inputs["new"], {"new": rows}, made)
        made.commit()

    parts = [pq.read_table(file)["key"].to_pylist() for file in Table.open(tmp_path / "table").files]
    assert len(parts) == ranges
    assert parts[-1][-1] is None
    assert sum(map(len, parts)) == 600


@pytest.mark.parametrize(("ranges", "folders"), [(3, [0] * 3), (6, [6, 5, 4, 3, 2, 1])])
def test_temporary_scans_and_files_of_a_range_are_removed(tmp_path: Path, ranges: int, folders: list[int]) -> None:
    rows = source(_pages(tmp_path / "new.parquet", 600))
    seen = []
    engine = DuckDbEngine(tmp_path / "engine", MEMORY, threads=2, ranges=ranges)

    def job(inputs: Any) -> Any:
        made = engine.map_batches(inputs["new"], lambda batch: batch, SCHEMA)
        files = [path.name for path in (tmp_path / "engine").rglob("*.parquet") if path.parent.name[0] != "r"]
        parts = [path.name for path in (tmp_path / "engine").rglob("range_of_key=*")]
        seen.append((len(files), len(engine._scans), len(parts)))
        return made

    with new_table(tmp_path / "table") as made:
        engine.write(job, {"new": rows}, made)
        made.commit()

    assert seen == [(1, 2, count) for count in folders]  # few ranges read the source instead
    assert list((tmp_path / "engine").rglob("*.parquet")) == []
    engine.close()
    assert list((tmp_path / "engine").iterdir()) == []


def test_footers_are_read_once_for_all_ranges(
    engine: DuckDbEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [_pages(tmp_path / f"{number}.parquet", 60) for number in range(100)]
    opened = []
    real = sources.read_footer
    monkeypatch.setattr(sources, "read_footer", lambda file: opened.append(file) or real(file))  # type: ignore[func-returns-value]

    with new_table(tmp_path / "table") as made:
        engine.write(lambda inputs: inputs["new"], {"new": source(*files)}, made)
        made.commit()

    assert sorted(opened) == sorted(files)


class FakeQueries:
    """A connection whose query progress is the next of some numbers, then complete."""

    def __init__(self, *percentages: float) -> None:
        self._left = iter(percentages)
        self.done = threading.Event()

    def query_progress(self) -> float:
        found = next(self._left, None)
        if found is None:
            self.done.set()
        return -1.0 if found is None else found


def test_progress_is_reported_during_a_query_and_never_decreases() -> None:
    told: list[float] = []
    steps = JobProgress(told.append, 2, interval=0.001)

    for queries in (FakeQueries(-1, 10, 60, 40, 100, 100), FakeQueries(50, 101)):
        with steps.watch(queries):
            assert queries.done.wait(30)

    assert told == [0.05, 0.3, 0.5, 0.75, 1.0]


def test_job_reports_progress_to_the_end(tmp_path: Path) -> None:
    told: list[float] = []
    new = source(_pages(tmp_path / "new.parquet", 100))

    with (
        DuckDbEngine(tmp_path / "engine", MEMORY, ranges=7, progress=told.append) as engine,
        new_table(tmp_path / "table") as made,
    ):
        engine.write(lambda inputs: inputs["new"], {"new": new}, made)

    assert told == [number / 8 for number in range(1, 9)]


def test_range_that_does_not_fit_into_memory_is_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = source(_pages(tmp_path / "new.parquet", 1_000))
    copy, sizes = DuckDbEngine._copy, list[int]()

    def copy_few(engine: DuckDbEngine, query: str, *others: Any) -> int:
        count = engine.connection.execute(f"SELECT count(*) FROM ({query})").fetchall()[0][0]
        sizes.append(count)
        if count > 300:
            raise OutOfMemory("too many rows")
        return copy(engine, query, *others)

    monkeypatch.setattr(DuckDbEngine, "_copy", copy_few)
    told: list[float] = []
    with (
        DuckDbEngine(tmp_path / "engine", MEMORY, threads=1, progress=told.append) as engine,
        new_table(tmp_path / "table") as made,
    ):
        engine.write(lambda inputs: inputs["new"], {"new": rows}, made)
        made.commit()

    parts = [pq.read_table(file)["key"].to_pylist() for file in Table.open(tmp_path / "table").files]
    keys = [key for part in parts for key in part]
    assert sizes[0] == 1_000
    assert len(parts) >= 4
    assert (len(keys), keys) == (1_000, sorted(keys))
    assert told[-1] == 1.0


def test_row_groups_of_long_texts_are_small_enough_to_be_read_with_little_memory(tmp_path: Path) -> None:
    long = "long text " * 100
    rows = source(stored(tmp_path / "new.parquet", [page(f"{number:06d}{long}") for number in range(20_000)]))

    with (
        DuckDbEngine(tmp_path / "engine", MEMORY, threads=2, ranges=1) as engine,
        new_table(tmp_path / "table") as made,
    ):
        engine.write(lambda inputs: inputs["new"], {"new": rows}, made)
        made.commit()

    footers = [pq.read_metadata(file) for file in Table.open(tmp_path / "table").files]
    groups = [footer.row_group(number) for footer in footers for number in range(footer.num_row_groups)]
    assert sum(group.num_rows for group in groups) == 20_000
    # DuckDB gets half of the memory, and a row group takes a sixteenth of that.
    assert max(group.total_byte_size for group in groups) <= 1.5 * MEMORY / 2 / 16


def test_range_with_a_single_key_cannot_be_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = source(stored(tmp_path / "new.parquet", [page("same") for _ in range(5)]))

    def never(*_: Any) -> int:
        raise OutOfMemory("too many rows")

    monkeypatch.setattr(DuckDbEngine, "_copy", never)
    with (
        DuckDbEngine(tmp_path / "engine", MEMORY, threads=1) as engine,
        new_table(tmp_path / "table") as made,
        pytest.raises(OutOfMemory),
    ):
        engine.write(lambda inputs: inputs["new"], {"new": rows}, made)


def test_job_out_of_memory_names_the_setting(tmp_path: Path) -> None:
    rows = [{**page(f"{number:06d}"), "notes": [("text", "x" * 200)]} for number in range(50_000)]
    file = tmp_path / "large.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file)

    with DuckDbEngine(tmp_path / "engine", 2**24, threads=1) as engine:
        large = engine.read(source(str(file)))
        whole = large.group_by(one=large.score).agg(all=large.notes.collect())

        with pytest.raises(UserError, match="needs more memory") as told:
            list(engine.batches(whole))

    assert "-D engine.memory_limit" in told.value.hint


def test_full_disk_is_reported_and_leaves_no_partial_file(engine: DuckDbEngine, tmp_path: Path) -> None:
    rows = engine.read(source(_pages(tmp_path / "new.parquet", 20_000)))
    out = tmp_path / "out.parquet"

    with _files_up_to(2_000), pytest.raises(UserError, match="the disk is full") as told:
        engine.save(rows, SCHEMA, out, ["key"])

    assert "Free some" in told.value.hint
    assert not out.exists()
    assert engine.save(rows, SCHEMA, out, ["key"]) == 20_000


def test_full_disk_is_reported_by_map_batches(engine: DuckDbEngine, tmp_path: Path) -> None:
    rows = engine.read(source(_pages(tmp_path / "new.parquet", 20_000)))

    with _files_up_to(2_000), pytest.raises(UserError, match="cannot write temporary rows"):
        engine.map_batches(rows, lambda batch: batch, SCHEMA)


def test_unwritable_path_is_reported(engine: DuckDbEngine, tmp_path: Path) -> None:
    rows = engine.read(source(_pages(tmp_path / "new.parquet", 10)))

    with pytest.raises(UserError, match="cannot read or write a file"):
        engine.save(rows, SCHEMA, tmp_path / "nowhere" / "out.parquet")


def test_missing_file_is_named_in_the_error(engine: DuckDbEngine, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file") as told:
        engine.read(source(str(tmp_path / "gone.parquet")))

    assert told.value.where.endswith("gone.parquet")


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
def test_file_with_damaged_pages_is_reported(engine: DuckDbEngine, tmp_path: Path, at: float) -> None:
    file = tmp_path / "new.parquet"
    pq.write_table(pa.Table.from_pylist([page(f"{n}", n / 7) for n in range(5_000)], schema=SCHEMA), file)
    data = bytearray(file.read_bytes())
    start = int(len(data) * at)
    data[start : start + 64] = b"\xff" * 64
    file.write_bytes(data)

    with pytest.raises(UserError, match=r"damaged|cannot be read"):
        column(engine, engine.read(source(str(file))), "url")


def test_interrupt_ends_a_query(tmp_path: Path) -> None:
    file = _pages(tmp_path / "new.parquet", 20_000)
    program = f"""
from pathlib import Path
import pyarrow as pa
from scoter.engine.duckdb import DuckDbEngine
from tests.engine.rows import source
def progress(share):
    print("running", flush=True)
with DuckDbEngine(Path({str(tmp_path / "engine")!r}), 2**28, progress=progress) as engine:
    rows = engine.read(source({file!r}))
    pairs = rows.cross_join(rows.view()).cross_join(rows.view(), rname="third_{{name}}")
    engine.save(pairs.agg(url=pairs.url.max()), pa.schema([("url", pa.utf8())]), Path({str(tmp_path / "out")!r}))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"

    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert "KeyboardInterrupt" in errors.splitlines()[-1]
    assert list((tmp_path / "engine").iterdir()) == []


@contextmanager
def _files_up_to(size: int) -> Iterator[None]:
    """Limit the size of files, like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_damage_after_the_first_rows_is_reported_while_reading(tmp_path: Path) -> None:
    keys = pa.table({"key": [f"{number:08d}{number * 2654435761 % 2**64:016x}" for number in range(200_000)]})
    file = tmp_path / "damaged.parquet"
    pq.write_table(keys, file, row_group_size=20_000, compression="zstd")
    whole = bytearray(file.read_bytes())
    middle = len(whole) * 3 // 4
    whole[middle : middle + 100_000] = bytes(100_000)
    file.write_bytes(whole)

    with DuckDbEngine(tmp_path / "engine", 2**28, threads=1) as engine:
        batches = engine.batches(engine.read(TableSource(files=(str(file),), schema=keys.schema, defaults={})))

        assert next(batches).num_rows
        with pytest.raises(UserError, match="a file is damaged"):
            list(batches)


_CACHED = """
import sys
from datetime import datetime, UTC
from pathlib import Path
import pyarrow as pa
from scoter.engine import file_source
from scoter.engine.duckdb import DuckDbEngine
from scoter.engine.portable import timestamp
from scoter.store.tables.parquet import write_batches

folder, year = Path(sys.argv[1]), int(sys.argv[2])
schema = pa.schema([("url", pa.utf8()), ("at", pa.timestamp("us", tz="UTC"))])
times = [datetime(each, 1, 1, tzinfo=UTC) for each in (2020, 2024, 2026)]
write_batches(folder / "rows.parquet", schema, [pa.record_batch([["a", "b", "c"], times], schema=schema)])
with DuckDbEngine(folder, 2**30) as engine:
    for _ in range(year % 2):  # other names of views
        engine.read(file_source(folder / "rows.parquet", schema))
    rows = engine.read(file_source(folder / "rows.parquet", schema))
    late = rows.filter(rows.at > timestamp(datetime(year, 6, 1, tzinfo=UTC))).order_by("url")
    print([batch.column("url").to_pylist() for batch in engine.batches(late)], "ibis" in sys.modules)
"""


def test_query_of_an_earlier_command_is_run_without_ibis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    found = [
        subprocess.run([sys.executable, "-c", _CACHED, str(tmp_path), year], capture_output=True, text=True, check=True)
        for year in ("2022", "2022", "2019", "2025")
    ]

    assert [each.stdout.strip() for each in found] == [
        "[['b', 'c']] True",
        "[['b', 'c']] False",
        "[['a', 'b', 'c']] False",
        "[['c']] False",
    ]


def test_only_large_sources_use_several_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2})
    small = source(_pages(tmp_path / "small.parquet", 10))
    large = source(_pages(tmp_path / "large.parquet", 1_000))
    monkeypatch.setattr("scoter.engine.duckdb._FOR_THREADS", sources.survey(large).raw)
    seen = []

    with DuckDbEngine(tmp_path / "engine", 2**30) as engine:
        for each in (small, large, small):
            engine.read(each)
            seen += engine.connection.execute("SELECT current_setting('threads')").fetchall()

    assert seen == [(1,), (3,), (3,)]
