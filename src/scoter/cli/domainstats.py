"""Count pages by host, domain, suffix or top-level domain."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working


@click.command()
@click.argument("directory")
@click.option(
    "--by",
    type=click.Choice(["host", "domain", "suffix", "tld"]),
    default="domain",
    show_default=True,
    help="What to count by.",
)
def command(directory: str, by: str) -> None:
    """Count pages by host, domain, suffix or top-level domain.

    Fetched are the pages whose content the crawl has; urls are all that it knows.

    \b
    Example:
      scoter domainstats mycrawl --by host
    """
    from scoter.batch.domainstats import domainstats
    from scoter.cli.rows import print_rows

    with working("domainstats", directory, lock=False) as work:
        found = domainstats(work.crawl, work.engine, work.config, by=by)
        print_rows(found, [by, "fetched", "urls"], "json" if invocation().json else "table")
