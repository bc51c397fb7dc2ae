"""Put seed URLs into the crawldb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json, visible

if TYPE_CHECKING:
    from scoter.batch.freegen import FreelyGenerated
    from scoter.batch.inject import Injected


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("seeds", nargs=-1, required=True)
@click.option("--overwrite", is_flag=True, default=None, help="Replace the records of known URLs.")
@click.option("--update", is_flag=True, default=None, help="Merge seeds into the records of known URLs.")
@click.option("--no-filter", is_flag=True, help="Take seeds that the URL filters would drop.")
@click.option("--no-normalize", is_flag=True, help="Take seeds in the spelling they have.")
@click.option(
    "--filter-normalize-all", is_flag=True, help="Send the URLs of the crawldb through the normalisers and filters too."
)
def command(
    directory: str,
    seeds: tuple[str, ...],
    overwrite: bool | None,
    update: bool | None,
    no_filter: bool,
    no_normalize: bool,
    filter_normalize_all: bool,
) -> int:
    """Put seed URLs into the crawldb.

    SEEDS are URLs, files, folders of files, or - for standard input. A file has a URL a line, and after it, each
    behind a tab, name=value fields: nutch.score, nutch.fetchInterval and nutch.fetchInterval.fixed (in seconds), and
    any metadata. Files may be gzipped. DIR is made if it does not exist. A known URL stays as it is unless an option
    says otherwise. Exit code 1: there was no URL among the seeds that the filters keep.

    \b
    Example:
      scoter inject mycrawl https://example.org/
      scoter inject mycrawl seeds.txt --update
    """
    from scoter.batch.urls.seeds import origins

    said = invocation()
    origins(seeds)  # before a directory is made: a typing error should leave nothing behind
    with working("inject", directory, create=True) as work:
        from scoter.batch.inject import inject

        done = inject(
            work.crawl,
            work.engine,
            work.config,
            seeds,
            now=work.now,
            overwrite=overwrite,
            update=update,
            filter=not no_filter,
            normalize=not no_normalize,
            filter_normalize_all=filter_normalize_all,
        )
    if said.json:
        print_json(done)
    else:
        _tell(done, said.quiet)
    return 0 if done.new or done.known or done.dropped else 1


def _tell(done: Injected, quiet: bool) -> None:
    counts = {
        "known already": done.known - done.changed,
        "known and changed": done.changed,
        "dropped by filters": done.filtered,
        "not URLs": done.not_urls,
        "with a field left out": done.bad_fields,
        "taken out of the crawldb": done.dropped,
    }
    click.echo(", ".join([f"{done.new:,} new", *(f"{count:,} {what}" for what, count in counts.items() if count)]))
    if not quiet:
        tell_complaints(done)


def tell_complaints(done: Injected | FreelyGenerated) -> None:
    """Tell what was wrong with lines of seed lists."""
    for each in done.complaints:
        note(f"  {each.where}: {visible(each.text)}: {visible(each.why)}")
    if (more := done.not_urls + done.bad_fields - len(done.complaints)) > 0:
        note(f"  … and {more:,} more")
