"""Key ranges: where they are cut, and how even they are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.rows import SCHEMA, page, source

from scoter.engine.sources import (
    MAX_RANGES,
    RowGroup,
    SourceSurvey,
    key_spans,
    range_count,
    range_edges,
    sample_keys,
    sample_step,
    survey,
)
from scoter.engine.sql import in_range_sql, range_number_sql


@given(keys=st.lists(st.text(max_size=3)), ranges=st.integers(2, 9))
def test_edges_are_ordered_and_leave_no_range_empty(keys: list[str], ranges: int) -> None:
    edges = range_edges(keys, ranges)

    assert len(edges) < ranges
    assert edges == sorted(set(edges))
    for low, high in zip([None, *edges], [*edges, None], strict=True):
        assert not keys or any((low is None or key >= low) and (high is None or key < high) for key in keys)


_HOSTS = st.text("abc,", min_size=1, max_size=3)


@given(
    groups=st.lists(st.lists(st.tuples(_HOSTS, st.text("ab:)", max_size=2)), min_size=1), min_size=1),
    wanted=st.lists(_HOSTS),
)
def test_spans_cover_every_key_of_a_wanted_host_once(groups: list[list[tuple[str, str]]], wanted: list[str]) -> None:
    keys = [[f"{host}){path}" for host, path in group] for group in groups]
    stored = tuple(RowGroup("", number, len(each), min(each), max(each)) for number, each in enumerate(keys))

    spans = key_spans(SourceSurvey(source(), (), stored, 0, 0), wanted)

    for key in (key for group in keys for key in group):
        covering = 1 if spans is None else sum(low <= key <= high for low, high in spans)
        assert covering <= 1
        assert covering or key.partition(")")[0] not in wanted


def test_range_count_grows_with_the_data_up_to_a_bound() -> None:
    assert range_count(0, 2**30) == 1
    assert range_count(2**30, 2**30) > range_count(2**28, 2**30) > 1
    assert range_count(2**60, 2**30) == MAX_RANGES


def test_ranges_are_even_for_sorted_and_unsorted_sources(tmp_path: Path) -> None:
    rows = [page(f"{number:05d}") for number in range(20_000)]
    shuffled = [rows[number * 7_919 % len(rows)] for number in range(len(rows))]
    for name, given_rows in (("sorted", rows), ("not", shuffled)):
        for size in (200, 20_000):
            table = pa.Table.from_pylist(given_rows, schema=SCHEMA)
            pq.write_table(table, tmp_path / f"{name}-{size}.parquet", row_group_size=size)
            seen = survey(source(str(tmp_path / f"{name}-{size}.parquet"), is_sorted=name == "sorted"))

            edges = range_edges(sample_keys(seen, sample_step(seen.rows), 8), 8)

            places = [0, *(int(edge[-5:]) for edge in edges), len(rows)]
            sizes = [after - before for before, after in pairwise(places)]
            assert len(sizes) == 8, (name, size)
            assert max(sizes) < 2 * len(rows) / 8, (name, size, sizes)


def test_survey_measures_only_the_wanted_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist([page(f"{number}") for number in range(1_000)], schema=SCHEMA), file)

    whole, part = survey(source(str(file))), survey(source(str(file), schema=pa.schema([SCHEMA.field("score")])))

    assert whole.rows == part.rows == 1_000
    assert 0 < part.size < whole.size < file.stat().st_size


def test_quotes_in_keys_are_escaped() -> None:
    assert (
        range_number_sql(["it's", "m"])
        == "CASE WHEN key < 'm' THEN CASE WHEN key < 'it''s' THEN 0 ELSE 1 END ELSE 2 END"
    )
    assert in_range_sql(["it's", "m"], 1) == "key >= 'it''s' AND key < 'm'"
