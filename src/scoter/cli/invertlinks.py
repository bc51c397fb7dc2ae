"""Update the linkdb from parsed segments."""

from __future__ import annotations

from typing import Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, off_switch
from scoter.cli.output import note
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.core.display import count


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
@off_switch("filter", "Do not apply the URL filters.")
@off_switch("normalize", "Do not normalise URLs.")
@click.option("--force", is_flag=True, help="Also add segments that are already in the linkdb.")
def command(directory: str, segments: tuple[str, ...], **choices: Any) -> int:
    """Update the linkdb from parsed segments.

    Without SEGMENT, adds all parsed segments that are not in the linkdb yet. When a page was parsed again, its new
    links replace the old ones. Exit code 1: there is no such segment.

    \b
    Example:
      scoter invertlinks mycrawl
      scoter invertlinks mycrawl 20261115033000 -D linkdb.ignore_internal_links=false
    """
    with crawl_session("invertlinks", directory) as session:
        from scoter.batch.jobs.invertlinks import invertlinks, pending

        chosen = [session.crawl.segment(name) for name in segments] or pending(session.crawl)
        if not chosen:
            note("There is no parsed segment that is not in the linkdb yet.")
            return NOTHING_TO_DO
        done = invertlinks(session.crawl, session.engine, session.config, chosen, now=session.now, **choices)
    urls = f"{count(done.urls, 'URL')} with inlinks, {done.urls_before:,} before"
    print_result(done, f"Added {count(len(done.segments), 'segment')} to the linkdb: {urls}")
    return 0
