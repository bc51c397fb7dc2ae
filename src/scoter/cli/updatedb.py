"""Bring what segments found into the crawldb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json, print_table

if TYPE_CHECKING:
    from scoter.batch.updatedb import Updated


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segments", nargs=-1, metavar="[SEGMENT...]")
@click.option("--no-additions", is_flag=True, help="Add no URL that the crawldb does not know yet.")
@click.option("--filter", "filter_", is_flag=True, help="Send every URL through the URL filters.")
@click.option("--normalize", is_flag=True, help="Send every URL through the URL normalisers.")
@click.option("--force", is_flag=True, help="Take segments that are not fetched to their end, or are in it already.")
def command(
    directory: str, segments: tuple[str, ...], no_additions: bool, filter_: bool, normalize: bool, force: bool
) -> int:
    """Bring what segments found into the crawldb.

    Without SEGMENT: all that are fetched and not in it yet. Each fetched URL gets its new status, score and time; the
    targets of links and redirects that are not known yet are added. Exit code 1: there was no segment to bring in.

    \b
    Example:
      scoter updatedb mycrawl
      scoter updatedb mycrawl 20261115033000 --no-additions
    """
    said = invocation()
    with working("updatedb", directory) as work:
        from scoter.batch.updatedb import pending, updatedb

        chosen = [work.crawl.segment(name) for name in segments] if segments else pending(work.crawl)
        if not chosen:
            if not said.quiet:
                note("There is no fetched segment that is not in the crawldb yet.")
            return 1
        done = updatedb(
            work.crawl,
            work.engine,
            work.scoped,
            chosen,
            now=work.now,
            additions=False if no_additions else None,
            filter=True if filter_ else None,
            normalize=True if normalize else None,
            force=force,
        )
    if said.json:
        print_json(done)
    else:
        _tell(done, said.quiet)
    return 0


def _tell(done: Updated, quiet: bool) -> None:
    what = done.segments[0] if len(done.segments) == 1 else f"{len(done.segments):,} segments"
    click.echo(
        f"{what}: {done.fetched:,} fetched, {done.links:,} links; {done.new:,} new URLs, {done.urls:,} in the crawldb"
    )
    print_table(
        [{"status": status, "URLs": f"{count:,}"} for status, count in sorted(done.statuses.items())],
        ("status", "URLs"),
    )
    for name in () if quiet else done.unparsed:
        note(f"{name} is not parsed: its links are not in the crawldb.")
