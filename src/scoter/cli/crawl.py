"""Crawl from seeds in rounds, or continue a crawl."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.crawl_seeds import add_seeds, allow_typed_seeds, declare_own, name_local_crawl, read_input
from scoter.cli.crawl_summary import print_summary
from scoter.cli.fetch import fetch_progress
from scoter.cli.invocation import INTERRUPTED, NOTHING_TO_DO, AtMost, agent_option, invocation, remark
from scoter.cli.output import progress_bar
from scoter.cli.own_settings import remember_settings
from scoter.cli.results import print_result
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count
from scoter.errors import ConfigError, UserError, typed

if TYPE_CHECKING:
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.jobs.crawl import CrawlProgress
    from scoter.config import Config

_RECORDED = """\
# The settings that this crawl was last run with. Commands on this directory start from them;
# a configuration file, environment variables and options override them. Edit or delete this file to forget them.
"""
_MAX_PER_HOST = 5_000
"""Seven hours of requests at the default delay: one large host must not fill the fetch list of every round.

A crawl of one's own hosts has no such limit."""


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
    help=f"Fetch at most N URLs of a host per round (generate.max_count, or {_MAX_PER_HOST} without --own-site).",
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
@click.option(
    "--own-site",
    is_flag=True,
    help="The seeds' hosts are yours: fetch fast, follow all links, hold nothing back as a trap (fetch.own_hosts).",
)
@click.option(
    "--allow-seeds",
    is_flag=True,
    help="Allow the private hosts and ports also of seeds in files and on stdin, as of typed ones (fetch.allow_hosts).",
)
@click.option("--index", "wants_index", is_flag=True, help="Write the pages to the search indexes at the end.")
def command(
    directory: str,
    seeds: tuple[str, ...],
    rounds: int,
    until_done: bool,
    scope: str,
    own_site: bool,
    allow_seeds: bool,
    wants_index: bool,
    **limits: Any,
) -> int:
    """Crawl from seeds in rounds, or continue a crawl.

    SEEDS are URLs, files of URLs, folders of such files, or - for stdin. Each round generates a list of the URLs that
    are due, fetches and parses them, and updates the crawldb; the linkdb is updated at the end. A crawl can be
    interrupted at any time and continues where it stopped, with the same settings unless others are given. Ctrl-C, or
    a file named STOP in DIR, ends it after the requests in progress; a second Ctrl-C ends it at once. A URL typed here
    may lead to a private host, such as http://localhost:8000/: it allows exactly that host and port. Exit codes: 1 if
    no page was fetched (but 0 if the crawl has pages and none is due yet), 130 after Ctrl-C.

    \b
    Example:
      scoter crawl mycrawl https://example.org/ --agent examplebot
      scoter crawl mycrawl http://localhost:8000/ --own-site
      scoter crawl mycrawl seeds.txt --rounds 10 --top-n 1000 --scope host
      scoter crawl mycrawl
    """
    from scoter.batch.fetchlists.lists import local_workers
    from scoter.batch.worker.pool import FetchPool
    from scoter.fetch.protocols.request_headers import user_agent

    options = invocation()
    # Check the input before creating the directory, so that a mistake leaves nothing behind.
    sources = read_input(directory, seeds)
    allow_typed_seeds(sources, with_files=allow_seeds)
    if own_site:
        declare_own(directory, sources)
    name_local_crawl(sources, scope, with_files=allow_seeds)
    if not options.config.agent.name:
        hint = f"Choose a name, which site owners will see: scoter {typed(*options.arguments, '--agent', 'examplebot')}"
        raise ConfigError("is not set; nothing is fetched without it", where="agent.name", hint=hint)
    user_agent(options.config)
    with FetchPool() as pool:
        # Fork now, while there is no lock and the engine is not loaded.
        pool.fork(local_workers(options.config), options.config)

        from scoter.batch.crawldir.directory import STOP, StopRequest
        from scoter.batch.jobs.crawl import CrawlLimits, crawl

        with crawl_session("crawl", directory, create=bool(seeds)) as session, pool:
            config = add_seeds(session, seeds, scope)
            _record_settings(session.crawl)
            wanted = config.generate
            limits["hostdb"] = limits["hostdb"] or bool(wanted.max_count_expr or wanted.fetch_delay_expr)
            if limits["max_per_host"] is None and wanted.max_count is None and not config.fetch.own_hosts:
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
            is_failed = not done.has_succeeded and not stopping
            session.progress.add(
                "",
                is_last=True,
                ended=done.ended_by,
                is_done=done.is_done,
                left=done.left,
                is_failed=is_failed,
                causes=done.causes if is_failed else tuple(each for each in done.causes if each.setting),
            )
    print_result(done, lambda done: print_summary(done, time.monotonic() - started, session.crawl))
    if "store.disk_floor" in stopping.by:
        raise UserError(f"the crawl stopped: {stopping.by}", hint="Free some space and run the same command again.")
    if stopping.is_interrupted:
        return INTERRUPTED
    return 0 if done.has_succeeded or stopping else NOTHING_TO_DO


def _index(session: CrawlSession, config: Config) -> None:
    """Write the pages to the search indexes, if there are any pages."""
    from scoter.batch.jobs.index import index
    from scoter.cli.index import describe, main_text_progress, report_progress

    if any(segment.is_parsed for segment in session.crawl.all_segments()):
        session.status.show("index")
        done = index(
            session.crawl,
            session.engine,
            config,
            now=datetime.now(UTC),
            on_progress=lambda done, total: report_progress(session, done, total),
            on_main_text=main_text_progress(session),
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
