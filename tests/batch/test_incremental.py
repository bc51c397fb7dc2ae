"""Changes of the crawldb written as delta parts give the same records as rewriting it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.batch.making import DAY, NOW, fetch, known, link, make_crawl, make_segment, page

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.changes import stored_rows
from scoter.batch.crawldir.column_rewrite import IN_PLACE, rewrite_column
from scoter.batch.crawldir.crawldb import count_by_status, open_crawldb, recorded_statuses
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.lookup import url_rows
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.compact import compact
from scoter.batch.jobs.dedup import dedup
from scoter.batch.jobs.inject import inject
from scoter.batch.jobs.linkrank import linkrank
from scoter.batch.jobs.readdb import stats
from scoter.batch.jobs.scoreupdater import scoreupdater
from scoter.batch.jobs.sql import sql
from scoter.batch.jobs.updatedb import CrawldbUpdate
from scoter.batch.jobs.webgraph import webgraph
from scoter.config import Config, load
from scoter.core.url import canonical
from scoter.engine import Engine, file_source, source_of
from scoter.engine.sources import with_positions
from scoter.errors import UserError
from scoter.store.tables import Table

WHOLE = load(overrides=["db.incremental_min_rows=1000000"])
DELTA = load(overrides=["db.incremental_min_rows=0", "db.compaction_share=1.0"])
EAGER = load(overrides=["db.incremental_min_rows=0", "db.compaction_share=0.2"])
UPDATES = [(config, CrawldbUpdate(config)) for config in (WHOLE, DELTA, EAGER)]
"""Each has a cached query, because building one takes longer than running it."""

Row = dict[str, Any]
Step = Callable[[CrawlDir, Engine, Config], None]


def url_of(number: int) -> str:
    return f"http://host{number % 7}.example/page-{number:03d}"


def rows_of(crawl: CrawlDir, engine: Engine | None = None) -> list[Row]:
    """Return all records, sorted by URL."""
    with Table.open(crawl.crawldb, schemas.CRAWLDB) as table:
        batches = table.scan() if engine is None else engine.batches(engine.read(source_of(table)))
        rows = [row for batch in batches for row in batch.to_pylist()]
        assert len(rows) == table.manifest.rows
    return sorted(({**row, "metadata": row["metadata"] or None} for row in rows), key=lambda row: row["url"])


def updatedb(crawl: CrawlDir, engine: Engine, config: Config, segments: list[Segment], *, now: datetime) -> None:
    next(update for known, update in UPDATES if known is config).run(crawl, engine, segments, now=now)


def some_crawl(path: Path, pages: int = 60) -> CrawlDir:
    return make_crawl(path, [known(url_of(number), score=number / 10) for number in range(pages)])


def updates(draw: random.Random, number: int) -> Step:
    """Return an update from a random segment."""
    time = NOW + number * DAY
    chosen = draw.sample(range(70), draw.randint(1, 9))
    statuses = [draw.choice(["success", "gone", "retry", "success", "notmodified"]) for _ in chosen]
    fetches = [
        fetch(url_of(each), status, fetch_time=time, to=url_of(draw.randint(0, 90)) if draw.random() < 0.2 else None)
        for each, status in zip(chosen, statuses, strict=True)
    ]
    pages = [page(url_of(each), signature=bytes([draw.randint(0, 3)])) for each in chosen]
    links = [link(url_of(each), url_of(draw.randint(0, 99)), draw.random()) for each in chosen for _ in range(2)]
    name = f"2026{number:010d}"

    def step(crawl: CrawlDir, engine: Engine, config: Config) -> None:
        segment = make_segment(crawl, name, fetches=fetches, pages=pages, links=links)
        updatedb(crawl, engine, config, [segment], now=time)

    return step


def injects(draw: random.Random, number: int) -> Step:
    seeds = [f"{url_of(draw.randint(0, 120))}\tn={number}\tnutch.score={draw.randint(1, 5)}" for _ in range(4)]
    update = draw.random() < 0.5

    def step(crawl: CrawlDir, engine: Engine, config: Config) -> None:
        inject(crawl, engine, config, seeds, now=NOW + number * DAY, update=update)

    return step


def marks_duplicates(draw: random.Random, number: int) -> Step:
    return lambda crawl, engine, config: void(dedup(crawl, engine, config, now=NOW + number * DAY))


def scores(draw: random.Random, number: int) -> Step:
    """Return an update of scores by the ranks of a link graph, which knows some of the URLs."""
    name = f"2027{number:010d}"
    pages = draw.sample(range(60), 8)
    links = [(url_of(each), url_of(target)) for each in pages for target in draw.sample(range(80), 3)]

    def step(crawl: CrawlDir, engine: Engine, config: Config) -> None:
        segment = make_segment(
            crawl,
            name,
            fetches=[fetch(url_of(each)) for each in pages],
            pages=[page(url_of(each)) for each in pages],
            links=[link(source, target, 0.1) for source, target in links],
        )
        updatedb(crawl, engine, config, [segment], now=NOW + number * DAY)
        webgraph(crawl, engine, config, [segment], now=NOW)
        linkrank(crawl, config, now=NOW)
        scoreupdater(crawl, engine, config, now=NOW)

    return step


def compacts(draw: random.Random, number: int) -> Step:
    return lambda crawl, engine, config: void(compact(crawl, engine, config, now=NOW + number * DAY))


def void(_: object) -> None:
    """Drop a result."""


def test_rewriting_a_column_keeps_parts_and_drops_replaced_rows(engine: Engine, tmp_path: Path) -> None:
    crawl, values = some_crawl(tmp_path / "crawl"), tmp_path / "values.parquet"
    seeds = [f"{url_of(number)}\tnutch.score={number}" for number in range(50, 70)]
    inject(crawl, engine, DELTA, seeds, now=NOW, update=True)
    expected = [{**row, "score": row["score"] + 1} for row in rows_of(crawl)]

    with Table.open(crawl.crawldb, schemas.CRAWLDB) as table, Table.write(crawl.crawldb, schemas.CRAWLDB) as new:
        assert table.manifest.replaced
        stored = engine.read(source_of(table, ("score",)), positions=True)
        schema = with_positions(pa.schema([("score", pa.float64())]))
        engine.save(stored.mutate(score=stored.score + 1), schema, values, order=IN_PLACE)
        rewrite_column(table, "score", values, new)
        manifest = new.commit()

    assert rows_of(crawl) == expected
    assert [part.is_delta for part in manifest.parts] == [part.is_delta for part in table.manifest.parts]
    assert not any(part.replaced for part in manifest.parts)
    assert not manifest.replaced


def test_rewriting_a_column_copies_whole_parts_unless_they_are_damaged(engine: Engine, tmp_path: Path) -> None:
    crawl, values = some_crawl(tmp_path / "crawl"), tmp_path / "values.parquet"
    expected = [{**row, "score": row["score"] + 1} for row in rows_of(crawl)]
    with Table.open(crawl.crawldb, schemas.CRAWLDB) as table:
        stored = engine.read(source_of(table, ("score",)), positions=True)
        schema = with_positions(pa.schema([("score", pa.float64())]))
        engine.save(stored.mutate(score=stored.score + 1), schema, values, order=IN_PLACE)
        with Table.write(crawl.crawldb, schemas.CRAWLDB) as new:
            rewrite_column(table, "score", values, new)
            new.commit()
        assert rows_of(crawl) == expected

        part = Path(table.files[0])
        data = part.read_bytes()
        part.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        with (
            Table.write(crawl.crawldb, schemas.CRAWLDB) as new,
            pytest.raises(UserError, match="the file is damaged: its checksum is wrong"),
        ):
            rewrite_column(table, "score", values, new)
    assert rows_of(crawl) == expected


@pytest.mark.slow  # make test does the same with one sequence, in tests/batch/test_host_counts.py
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_any_sequence_of_changes_gives_the_records_of_rewriting(engine: Engine, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    makers = [updates, updates, updates, injects, marks_duplicates, compacts]
    steps = [*(draw.choice(makers)(draw, number) for number in range(1, 6)), scores(draw, 6), updates(draw, 7)]
    crawls = {name: some_crawl(tmp_path / name) for name in ("whole", "delta", "eager")}

    for step in steps:
        for name, config in (("whole", WHOLE), ("delta", DELTA), ("eager", EAGER)):
            step(crawls[name], engine, config)
        expected = rows_of(crawls["whole"])
        assert rows_of(crawls["delta"]) == expected
        assert rows_of(crawls["eager"]) == expected
    assert rows_of(crawls["delta"], engine) == expected
    for name in ("delta", "eager"):
        with Table.open(crawls[name].crawldb) as table:
            assert recorded_statuses(table.manifest) == count_by_status(crawls["whole"], engine)


@pytest.fixture
def crawl(engine: Engine, tmp_path: Path) -> CrawlDir:
    """A crawl with a base, two delta parts and replaced rows."""
    found = some_crawl(tmp_path / "crawl")
    for number in (1, 2):
        segment = make_segment(
            found,
            f"2026{number:010d}",
            fetches=[fetch(url_of(5)), fetch(url_of(number))],
            pages=[page(url_of(5), signature=b"5"), page(url_of(number), signature=b"x")],
            links=[link(url_of(5), url_of(100 + number), 0.5), link(url_of(5), url_of(30), 0.5)],
        )
        updatedb(found, engine, DELTA, [segment], now=NOW)
    return found


def test_update_writes_only_the_touched_rows(crawl: CrawlDir) -> None:
    with Table.open(crawl.crawldb) as table:
        base, *deltas = table.manifest.parts

        assert (base.rows, base.replaced, base.is_delta) == (60, 4, False)  # 1, 2, 5 and 30
        assert all(part.is_delta for part in deltas)
        # Each update wrote two fetched URLs, a new one, and one that is linked to; 5 and 30 were replaced again.
        assert sum(part.rows - part.replaced for part in deltas) == 6
        assert (table.manifest.rows, table.manifest.format) == (62, 2)
        assert base.name.startswith("v000001/")
        table.verify()


def test_every_reader_sees_each_url_once(crawl: CrawlDir, engine: Engine) -> None:
    rows = rows_of(crawl)
    statuses = {"fetched": 2, "notmodified": 1, "unfetched": 59}

    assert len({row["url"] for row in rows}) == len(rows) == 62
    assert rows_of(crawl, engine) == rows
    assert count_by_status(crawl, engine) == statuses
    assert stats(crawl, engine, DELTA).statuses == statuses
    with sql(crawl, memory_limit=2**28) as session:
        counted = session.query("SELECT count(*) AS n, count(DISTINCT url) AS urls FROM crawldb").rows
        assert list(counted) == [{"n": 62, "urls": 62}]
    with open_crawldb(crawl, DELTA) as table:
        (row,) = url_rows(source_of(table), canonical(url_of(5)))
        assert row["status"] == "notmodified"
        assert table.count() == 62
        positions = engine.read(source_of(table), positions=True)
        places = [tuple(each.values())[-2:] for batch in engine.batches(positions) for each in batch.to_pylist()]
        assert len(set(places)) == 62


def test_compaction_leaves_one_version_of_every_row(crawl: CrawlDir, engine: Engine) -> None:
    before = rows_of(crawl)

    done = compact(crawl, engine, DELTA, now=NOW)

    assert done is not None
    assert done.written == 62
    with Table.open(crawl.crawldb) as table:
        assert not any(part.is_delta or part.replaced for part in table.manifest.parts)
        assert (table.manifest.replaced, table.manifest.format) == ((), 1)
        assert table.manifest.applied == ("20260000000001", "20260000000002")
    assert rows_of(crawl) == before
    assert compact(crawl, engine, DELTA, now=NOW) is None


def crawl_of_parts(path: Path) -> tuple[CrawlDir, list[str]]:
    """Return a crawl whose base has four parts of 50 rows, each with five row groups, and its URLs in order."""
    crawl = some_crawl(path, 200)
    with Table.open(crawl.crawldb) as table:
        rows = next(table.scan())
    with Table.write(crawl.crawldb, schemas.CRAWLDB, writer="test") as new:
        for start in range(0, 200, 50):
            file = new.workspace / "part.parquet"
            pq.write_table(pa.Table.from_batches([rows.slice(start, 50)]), file, row_group_size=10)
            new.adopt(file)
        new.commit()
    return crawl, rows["url"].to_pylist()


def test_update_finds_known_rows_in_few_row_groups(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoter.engine.sources.MIN_PRUNED_GROUPS", 0)
    crawl, urls = crawl_of_parts(tmp_path / "crawl")
    with Table.open(crawl.crawldb, schemas.CRAWLDB) as table:
        source = source_of(table)
        for chosen in ([urls[3], urls[4]], [urls[0], urls[199], "http://host2.example/new"], ["http://other.example/"]):
            wanted = [{"url": canonical(each).text, "key": canonical(each).key} for each in chosen]
            file = tmp_path / "wanted.parquet"
            schema = pa.schema([("url", pa.utf8()), ("key", pa.utf8())])
            pq.write_table(pa.Table.from_pylist(wanted, schema=schema), file)
            (tmp_path / "scratch").mkdir(exist_ok=True)

            found = stored_rows(engine, source, engine.read(file_source(file, schema)), tmp_path / "scratch")

            rows = [row for batch in engine.batches(engine.read(found.source)) for row in batch.to_pylist()]
            assert sorted(row["url"] for row in rows) == sorted(set(chosen) & set(urls))
            assert pq.read_metadata(found.positions).num_rows == len(rows)


def test_compaction_rewrites_only_ranges_over_the_share(engine: Engine, tmp_path: Path) -> None:
    crawl, urls = crawl_of_parts(tmp_path / "crawl")
    before = [part.name for part in Table.open(crawl.crawldb).manifest.parts]
    touched = [*urls[52:82], urls[3], urls[120]]  # most of the second part
    segment = make_segment(crawl, fetches=[fetch(each) for each in touched])
    shutil.copytree(crawl.path, tmp_path / "other")

    updatedb(crawl, engine, EAGER, [segment], now=NOW)

    other = CrawlDir.open(tmp_path / "other")
    updatedb(other, engine, WHOLE, [other.segment(segment.name)], now=NOW)
    assert rows_of(crawl) == rows_of(other)
    manifest = Table.open(crawl.crawldb).manifest
    kept = {part.name.rsplit("/", 1)[-1] for part in manifest.parts if part.name.startswith("v000002/")}
    assert kept == {before[0], before[2], before[3]}
    assert sum(part.rows - part.replaced for part in manifest.parts if part.is_delta) == 2


def test_many_delta_parts_are_merged(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.batch.jobs.compact.MAX_DELTAS", 2)
    crawl, other = some_crawl(tmp_path / "crawl", 200), some_crawl(tmp_path / "other", 200)
    for number in range(1, 5):
        for each, config in ((crawl, DELTA), (other, WHOLE)):
            name = f"2026{number:010d}"
            segment = make_segment(each, name, fetches=[fetch(url_of(number)), fetch(url_of(3))])
            updatedb(each, engine, config, [segment], now=NOW)
        manifest = Table.open(crawl.crawldb).manifest
        assert sum(part.is_delta for part in manifest.parts) <= 2
        assert len(manifest.replaced) <= 2
        assert rows_of(crawl) == rows_of(other)


def test_reader_of_an_old_version_keeps_its_files(crawl: CrawlDir, engine: Engine) -> None:
    before = rows_of(crawl)
    with Table.open(crawl.crawldb, schemas.CRAWLDB) as reader:
        for number in (3, 4):
            compact(crawl, engine, DELTA, now=NOW)
            segment = make_segment(crawl, f"2026{number:010d}", fetches=[fetch(url_of(number))])
            updatedb(crawl, engine, DELTA, [segment], now=NOW)
        reader.verify()
        found = [row for batch in reader.scan() for row in batch.to_pylist()]
        assert sorted(row["url"] for row in found) == [row["url"] for row in before]
    compact(crawl, engine, DELTA, now=NOW)
    compact(crawl, engine, DELTA, now=NOW)
    segment = make_segment(crawl, "20260000000009", fetches=[fetch(url_of(9))])
    updatedb(crawl, engine, DELTA, [segment], now=NOW)
    with Table.open(crawl.crawldb) as current, Table.open(crawl.crawldb, version=current.manifest.previous) as previous:
        needed = {*current.files, *current.replaced, *previous.files, *previous.replaced}
    assert {str(path) for path in crawl.crawldb.rglob("*.parquet")} == needed


def test_previous_version_can_be_restored(crawl: CrawlDir, engine: Engine) -> None:
    before = rows_of(crawl)
    version = Table.open(crawl.crawldb).version
    compact(crawl, engine, DELTA, now=NOW)

    (crawl.crawldb / "CURRENT").write_text(f"v{version:06d}\n")

    assert rows_of(crawl) == before
