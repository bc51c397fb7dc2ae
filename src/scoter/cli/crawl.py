"""Crawl from seeds in rounds, or go on with a crawl."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.fetch import described, span
from scoter.cli.invocation import AtMost, Invocation, invocation
from scoter.cli.jobs import Work, working
from scoter.cli.output import note, print_json, print_table, visible
from scoter.cli.progress import percent
from scoter.errors import UserError, typed

if TYPE_CHECKING:
    from scoter.batch.crawl import Crawled, Progress
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.config import Config

NOTHING = 1


def _named(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Take the agent's name as a setting, before the settings are read."""
    if name:
        context.ensure_object(Invocation).overrides.append(f"agent.name={json.dumps(name)}")


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("seeds", nargs=-1)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Rounds at most.")
@click.option("--until-done", is_flag=True, help="As many rounds as it takes until nothing is due.")
@click.option("--top-n", type=AtMost(1), default=50_000, show_default=True, help="URLs a round at most.")
@click.option(
    "--scope",
    type=click.Choice(["host", "domain", "any"]),
    default="domain",
    show_default=True,
    help="Stay on the seeds' hosts or registered domains, or go anywhere.",
)
@click.option("--agent", metavar="NAME", expose_value=False, callback=_named, help="Who is crawling (agent.name).")
@click.option("--add-days", type=click.IntRange(0), default=0, help="Fetch what is due within so many days already.")
@click.option("--dedup/--no-dedup", default=True, show_default=True, help="Mark pages of the same content.")
def command(
    directory: str,
    seeds: tuple[str, ...],
    rounds: int,
    until_done: bool,
    top_n: int,
    scope: str,
    add_days: int,
    dedup: bool,
) -> int:
    """Crawl from seeds in rounds, or go on with a crawl.

    SEEDS are URLs, files of URLs, folders of such files, or - for standard input. A round generates a list of the URLs
    that are due, fetches and parses them, and brings what was found into the crawldb; the linkdb follows at the end.
    Whatever state DIR is in, the crawl goes on from there. Ctrl-C, or a file STOP in DIR, ends it after the requests
    under way; a second Ctrl-C at once. Exit code 1: there was nothing to do.

    \b
    Example:
      scoter crawl mycrawl https://example.org/ --agent examplebot
      scoter crawl mycrawl seeds.txt --rounds 10 --top-n 1000 --scope host
      scoter crawl mycrawl
    """
    from scoter.batch.fetchlists.lists import most_processes
    from scoter.batch.urls.seeds import origins
    from scoter.batch.worker.pool import Pool
    from scoter.fetch.protocols.identity import user_agent

    said = invocation()
    # Before a directory is made: a mistake should leave nothing behind.
    user_agent(said.config)
    origins(seeds)
    with Pool() as pool:
        # Now, while there is neither a lock nor an engine, nor what an engine loads.
        pool.fork(most_processes(said.config))

        from scoter.batch.crawl import Rounds, crawl
        from scoter.batch.crawldir.directory import STOP, Stopping

        with working("crawl", directory, create=bool(seeds)) as work, pool:
            config = _scoped(work, seeds, scope)
            stopping = Stopping(work.crawl.path / STOP)
            started = time.monotonic()
            with stopping.listening():
                done = crawl(
                    work.crawl,
                    work.engine,
                    config,
                    rounds=Rounds(most=None if until_done else rounds, top_n=top_n, add_days=add_days, dedup=dedup),
                    tell=lambda progress: work.line.show(_line(progress)),
                    note=work.line.note,
                    stopping=stopping,
                    pool=pool,
                )
    if said.json:
        print_json(done)
    else:
        _print(done, time.monotonic() - started, work.crawl, said.quiet)
    if "store.disk_floor" in stopping.by:
        raise UserError(f"the crawl paused: {stopping.by}", hint="Make room, and run the same command again.")
    return 0 if done.rounds or stopping else NOTHING


def _scoped(work: Work, seeds: tuple[str, ...], scope: str) -> Config:
    """Put the seeds into the crawldb, and return the configuration that keeps the crawl where it is to stay."""
    from scoter.batch.inject import inject
    from scoter.batch.urls.seeds import ANY, extend, hosts_of

    if seeds:
        seeds = tuple(str(_kept(work)) if seed == "-" else seed for seed in seeds)
        done = inject(work.crawl, work.engine, work.config, seeds, now=work.now)
        work.line.note(f"Seeds: {done.new:,} new, {done.known:,} known, {done.filtered:,} dropped by filters.")
        for each in done.complaints:
            work.line.note(f"  {each.where}: {visible(each.text)}: {visible(each.why)}")
        if not work.crawl.crawldb.exists():
            hint = "`scoter filterchecker URL` tells which filter drops a URL, and by which rule."
            raise UserError("there is no seed to start from", hint=hint if done.filtered else "")
        if scope != ANY:
            extend(work.crawl, scope, hosts_of(seeds))
    return work.config if scope == ANY else work.scoped


def _kept(work: Work) -> Path:
    """Put what comes on standard input into a file: it is read twice, for the URLs and for where the crawl goes."""
    if sys.stdin is None:
        raise UserError("standard input is closed")
    file = work.scratch / "stdin"
    with file.open("wb") as kept:
        shutil.copyfileobj(sys.stdin.buffer, kept)
    return file


def _line(progress: Progress) -> str:
    of = f"/{progress.rounds}" if progress.rounds else ""
    head = f"round {progress.round}{of}  {progress.step}"
    if progress.fetch is not None:
        return f"{head} {described(progress.fetch)}"
    return head if progress.share is None else percent(head, progress.share)


def _print(done: Crawled, seconds: float, crawl: CrawlDir, quiet: bool) -> None:
    rows: list[dict[str, Any]] = [
        {
            "round": each.number,
            "segment": each.segment,
            "fetched": f"{each.fetched:,}",
            "new URLs": f"{each.new:,}",
            "time": span(each.seconds),
        }
        for each in done.rounds
    ]
    if rows:
        print_table(rows, ["round", "segment", "fetched", "new URLs", "time"])
        print()
    total = sum(done.by_status.values())
    counts = ", ".join(f"{name} {count:,}" for name, count in sorted(done.by_status.items(), key=lambda each: -each[1]))
    print(f"{total:,} URLs known: {counts}.")
    if not quiet:
        on = "" if done.is_done else f" `scoter crawl {typed(crawl.path)}` goes on."
        note(f"Ended after {span(seconds)}: {done.ended_by}.{on}")
