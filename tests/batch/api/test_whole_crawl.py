"""A whole crawl over HTTP: created, watched, stopped, continued after a restart of the server, and read."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.batch.api.server import serving_crawls

from scoter.batch.api.records import CrawlInfo, JobInfo, ProgressPoint
from scoter.client import AsyncCrawlClient, ClientError, CrawlClient
from scoter.simweb import WebSpec, running

pytestmark = pytest.mark.slow


def until(check: Callable[[], Any], within: float = 120.0) -> Any:
    ends = time.monotonic() + within
    while not (found := check()):
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.1)
    return found


def test_a_crawl_is_started_watched_stopped_resumed_and_read(tmp_path: Path) -> None:
    folder = tmp_path / "crawls"
    folder.mkdir()
    with running(WebSpec(hosts=8, pages=400, latency=0.05)) as web:
        seeds = web.web.seeds()
        with serving_crawls(folder, web.port) as url, CrawlClient(url, timeout=120) as client:
            made = client.create("news", seeds, scope="any", until_done=True, settings={"fetch.threads": 4})
            assert made.job is not None
            first = made.job.id
            points: list[ProgressPoint] = []
            for event in client.watch("news", after=0):
                if isinstance(event, ProgressPoint):
                    points.append(event)
                    if event.step == "fetch" and (event.pages or 0) > 5:
                        break
            with pytest.raises(ClientError, match=first):
                client.start("news", "updatedb")
            client.stop("news", first)

        # The server has ended. The job ends by itself, and the next server finds it.
        with serving_crawls(folder, web.port) as url, CrawlClient(url, timeout=60) as client:
            stopped = until(lambda: _ended(client.job("news", first)))
            assert (stopped.state, stopped.exit_code) == ("stopped", 130)
            assert client.crawl("news").state == "stopped"

            resumed = client.start("news", scope="any", until_done=True, index=True)
            done = until(lambda: _ended(client.job("news", resumed.id)), within=300)
            assert done.state == "succeeded", done.last_lines
            assert done.result["is_done"] is True

            crawl = until(lambda: _counted(client.crawl("news")))
            assert crawl.state == "finished"
            assert crawl.by_status["fetched"] > 300
            rows = list(client.urls("news", status="fetched"))
            assert len(rows) == crawl.by_status["fetched"]
            assert sum(row["urls"] for row in client.hosts("news")) == crawl.urls
            assert client.explain("news", seeds[0]).verdict.startswith("fetched")
            assert b"<" in client.copy("news", seeds[0])
            assert client.headers("news", seeds[0]).status == 200
            assert client.text("news", seeds[0]).title
            assert client.outlinks("news", seeds[0]).count > 0
            assert client.search("news", f"site:{seeds[0].split('/')[2].removeprefix('www.')}").total > 0
            found = client.sql("news", "select count(*) as n from crawldb where status = 'fetched'")
            assert found.rows == [{"n": len(rows)}]
            assert client.sql_file("news", "select 1 as a", "csv").split() == [b"a", b"1"]
            history = client.progress("news", 100)
            assert history.latest is not None
            assert history.latest.is_done is True
            assert sum(point.new_urls or 0 for point in history.points) > 0

    # Each page was fetched once, although the crawl was stopped in between.
    assert {job.state for job in (stopped, done)} == {"stopped", "succeeded"}
    assert points[0].command == "crawl"


def _counted(crawl: CrawlInfo) -> CrawlInfo | None:
    """Return a crawl once its URLs are counted in their latest state."""
    return crawl if sum(crawl.by_status.values()) == crawl.urls and "fetched" in crawl.by_status else None


def _ended(job: JobInfo) -> JobInfo | None:
    return job if job.state not in ("running", "stopping") else None


async def test_the_async_client_makes_the_same_calls(tmp_path: Path) -> None:
    folder = tmp_path / "crawls"
    folder.mkdir()
    with running(WebSpec(hosts=2, pages=4)) as web, serving_crawls(folder, web.port) as url:
        async with AsyncCrawlClient(url, timeout=120) as client:
            await client.create("news", web.web.seeds(), rounds=1)
            async for event in client.watch("news", after=0):
                if isinstance(event, JobInfo) and event.state == "succeeded":
                    break
            assert [crawl.name for crawl in await client.crawls()] == ["news"]
            assert [row["status"] async for row in client.urls("news", status="fetched")]
            assert (await client.commands()).commands[0].name == "crawl"
            made = await client.schedule("news", "7d", rounds=1)
            assert [each.id for each in await client.schedules()] == [made.id]
            await client.unschedule(made.id)
            with pytest.raises(ClientError, match="did you mean 'rounds'"):
                await client.start("news", roundz=1)


def test_keys_are_needed_beyond_loopback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scoter.cli.main", "ui", str(tmp_path)]
    refused = subprocess.run([*command, "--host", "0.0.0.0"], capture_output=True, text=True, timeout=60, check=False)
    made = subprocess.run([*command, "--new-key", "me"], capture_output=True, text=True, timeout=60, check=True)

    assert refused.returncode == 2
    assert "without an API key would let anybody in" in refused.stderr
    with serving_crawls(tmp_path, 1, "--with-keys") as url:
        with CrawlClient(url) as client, pytest.raises(ClientError, match="API key"):
            client.crawls()
        with CrawlClient(url, key=made.stdout.strip()) as client:
            assert client.crawls() == []
