"""Fetch a segment, or what is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json

if TYPE_CHECKING:
    from scoter.batch.fetch import FetchDone, FetchState


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segment", default="")
@click.option("--threads", type=click.IntRange(1, 10_000), help="Requests in progress at once (fetch.threads).")
@click.option("--parse/--no-parse", default=None, help="Parse pages as they arrive (fetch.parse).")
def command(directory: str, segment: str, threads: int | None, parse: bool | None) -> int:
    """Fetch a segment, or what is left of it.

    Without a SEGMENT, the newest is fetched. What was finished before is not fetched again. Ctrl-C ends what is under
    way and stops; the same command goes on later.

    \b
    Example:
      scoter fetch mycrawl -D agent.name=examplebot
      scoter fetch mycrawl 20261115033000 --threads 100 --parse
    """
    from msgspec.structs import replace

    from scoter.batch.crawldir.directory import Stopping
    from scoter.batch.fetch import fetch
    from scoter.batch.fetchlists.lists import most_processes
    from scoter.batch.worker.pool import Pool

    said = invocation()
    stopping = Stopping()
    with Pool() as pool:
        pool.fork(most_processes(said.config))  # now, while there is neither a lock nor an engine
        with working("fetch", directory, lock=False) as work, pool, stopping.listening():
            config = work.scoped
            if threads is not None:
                config = replace(config, fetch=replace(config.fetch, threads=threads))
            done = fetch(
                work.crawl,
                work.crawl.segment(segment),
                config,
                engine=lambda: work.engine,
                parses=parse,
                tell=lambda state: work.line.show("fetch " + described(state)),
                note=work.line.note,
                stopping=stopping,
                pool=pool,
            )
    if said.json:
        print_json(done)
    elif not said.quiet:
        note(summary(done))
    return 0


def described(state: FetchState) -> str:
    """Return where a fetch stands, in a line."""
    left = state.seconds_left
    parts = [
        f"{state.done:,} of {state.total:,}",
        f"{state.pages_per_second:.1f} pages/s",
        f"{state.kilobytes_per_second:,.0f} kB/s",
        f"{state.errors} errors",
        f"{state.active} active",
        *([f"{span(left)} left"] if left is not None else []),
        *([state.why] if state.why and not state.active else []),
    ]
    return ", ".join(parts)


def span(seconds: float) -> str:
    """Return a time for people.

    >>> span(75), span(7300), span(12)
    ('1 min 15 s', '2 h 1 min', '12 s')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def summary(done: FetchDone) -> str:
    """Return what came of a fetch, in a sentence or two."""
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(done.replies.items(), key=lambda each: -each[1]))
    text = f"{done.segment}: {done.done:,} of {done.urls:,} fetched ({kinds or 'nothing'})."
    if done.not_asked:
        text += " Not asked: " + ", ".join(f"{kind} {count:,}" for kind, count in done.not_asked.items()) + "."
    if done.told:
        text += f" {done.told[:1].upper()}{done.told[1:]}."
    if not done.complete:
        text += " Stopped; the same command goes on with the rest."
    return text
