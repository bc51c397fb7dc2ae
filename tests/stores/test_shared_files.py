"""Files that a step shares with others while it runs, and parts that versions share, in an object store."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from tests.stores.proxy import PASS, SLOW_DOWN, StoreProxy

from scoter.batch.crawldir.directory import HOLDS, CrawlDir
from scoter.errors import Defect
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.objects import copies
from scoter.store.objects.path import StorePath
from scoter.store.tables import Table

pytestmark = [pytest.mark.stores, pytest.mark.timeout(120)]

LONG = 60.0
_FETCH = """
import sys, time
from scoter.batch.crawldir.directory import HOLDS, CrawlDir
from scoter.store.host_holds import SqliteHostHolds
from scoter.store.objects import copies

copies.PUBLISH_SECONDS = 0.05
with CrawlDir.open(sys.argv[1]).shared_file(HOLDS) as file, SqliteHostHolds(file) as holds:
    holds.put([("a.example", time.time() + 600, 1.0)])
    time.sleep(600)
"""


@pytest.fixture
def crawl(url: str) -> CrawlDir:
    return CrawlDir.create(url, datetime(2026, 11, 15, tzinfo=UTC))


def held(crawl: CrawlDir) -> list[str]:
    """Return the hosts that another process would find on hold."""
    with crawl.shared_file(HOLDS, publish=False) as file:
        if not file.exists():
            return []
        with SqliteHostHolds(file) as holds:
            return sorted(each.host for each in holds.current())


def add(file: Path, host: str) -> None:
    with SqliteHostHolds(file) as holds:
        holds.put([(host, time.time() + 600, 1.0)])


def wait_for_hosts(crawl: CrawlDir, hosts: list[str]) -> None:
    end = time.monotonic() + LONG
    while held(crawl) != hosts:
        assert time.monotonic() < end, f"{held(crawl)} instead of {hosts}"
        time.sleep(0.05)


def test_killed_step_has_shared_what_it_learnt(crawl: CrawlDir) -> None:
    step = subprocess.Popen([sys.executable, "-c", _FETCH, str(crawl.path)])
    try:
        wait_for_hosts(crawl, ["a.example"])
    finally:
        step.send_signal(signal.SIGKILL)
        step.wait()

    assert held(crawl) == ["a.example"]


def test_shared_file_is_published_while_it_changes(
    crawl: CrawlDir, store: StoreProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "PUBLISH_SECONDS", 0.05)
    with crawl.shared_file(HOLDS) as file:
        add(file, "a.example")
        wait_for_hosts(crawl, ["a.example"])
        add(file, "b.example")
        wait_for_hosts(crawl, ["a.example", "b.example"])
        store.reset()
        time.sleep(0.5)

    assert not store.counts()["PUT"]  # without changes there is nothing to publish
    assert held(crawl) == ["a.example", "b.example"]


def test_shared_file_is_published_at_most_once_per_interval(crawl: CrawlDir, store: StoreProxy) -> None:
    store.reset()
    with crawl.shared_file(HOLDS) as file:
        for number in range(50):
            add(file, f"{number}.example")

    assert store.counts()["PUT"] == 1
    assert len(held(crawl)) == 50


def test_failed_step_publishes_what_it_learnt(crawl: CrawlDir) -> None:
    def fail(file: Path) -> None:
        add(file, "a.example")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), crawl.shared_file(HOLDS) as file:
        fail(file)

    assert held(crawl) == ["a.example"]


def test_shared_file_of_another_process_stays(crawl: CrawlDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "PUBLISH_SECONDS", 0.05)
    with crawl.shared_file(HOLDS) as file:
        add(file, "a.example")
        wait_for_hosts(crawl, ["a.example"])
        with crawl.shared_file(HOLDS) as other:
            add(other, "b.example")
        add(file, "c.example")
        time.sleep(0.3)

    assert held(crawl) == ["a.example", "b.example"]


def test_failure_to_publish_does_not_disturb_the_step(
    crawl: CrawlDir, store: StoreProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "PUBLISH_SECONDS", 0.05)
    with crawl.shared_file(HOLDS) as file:
        add(file, "a.example")
        store.decide = lambda request: SLOW_DOWN if request.method == "PUT" else PASS
        end = time.monotonic() + LONG
        while not store.actions[SLOW_DOWN]:
            assert time.monotonic() < end
            time.sleep(0.05)
        store.decide = lambda request: PASS

    assert held(crawl) == ["a.example"]


SCHEMA = pa.schema([("url", pa.utf8())])


def add_part(url: str, *urls: str) -> None:
    """Add a part to those of the version before."""
    with Table.write(url, SCHEMA, writer="test") as new:
        if new.previous is not None:
            with Table.open(url, SCHEMA) as before:
                new.keep(before.files, before.manifest.parts)
        with new.part() as part:
            part.write(pa.RecordBatch.from_pylist([{"url": each} for each in urls], schema=SCHEMA))
        new.commit()


def rows(url: str) -> list[str]:
    with Table.open(url, SCHEMA) as table:
        return [each for batch in table.scan() for each in batch["url"].to_pylist()]


def test_kept_parts_are_not_sent_again(url: str, store: StoreProxy) -> None:
    add_part(url, "a" * 100_000)
    for number in range(5):
        store.reset()
        add_part(url, str(number))
        puts = [each for each in store.requests if each.method in ("PUT", "POST") and ".parquet" in each.target]
        assert len(puts) == 1
        assert sum(each.length for each in store.requests) < 50_000
        assert not [each for each in store.requests if each.method == "GET" and ".parquet" in each.target]

    assert rows(url) == ["a" * 100_000, *map(str, range(5))]
    names = [each.name for each in StorePath.of(url).iterdir() if each.name.startswith("v")]
    assert "v000001" in names  # it still has the part that all later versions share


def test_parts_of_other_tables_cannot_be_kept(url: str) -> None:
    add_part(f"{url}/one", "a")
    add_part(f"{url}/two", "b")

    with (
        Table.open(f"{url}/one", SCHEMA) as one,
        Table.write(f"{url}/two", SCHEMA) as new,
        pytest.raises(Defect, match="does not have"),
    ):
        new.keep(one.files, one.manifest.parts)
    assert rows(f"{url}/two") == ["b"]
