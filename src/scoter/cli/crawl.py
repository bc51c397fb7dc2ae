"""Crawl from seeds in rounds, or continue a crawl."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.fetch import fetch_progress
from scoter.cli.invocation import NOTHING_TO_DO, AtMost, agent_option, invocation, remark
from scoter.cli.output import progress_bar, visible
from scoter.cli.results import print_result, print_table
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count, duration
from scoter.errors import UserError, typed

if TYPE_CHECKING:
    from scoter.batch.crawl import CrawlProgress, CrawlResult
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.config import Config


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("seeds", nargs=-1)
@click.option(
    "--rounds", type=click.IntRange(1), metavar="N", default=5, show_default=True, help="Run at most N rounds."
)
@click.option("--until-done", is_flag=True, help="Run rounds until no URL is due.")
@click.option(
    "--top-n", type=AtMost(1), metavar="N", default=50_000, show_default=True, help="Fetch at most N URLs per round."
)
@click.option(
    "--scope",
    type=click.Choice(["host", "domain", "any"]),
    default="domain",
    show_default=True,
    help="Stay on the seeds' hosts, on their registered domains, or go anywhere.",
)
@agent_option
@click.option("--add-days", type=click.IntRange(0), metavar="N", default=0, help="Also fetch URLs due within N days.")
@click.option("--dedup/--no-dedup", default=True, show_default=True, help="Mark pages with the same content.")
def command(directory: str, seeds: tuple[str, ...], rounds: int, until_done: bool, scope: str, **limits: Any) -> int:
    """Crawl from seeds in rounds, or continue a crawl.

    SEEDS are URLs, files of URLs, folders of such files, or - for stdin. Each round generates a list of the URLs that
    are due, fetches and parses them, and updates the crawldb; the linkdb is updated at the end. A crawl can be
    interrupted at any time and continues where it stopped. Ctrl-C, or a file named STOP in DIR, ends it after the
    requests in progress; a second Ctrl-C ends it at once. Exit code 1: no URL was due.

    \b
    Example:
      scoter crawl mycrawl https://example.org/ --agent examplebot
      scoter crawl mycrawl seeds.txt --rounds 10 --top-n 1000 --scope host
      scoter crawl mycrawl
    """
    from scoter.batch.fetchlists.lists import process_count
    from scoter.batch.urls.seeds import seed_sources
    from scoter.batch.worker.pool import FetchPool
    from scoter.fetch.protocols.request_headers import user_agent

    options = invocation()
    # Check the input before creating the directory, so that a mistake leaves nothing behind.
    user_agent(options.config)
    seed_sources(seeds)
    with FetchPool() as pool:
        # Fork now, while there is no lock and the engine is not loaded.
        pool.fork(process_count(options.config))

        from scoter.batch.crawl import CrawlLimits, crawl
        from scoter.batch.crawldir.directory import STOP, StopRequest

        with crawl_session("crawl", directory, create=bool(seeds)) as session, pool:
            config = _add_seeds(session, seeds, scope)
            stopping = StopRequest(session.crawl.path / STOP)
            started = time.monotonic()
            with stopping.handle_signals():
                done = crawl(
                    session.crawl,
                    session.engine,
                    config,
                    rounds=CrawlLimits(most=None if until_done else rounds, **limits),
                    on_progress=lambda progress: session.status.show(_progress(progress)),
                    on_message=session.status.note,
                    stopping=stopping,
                    pool=pool,
                )
    print_result(done, lambda done: _print_summary(done, time.monotonic() - started, session.crawl))
    if "store.disk_floor" in stopping.by:
        raise UserError(f"the crawl stopped: {stopping.by}", hint="Free some space and run the same command again.")
    return 0 if done.rounds or stopping else NOTHING_TO_DO


def _add_seeds(session: CrawlSession, seeds: tuple[str, ...], scope: str) -> Config:
    """Add the seeds to the crawldb and return the configuration, restricted to the crawl's scope."""
    from scoter.batch.inject import inject
    from scoter.batch.urls.seeds import ANY_SCOPE, extend_scope, seed_hosts

    if seeds:
        seeds = tuple(str(_save_stdin(session)) if seed == "-" else seed for seed in seeds)
        done = inject(session.crawl, session.engine, session.config, seeds, now=session.now)
        known = f"{done.known:,} already known, {done.filtered:,} dropped by filters"
        session.status.note(f"Seeds: {done.new:,} new, {known}.")
        for each in done.complaints:
            session.status.note(f"  {each.where}: {visible(each.text)}: {visible(each.why)}")
        if not session.crawl.crawldb.exists():
            hint = "To see which filter drops a URL: scoter filterchecker URL"
            raise UserError("there is no seed to start from", hint=hint if done.filtered else "")
        if scope != ANY_SCOPE:
            extend_scope(session.crawl, scope, seed_hosts(seeds))
    return session.config if scope == ANY_SCOPE else session.scoped_config


def _save_stdin(session: CrawlSession) -> Path:
    """Copy standard input to a file: seeds are read twice, once for the URLs and once for the scope."""
    if sys.stdin is None:
        raise UserError("standard input is closed")
    file = session.scratch / "stdin"
    with file.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    return file


def _progress(progress: CrawlProgress) -> str:
    total = f"/{progress.rounds}" if progress.rounds else ""
    head = f"round {progress.round}{total}  {progress.step}"
    if progress.fetch is not None:
        return f"{head} {fetch_progress(progress.fetch)}"
    return head if progress.share is None else progress_bar(head, progress.share)


def _print_summary(done: CrawlResult, seconds: float, crawl: CrawlDir) -> None:
    rows = [
        {
            "round": str(each.number),
            "segment": each.segment,
            "fetched": f"{each.fetched:,}",
            "new URLs": f"{each.new:,}",
            "time": duration(round(each.seconds)),
        }
        for each in done.rounds
    ]
    if rows:
        print_table(rows, list(rows[0]))
        print()
    by_frequency = sorted(done.by_status.items(), key=lambda each: -each[1])
    statuses = ", ".join(f"{number:,} {name}" for name, number in by_frequency)
    print(f"{count(sum(done.by_status.values()), 'URL')} known: {statuses}.")
    hint = "" if done.is_done else f" To continue: scoter crawl {typed(crawl.path)}"
    remark(f"Finished after {duration(round(seconds))}: {done.ended_by}.{hint}")
