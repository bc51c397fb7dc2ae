"""Count what the fetches of segments led to."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working


@click.command()
@click.argument("directory")
@click.argument("segments", nargs=-1)
def command(directory: str, segments: tuple[str, ...]) -> None:
    """Count what the fetches of segments led to.

    Without names of segments, all of them are counted together.

    \b
    Example:
      scoter protocolstats mycrawl
      scoter protocolstats mycrawl 20261115033000 --json
    """
    from scoter.batch.protocolstats import protocolstats
    from scoter.cli.rows import print_rows

    with working("protocolstats", directory, lock=False) as work:
        chosen = [work.crawl.segment(name) for name in segments] or work.crawl.all_segments()
        found = protocolstats(work.engine, chosen)
        columns = ["fetches", "status", "reason", "http_status"]
        print_rows(found, columns, "json" if invocation().json else "table")
