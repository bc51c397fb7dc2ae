"""Merge the crawldbs of several crawls into a new one."""

from __future__ import annotations

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import print_json


@click.command()
@click.argument("out")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True)
@click.option("--filter", "filters", is_flag=True, help="Drop URLs that the URL filters do not keep.")
@click.option("--normalize", "normalizes", is_flag=True, help="Normalise the URLs once more.")
def command(out: str, directories: tuple[str, ...], filters: bool, normalizes: bool) -> None:
    """Merge the crawldbs of several crawls into a new one.

    Of the records of one URL the one that was fetched last stays, over the metadata of the others. OUT is a directory
    that does not exist yet, or a crawl without a crawldb.

    \b
    Example:
      scoter mergedb whole part1 part2
    """
    from scoter.batch.crawldir.crawldb import open_crawldb
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.mergedb import mergedb

    said = invocation()
    crawls = [CrawlDir.open(each) for each in directories]
    for each in crawls:
        open_crawldb(each, said.config).close()
    with working("mergedb", out, create=True) as work:
        done = mergedb(work.crawl, crawls, work.engine, work.config, now=work.now, filter=filters, normalize=normalizes)
    if said.json:
        print_json(done)
    else:
        click.echo(f"{done.records:,} records of {len(crawls)} crawldbs became {done.urls:,}")
