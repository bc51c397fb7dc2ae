"""Copies of Parquet files with other values of one column, compared with files that are written anew."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoter.errors import Defect
from scoter.store.tables.column_copy import ColumnCopy
from scoter.store.tables.thrift import BadThriftError, Struct, read_struct, write_struct

SCHEMA = pa.schema(
    [
        ("url", pa.utf8()),
        ("score", pa.float64()),
        ("status", pa.utf8()),
        ("time", pa.timestamp("us", "UTC")),
        ("retries", pa.int32()),
        ("signature", pa.binary()),
        ("metadata", pa.map_(pa.utf8(), pa.utf8())),
    ]
)
_SCORES = st.none() | st.floats(allow_nan=True)
_MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "url": st.text(max_size=60),
            "score": _SCORES,
            "status": st.sampled_from(["fetched", "unfetched", None]),
            "time": st.none() | _MOMENTS,
            "retries": st.none() | st.integers(0, 3),
            "signature": st.none() | st.binary(max_size=16),
            "metadata": st.none() | st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3),
        }
    ),
    min_size=1,
    max_size=40,
)
_ARROW = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(["zstd", "snappy", "none", "lz4"]),
        "use_dictionary": st.booleans() | st.just(["status"]),
        "write_statistics": st.booleans() | st.just(["url"]),
        "write_page_index": st.booleans(),
        "data_page_version": st.sampled_from(["1.0", "2.0"]),
        "version": st.sampled_from(["1.0", "2.6"]),
        "row_group_size": st.integers(1, 50),
        "data_page_size": st.sampled_from([64, 2**20]),
        "write_page_checksum": st.booleans(),
        "sorting_columns": st.none() | st.just([pq.SortingColumn(1)]),
    }
)
_DUCKDB = st.sampled_from(
    [
        "COMPRESSION zstd",
        "COMPRESSION lz4, PARQUET_VERSION V2",
        "COMPRESSION snappy, STRING_DICTIONARY_PAGE_SIZE_LIMIT 1",
    ]
)


def arrow_table(rows: Sequence[dict[str, Any]]) -> Any:
    return pa.Table.from_pylist(
        [{**row, "metadata": row["metadata"] and list(row["metadata"].items())} for row in rows], schema=SCHEMA
    )


def write_by_duckdb(table: Any, file: Path, options: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", table)
        connection.execute(f"COPY given TO '{file}' (FORMAT parquet, {options})")


def copy_of(file: Path, values: Sequence[float | None], into: Path, schema: Any = SCHEMA) -> bool:
    """Copy a file with other scores, if possible."""
    with file.open("rb") as opened:
        copy = ColumnCopy.of(opened, schema, "score")
        if copy is None:
            return False
        given = iter(values)
        written = into.with_name("values.parquet")
        with pq.ParquetWriter(written, copy.values_schema) as writer:
            for rows in copy.group_rows:
                found = pa.table(
                    [pa.array([next(given) for _ in range(rows)], pa.float64())], schema=copy.values_schema
                )
                writer.write_table(found)
        copy.write(written, into)
    return True


def check(table: Any, file: Path, folder: Path, values: Sequence[float | None]) -> None:
    """Check that a copy has the same as the table with other scores, for Arrow and for DuckDB."""
    copied = folder / "copied.parquet"
    assert copy_of(file, values, copied)
    place = table.schema.get_field_index("score")
    expected = table.set_column(place, table.schema.field("score"), pa.array(values, pa.float64()))

    before, after = pq.ParquetFile(file), pq.ParquetFile(copied)
    assert after.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert repr(after.read().to_pylist()) == repr(expected.to_pylist())  # NaN differs from itself
    assert [after.metadata.row_group(n).num_rows for n in range(after.num_row_groups)] == [
        before.metadata.row_group(n).num_rows for n in range(before.num_row_groups)
    ]
    for number in range(after.num_row_groups):
        old, new = before.metadata.row_group(number), after.metadata.row_group(number)
        assert new.sorting_columns == ()
        assert new.total_byte_size == sum(new.column(n).total_uncompressed_size for n in range(new.num_columns))
        for column in range(old.num_columns):
            if column != place:
                assert new.column(column).statistics == old.column(column).statistics
            assert not new.column(column).has_offset_index
            assert not new.column(column).has_column_index
    plain = folder / "plain.parquet"
    pq.write_table(expected, plain, row_group_size=7)
    with duckdb.connect() as connection:
        for condition in ("true", "score > 0", "score IS NULL", "status = 'fetched'", "retries < 2", "url > 'm'"):
            query = f"SELECT * FROM read_parquet(?) WHERE {condition}"
            found, wanted = (connection.execute(query, [str(each)]).fetchall() for each in (copied, plain))
            assert repr(found) == repr(wanted), condition
        bloom = connection.execute("SELECT bloom_filter_offset FROM parquet_metadata(?)", [str(copied)]).fetchall()
        assert all(offset is None for (offset,) in bloom)


@settings(max_examples=60, deadline=None)
@given(_ROWS, _ARROW, st.data())
def test_copy_of_a_file_by_arrow_reads_like_one_written_anew(rows: Any, options: Any, data: st.DataObject) -> None:
    table, values = arrow_table(rows), data.draw(st.lists(_SCORES, min_size=len(rows), max_size=len(rows)))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "file.parquet"
        pq.write_table(table, file, **options)
        check(table, file, Path(folder), values)


@settings(max_examples=40, deadline=None)
@given(_ROWS, _DUCKDB, st.integers(1, 80), st.data())
def test_copy_of_a_file_by_duckdb_reads_like_one_written_anew(
    rows: Any, options: str, times: int, data: st.DataObject
) -> None:
    table = pa.concat_tables([arrow_table(rows)] * times)  # repeated values get dictionaries and Bloom filters
    drawn = data.draw(st.lists(_SCORES, min_size=len(rows), max_size=len(rows)))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "file.parquet"
        write_by_duckdb(table, file, f"{options}, ROW_GROUP_SIZE 2048")
        check(table, file, Path(folder), drawn * times)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [{"url": str(each), "score": each / 2} for each in range(50)]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), tmp_path / "file.parquet", row_group_size=20)
    return tmp_path / "file.parquet"


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA.remove(0),
        SCHEMA.append(pa.field("depth", pa.int32())),
        SCHEMA.set(4, pa.field("retries", pa.int64())),
        pa.schema(list(SCHEMA)[::-1]),
    ],
)
def test_file_with_other_columns_is_not_copied(file: Path, schema: Any) -> None:
    assert not copy_of(file, [0.0] * 50, file.with_name("copied.parquet"), schema)


def parts_of(file: Path) -> tuple[bytes, Struct]:
    """Return the pages of a file, and its footer."""
    data = file.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    return data[: -8 - length], read_struct(data[-8 - length : -8])


def put_footer(file: Path, pages: bytes, footer: Struct, magic: bytes = b"PAR1") -> None:
    data = write_struct(footer)
    file.write_bytes(pages + data + len(data).to_bytes(4, "little") + magic)


def with_unknown_field(footer: Struct) -> Struct:
    return {**footer, 20: (5, 1)}


def with_encryption(footer: Struct) -> Struct:
    return {**footer, 8: (12, {1: (12, {})})}


def by_another_writer(footer: Struct) -> Struct:
    return {**footer, 6: (8, b"somebody else")}


def with_pages_in_another_file(footer: Struct) -> Struct:
    chunk = footer[4][1][1][0][1][1][1][0]
    chunk[1] = 8, b"other.parquet"
    return footer


def with_unknown_field_of_a_column(footer: Struct) -> Struct:
    footer[4][1][1][1][1][1][1][2][3][1][30] = 5, 1
    return footer


def with_pages_in_the_footer(footer: Struct) -> Struct:
    data = footer[4][1][1][1][1][1][1][2][3][1]
    data[7] = 6, 2**30
    return footer


@pytest.mark.parametrize(
    "change",
    [
        with_unknown_field,
        with_encryption,
        by_another_writer,
        with_pages_in_another_file,
        with_unknown_field_of_a_column,
        with_pages_in_the_footer,
    ],
)
def test_file_with_anything_unknown_is_not_copied(file: Path, change: Any) -> None:
    pages, footer = parts_of(file)
    put_footer(file, pages, footer)
    assert copy_of(file, [0.0] * 50, file.with_name("copied.parquet"))

    put_footer(file, pages, change(footer))
    assert not copy_of(file, [0.0] * 50, file.with_name("copied.parquet"))


def test_nested_column_of_the_same_name_is_not_copied(tmp_path: Path) -> None:
    table = pa.table({"score": [1.0], "best": [{"score": 1.0}]})
    pq.write_table(table, tmp_path / "file.parquet")
    assert not copy_of(tmp_path / "file.parquet", [2.0], tmp_path / "copied.parquet", table.schema)


def test_column_that_is_not_nullable_is_copied(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("score", pa.float64(), nullable=False), ("url", pa.utf8())])
    pq.write_table(pa.table([[1.0], ["a"]], schema=schema), tmp_path / "file.parquet")
    assert copy_of(tmp_path / "file.parquet", [2.0], tmp_path / "copied.parquet", schema)
    assert pq.read_table(tmp_path / "copied.parquet") == pa.table([[2.0], ["a"]], schema=schema)


def test_values_in_other_row_groups_are_refused(file: Path) -> None:
    with file.open("rb") as opened:
        copy = ColumnCopy.of(opened, SCHEMA, "score")
        assert copy is not None
        values = file.with_name("values.parquet")
        pq.write_table(pa.table([[0.0] * 50], schema=copy.values_schema), values)
        with pytest.raises(Defect, match="other row groups"):
            copy.write(values, file.with_name("copied.parquet"))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_struct_or_refused(data: bytes) -> None:
    try:
        found = read_struct(data)
    except BadThriftError:
        return
    assert read_struct(write_struct(found)) == found


def test_footer_is_written_as_it_was_read(file: Path) -> None:
    data = file.read_bytes()
    _, footer = parts_of(file)
    assert data[-8 - len(write_struct(footer)) : -8] == write_struct(footer)
