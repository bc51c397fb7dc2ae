"""updatehostdb, killed at moments spread over its run: nothing is half-written or counted twice."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.batch.crawls import NOW, crawl_at, datum, write_crawldb, write_segment
from tests.batch.jobs.test_updatehostdb import hosts_of
from tests.cli.conftest import run_in_process

from scoter.batch.crawldir.directory import CrawlDir

KILLS = 6


def command(crawl: CrawlDir) -> list[str]:
    return [sys.executable, "-m", "scoter", "updatehostdb", str(crawl.path), "--no-check", "--quiet"]


def state(crawl: CrawlDir) -> object:
    names = ("urls", "fetched", "fetches", "bytes", "latency_ms", "homepage")
    return {host: [row[name] for name in names] for host, row in hosts_of(crawl).items()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_update_is_completed_by_the_next_run(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    urls = [f"http://site{number % 40}.org/{number}" for number in range(400)]
    write_crawldb(crawl, [datum(each) for each in urls])
    for name in ("1", "2"):
        fetches = [
            {**datum(each, "success"), "http_status": 200, "response_ms": at + 1, "length": at, "fetch_time": NOW}
            for at, each in enumerate(urls)
        ]
        write_segment(crawl, name, fetches=fetches)
        if name == "1":
            run_in_process(tmp_path, "updatehostdb", str(crawl.path), "--no-check")
    whole = shutil.copytree(crawl.path, tmp_path / "whole")
    begun = time.monotonic()
    subprocess.run(command(CrawlDir(whole)), check=True, stdout=subprocess.DEVNULL)
    usual = time.monotonic() - begun
    expected = state(CrawlDir(whole))

    for number in range(KILLS):
        killed = CrawlDir(shutil.copytree(crawl.path, tmp_path / f"killed-{number}"))
        # The first half of a run is mostly imports.
        process = subprocess.Popen(command(killed), stdout=subprocess.DEVNULL)
        try:
            process.wait(usual * (0.4 + 0.6 * number / KILLS))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        hosts_of(killed)  # whatever version there is, it can be read
        run_in_process(tmp_path, "updatehostdb", str(killed.path), "--no-check")

        assert state(killed) == expected
        assert list(killed.scratch.glob("updatehostdb-*")) == []
