"""Make a segment of the URLs in files, whatever the crawldb says."""

from __future__ import annotations

import click

from scoter.cli.inject import tell_complaints
from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("files", nargs=-1, required=True)
@click.option("--filter", "filters", is_flag=True, help="Leave out URLs that the URL filters drop.")
@click.option("--normalize", is_flag=True, help="Send URLs through the normalisers.")
@click.option(
    "--fetchers",
    type=click.IntRange(1, 1_024),
    metavar="N",
    help="Deal the segment out to N fetch lists (default: fetch.processes).",
)
def command(directory: str, files: tuple[str, ...], filters: bool, normalize: bool, fetchers: int | None) -> int:
    """Make a segment of the URLs in files, whatever the crawldb says.

    FILES are seed lists as `scoter inject` takes them, folders of such, or - for standard input. The crawldb is
    neither asked nor changed; DIR is made if it does not exist. The segment's name goes to stdout. Exit code 1: there
    was no URL in the files.

    \b
    Example:
      scoter freegen mycrawl urls.txt
    """
    from scoter.batch.urls.seeds import origins

    said = invocation()
    origins(files, may_be_urls=False)  # before a directory is made: a typing error should leave nothing behind
    with working("freegen", directory, create=True) as work:
        from scoter.batch.freegen import freegen

        done = freegen(
            work.crawl,
            work.engine,
            work.config,
            files,
            now=work.now,
            filter=filters,
            normalize=normalize,
            lists=fetchers,
        )
    if said.json:
        print_json(done)
    for name in () if said.json else done.segments:
        click.echo(name)
    if not said.quiet:
        note(f"{done.urls:,} URLs, {done.filtered:,} dropped by filters, {done.not_urls:,} lines that are no URLs.")
        tell_complaints(done)
    return 0 if done.segments else 1
