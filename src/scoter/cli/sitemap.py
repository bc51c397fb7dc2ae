"""Put the URLs of sitemaps into the crawldb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json, visible

if TYPE_CHECKING:
    from scoter.batch.sitemap import Sitemapped


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("--hosts", metavar="FILE", multiple=True, help="Look at the sites of this file, one a line.")
@click.option("--no-strict", is_flag=True, help="Take URLs that their sitemap may not speak for.")
@click.option("--no-filter", is_flag=True, help="Take URLs that the URL filters would drop.")
@click.option("--no-normalize", is_flag=True, help="Take URLs in the spelling they have.")
@click.option("--overwrite", is_flag=True, help="Change score, interval and modified time of known URLs.")
def command(
    directory: str,
    urls: tuple[str, ...],
    hosts: tuple[str, ...],
    no_strict: bool,
    no_filter: bool,
    no_normalize: bool,
    overwrite: bool,
) -> int:
    """Put the URLs of sitemaps into the crawldb.

    Without a URL, the robots.txt of each site in the crawldb is asked which sitemaps there are; where it names none,
    /sitemap.xml is tried. A URL is a sitemap, or a site: its root or its robots.txt. A file of URLs, a folder of such
    files, and - for standard input stand for the URLs in them. DIR is made if it does not exist and URLs are given.
    Known URLs stay as they are unless --overwrite says otherwise. Exit code 1: there was no URL that could be taken.

    \b
    Example:
      scoter sitemap mycrawl -D agent.name=examplebot
      scoter sitemap mycrawl https://example.org/ https://example.net/news/sitemap.xml.gz
    """
    from scoter.batch.urls.seeds import origins
    from scoter.fetch.protocols.identity import user_agent

    said = invocation()
    # Before a directory is made: a typing error should leave nothing behind.
    user_agent(said.config)
    origins(urls)
    origins(hosts, may_be_urls=False)
    with working("sitemap", directory, create=bool(urls or hosts)) as work:
        from scoter.batch.sitemap import sitemap

        done = sitemap(
            work.crawl,
            work.engine,
            work.config,
            urls,
            now=work.now,
            hosts=hosts,
            strict=False if no_strict else None,
            filter=False if no_filter else None,
            normalize=False if no_normalize else None,
            overwrite=overwrite or None,
            tell=lambda snapshot, kept: work.line.show(
                f"sitemap {kept:,} URLs, {snapshot.fetched:,} files, {snapshot.queued:,} to fetch"
            ),
        )
    if said.json:
        print_json(done)
    else:
        _tell(done, said.quiet)
    return 0 if done.new or done.known else 1


def _tell(done: Sitemapped, quiet: bool) -> None:
    counts = {
        "known already": done.known - done.changed,
        "known and changed": done.changed,
        "dropped by filters": done.filtered,
        "outside their sitemap's place": done.outside,
        "not URLs": done.not_urls,
    }
    click.echo(", ".join([f"{done.new:,} new", *(f"{count:,} {what}" for what, count in counts.items() if count)]))
    if quiet:
        return
    looked = f"{done.sitemaps:,} sitemaps read"
    if done.sites:
        looked += f", {done.sites:,} sites looked at, {done.without:,} of them without a sitemap"
    note(looked)
    if done.unread:
        note("not read, or not wholly: " + ", ".join(f"{visible(why)} {count:,}" for why, count in done.unread.items()))
    for problem in done.problems:
        note(f"  {problem.url}: {visible(problem.why)}")
    for each in done.complaints:
        note(f"  {each.where}: {visible(each.text)}: {each.why}")
