"""Commands that count: crawlcomplete, domainstats and protocolstats."""

from __future__ import annotations

import click

from scoter.cli.invocation import Decorator, invocation
from scoter.cli.results import print_rows
from scoter.cli.session import crawl_session


def _by(*groups: str, default: str) -> Decorator:
    return click.option("--by", type=click.Choice(groups), default=default, show_default=True, help="What to count by.")


@click.command()
@click.argument("directory", metavar="DIR")
@_by("host", "domain", default="host")
def crawlcomplete(directory: str, by: str) -> None:
    """Count fetched and unfetched URLs by host or domain.

    The column other counts URLs that are gone, redirected, duplicates, orphans or could not be parsed; done is the
    share of URLs that are not unfetched.

    \b
    Example:
      scoter crawlcomplete mycrawl --by domain
    """
    from scoter.batch.jobs.crawlcomplete import crawlcomplete as count_completed

    with crawl_session("crawlcomplete", directory, lock=False) as session:
        found = count_completed(session.crawl, session.engine, session.config, by=by)
        if not invocation().json:
            found = ({**row, "done": f"{row['done']:.0%}"} for row in found)
        print_rows(found, [by, "urls", "fetched", "unfetched", "other", "done"])


@click.command()
@click.argument("directory", metavar="DIR")
@_by("host", "domain", "suffix", "tld", default="domain")
def domainstats(directory: str, by: str) -> None:
    """Count pages by host, domain, suffix or top-level domain.

    The column fetched counts pages whose content was fetched, urls counts all known URLs.

    \b
    Example:
      scoter domainstats mycrawl --by host
    """
    from scoter.batch.jobs.domainstats import domainstats as count_domains

    with crawl_session("domainstats", directory, lock=False) as session:
        found = count_domains(session.crawl, session.engine, session.config, by=by)
        print_rows(found, [by, "fetched", "urls"])


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("segments", nargs=-1, metavar="[SEGMENT]...")
def protocolstats(directory: str, segments: tuple[str, ...]) -> None:
    """Count the fetch outcomes in segments.

    Without SEGMENT, all segments are counted together.

    \b
    Example:
      scoter protocolstats mycrawl
      scoter protocolstats mycrawl 20261115033000 --json
    """
    from scoter.batch.jobs.protocolstats import protocolstats as count_outcomes

    with crawl_session("protocolstats", directory, lock=False) as session:
        chosen = [session.crawl.segment(name) for name in segments] or session.crawl.all_segments()
        print_rows(count_outcomes(session.engine, chosen), ["fetches", "status", "reason", "http_status"])
