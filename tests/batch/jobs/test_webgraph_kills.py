"""webgraph, linkrank and scoreupdater, killed at moments spread over a run: the same command gives the same tables."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.batch.crawls import crawl_at, crawldb, link, page, write_crawldb, write_segment
from tests.batch.jobs.test_webgraph import links_of, nodes_of, site_links
from tests.batch.making import known
from tests.cli.conftest import run_in_process

from scoter.batch.crawldir.directory import CrawlDir

KILLS = 6


def state(crawl: CrawlDir) -> object:
    """Return all that the commands write: graphs, ranks and scores."""
    names = ("inlinks", "outlinks", "score", "pagerank", "is_known")
    nodes = {url: tuple(row[name] for name in names) for url, row in nodes_of(crawl).items()}
    scores = {url: row["score"] for url, row in crawldb(crawl).items()}
    return nodes, links_of(crawl), site_links(crawl, "host"), site_links(crawl, "domain"), scores


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    """A ranked graph, with another segment to be added and a page that left the crawldb."""
    found = crawl_at(tmp_path / "crawl")
    urls = [f"http://site{number}.org/" for number in range(40)]
    links = [link(each, urls[(7 * at + 1) % 40]) for at, each in enumerate(urls)]
    write_segment(found, "1", pages=[page(each) for each in urls], links=links)
    write_crawldb(found, [known(each) for each in urls], applied=["1"])
    run_in_process(tmp_path, "webgraph", str(found.path))
    run_in_process(tmp_path, "linkrank", str(found.path))
    changed = [link(each, f"http://new{at}.org/") for at, each in enumerate(urls[:9])]
    write_segment(found, "2", pages=[page(each) for each in urls[:9]], links=changed)
    write_crawldb(found, [known(each) for each in urls[:-1]])
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("before", "command"),
    [
        ([], ["webgraph"]),
        (["webgraph"], ["linkrank", "--algorithm", "pagerank"]),
        (["webgraph"], ["scoreupdater"]),
    ],
    ids=lambda words: words[0] if words else "",
)
def test_killed_command_gives_the_same_tables_when_it_is_run_again(
    crawl: CrawlDir, tmp_path: Path, before: Sequence[str], command: Sequence[str]
) -> None:
    if before:
        run_in_process(tmp_path, *before, str(crawl.path))
    whole = CrawlDir(shutil.copytree(crawl.path, tmp_path / "whole"))
    begun = time.monotonic()
    subprocess.run(_process(command, whole), check=True, stdout=subprocess.DEVNULL)
    usual = time.monotonic() - begun
    expected = state(whole)

    for number in range(KILLS):
        killed = CrawlDir(shutil.copytree(crawl.path, tmp_path / f"killed-{number}"))
        # The first half of a run is mostly imports.
        process = subprocess.Popen(_process(command, killed), stdout=subprocess.DEVNULL)
        try:
            process.wait(usual * (0.4 + 0.6 * number / KILLS))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        run_in_process(tmp_path, command[0], str(killed.path), *command[1:])

        assert state(killed) == expected
        assert list(killed.scratch.glob(f"{command[0]}-*")) == []


def _process(command: Sequence[str], crawl: CrawlDir) -> list[str]:
    return [sys.executable, "-m", "scoter", command[0], str(crawl.path), *command[1:], "--quiet"]
