"""Finding rows by value in sorted and unsorted files with different columns."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoter.batch.crawldir.lookup import find_rows, has_host, url_rows
from scoter.core.url import canonical
from scoter.engine.sources import TableSource
from scoter.errors import UserError

SCHEMA = pa.schema([("key", pa.utf8()), ("url", pa.utf8()), ("number", pa.int64()), ("late", pa.utf8())])
words = st.text(alphabet="ab", max_size=2)


def source(*files: Path) -> TableSource:
    return TableSource(files=tuple(map(str, files)), schema=SCHEMA, defaults={"late": "none"})


@settings(deadline=None)  # files are written
@given(st.lists(st.tuples(words, words)), st.booleans(), words, words)
def test_exactly_the_rows_of_a_url_are_found(rows: list[tuple[str, str]], is_sorted: bool, key: str, url: str) -> None:
    ordered = sorted(rows) if is_sorted else rows
    table = pa.table(
        {"key": [k for k, _ in ordered], "url": [u for _, u in ordered], "number": range(len(ordered))},
        schema=pa.schema([SCHEMA.field(name) for name in ("key", "url", "number")]),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        pq.write_table(table, file, row_group_size=3)

        found = [row["number"] for row in find_rows(source(file), {"key": key, "url": url})]

    assert found == [number for number, row in enumerate(ordered) if row == (key, url)]


def test_missing_column_has_its_default(tmp_path: Path) -> None:
    page = canonical("http://a.org/x")
    pq.write_table(pa.table({"key": [page.key], "url": [page.text]}), tmp_path / "old.parquet")

    assert list(url_rows(source(tmp_path / "old.parquet"), page)) == [
        {"key": page.key, "url": page.text, "number": None, "late": "none"}
    ]


def test_file_without_the_wanted_column_has_no_match(tmp_path: Path) -> None:
    pq.write_table(pa.table({"key": ["k"]}), tmp_path / "old.parquet")

    assert list(find_rows(source(tmp_path / "old.parquet"), {"late": "x"})) == []


def test_host_is_known_by_any_of_its_urls_but_not_by_longer_names(tmp_path: Path) -> None:
    pages = sorted(canonical(url).key for url in ("http://a.org/x", "http://b.a.org/", "http://a.org:8080/"))
    pq.write_table(pa.table({"key": pages}), tmp_path / "keys.parquet", row_group_size=1)
    known = source(tmp_path / "keys.parquet")

    asked = ["http://a.org/other", "http://b.a.org/", "http://org/", "http://a.org:80/", "http://a.org:81/"]
    assert [has_host(known, canonical(url)) for url in asked] == [True, True, False, True, False]


def test_damaged_file_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and no more")

    with pytest.raises(UserError, match="damaged") as error:
        list(find_rows(source(tmp_path / "bad.parquet"), {"key": "k"}))

    assert error.value.where.endswith("bad.parquet")
