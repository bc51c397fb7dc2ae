"""Counts of hosts that jobs store with the crawldb are those of its rows, however it was changed."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.batch.making import NOW, known, make_crawl
from tests.batch.test_incremental import (
    DELTA,
    EAGER,
    WHOLE,
    compacts,
    injects,
    marks_duplicates,
    rows_of,
    scores,
    some_crawl,
    updates,
)

from scoter.batch.crawldir import host_counts
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.host_counts import (
    FILE,
    count_hosts,
    current_host_counts,
    record_host_counts,
    stored_host_counts,
)
from scoter.batch.jobs.inject import inject
from scoter.config import Config
from scoter.engine import Engine
from scoter.store.tables import Table


@pytest.fixture(autouse=True)
def _stored_for_every_crawl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_counts, "MIN_ROWS", 0)


def expected(crawl: CrawlDir) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(lambda: dict.fromkeys(host_counts.HOST_COUNTS.names, 0))
    with Table.open(crawl.crawldb) as table:
        for row in (row for batch in table.scan(["host", "status", "score"]) for row in batch.to_pylist()):
            host = found[row["host"]]
            best = row["score"] if not host["urls"] else max(host["best_score"], row["score"])
            host |= {"host": row["host"], "best_score": best}
            host["urls"] += 1
            host[row["status"]] += 1
    return dict(found)


def stored(crawl: CrawlDir) -> dict[str, dict[str, Any]] | None:
    with Table.open(crawl.crawldb) as table:
        counts = stored_host_counts(crawl, table)
    if counts is None:
        return None
    assert counts["host"].to_pylist() == sorted(counts["host"].to_pylist())
    return {row["host"]: row for row in counts.to_pylist()}


@pytest.mark.parametrize(
    "config", [pytest.param(DELTA, id="delta"), pytest.param(EAGER, id="compacted", marks=pytest.mark.slow)]
)
def test_counts_and_records_follow_any_sequence_of_changes(engine: Engine, tmp_path: Path, config: Config) -> None:
    draw = random.Random(3)
    makers = [updates, injects, marks_duplicates, compacts, updates]
    steps = [*(make(draw, number) for number, make in enumerate(makers, 1)), scores(draw, 6), updates(draw, 7)]
    rewritten, changed = some_crawl(tmp_path / "rewritten"), some_crawl(tmp_path / "changed")

    for step in steps:
        step(rewritten, engine, WHOLE)
        step(changed, engine, config)

        assert rows_of(changed) == rows_of(rewritten)
        assert stored(changed) == stored(rewritten) == expected(changed)
        with Table.open(changed.crawldb) as table:
            assert {row["host"]: row for row in count_hosts(table).to_pylist()} == expected(changed)
    assert rows_of(changed, engine) == rows_of(rewritten)


def test_an_update_starts_from_the_counts_before_it(engine: Engine, tmp_path: Path) -> None:
    crawl = some_crawl(tmp_path / "crawl")
    record_host_counts(crawl, engine)
    file = crawl.crawldb / "v000001" / FILE
    counts = pq.read_table(file)
    elsewhere = {"host": "elsewhere.example", **dict.fromkeys(counts.column_names[1:-1], 0), "best_score": 0.5}
    marked = pa.Table.from_pylist([*counts.to_pylist(), {**elsewhere, "urls": 7}], counts.schema)
    pq.write_table(marked, file)

    updates(random.Random(3), 1)(crawl, engine, DELTA)

    found = stored(crawl)
    assert found is not None
    assert found.pop("elsewhere.example")["urls"] == 7  # only a count of all rows would miss it
    assert found == expected(crawl)


def test_counts_of_too_many_hosts_are_returned_but_not_stored(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_counts, "_MAX_HOSTS", 2)
    urls = [known(f"http://{name}.example/") for name in ("one", "two", "three")]
    crawl = make_crawl(tmp_path / "crawl", urls)

    record_host_counts(crawl, engine)

    assert stored(crawl) is None
    found = current_host_counts(crawl, engine, most=10)
    assert found["host"].to_pylist() == ["one.example", "three.example", "two.example"]


def test_a_host_whose_best_url_got_a_lower_score_has_another_best_score(engine: Engine, tmp_path: Path) -> None:
    urls = [known(f"http://one.example/{number}", score=float(number)) for number in range(5)]
    crawl = make_crawl(tmp_path / "crawl", [*urls, known("http://two.example/", score=9.0)])
    record_host_counts(crawl, engine)

    inject(crawl, engine, DELTA, ["http://one.example/4\tnutch.score=0.5"], now=NOW, overwrite=True)

    assert stored(crawl) == expected(crawl)
    assert expected(crawl)["one.example"]["best_score"] == 3.0


def test_missing_or_damaged_counts_are_made_again(engine: Engine, tmp_path: Path) -> None:
    crawl = some_crawl(tmp_path / "crawl")
    assert stored(crawl) is None
    record_host_counts(crawl, engine)
    (crawl.crawldb / "v000001" / FILE).write_bytes(b"PAR1 damaged")
    assert stored(crawl) is None

    inject(crawl, engine, DELTA, ["http://new.example/"], now=NOW)

    assert stored(crawl) == expected(crawl)


def test_the_counts_of_a_removed_version_are_removed(engine: Engine, tmp_path: Path) -> None:
    crawl = some_crawl(tmp_path / "crawl")

    for number in range(4):
        inject(crawl, engine, DELTA, [f"http://new{number}.example/"], now=NOW)

    assert len(list(crawl.crawldb.glob(f"*/{FILE}"))) <= 2
