"""The hosts of a large crawl are counted before a request needs them, and never by it."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.batch.api.crawls import BatchBench, crawled

from scoter.batch.api.host_tables import _count_apart
from scoter.batch.crawldir import host_counts
from scoter.batch.crawldir.host_counts import FILE

HOSTS = "/v1/crawls/news/hosts?sort=urls&descending=true"
LOOK = 0.02  # seconds between requests while another process counts; the test's own timeout is the deadline


@pytest.fixture(autouse=True)
def _every_crawl_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    crawled()  # as a small one, without stored counts
    monkeypatch.setattr(host_counts, "MIN_ROWS", 0)


async def ready_rows(bench: BatchBench) -> list[dict[str, Any]]:
    """Wait until the hosts are counted."""
    response = await bench.client.get(HOSTS)
    while response.status == 503:
        assert response.json["type"].endswith("counting")
        await asyncio.sleep(LOOK)
        response = await bench.client.get(HOSTS)
    assert response.status == 200
    rows: list[dict[str, Any]] = response.json["rows"]
    return rows


async def test_a_crawl_without_stored_counts_is_counted_in_the_background_once(tmp_path: Path) -> None:
    bench, counted = BatchBench(tmp_path), []
    bench.add_crawl()
    go_on = threading.Event()

    def count(crawl: Any) -> Any:
        counted.append(crawl.path.name)
        go_on.wait(60)
        return _count_apart(crawl)

    bench.hosts._count = count
    first = [(await bench.client.get(HOSTS)).status for _ in range(3)]
    assert first == [503] * 3
    assert (await bench.client.get("/v1/crawls/news")).json.get("by_status", {}) == {}
    go_on.set()
    rows = await ready_rows(bench)

    crawl = (await bench.client.get("/v1/crawls/news")).json
    assert sum(row["urls"] for row in rows) == crawl["urls"]
    assert {"host", "urls", "fetched", "unfetched", "gone", "redirects", "duplicates", "best_score"} == rows[0].keys()
    assert counted == ["news"]
    assert len(list((tmp_path / "news" / "crawldb").glob(f"*/{FILE}"))) == 1

    # Another server finds the stored counts at the first look.
    other = BatchBench(tmp_path)
    other.hosts._count = count
    assert (await other.client.get(HOSTS)).json["rows"] == rows
    assert counted == ["news"]


async def test_hosts_of_the_version_before_are_shown_while_new_ones_are_counted(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    folder = bench.add_crawl()
    rows = await ready_rows(bench)
    version = folder / "crawldb" / (folder / "crawldb" / "CURRENT").read_text().strip()
    manifest = version / "_manifest.json"
    manifest.write_text(re.sub(r'"created": "\d{4}', '"created": "2099', manifest.read_text()))
    (version / FILE).unlink()
    go_on = threading.Event()

    def count(crawl: Any) -> Any:
        go_on.wait(60)
        return _count_apart(crawl)

    bench.hosts._count = count
    assert (await bench.client.get(HOSTS)).json["rows"] == rows
    go_on.set()
    while not (version / FILE).exists():
        assert (await bench.client.get(HOSTS)).json["rows"] == rows
        await asyncio.sleep(LOOK)


async def test_hosts_that_cannot_be_counted_are_an_error(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    bench.add_crawl()

    def fail(crawl: Any) -> Any:
        raise OSError("out of memory")

    bench.hosts._count = fail
    response = await bench.client.get(HOSTS)
    while response.status == 503:
        await asyncio.sleep(LOOK)
        response = await bench.client.get(HOSTS)
    assert response.status == 409
    assert response.json["title"] == "The hosts cannot be counted."


async def test_a_crawl_without_a_crawldb_says_so(tmp_path: Path) -> None:
    bench = BatchBench(tmp_path)
    folder = bench.add_crawl()
    (folder / "crawldb" / "CURRENT").unlink()

    assert (await bench.client.get(HOSTS)).status == 422
