"""Crawl from seeds in rounds, or continue a crawl."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.fetch import deferred_hosts, fetch_progress
from scoter.cli.invocation import INTERRUPTED, NOTHING_TO_DO, AtMost, agent_option, invocation, remark
from scoter.cli.output import progress_bar, visible
from scoter.cli.own_settings import remember_settings
from scoter.cli.results import print_result, print_table
from scoter.cli.session import CrawlSession, crawl_session
from scoter.cli.sitemap import not_read
from scoter.core.display import count, duration, size
from scoter.errors import UserError, typed

if TYPE_CHECKING:
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.fetchlists.traps import TrapHost
    from scoter.batch.hosts.notable import NotableHost
    from scoter.batch.jobs.crawl import CrawlProgress, CrawlResult
    from scoter.config import Config

_RECORDED = """\
# The settings that this crawl was last run with. Commands on this directory start from them;
# a configuration file, environment variables and options override them. Edit or delete this file to forget them.
"""
_MAX_PER_HOST = 5_000
"""Seven hours of requests at the default delay: one large host must not fill the fetch list of every round."""
_TRAPS_SHOWN = 5


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
    "--max-per-host",
    type=click.IntRange(1),
    metavar="N",
    help=f"Fetch at most N URLs of a host per round (default: generate.max_count, or {_MAX_PER_HOST}).",
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
@click.option(
    "--sitemaps",
    type=click.Choice(["never", "once", "always"]),
    default="never",
    show_default=True,
    help="Add the URLs of all sites' sitemaps before the first round, or before every round.",
)
@click.option(
    "--hostdb", is_flag=True, help="Update the hostdb in every round, and leave out hosts that it knows to be dead."
)
@click.option("--dedup/--no-dedup", default=True, show_default=True, help="Mark pages with the same content.")
@click.option("--index", "wants_index", is_flag=True, help="Write the pages to the search indexes at the end.")
def command(
    directory: str,
    seeds: tuple[str, ...],
    rounds: int,
    until_done: bool,
    scope: str,
    wants_index: bool,
    **limits: Any,
) -> int:
    """Crawl from seeds in rounds, or continue a crawl.

    SEEDS are URLs, files of URLs, folders of such files, or - for stdin. Each round generates a list of the URLs that
    are due, fetches and parses them, and updates the crawldb; the linkdb is updated at the end. A crawl can be
    interrupted at any time and continues where it stopped, with the same settings unless others are given. Ctrl-C, or
    a file named STOP in DIR, ends it after the requests in progress; a second Ctrl-C ends it at once. Exit codes: 1
    if no page was fetched (but 0 if the crawl has pages and none is due yet), 130 after Ctrl-C.

    \b
    Example:
      scoter crawl mycrawl https://example.org/ --agent examplebot
      scoter crawl mycrawl seeds.txt --rounds 10 --top-n 1000 --scope host
      scoter crawl mycrawl
    """
    from scoter.batch.fetchlists.lists import local_workers
    from scoter.batch.urls.seeds import seed_sources
    from scoter.batch.worker.pool import FetchPool
    from scoter.fetch.protocols.request_headers import user_agent

    options = invocation()
    # Check the input before creating the directory, so that a mistake leaves nothing behind.
    user_agent(options.config)
    seed_sources(seeds)
    with FetchPool() as pool:
        # Fork now, while there is no lock and the engine is not loaded.
        pool.fork(local_workers(options.config))

        from scoter.batch.crawldir.directory import STOP, StopRequest
        from scoter.batch.jobs.crawl import CrawlLimits, crawl

        with crawl_session("crawl", directory, create=bool(seeds)) as session, pool:
            config = _add_seeds(session, seeds, scope)
            _record_settings(session.crawl)
            wanted = config.generate
            limits["hostdb"] = limits["hostdb"] or bool(wanted.max_count_expr or wanted.fetch_delay_expr)
            if limits["max_per_host"] is None and config.generate.max_count is None:
                limits["max_per_host"] = _MAX_PER_HOST
            stopping = StopRequest(session.crawl.path / STOP, session.status.acknowledge_stop)
            started = time.monotonic()
            with stopping.handle_signals():
                done = crawl(
                    session.crawl,
                    session.engine,
                    config,
                    rounds=CrawlLimits(most=None if until_done else rounds, **limits),
                    on_progress=partial(_report, session),
                    on_message=session.status.note,
                    stopping=stopping,
                    pool=pool,
                )
            if wants_index and not stopping:
                _index(session, config)
            session.progress.add("", is_last=True, ended=done.ended_by, is_done=done.is_done)
    print_result(done, lambda done: _print_summary(done, time.monotonic() - started, session.crawl))
    if "store.disk_floor" in stopping.by:
        raise UserError(f"the crawl stopped: {stopping.by}", hint="Free some space and run the same command again.")
    if stopping.is_interrupted:
        return INTERRUPTED
    return 0 if done.has_succeeded or stopping else NOTHING_TO_DO


def _index(session: CrawlSession, config: Config) -> None:
    """Write the pages to the search indexes, if there are any pages."""
    from scoter.batch.jobs.index import index
    from scoter.cli.index import describe, report_progress

    if any(segment.is_parsed for segment in session.crawl.all_segments()):
        session.status.show("index")
        done = index(
            session.crawl,
            session.engine,
            config,
            now=datetime.now(UTC),
            on_progress=lambda done, total: report_progress(session, done, total),
        )
        session.status.note(describe(done))


def _record_settings(crawl: CrawlDir) -> None:
    """Store the settings in the crawl directory, and say which ones came from there."""
    from scoter.config.show import recorded_toml, secrets
    from scoter.plugins import declared_settings

    loaded = invocation().loaded()
    if found := loaded.of_crawl():
        remark(
            f"Settings of this crawl: {', '.join(found)}. To see them: scoter config show --crawl {typed(crawl.path)}"
        )
    for name in secrets(loaded):
        remark(f"{name} is not stored with the crawl: give it again to continue.")
    text = recorded_toml(loaded, declared_settings() if loaded.config.plugin else {})
    text = f"{_RECORDED}\n{text}" if text else ""
    crawl.record_settings(text)
    if text and not loaded.ignored:  # what was ignored is still in the file, and not this user's
        remember_settings(text)


def _add_seeds(session: CrawlSession, seeds: tuple[str, ...], scope: str) -> Config:
    """Add the seeds to the crawldb and return the configuration, restricted to the crawl's scope."""
    from scoter.batch.crawldir.crawldb import table_exists
    from scoter.batch.jobs.inject import inject
    from scoter.batch.urls.seeds import ANY_SCOPE, extend_scope, seed_hosts

    if seeds:
        seeds = tuple(str(_save_stdin(session)) if seed == "-" else seed for seed in seeds)
        done = inject(session.crawl, session.engine, session.config, seeds, now=session.now)
        known = f"{done.known:,} already known, {done.filtered:,} dropped by filters"
        session.status.note(f"Seeds: {done.new:,} new, {known}.")
        for each in done.complaints:
            session.status.note(f"  {each.where}: {visible(each.text)}: {visible(each.why)}")
        if not table_exists(session.crawl.crawldb):
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


def _report(session: CrawlSession, progress: CrawlProgress) -> None:
    """Show the progress, to people and to programs."""
    from scoter.batch.crawldir.progress import fetch_facts

    session.status.show(_progress(progress))
    facts: dict[str, Any] = {"share": progress.share} if progress.fetch is None else fetch_facts(progress.fetch)
    if (sitemaps := progress.sitemaps) is not None:
        facts |= {"done": sitemaps.done, "queued": sitemaps.queued, "errors": sitemaps.errors}
    ended = progress.ended
    if ended is not None:
        facts |= {"fetched": ended.fetched, "pages": ended.pages, "new_urls": ended.new}
    session.progress.add(
        progress.step, round=progress.round, rounds=progress.rounds, is_last=ended is not None, **facts
    )


def _progress(progress: CrawlProgress) -> str:
    total = f"/{progress.rounds}" if progress.rounds else ""
    head = f"round {progress.round}{total}  {progress.step}"
    if progress.fetch is not None:
        return f"{head} {fetch_progress(progress.fetch)}"
    if progress.sitemaps is not None:
        return f"{head} {count(progress.sitemaps.fetched, 'file')}, {progress.sitemaps.queued:,} to fetch"
    return head if progress.share is None else progress_bar(head, progress.share)


def _print_summary(done: CrawlResult, seconds: float, crawl: CrawlDir) -> None:
    rows = [
        {
            "round": str(each.number),
            "segment": each.segment,
            "URLs": f"{each.urls:,}",
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
    for line in _host_lines(done.hosts):
        print(line)
    if done.traps:
        print(_trap_line(done.traps))
    if done.sitemaps is not None and done.sitemaps.unread:
        for line in not_read(done.sitemaps):
            remark(line)
        remark(f"To read them: scoter sitemap {typed(crawl.path)}")
    if done.failures:
        remark("No page was fetched:")
        for each in done.failures:
            remark(f"  {visible(each.url)}: {each.reason}" + (f" ({visible(each.detail)})" if each.detail else ""))
        remark(f"To see more: scoter explain {typed(crawl.path, done.failures[0].url)}")
    if done.deferred:
        remark(deferred_hosts(done.deferred))
    hint = "" if done.is_done else f" To continue: scoter crawl {typed(crawl.path)}"
    remark(f"Finished after {duration(round(seconds))}: {done.ended_by}.{hint}")


def _host_lines(hosts: Sequence[NotableHost]) -> Iterator[str]:
    forms: dict[str, Callable[[float], str]] = {
        "slowest": "{:,.0f} ms".format,
        "largest": size,
        "most errors": "{:,.0f}".format,
        "most challenges": "{:,.0f}".format,
    }
    titles = {"slowest": "Slowest hosts", "largest": "Hosts that sent most", "most errors": "Hosts with most errors"}
    titles["most challenges"] = "Hosts that sent a challenge or a wall instead of pages"
    for why, shown in forms.items():
        found = [f"{visible(each.host)} {shown(each.value)}" for each in hosts if each.why == why]
        if found:
            yield f"{titles[why]}: {', '.join(found)}."


def _trap_line(traps: Sequence[TrapHost]) -> str:
    shown = "; ".join(
        f"{visible(each.pattern or each.host)} ({each.reason}, {count(each.urls, 'URL')} held back)"
        for each in traps[:_TRAPS_SHOWN]
    )
    more = f"; and {len(traps) - _TRAPS_SHOWN:,} more" if len(traps) > _TRAPS_SHOWN else ""
    return f"Possible traps: {shown}{more}. To fetch them anyway: -D generate.trap_share=1"
