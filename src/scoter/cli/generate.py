"""Make segments of the URLs that are due."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import AtMost, invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json

if TYPE_CHECKING:
    from scoter.batch.generate import Generated


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--top-n", type=AtMost(min=1), metavar="N", help="Take at most N URLs a segment, the best first.")
@click.option(
    "--fetchers",
    type=click.IntRange(1, 1_024),
    metavar="N",
    help="Deal a segment out to N fetch lists; a fetch uses a process for each (default: fetch.processes).",
)
@click.option("--max-segments", type=click.IntRange(1, 1_000), default=1, metavar="N", help="Make up to N segments.")
@click.option(
    "--add-days", type=click.IntRange(min=0), default=0, metavar="N", help="Take what will be due N days from now."
)
@click.option("--expr", default="", metavar="E", help="Take only URLs of which this expression is true.")
@click.option("--no-filter", is_flag=True, help="Take URLs that the URL filters would drop.")
@click.option(
    "--normalize", is_flag=True, help="Normalise URLs to tell whose limit (generate.max_count) they count for."
)
@click.option(
    "--force", is_flag=True, help="With generate.update_crawldb: also take URLs of segments that wait for an update."
)
def command(
    directory: str,
    top_n: int | None,
    fetchers: int | None,
    max_segments: int,
    add_days: int,
    expr: str,
    no_filter: bool,
    normalize: bool,
    force: bool,
) -> int:
    """Make segments of the URLs that are due.

    The names of the segments go to stdout, one a line; `scoter fetch` takes them. Which URLs are taken is a matter of
    their schedule, the URL filters, and the settings generate.*; the best come first, by the scoring filters. Exit
    code 1: there is nothing to fetch, and a sentence on stderr says why.

    \b
    Example:
      scoter generate mycrawl --top-n 1000
      scoter generate mycrawl --expr 'score > 0.5 and host != "example.org"'
    """
    said = invocation()
    with working("generate", directory) as work:
        from scoter.batch.generate import generate

        done = generate(
            work.crawl,
            work.engine,
            work.scoped,
            now=work.now,
            top_n=top_n,
            lists=fetchers,
            max_segments=max_segments,
            add_days=add_days,
            expr=expr,
            filter=not no_filter,
            normalize=normalize,
            force=force,
        )
    if said.json:
        print_json(done)
    for name in () if said.json else done.segments:
        click.echo(name)
    if not said.quiet:
        note(why_nothing(done, work.now) if not done.segments else _sentence(done))
    return 0 if done.segments else 1


def why_nothing(done: Generated, now: datetime) -> str:
    """Return a sentence that says why there is no segment."""
    if not done.known:
        return "Nothing to fetch: the crawldb is empty. Put URLs into it: scoter inject"
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in done.skipped.items())
    text = f"Nothing to fetch: {done.known:,} URLs known, {reasons}."
    if done.next_due is not None:
        text += f" The next is due in {_span(done.next_due - now)} ({done.next_due:%Y-%m-%d %H:%M} UTC)."
    return text


def _sentence(done: Generated) -> str:
    left = "".join(f", {count:,} {reason}" for reason, count in done.skipped.items())
    return f"{done.urls:,} of {done.known:,} URLs{left}."


def _span(time: timedelta) -> str:
    """Return a time in words.

    >>> _span(timedelta(days=3, hours=2)), _span(timedelta(seconds=61))
    ('3 days', '1 minute')
    """
    seconds = max(int(time.total_seconds()), 0)
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{seconds // size} {unit}{'s' if seconds >= 2 * size else ''}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"
