"""Update the crawldb from fetched segments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, off_switch, remark
from scoter.cli.results import print_result, print_table
from scoter.cli.session import crawl_session
from scoter.core.display import count

if TYPE_CHECKING:
    from scoter.batch.jobs.updatedb import UpdateResult


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
@off_switch("additions", "Do not add new URLs.", default=None)
@click.option("--filter", is_flag=True, default=None, help="Apply the URL filters to every URL.")
@click.option("--normalize", is_flag=True, default=None, help="Run every URL through the normalisers.")
@click.option("--force", is_flag=True, help="Also use segments that are incomplete or already in the crawldb.")
def command(directory: str, segments: tuple[str, ...], **choices: Any) -> int:
    """Update the crawldb from fetched segments.

    Without SEGMENT, uses all fetched segments that are not in the crawldb yet. Fetched URLs get a new status, score and
    fetch time; new targets of links and redirects are added. Exit code 1: there is no such segment.

    \b
    Example:
      scoter updatedb mycrawl
      scoter updatedb mycrawl 20261115033000 --no-additions
    """
    with crawl_session("updatedb", directory) as session:
        from scoter.batch.jobs.updatedb import pending, updatedb

        chosen = [session.crawl.segment(name) for name in segments] if segments else pending(session.crawl)
        if not chosen:
            remark("There is no fetched segment that is not in the crawldb yet.")
            return NOTHING_TO_DO
        done = updatedb(session.crawl, session.engine, session.scoped_config, chosen, now=session.now, **choices)
    print_result(done, _print_summary)
    return 0


def _print_summary(done: UpdateResult) -> None:
    segments = done.segments[0] if len(done.segments) == 1 else count(len(done.segments), "segment")
    urls = f"{count(done.new, 'new URL')}, {done.urls:,} in the crawldb"
    click.echo(
        f"{segments}: {done.fetched:,} of {count(done.outcomes, 'URL')} fetched, {count(done.links, 'link')}; {urls}"
    )
    rows = [{"status": status, "URLs": f"{number:,}"} for status, number in sorted(done.statuses.items())]
    print_table(rows, ("status", "URLs"))
    for name in done.unparsed:
        remark(f"{name} is not parsed yet, so its links were not added.")
