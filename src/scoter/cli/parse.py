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
@click.option("--force", is_flag=True, help="Parse segments once more that are parsed already.")
def command(directory: str, segments: tuple[str, ...], force: bool) -> int:
    """Parse the pages of fetched segments.

    Without a SEGMENT, all that are fetched and not parsed yet. Pages are read back from the archive; what was parsed
    before a kill is not parsed again. With --force it is, by the settings of now, and what was parsed before goes; the
    crawldb and the linkdb stay as they are. Exit code 1: no segment waits to be parsed.

    \b
    Example:
      scoter parse mycrawl
      scoter parse mycrawl 20261115033000
      scoter parse mycrawl --force -D parse.markdown=true
    """
    from scoter.batch.crawldir.directory import Stopping
    from scoter.batch.parse import parse

    said = invocation()
    stopping = Stopping()
    with working("parse", directory, lock=False) as work, stopping.listening():
        every = work.crawl.all_segments()
        chosen = [work.crawl.segment(name) for name in segments] or [
            each for each in every if each.is_fetched and (force or not each.is_parsed)
        ]
        if not chosen:
            parsed = any(each.is_parsed for each in every)
            note("No segment waits to be parsed." + (" --force parses them once more." if parsed else ""))
            return NOTHING
        for segment in chosen:
            done = parse(
                segment,
                work.scoped,
                again=force,
                tell=lambda count, total: work.line.show(percent("parse", count / max(total, 1))),
                stopping=stopping,
            )
            work.line.clear()
            if said.json:
                print_json(done)
            elif not said.quiet:
                note(f"{done.segment}: {done.pages:,} pages, {done.links:,} links.")
    return 0
