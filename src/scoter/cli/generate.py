"""Commands that generate segments: generate and freegen."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.fetch import deferred_hosts
from scoter.cli.former_names import CommandWithFormerOptions
from scoter.cli.inject import print_complaints
from scoter.cli.invocation import NOTHING_TO_DO, AtMost, off_switch, remark
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.core.display import ago, count

if TYPE_CHECKING:
    from scoter.batch.jobs.freegen import FreegenResult
    from scoter.batch.jobs.generate import GenerateResult

_LISTS = click.option(
    "--lists",
    type=click.IntRange(1, 1_024),
    metavar="N",
    help="Split each segment into N fetch lists, one per worker (default: fetch.processes).",
)
_FORMERLY = {"--fetchers": "--lists"}


@click.command(cls=CommandWithFormerOptions, formerly=_FORMERLY)
@click.argument("directory", metavar="DIR")
@click.option("--top-n", type=AtMost(min=1), metavar="N", help="Select at most N URLs per segment, best first.")
@_LISTS
@click.option(
    "--max-segments", type=click.IntRange(1, 1_000), default=1, metavar="N", help="Generate up to N segments."
)
@click.option(
    "--add-days", type=click.IntRange(min=0), default=0, metavar="N", help="Also select URLs due within N days."
)
@click.option("--expr", default="", metavar="E", help="Only select URLs for which this expression is true.")
@off_switch("filter", "Do not apply the URL filters.")
@click.option("--normalize", is_flag=True, help="Normalise URLs before counting them for generate.max_count.")
@click.option(
    "--force", is_flag=True, help="With generate.update_crawldb: also select URLs of segments that await updatedb."
)
@click.option(
    "--hostdb",
    is_flag=True,
    help="Leave out dead hosts, and apply generate.max_count_expr and generate.fetch_delay_expr to the hostdb.",
)
def command(directory: str, **choices: Any) -> int:
    """Generate segments from the URLs that are due.

    Prints the names of the segments, one per line, for `scoter fetch`. The schedule, the URL filters and the generate.*
    settings decide which URLs are selected; the scoring filters decide the order. Exit code 1: there is nothing to
    fetch, and a message says why.

    \b
    Example:
      scoter generate mycrawl --top-n 1000
      scoter generate mycrawl --expr 'score > 0.5 and host != "example.org"'
    """
    with crawl_session("generate", directory) as session:
        from scoter.batch.jobs.generate import GenerateOptions, generate

        options = GenerateOptions(**choices)
        done = generate(session.crawl, session.engine, session.scoped_config, now=session.now, options=options)
    return _print_segments(done, _summary(done) if done.segments else why_nothing(done, session.now))


@click.command(cls=CommandWithFormerOptions, formerly=_FORMERLY)
@click.argument("directory", metavar="DIR")
@click.argument("files", nargs=-1, required=True)
@click.option("--filter", is_flag=True, help="Drop URLs that the URL filters reject.")
@click.option("--normalize", is_flag=True, help="Run the URLs through the normalisers.")
@_LISTS
def freegen(directory: str, files: tuple[str, ...], **choices: Any) -> int:
    """Generate a segment from lists of URLs, ignoring the crawldb.

    FILES are seed lists as for `scoter inject`, folders of such files, or - for stdin. The crawldb is neither read nor
    changed. DIR is created if it does not exist. Prints the name of the segment. Exit code 1: the files contain no URL.

    \b
    Example:
      scoter freegen mycrawl urls.txt
    """
    from scoter.batch.urls.seeds import seed_sources

    seed_sources(files, may_be_urls=False)  # before creating the directory, so that a typo leaves nothing behind
    with crawl_session("freegen", directory, create=True) as session:
        from scoter.batch.jobs.freegen import freegen as generate_freely

        done = generate_freely(session.crawl, session.engine, session.config, files, now=session.now, **choices)
    bad = count(done.not_urls, "line that is not a URL", "lines that are not URLs")
    code = _print_segments(done, f"{count(done.urls, 'URL')}, {done.filtered:,} dropped by filters, {bad}.")
    print_complaints(done)
    return code


def _print_segments(done: GenerateResult | FreegenResult, summary: str) -> int:
    print_result(done, lambda done: sys.stdout.writelines(f"{name}\n" for name in done.segments))
    remark(summary)
    return 0 if done.segments else NOTHING_TO_DO


def why_nothing(done: GenerateResult, now: datetime) -> str:
    """Return a sentence that says why no segment was generated."""
    if not done.known:
        return "Nothing to fetch: the crawldb is empty. To add URLs: scoter inject"
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in done.skipped.items())
    text = f"Nothing to fetch: {count(done.known, 'URL')} known, {reasons}."
    if done.deferred:
        text += f" {deferred_hosts(done.deferred)}"
    if done.next_due is not None:
        text += f" The next one is due {ago(done.next_due, now)} ({done.next_due:%Y-%m-%d %H:%M} UTC)."
    return text


def _summary(done: GenerateResult) -> str:
    skipped = "".join(f", {number:,} {reason}" for reason, number in done.skipped.items())
    text = f"{done.urls:,} of {count(done.known, 'URL')}{skipped}."
    return f"{text} {deferred_hosts(done.deferred)}" if done.deferred else text
