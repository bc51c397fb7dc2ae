"""Runs in a separate process: changes a crawldb in children that die at each step on its files; prints what is left.

Arguments: a folder, and ``updatedb`` or ``compact``. Prints one line of JSON per kill: the step at which the child
died, and what was wrong ("" if nothing was).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.batch.making import NOW, fetch, link, make_segment
from tests.batch.test_incremental import DELTA, EAGER, rows_of, some_crawl, url_of
from tests.store.tables.killing import watch

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.compact import compact
from scoter.batch.jobs.updatedb import pending, updatedb
from scoter.engine.duckdb import DuckDbEngine
from scoter.store.tables import Table

NEVER = 10**9
SEGMENTS = ("20260000000001", "20260000000002", "20260000000003")


def make(folder: Path) -> CrawlDir:
    """Make a crawl with delta parts and a segment that is not in its crawldb."""
    crawl = some_crawl(folder / "crawl")
    for number, name in enumerate(SEGMENTS):
        fetches = [fetch(url_of(each)) for each in (number, 20, 21, 22)]
        make_segment(crawl, name, fetches=fetches, links=[link(url_of(number), url_of(100 + number), 0.5)])
    for name in SEGMENTS[:-1]:
        die(crawl, name, NEVER)  # in a child: threads of DuckDB must not exist when this process forks
    return crawl


def run(crawl: CrawlDir, command: str) -> None:
    with DuckDbEngine(crawl.scratch, 2**28, threads=1) as engine:
        if command == "compact":
            compact(crawl, engine, DELTA, now=NOW)
        elif command == "updatedb":  # compacts in the end
            updatedb(crawl, engine, EAGER, pending(crawl), now=NOW)
        else:
            updatedb(crawl, engine, DELTA, [crawl.segment(command)], now=NOW)


def die(crawl: CrawlDir, command: str, die_at: int) -> str:
    """Run a command in a child that dies at a step; return the step, or "" if it finished before."""
    read, told = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            watch(crawl.crawldb, die_at, told)
            run(crawl, command)
        finally:
            os._exit(0)
    os.close(told)
    with os.fdopen(read) as pipe:
        step = pipe.read()
    os.waitpid(pid, 0)
    return step


def fault(crawl: CrawlDir, before: list[Any], after: list[Any]) -> str:
    """Return what is wrong after a kill."""
    with Table.open(crawl.crawldb) as table:
        table.verify()
        is_applied = SEGMENTS[-1] in table.manifest.applied
        if table.manifest.previous is not None:
            with Table.open(crawl.crawldb, version=table.manifest.previous) as kept:
                kept.verify()
    expected = after if is_applied else before
    return "" if rows_of(crawl) == expected else "the rows are neither those before nor those after"


def leftovers(crawl: CrawlDir) -> str:
    """Return a file of the crawldb that no version needs."""
    with Table.open(crawl.crawldb) as current, Table.open(crawl.crawldb, version=current.manifest.previous) as previous:
        needed = {*current.files, *current.replaced, *previous.files, *previous.replaced}
    return next((str(path) for path in crawl.crawldb.rglob("*.parquet*") if str(path) not in needed), "")


def main(folder: Path, command: str) -> None:
    crawl = make(folder)
    before = rows_of(crawl)
    whole = CrawlDir(Path(shutil.copytree(crawl.path, folder / "whole")))
    die(whole, command, NEVER)
    after = rows_of(whole)
    for die_at in range(1, 1_000):
        killed = CrawlDir(Path(shutil.copytree(crawl.path, folder / "killed")))
        step = die(killed, command, die_at)
        wrong = fault(killed, before, after)
        if not wrong and step and (command == "compact" or pending(killed)):
            die(killed, command, NEVER)
            wrong = "" if rows_of(killed) == after else "the command gives another result when it is run again"
            wrong = wrong or leftovers(killed)
        print(json.dumps([step, wrong]), flush=True)
        shutil.rmtree(killed.path)
        if not step:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
