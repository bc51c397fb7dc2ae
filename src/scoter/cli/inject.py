"""Add seed URLs to the crawldb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, off_switch, remark
from scoter.cli.output import visible
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session

if TYPE_CHECKING:
    from scoter.batch.jobs.freegen import FreegenResult
    from scoter.batch.jobs.inject import InjectResult


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("seeds", nargs=-1, required=True)
@click.option("--overwrite", is_flag=True, default=None, help="Replace the records of known URLs.")
@click.option("--update", is_flag=True, default=None, help="Merge seeds into the records of known URLs.")
@off_switch("filter", "Do not apply the URL filters to seeds.")
@off_switch("normalize", "Do not normalise seeds.")
@click.option(
    "--filter-normalize-all", is_flag=True, help="Also run the URLs in the crawldb through the normalisers and filters."
)
def command(directory: str, seeds: tuple[str, ...], **choices: Any) -> int:
    """Add seed URLs to the crawldb.

    SEEDS are URLs, files, folders of files, or - for stdin. A file has one URL per line, optionally followed by
    tab-separated name=value fields: nutch.score, nutch.fetchInterval and nutch.fetchInterval.fixed (in seconds), or any
    metadata. Files may be gzipped. DIR is created if it does not exist. Known URLs are left unchanged unless an option
    says otherwise. Exit code 1: the filters keep none of the seeds.

    \b
    Example:
      scoter inject mycrawl https://example.org/
      scoter inject mycrawl seeds.txt --update
    """
    from scoter.batch.urls.seeds import seed_sources

    seed_sources(seeds)  # before creating the directory, so that a typo leaves nothing behind
    with crawl_session("inject", directory, create=True) as session:
        from scoter.batch.jobs.inject import inject

        done = inject(session.crawl, session.engine, session.config, seeds, now=session.now, **choices)
    print_result(done, _print_summary)
    return 0 if done.new or done.known or done.dropped else NOTHING_TO_DO


def _print_summary(done: InjectResult) -> None:
    others = {
        "already known": done.known - done.changed,
        "known and changed": done.changed,
        "dropped by filters": done.filtered,
        "not URLs": done.not_urls,
        "with an invalid field": done.bad_fields,
        "removed from the crawldb": done.dropped,
    }
    click.echo(counts(done.new, others))
    print_complaints(done)


def counts(new: int, others: Mapping[str, int]) -> str:
    """Return how many URLs are new and, where not 0, how many are something else."""
    return ", ".join([f"{new:,} new", *(f"{number:,} {name}" for name, number in others.items() if number)])


def print_complaints(done: InjectResult | FreegenResult) -> None:
    """Print what is wrong with lines of seed lists."""
    for each in done.complaints:
        remark(f"  {each.where}: {visible(each.text)}: {visible(each.why)}")
    if (more := done.not_urls + done.bad_fields - len(done.complaints)) > 0:
        remark(f"  … and {more:,} more")
