"""`scoter index` and `clean`, killed at many points: the same command then leaves what an undisturbed run leaves."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.batch.crawls import crawl_at, datum, named, page, write_crawldb, write_linkdb, write_segment
from tests.batch.jobs.test_index import documents
from tests.long.batch_state import documents_of

from scoter.batch.crawldir.directory import CrawlDir
from scoter.store.tables import Table

SEED = int(os.environ.get("SCOTER_TEST_SEED", "1"))
KILLS = 8
PAGES = 120
SETTINGS = ("-D", 'index.writers=["tantivy","jsonl"]')
URLS = [f"http://host{number % 7}.org/page-{number}" for number in range(PAGES)]
# Kills the process before the n-th change of a file in the crawl directory.
HOOK = """
import os, signal, sys
from pathlib import Path
folder, left = sys.argv.pop(1), int(sys.argv.pop(1))
CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "shutil.rmtree"}
def watch(event, arguments):
    global left
    if event not in CHANGES or not str(arguments[0]).startswith(folder):
        return
    if event == "open" and not (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")):
        return
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
from scoter.cli.main import main
main()
"""


def rows(urls: list[str], words: str) -> dict[str, Any]:
    return {
        "fetches": [datum(url, "success", content_type="text/html", length=5) for url in urls],
        "pages": [page(url, title=f"{words} of {url}", content_type="text/html", language="en") for url in urls],
        "texts": [{**named(url), "text": f"{words} about {url} " * 50} for url in urls],
    }


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that was indexed, and then changed: pages were fetched again, are new, gone, or have other inlinks."""
    crawl = crawl_at(tmp_path_factory.mktemp("kills") / "crawl")
    write_crawldb(crawl, [datum(url) for url in URLS[:100]])
    write_segment(crawl, "20261115000001", **rows(URLS[:100], "First words"))
    assert run(crawl.path, "index").returncode == 0
    statuses = {
        url: "gone" if number < 10 else "duplicate" if number < 20 else "fetched" for number, url in enumerate(URLS)
    }
    write_crawldb(crawl, [datum(url, status) for url, status in statuses.items()])
    write_segment(crawl, "20261115000002", **rows(URLS[60:], "Other words"))
    write_linkdb(crawl, {url: [(URLS[0], "a link text")] for url in URLS[30:40]})
    return crawl.path


def run(crawl: Path, command: str, kill_after: int = 10**9) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HOOK, str(crawl), str(kill_after), command, str(crawl), "--json", *SETTINGS],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def state(crawl: Path) -> tuple[Any, ...]:
    with Table.open(crawl / "indexdb") as table:
        known = [row for batch in table.scan() for row in batch.to_pylist()]
        applied = table.manifest.applied
    lines = {url: (row["title"], row["content"]) for url, row in documents(CrawlDir.open(crawl)).items()}
    return documents_of(crawl / "index"), lines, known, sorted(applied)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["index", "clean"])
def test_killed_run_is_finished_by_the_same_command(changed: Path, tmp_path: Path, command: str) -> None:
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(changed, undisturbed)
    assert run(undisturbed, command).returncode == 0
    wanted = state(undisturbed)
    chance = Random(SEED)
    killed = 0

    for number in range(KILLS):
        crawl = tmp_path / f"killed-{number}"
        shutil.copytree(changed, crawl)
        for _ in range(2):
            killed += run(crawl, command, kill_after=chance.randrange(2, 30)).returncode == -signal.SIGKILL
        done = run(crawl, command)

        assert done.returncode == 0, done.stderr
        assert state(crawl) == wanted
        assert '"written":0,"deleted":0' in run(crawl, command).stdout
        assert not list((crawl / "tmp").glob("*"))
        assert len(list((crawl / "index").glob("[0-9]*"))) == 1
        shutil.rmtree(crawl)
    assert killed >= KILLS
