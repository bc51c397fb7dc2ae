"""Parse the pages of fetched segments."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json
from scoter.cli.progress import percent

NOTHING = 1


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
def command(directory: str, segments: tuple[str, ...]) -> int:
    """Parse the pages of fetched segments.

    Without a SEGMENT, all that are fetched and not parsed yet. Pages are read back from the archive; what was parsed
    before a kill is not parsed again.

    \b
    Example:
      scoter parse mycrawl
      scoter parse mycrawl 20261115033000
    """
    from scoter.batch.parse import parse
    from scoter.batch.stopping import Stopping

    said = invocation()
    stopping = Stopping()
    with working("parse", directory, lock=False) as work, stopping.listening():
        every = work.crawl.all_segments()
        chosen = [work.crawl.segment(name) for name in segments] or [
            each for each in every if each.is_fetched and not each.is_parsed
        ]
        if not chosen:
            note("No segment waits to be parsed.")
            return NOTHING
        for segment in chosen:
            done = parse(
                segment,
                work.config,
                tell=lambda count, total: work.line.show(percent("parse", count / max(total, 1))),
                stopping=stopping,
            )
            work.line.clear()
            if said.json:
                print_json(done)
            elif not said.quiet:
                note(f"{done.segment}: {done.pages:,} pages, {done.links:,} links.")
    return 0
