"""Fetching on executors into an object store: what the driver has not accepted does not count."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.batch.jobs.test_fetch_job import at_first_part, rows_of, urls_of
from tests.batch.spark.executors import ProcessEngine
from tests.long.batch_truth import settings
from tests.stores.proxy import StoreProxy

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import EXECUTORS
from scoter.batch.jobs.fetch import fetch
from scoter.config import load
from scoter.simweb import SimServer, WebSpec, running
from scoter.store.objects.copies import local_file
from scoter.store.objects.path import StorePath

WEB = WebSpec(seed=3, hosts=6, pages=60, page_bytes=1_500, links=3)

pytestmark = [pytest.mark.stores, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def server() -> Iterator[SimServer]:
    with running(WEB) as opened:
        yield opened


def prepared(url: str, server: SimServer) -> CrawlDir:
    """Inject all pages of a web into a crawl, and generate two fetch lists."""
    pages = [fact.url for host in server.web.hosts() for fact in server.web.resources(host)]
    options = [part for each in settings(server.port, "fetch.processes=2") for part in ("-D", each)]
    for command in (("inject", url, *pages), ("generate", url)):
        run = [sys.executable, "-m", "scoter.cli.main", *options, *command]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return CrawlDir.open(url)


def test_killed_executor_loses_nothing_in_a_store(store: StoreProxy, url: str, server: SimServer) -> None:
    crawl = prepared(url, server)
    segment = crawl.segment("")
    wanted = sorted(row["url"] for row in rows_of(segment.crawl_generate()))
    engine = ProcessEngine()
    config = load(
        overrides=settings(
            server.port,
            "fetch.where=cluster",
            "fetch.delay=300ms",
            "fetch.lease=3s",
            "fetch.lease_grace=1s",
            'store.warc_age="1s"',
            "store.disk_floor=0B",
        )
    )

    done = fetch(
        crawl,
        segment,
        config,
        engine=lambda: engine,  # type: ignore[arg-type, return-value]
        parses=True,
        on_progress=at_first_part(segment, lambda: os.kill(engine.pid(0), signal.SIGKILL)),
    )

    assert done.complete
    assert urls_of(segment) == wanted, "each URL once"
    assert EXECUTORS not in {path.name for path in segment.path.iterdir()}
    # A suspended executor uploads a part too late.
    parts = segment.crawl_fetch()
    late = segment.path / "crawl_fetch" / "part-000-001-00999.parquet"
    assert isinstance(late, StorePath)
    late.client.put(late.key, Path(local_file(parts.location(parts.finished()[0]))).read_bytes(), None)
    assert urls_of(CrawlDir.open(url).segment("")) == wanted
