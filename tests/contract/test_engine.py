"""The contract of every engine: DuckDB, DuckDB in key ranges, and Spark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from tests.engine.rows import NOW, SCHEMA, column, new_table, page, rows_of, source, stored

from scoter.batch.urls.chains import UrlChains, url_changes
from scoter.config import load
from scoter.engine import Engine
from scoter.errors import PluginError, UsageError, UserError
from scoter.store.tables import Table


def test_rows_of_files_are_read(engine: Engine, tmp_path: Path) -> None:
    first = stored(tmp_path / "it's [1]{a}.parquet", [page("b", None), page("a", 0.5, {"lang": "en"})])
    second = stored(tmp_path / "2.parquet", [page("c", notes={"lang": "de", "x": None})])

    rows = engine.read(source(first, second))

    assert rows_of(engine, rows.order_by("key")) == [
        {**page("a", 0.5), "notes": {"lang": "en"}},
        page("b", None),
        {**page("c"), "notes": {"lang": "de", "x": None}},
    ]


def test_missing_column_of_a_file_gets_its_default(engine: Engine, tmp_path: Path) -> None:
    more = {"depth": pa.int32(), "rank": pa.float64(), "note": pa.utf8(), "ok": pa.bool_(), "kind": pa.utf8()}
    schema = pa.schema([*SCHEMA, *more.items()])
    told = {"depth": 3, "rank": 0.5, "note": "it's \\ new", "ok": True, "kind": None}
    old = stored(tmp_path / "old.parquet", [page("a")])
    new = stored(tmp_path / "new.parquet", [{**page("b"), "depth": 1, "ok": None}], schema)

    rows = rows_of(engine, engine.read(source(old, new, schema=schema, defaults=told)).order_by("key"))

    assert {name: rows[0][name] for name in more} == told
    assert {name: rows[1][name] for name in more} == {"depth": 1, "rank": None, "note": None, "ok": None, "kind": None}


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (pa.binary(), b"\x00'ab"),
        (pa.list_(pa.int32()), [1, None]),
        (pa.list_(pa.utf8()), ["it's", 'a "b", c']),
        (pa.list_(pa.utf8()), []),
        (pa.map_(pa.utf8(), pa.utf8()), [("a", "b")]),
        (pa.map_(pa.utf8(), pa.utf8()), []),
        (pa.struct([("a", pa.binary())]), {"a": b"\xff"}),
        (pa.float64(), float("inf")),
    ],
)
def test_default_of_any_type_round_trips(engine: Engine, tmp_path: Path, kind: Any, default: Any) -> None:
    file = stored(tmp_path / "rows.parquet", [{"key": "a"}], pa.schema([("key", pa.utf8())]))
    schema = pa.schema([("key", pa.utf8()), ("more", kind)])

    rows = engine.read(source(file, schema=schema, defaults={"more": default}))

    assert [batch["more"].to_pylist() for batch in engine.batches(rows)] == [[default]]


def test_narrower_column_of_an_old_file_is_widened(engine: Engine, tmp_path: Path) -> None:
    narrow = pa.schema([("n", pa.int32()), ("f", pa.float32()), ("t", pa.timestamp("ms", tz="UTC"))])
    wide = pa.schema([("n", pa.int64()), ("f", pa.float64()), ("t", pa.timestamp("us", tz="UTC"))])
    old = stored(tmp_path / "old.parquet", [{"n": 1, "f": 0.5, "t": NOW}], narrow)
    new = stored(tmp_path / "new.parquet", [{"n": 2**40, "f": 0.1, "t": NOW}], wide)

    rows = list(engine.batches(engine.read(source(old, new, schema=wide)).order_by("n")))

    assert rows[0].schema.equals(wide)
    assert [row for batch in rows for row in batch.to_pylist()] == [
        {"n": 1, "f": 0.5, "t": NOW},
        {"n": 2**40, "f": 0.1, "t": NOW},
    ]


def test_column_of_another_type_is_an_error(engine: Engine, tmp_path: Path) -> None:
    file = stored(tmp_path / "a.parquet", [{"score": "high"}], pa.schema([("score", pa.utf8())]))

    with pytest.raises(UsageError, match="the column score holds string, but double is expected") as told:
        engine.read(source(file, schema=pa.schema([("score", pa.float64())])))

    assert told.value.where == file


def test_source_without_files_has_columns_but_no_rows(engine: Engine) -> None:
    rows = engine.read(source())

    assert rows.schema().to_pyarrow().field("seen").type == SCHEMA.field("seen").type
    assert list(rows.columns) == SCHEMA.names
    assert rows_of(engine, rows) == []
    assert rows_of(engine, rows.group_by("url").agg(score=rows.score.sum())) == []


def test_damaged_file_is_named(engine: Engine, tmp_path: Path) -> None:
    whole = Path(stored(tmp_path / "whole.parquet", [page("a")]))
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole.read_bytes()[:-9])

    with pytest.raises(UserError, match="damaged") as told:
        engine.read(source(str(whole), str(cut)))

    assert str(cut) in str(told.value)


def test_job_writes_a_version_sorted_by_key_and_url(engine: Engine, tmp_path: Path) -> None:
    names = [f"{number:04d}" for number in range(500)]
    old = stored(tmp_path / "old.parquet", [page(name, 1.0) for name in names])
    new = stored(tmp_path / "new.parquet", [page(name, 2.0, {"n": name}) for name in reversed(names[100:200])])
    more = stored(tmp_path / "more.parquet", [page(f"{number}x", 3.0) for number in range(9)])

    with new_table(tmp_path / "table") as made:
        engine.write(_newest, {"old": source(old, is_sorted=True), "new": source(new, more), "none": source()}, made)
        made.commit()

    table = Table.open(tmp_path / "table")
    rows = [row for batch in table.scan() for row in batch.to_pylist()]
    assert [row["url"] for row in rows] == sorted(row["url"] for row in rows)
    assert [(row["url"][-4:], row["score"]) for row in rows if row["url"][-1] != "x"] == [
        (name, 2.0 if 100 <= int(name) < 200 else 1.0) for name in names
    ]
    assert sum(row["score"] == 3.0 for row in rows) == 9
    assert [dict(row["notes"]) for row in rows if row["notes"]] == [{"n": name} for name in names[100:200]]
    assert {row["seen"] for row in rows} == {NOW}
    assert [pq.read_schema(file).field("seen").type for file in table.files] == [SCHEMA.field("seen").type] * len(
        table.files
    )


def test_repeated_job_uses_its_new_inputs_and_time(engine: Engine, tmp_path: Path) -> None:
    def job(inputs: Mapping[str, Any]) -> Any:
        new = inputs["new"].mutate(seen=inputs["now"])
        return new.filter(new.score < 5).union(inputs["old"]) if "old" in inputs else new

    later, last = NOW + timedelta(days=1, microseconds=7), datetime.max.replace(tzinfo=UTC)
    asked = [
        ({"new": source(stored(tmp_path / "1.parquet", [page("a"), page("b")]))}, NOW),
        ({"new": source(stored(tmp_path / "2.parquet", [page("c", 2.0)]))}, later),
        ({"new": source(), "old": source(stored(tmp_path / "3.parquet", [page("d")]))}, NOW),
        ({"new": source(str(tmp_path / "1.parquet")), "old": source(str(tmp_path / "2.parquet"))}, last),
    ]
    found = []
    for number, (inputs, time) in enumerate(asked):
        with new_table(tmp_path / f"table{number}") as made:
            engine.write(job, {**inputs, "now": time}, made)
            made.commit()
        rows = [row for batch in Table.open(tmp_path / f"table{number}").scan() for row in batch.to_pylist()]
        found.append([(row["url"][-1], row["seen"]) for row in rows])

    assert found == [[("a", NOW), ("b", NOW)], [("c", later)], [("d", NOW)], [("a", last), ("b", last), ("c", NOW)]]


def test_repeated_job_with_other_columns_is_rebuilt(engine: Engine, tmp_path: Path) -> None:
    def job(inputs: Mapping[str, Any]) -> Any:
        rows = inputs["new"]
        return rows.mutate(score=rows.rank * 2).drop("rank") if "rank" in rows.columns else rows

    schema = pa.schema([*SCHEMA, ("rank", pa.float64())])
    plain = source(stored(tmp_path / "1.parquet", [page("a")]))
    ranked = source(stored(tmp_path / "2.parquet", [{**page("a"), "rank": 4.0}], schema), schema=schema)
    found = []
    for number, new in enumerate((plain, ranked, plain)):
        with new_table(tmp_path / f"table{number}") as made:
            engine.write(job, {"new": new}, made)
            made.commit()
        found += [row["score"] for batch in Table.open(tmp_path / f"table{number}").scan() for row in batch.to_pylist()]

    assert found == [1.0, 8.0, 1.0]


def test_job_that_maps_batches_runs_each_time(engine: Engine, tmp_path: Path) -> None:
    def job(inputs: Mapping[str, Any]) -> Any:
        return engine.map_batches(inputs["new"], lambda batch: batch, SCHEMA)

    found = []
    for name in "ab":
        with new_table(tmp_path / name) as made:
            engine.write(job, {"new": source(stored(tmp_path / f"{name}.parquet", [page(name)]))}, made)
            made.commit()
        found += [row["url"][-1] for batch in Table.open(tmp_path / name).scan() for row in batch.to_pylist()]

    assert found == ["a", "b"]


def test_positions_of_replaced_rows_are_written_apart(engine: Engine, tmp_path: Path) -> None:
    names = [f"{number:04d}" for number in range(300)]
    files = [stored(tmp_path / f"{n}.parquet", [page(name) for name in names[n::2]]) for n in range(2)]
    new = stored(tmp_path / "new.parquet", [page(name, 2.0) for name in [*names[40:60], "x1", "x2"]])
    (tmp_path / "replaced").mkdir()

    def job(tables: Mapping[str, Any]) -> Any:
        known, found = tables["old"], tables["new"]
        old = known.select(old_url="url", old_score="score", stored_file="stored_file", stored_row="stored_row")
        rows = old.right_join(found, old.old_url == found.url)
        return rows.select(*SCHEMA.names, "stored_file", "stored_row", "old_score")

    with new_table(tmp_path / "table") as made:
        old = replace(source(*files, is_sorted=True), has_positions=True)
        engine.write(job, {"old": old, "new": source(new)}, made, replaced=tmp_path / "replaced")
        made.commit()

    rows = [row for batch in Table.open(tmp_path / "table").scan() for row in batch.to_pylist()]
    assert [row["url"][-4:] for row in rows[:20]] == names[40:60]
    assert ([row["url"][-2:] for row in rows[20:]], {row["score"] for row in rows}) == (["x1", "x2"], {2.0})
    places = [row for file in (tmp_path / "replaced").rglob("*.parquet") for row in pq.read_table(file).to_pylist()]
    found = [(row["stored_file"], row["stored_row"], row["old_score"]) for row in places]
    assert sorted(found) == sorted((n % 2, n // 2, 1.0) for n in range(40, 60))
    assert not set(places[0]) & set(SCHEMA.names)


def test_job_without_rows_writes_an_empty_version(engine: Engine, tmp_path: Path) -> None:
    with new_table(tmp_path / "table") as made:
        engine.write(lambda inputs: inputs["old"], {"old": source()}, made)
        made.commit()

    assert Table.open(tmp_path / "table").count() == 0


def test_saved_file_has_the_types_of_the_schema(engine: Engine, tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64()), ("f", pa.float64()), ("g", pa.float64()), ("t", pa.utf8())])
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page("a", 2.0)])))

    made = engine.save(rows.select(t=rows.url, n=1, f=0.5, g=rows.score.floor()), schema, tmp_path / "out.parquet")

    assert made == 1
    found = pq.read_schema(tmp_path / "out.parquet")
    assert [(field.name, field.type) for field in found] == [(field.name, field.type) for field in schema]


def test_saved_file_is_sorted(engine: Engine, tmp_path: Path) -> None:
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page(f"{n % 7}-{n}", float(n)) for n in range(300)])))

    count = engine.save(rows, SCHEMA, tmp_path / "o'ut.parquet", ["key"])

    found = pq.read_table(tmp_path / "o'ut.parquet")
    keys = found["key"].to_pylist()
    assert (count, keys) == (300, sorted(keys))
    assert engine.save(rows.filter(rows.score < 0), SCHEMA, tmp_path / "none.parquet", ["key"]) == 0
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_batches_follow_the_order_of_the_expression(engine: Engine, tmp_path: Path) -> None:
    files = [stored(tmp_path / f"{n}.parquet", [page(f"{n}-{m}", m + n / 10) for m in range(60)]) for n in range(5)]
    rows = engine.read(source(*files))

    scores = column(engine, rows.order_by(rows.score.desc()).limit(120), "score")

    expected = [m + n / 10 for m in reversed(range(60)) for n in reversed(range(5))]
    assert scores == expected[:120]
    later = rows.order_by(rows.score.desc()).limit(20, offset=30)
    assert column(engine, later, "score") == expected[30:50]
    assert [list(row) for row in rows_of(engine, later)] == [SCHEMA.names] * 20


def test_another_query_can_run_between_batches(engine: Engine, tmp_path: Path) -> None:
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page(str(n), float(n)) for n in range(3)])))

    first = engine.batches(rows)
    next(first)

    assert column(engine, rows.agg(most=rows.score.max()), "most") == [2.0]
    assert list(first) == []


def test_batches_have_the_types_of_the_expression(engine: Engine, tmp_path: Path) -> None:
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page("a", 2.0)])))

    batch = next(engine.batches(rows.select("seen", "notes", half=rows.score.round() + 0.5, count=rows.url.length())))

    assert [batch.schema.field(name).type for name in ("seen", "half")] == [SCHEMA.field("seen").type, pa.float64()]
    assert batch["half"].to_pylist() == [2.5]


def test_map_batches_applies_a_function(engine: Engine, tmp_path: Path) -> None:
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page(f"{n}", float(n), {"n": "1"}) for n in range(99)])))
    schema = pa.schema([("url", pa.utf8()), ("twice", pa.float64()), ("notes", SCHEMA.field("notes").type)])

    def double(batch: Any) -> Any:
        twice = pa.array([2 * score for score in batch["score"].to_pylist()])
        return pa.RecordBatch.from_arrays([batch["url"], twice, batch["notes"]], schema=schema)

    made = engine.map_batches(rows.filter(rows.score >= 10), double, schema)

    assert column(engine, made.agg(sum=made.twice.sum()), "sum") == [2.0 * sum(range(10, 99))]
    assert rows_of(engine, made.filter(made.twice == 20.0)) == [
        {"url": "http://x.example/10", "twice": 20.0, "notes": {"n": "1"}}
    ]


def test_functions_that_hold_plugins_can_be_mapped(engine: Engine, tmp_path: Path) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("http://x.example/kept\n")
    config = load(overrides=['urlfilter.filters=["prefix"]', f"urlfilter.prefix_file={rules}"])
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page("kept"), page("dropped")])))
    chains = UrlChains.from_config(config, "outlink", filter=True, normalize=False)

    assert column(engine, url_changes(engine, rows, chains), "changed") == ["http://x.example/dropped"]


def test_user_errors_of_a_mapped_function_are_raised(engine: Engine, tmp_path: Path) -> None:
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page("a")])))

    def failing(batch: Any) -> Any:
        raise PluginError("it failed", where="here", hint="Do this.")

    with pytest.raises(PluginError, match="it failed") as caught:
        rows_of(engine, engine.map_batches(rows, failing, SCHEMA))
    assert (caught.value.where, caught.value.hint) == ("here", "Do this.")


def test_map_batches_of_no_rows_returns_no_rows(engine: Engine) -> None:
    made = engine.map_batches(engine.read(source()), lambda batch: batch, SCHEMA)

    assert rows_of(engine, made) == []


def test_in_memory_table_can_be_joined(engine: Engine, tmp_path: Path) -> None:
    rows = engine.read(source(stored(tmp_path / "a.parquet", [page("a"), page("b")])))
    weights = ibis.memtable(pa.table({"url": ["http://x.example/b"], "weight": [7]}))

    found = rows.inner_join(weights, "url")

    assert column(engine, found, "weight") == [7]


def _newest(inputs: Mapping[str, Any]) -> Any:
    old, new, none = inputs["old"], inputs["new"], inputs["none"]
    left = old.anti_join(new, "url").anti_join(none, "url")
    return left.union(new)
