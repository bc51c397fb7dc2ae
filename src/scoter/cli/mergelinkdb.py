"""Merge the linkdbs of several crawls into a new one."""

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
    """Merge the linkdbs of several crawls into a new one.

    A URL has the links of all of them, up to linkdb.max_inlinks. OUT is a directory that does not exist yet, or a
    crawl without a linkdb.

    \b
    Example:
      scoter mergelinkdb whole part1 part2
    """
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.crawldir.linkdb import open_linkdb
    from scoter.batch.mergelinkdb import mergelinkdb

    said = invocation()
    crawls = [CrawlDir.open(each) for each in directories]
    for each in crawls:
        open_linkdb(each).close()
    with working("mergelinkdb", out, create=True) as work:
        done = mergelinkdb(
            work.crawl, crawls, work.engine, work.config, now=work.now, filter=filters, normalize=normalizes
        )
    if said.json:
        print_json(done)
    else:
        click.echo(f"{done.records:,} records of {len(crawls)} linkdbs became {done.urls:,}")
