"""Columns are added and removed, types widen, and any other change of a type is an error."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from scoter.errors import UsageError
from scoter.plugins import Column
from scoter.store.tables import PartSet, Table, arrow_type
from scoter.store.tables.schema import conform, fits, with_columns

PLAIN = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "halffloat", "float"]
PLAIN += ["double", "string", "large_string", "binary", "large_binary", "date32[day]", "timestamp[s]"]
PLAIN += ["timestamp[ms, tz=UTC]", "timestamp[us, tz=Europe/Berlin]", "fixed_size_binary[16]", "decimal128(10, 2)"]
names = st.text("abcdefgh_0123", min_size=1, max_size=5).filter(lambda name: not name[0].isdigit())


def nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = st.lists(st.tuples(names, children, st.booleans()), max_size=3, unique_by=lambda each: each[0])
    return st.one_of(
        children.map(pa.list_),
        children.map(pa.large_list),
        children.map(lambda kind: pa.map_(pa.utf8(), kind)),
        fields.map(lambda found: pa.struct([pa.field(*each) for each in found])),
    )


types = st.recursive(st.sampled_from(PLAIN).map(arrow_type), nested, max_leaves=6)
WIDTHS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
FLOATS = [pa.float32(), pa.float64()]


@given(types)
def test_type_round_trips_through_its_text(kind: Any) -> None:
    assert arrow_type(str(kind)) == kind


@pytest.mark.parametrize("text", PLAIN)
def test_plain_type_has_the_text_it_was_read_from(text: str) -> None:
    assert str(arrow_type(text)) == text


def test_dictionary_type_round_trips_through_its_text() -> None:
    for ordered in (True, False):
        kind = pa.dictionary(pa.int32(), pa.utf8(), ordered)
        assert arrow_type(str(kind)) == kind


@given(st.text("intls<>[]:, map_struc863=()-", max_size=30))
def test_any_other_text_is_a_usage_error(text: str) -> None:
    try:
        found = arrow_type(text)
    except UsageError:  # and no other exception
        return
    assert arrow_type(str(found)) == found


def test_deeply_nested_type_is_refused() -> None:
    with pytest.raises(UsageError, match="is not an Arrow type"):
        arrow_type("list<" * 5_000 + "int8" + ">" * 5_000)


@given(types)
def test_every_type_fits_itself(kind: Any) -> None:
    assert fits(kind, kind)


def test_fitting_is_transitive() -> None:
    every = [arrow_type(name) for name in PLAIN]
    pairs = {(first, second) for first, second in itertools.product(every, every) if fits(first, second)}

    broken = [(a, b, d) for (a, b), (c, d) in itertools.product(pairs, pairs) if b == c and (a, d) not in pairs]

    assert len(pairs) > len(every)
    assert broken == []


@pytest.mark.parametrize(
    ("have", "want", "expected"),
    [
        ("int32", "int64", True),
        ("uint32", "int64", True),
        ("uint64", "int64", False),
        ("int32", "uint64", False),
        ("float", "double", True),
        ("double", "float", False),
        ("int32", "double", False),
        ("string", "binary", False),
        ("bool", "int8", False),
        ("timestamp[ms, tz=UTC]", "timestamp[us, tz=UTC]", True),
        ("timestamp[us, tz=UTC]", "timestamp[ms, tz=UTC]", False),
        ("timestamp[ms]", "timestamp[ms, tz=UTC]", False),
        ("list<int32>", "list<int64>", True),
        ("list<int64>", "list<utf8>", False),
        ("map<utf8, int32>", "map<utf8, int64>", True),
        ("struct<a: int32>", "struct<a: int64>", True),
        ("struct<a: int32>", "struct<b: int32>", False),
        ("struct<a: int32>", "struct<a: int32, b: int32>", False),
        ("dictionary<values=string, indices=int32, ordered=0>", "utf8", True),
        ("utf8", "large_string", True),
    ],
)
def test_types_may_widen_but_not_change_kind(have: str, want: str, expected: bool) -> None:
    assert fits(arrow_type(have), arrow_type(want)) is expected


@pytest.mark.parametrize(
    ("have", "want", "values"),
    [
        ("uint32", "int64", [2**32 - 1, None]),
        ("halffloat", "double", [0.5, None]),
        ("utf8", "large_string", ["a", None]),
        ("large_binary", "binary", [b"a", None]),
        ("dictionary<values=string, indices=int32, ordered=0>", "utf8", ["a", "a", None]),
        ("utf8", "dictionary<values=string, indices=int32, ordered=0>", ["a", "a", None]),
        ("timestamp[ms, tz=UTC]", "timestamp[us, tz=UTC]", [datetime(2026, 1, 2, tzinfo=UTC), None]),
        ("list<int32>", "list<int64>", [[1, None], [], None]),
        ("list<int32>", "large_list<int64>", [[1, None], [], None]),
        ("map<utf8, int32>", "map<utf8, int64>", [[("a", 1)], [], None]),
        ("struct<a: int32, b: float>", "struct<a: int64, b: double>", [{"a": 1, "b": 0.5}, None]),
        ("list<struct<url: utf8, n: int8>>", "list<struct<url: utf8, n: int16>>", [[{"url": "u", "n": 1}], None]),
        ("null", "int32", [None, None]),
    ],
)
def test_values_are_read_and_written_in_the_wider_type(tmp_path: Path, have: str, want: str, values: Any) -> None:
    stored, wanted = (pa.schema([("x", arrow_type(each))]) for each in (have, want))
    batch = pa.RecordBatch.from_pydict({"x": pa.array(values, stored.field("x").type)}, schema=stored)
    with PartSet(tmp_path, stored).part() as part:
        part.write(batch)
    with PartSet(tmp_path, wanted).part() as part:
        part.write(batch)

    read = pa.Table.from_batches(PartSet(tmp_path, wanted).scan(), wanted)

    assert read.column("x").to_pylist() == values * 2


columns = st.dictionaries(names, st.tuples(st.sampled_from([WIDTHS, FLOATS]), st.integers(0, 3)), max_size=5)


@given(columns, columns, st.integers(-100, 100), st.data())
@settings(max_examples=examples(60), deadline=None)
def test_table_can_be_read_with_any_columns(have: Any, want: Any, default: int, data: st.DataObject) -> None:
    stored = pa.schema([(name, widths[at % len(widths)]) for name, (widths, at) in {**have, "id": (WIDTHS, 3)}.items()])
    wanted = pa.schema([(name, widths[at % len(widths)]) for name, (widths, at) in {**want, "id": (WIDTHS, 3)}.items()])
    values = {name: data.draw(st.lists(st.integers(-9, 9), min_size=4, max_size=4)) for name in stored.names}
    batch = pa.RecordBatch.from_pydict(values, schema=stored)
    defaults = {name: default for name in wanted.names if data.draw(st.booleans())}
    unfit = [name for name in wanted.names if name in stored.names and not _widens(stored, wanted, name)]
    with TemporaryDirectory() as folder:
        with Table.write(folder, stored) as new:
            with new.part() as part:
                part.write(batch)
            new.commit()

        if unfit:
            with pytest.raises(UsageError, match=re.escape(f"the column {unfit[0]} holds")):
                Table.open(folder, wanted, defaults=defaults)
            with pytest.raises(UsageError, match=r"the column \w+ (holds|is missing)"):
                conform(batch, wanted, defaults, "here")
            return
        with Table.open(folder, wanted, defaults=defaults) as table:
            (read,) = table.scan()

    expected = {name: values.get(name, [defaults.get(name)] * 4) for name in wanted.names}
    assert read.schema.equals(wanted)
    assert read.to_pydict() == expected
    forgotten = [name for name in wanted.names if name not in stored.names and name not in defaults]
    if forgotten:
        with pytest.raises(UsageError, match=f"the column {forgotten[0]} is missing and has no default"):
            conform(batch, wanted, defaults, "here")
    else:
        assert conform(batch, wanted, defaults, "here").equals(read)


def _widens(stored: Any, wanted: Any, name: str) -> bool:
    have, want = stored.field(name).type, wanted.field(name).type
    return any(have in order and want in order and order.index(have) <= order.index(want) for order in (WIDTHS, FLOATS))


def test_defaults_fill_missing_columns_and_apply_in_conditions(tmp_path: Path) -> None:
    day = datetime(2026, 1, 2, tzinfo=UTC)
    extra = [
        Column("depth", "int32", 7),
        Column("seen", "timestamp[ms, tz=UTC]", day),
        Column("tags", "list<utf8>", ["a"]),
        Column("notes", "map<utf8, utf8>", {"k": "v"}),
        Column("raw", "binary", b"\xff"),
        Column("unset", "double"),
    ]
    own = pa.schema([("id", pa.int64())])
    with PartSet(tmp_path, own).part() as part:
        part.write(pa.RecordBatch.from_pydict({"id": [1, 2]}, schema=own))
    today = PartSet(tmp_path, own, extra=extra)

    (batch,) = today.scan()

    expected = {"id": 1, "depth": 7, "seen": day, "tags": ["a"], "notes": [("k", "v")], "raw": b"\xff", "unset": None}
    assert batch.to_pylist()[0] == expected
    assert today.count((pc.field("depth") == 7) & (pc.field("seen") < datetime(2027, 1, 1, tzinfo=UTC))) == 2
    assert today.count(pc.field("unset") > 0) == 0


def test_missing_non_nullable_column_needs_a_default(tmp_path: Path) -> None:
    own = pa.schema([("id", pa.int64())])
    with Table.write(tmp_path, own) as new:
        new.commit()
    strict = own.append(pa.field("status", pa.utf8(), nullable=False))

    with pytest.raises(UsageError, match="the column status is missing and has no default"):
        Table.open(tmp_path, strict)

    assert Table.open(tmp_path, strict, defaults={"status": "unfetched"}).count() == 0


def test_default_of_the_wrong_type_is_named(tmp_path: Path) -> None:
    own = pa.schema([("id", pa.int64())])
    with Table.write(tmp_path, own) as new:
        new.commit()

    with pytest.raises(UsageError, match="the default of the column depth, 'deep', is not int32"):
        Table.open(tmp_path, own, extra=[Column("depth", "int32", "deep")])


def test_column_names_must_be_unique() -> None:
    own = pa.schema([("depth", pa.int64())])

    with pytest.raises(UsageError, match="the column depth is declared twice"):
        with_columns(own, [Column("depth", "int32")])
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["depth", "depth"])
    with pytest.raises(UsageError, match="the column depth occurs twice"):
        conform(twice, own, {}, "here")


def test_conforming_batch_is_not_copied() -> None:
    own = pa.schema([("id", pa.int64())])
    batch = pa.RecordBatch.from_pydict({"id": [1]}, schema=own)

    assert conform(batch, own, {}, "here") is batch
