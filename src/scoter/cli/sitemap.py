"""Add the URLs listed in sitemaps to the crawldb."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.inject import counts
from scoter.cli.invocation import NOTHING_TO_DO, invocation, off_switch, remark
from scoter.cli.output import visible
from scoter.cli.results import print_result
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.batch.jobs.sitemap import SitemapResult
    from scoter.fetch.progress import Snapshot


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("urls", metavar="[URL]...", nargs=-1)
@click.option("--hosts", metavar="FILE", multiple=True, help="Check the sites listed in this file, one per line.")
@click.option("--hostdb", is_flag=True, help="Check the hosts of the hostdb that are not dead, not those of the crawl.")
@off_switch("strict", "Accept URLs that a sitemap has no authority over.", default=None)
@off_switch("filter", "Do not apply the URL filters.", default=None)
@off_switch("normalize", "Do not normalise URLs.", default=None)
@click.option("--overwrite", is_flag=True, default=None, help="Change score, interval and modified time of known URLs.")
def command(directory: str, urls: tuple[str, ...], hosts: tuple[str, ...], **choices: Any) -> int:
    """Add the URLs listed in sitemaps to the crawldb.

    Without URL, checks the robots.txt of every site in the crawldb for sitemaps, and /sitemap.xml where it names none.
    A URL is a sitemap, or a site's root or robots.txt. Files of URLs, folders of such files, and - for stdin also work.
    DIR is created if it does not exist and URLs are given. Known URLs are left unchanged without --overwrite. Exit
    code 1: no URL was accepted.

    \b
    Example:
      scoter sitemap mycrawl -D agent.name=examplebot
      scoter sitemap mycrawl https://example.org/ https://example.net/news/sitemap.xml.gz
    """
    from scoter.batch.urls.seeds import seed_sources
    from scoter.fetch.protocols.request_headers import user_agent

    # Check the input before creating the directory, so that a mistake leaves nothing behind.
    user_agent(invocation().config)
    seed_sources(urls)
    seed_sources(hosts, may_be_urls=False)
    if choices["hostdb"] and (urls or hosts):
        raise UsageError("--hostdb cannot be combined with URLs or --hosts")
    with crawl_session("sitemap", directory, create=bool(urls or hosts)) as session:
        from scoter.batch.jobs.sitemap import sitemap

        done = sitemap(
            session.crawl,
            session.engine,
            session.config,
            urls,
            now=session.now,
            hosts=hosts,
            **choices,
            on_progress=partial(_report, session),
        )
    print_result(done, _print_summary)
    return 0 if done.new or done.known else NOTHING_TO_DO


def _report(session: CrawlSession, snapshot: Snapshot, kept: int) -> None:
    session.status.show(
        f"sitemap {count(kept, 'URL')}, {count(snapshot.fetched, 'file')}, {snapshot.queued:,} to fetch"
    )
    session.progress.add("sitemap", done=snapshot.done, queued=snapshot.queued, errors=snapshot.errors)


def _print_summary(done: SitemapResult) -> None:
    others = {
        "already known": done.known - done.changed,
        "known and changed": done.changed,
        "dropped by filters": done.filtered,
        "outside their sitemap's scope": done.outside,
        "not URLs": done.not_urls,
    }
    click.echo(counts(done.new, others))
    sites = f"; checked {count(done.sites, 'site')}, {done.without:,} without a sitemap" if done.sites else ""
    remark(f"Read {count(done.sitemaps, 'sitemap')}{sites}")
    for line in not_read(done):
        remark(line)
    for each in done.complaints:
        remark(f"  {each.where}: {visible(each.text)}: {each.why}")


def not_read(done: SitemapResult) -> Iterator[str]:
    """Yield lines about the sitemaps that were not read, or only in part."""
    if done.unread:
        reasons = ", ".join(f"{number:,} {visible(why)}" for why, number in done.unread.items())
        yield f"Sitemaps not read, or only in part: {reasons}"
    for problem in done.problems:
        yield f"  {visible(problem.url)}: {visible(problem.why)}"
