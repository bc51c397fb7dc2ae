"""Bring the links of segments into the linkdb."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json


@click.command()
@click.argument("directory")
@click.argument("segments", nargs=-1)
@click.option("--no-filter", is_flag=True, help="Let every link in, whatever the URL filters say.")
@click.option("--no-normalize", is_flag=True, help="Take URLs as they were parsed.")
@click.option("--force", is_flag=True, help="Take segments once more that are in the linkdb already.")
def command(directory: str, segments: tuple[str, ...], no_filter: bool, no_normalize: bool, force: bool) -> int:
    """Bring the links of segments into the linkdb.

    Without SEGMENTS, those that are parsed and not in the linkdb yet. The links of a page that was parsed again
    replace those it had. Exit code 1: there was no such segment.

    \b
    Example:
      scoter invertlinks mycrawl
      scoter invertlinks mycrawl 20261115033000 -D linkdb.ignore_internal_links=false
    """
    said = invocation()
    with working("invertlinks", directory) as work:
        from scoter.batch.invertlinks import invertlinks, pending

        chosen = [work.crawl.segment(name) for name in segments] or pending(work.crawl)
        if not chosen:
            note("there is no parsed segment whose links are not in the linkdb yet")
            return 1
        done = invertlinks(
            work.crawl,
            work.engine,
            work.config,
            chosen,
            now=work.now,
            filter=not no_filter,
            normalize=not no_normalize,
            force=force,
        )
    if said.json:
        print_json(done)
    else:
        number = len(done.segments)
        came = f"{number} segment{'s' if number > 1 else ''} brought in"
        click.echo(f"{came}: {done.urls:,} URLs have inlinks, {done.urls_before:,} had before")
    return 0
