"""Count fetched and unfetched URLs by host or domain."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working


@click.command()
@click.argument("directory")
@click.option(
    "--by", type=click.Choice(["host", "domain"]), default="host", show_default=True, help="What to count by."
)
def command(directory: str, by: str) -> None:
    """Count fetched and unfetched URLs by host or domain.

    Other are URLs that are gone, moved, duplicates, orphans or unreadable; done is the share that is not unfetched.

    \b
    Example:
      scoter crawlcomplete mycrawl --by domain
    """
    from scoter.batch.crawlcomplete import crawlcomplete
    from scoter.cli.rows import print_rows

    said = invocation()
    with working("crawlcomplete", directory, lock=False) as work:
        found = crawlcomplete(work.crawl, work.engine, work.config, by=by)
        if not said.json:
            found = ({**row, "done": f"{row['done']:.0%}"} for row in found)
        print_rows(found, [by, "urls", "fetched", "unfetched", "other", "done"], "json" if said.json else "table")
