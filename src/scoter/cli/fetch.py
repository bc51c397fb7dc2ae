"""Fetch a segment, or resume an interrupted fetch."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import INTERRUPTED, invocation, remark
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.core.display import count, duration, size

if TYPE_CHECKING:
    from scoter.batch.worker.progress import FetchJobResult, FetchProgress

_NAMED = 5


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segment", default="")
@click.option("--threads", type=click.IntRange(1, 10_000), help="Concurrent requests (fetch.threads).")
@click.option("--parse/--no-parse", default=None, help="Parse pages as they arrive (fetch.parse).")
def command(directory: str, segment: str, threads: int | None, parse: bool | None) -> int:
    """Fetch a segment, or resume an interrupted fetch.

    Without SEGMENT, the newest segment is fetched. URLs that were already fetched are skipped. Ctrl-C stops after the
    requests in progress; run the same command again to resume. Exit code 130: stopped by Ctrl-C.

    \b
    Example:
      scoter fetch mycrawl -D agent.name=examplebot
      scoter fetch mycrawl 20261115033000 --threads 100 --parse
    """
    from msgspec.structs import replace

    from scoter.batch.crawldir.directory import StopRequest
    from scoter.batch.crawldir.progress import fetch_facts
    from scoter.batch.fetchlists.lists import local_workers
    from scoter.batch.jobs.fetch import fetch
    from scoter.batch.worker.pool import FetchPool

    with FetchPool() as pool, ExitStack() as stack:
        config = invocation().config
        pool.fork(local_workers(config), config)  # now, while there is no lock and no engine
        with crawl_session("fetch", directory, lock=False) as session, pool:
            stopping = StopRequest(on_signal=session.status.acknowledge_stop)
            stack.enter_context(stopping.handle_signals())
            config = session.scoped_config
            if threads is not None:
                config = replace(config, fetch=replace(config.fetch, threads=threads))

            def report(state: FetchProgress) -> None:
                session.status.show("fetch " + fetch_progress(state))
                session.progress.add("fetch", **fetch_facts(state))

            done = fetch(
                session.crawl,
                session.crawl.segment(segment),
                config,
                engine=lambda: session.engine,
                parses=parse,
                on_progress=report,
                on_message=session.status.note,
                stopping=stopping,
                pool=pool,
            )
    print_result(done, lambda done: remark(_summary(done)))
    return INTERRUPTED if stopping.is_interrupted else 0


def fetch_progress(state: FetchProgress) -> str:
    """Return the progress of a fetch in one line."""
    done, errors = f"{state.done:,} of {state.total:,}", count(state.errors, "error")
    if state.why and not state.active:
        # The reason comes early enough for a terminal of 80 columns; there are no rates to show.
        return ", ".join([done, *([errors] if state.errors else []), state.why])
    left = state.seconds_left
    parts = [
        done,
        f"{state.pages_per_second:.1f} pages/s",
        f"{size(state.kilobytes_per_second * 1000)}/s",
        errors,
        f"{state.active} active",
        *([f"{duration(round(left))} left"] if left is not None else []),
    ]
    return ", ".join(parts)


def deferred_hosts(deferred: Mapping[str, datetime]) -> str:
    """Return a sentence that says which hosts are on hold until when.

    >>> deferred_hosts({"a.example": datetime(2026, 11, 18, 2, 30)})
    'On hold: a.example until 2026-11-18 02:30 UTC.'
    """
    first = sorted(deferred.items(), key=lambda each: each[1])[:_NAMED]
    named = ", ".join(f"{host} until {until:%Y-%m-%d %H:%M} UTC" for host, until in first)
    more = f" and {count(len(deferred) - len(first), 'more host', 'more hosts')}" if len(deferred) > len(first) else ""
    return f"On hold: {named}{more}."


def _summary(done: FetchJobResult) -> str:
    by_frequency = sorted(done.replies.items(), key=lambda each: -each[1])
    replies = ", ".join(f"{number:,} {kind}" for kind, number in by_frequency)
    text = f"{done.segment}: {done.done:,} of {count(done.urls, 'URL')} done" + (f" ({replies})." if replies else ".")
    if done.not_requested:
        reasons = ", ".join(f"{number:,} {kind}" for kind, number in done.not_requested.items())
        text += f" Not requested: {reasons}."
    if done.interrupted:
        text += f" Ended without an answer: {count(done.interrupted, 'request')}."
    if done.deferred:
        text += f" {deferred_hosts(done.deferred)}"
    if done.end_reason:
        text += f" {done.end_reason[:1].upper()}{done.end_reason[1:]}."
    if not done.complete:
        text += " Stopped. Run the same command again to fetch the rest."
    return text
