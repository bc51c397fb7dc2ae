"""Mark pages with the same content as duplicates."""

from __future__ import annotations

from typing import Any

import click

from scoter.cli.invocation import only_with
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.core.display import count


@click.command()
@click.argument("directory", metavar="DIR")
@click.option(
    "--group",
    type=click.Choice(["none", "host", "domain"]),
    default="none",
    show_default=True,
    help="Only compare pages of the same host or registered domain.",
)
@click.option(
    "--compare-order",
    default="score,fetchTime,urlLength",
    show_default=True,
    metavar="LIST",
    help="Criteria for the page to keep, most important first: score, fetchTime, httpsOverHttp, urlLength.",
)
@click.option("--near", is_flag=True, help="Also mark pages with nearly the same text, by their simhashes.")
@click.option(
    "--distance", type=int, default=3, show_default=True, metavar="N", help="With --near: bits that may differ."
)
def command(directory: str, near: bool, **choices: Any) -> None:
    """Mark pages with the same content as duplicates.

    Among fetched pages with the same signature, all but the best get the status duplicate. --near needs simhashes,
    which pages get when they are parsed with parse.simhash=true.

    \b
    Example:
      scoter dedup mycrawl
      scoter dedup mycrawl --group domain --compare-order httpsOverHttp,score,urlLength --near
    """
    only_with("--near", near, "--distance")
    with crawl_session("dedup", directory) as session:
        from scoter.batch.jobs.dedup import dedup

        done = dedup(session.crawl, session.engine, session.config, now=session.now, near=near, **choices)
    near_text = f" and {count(done.near, 'near-duplicate')}" if near else ""
    print_result(done, f"Found {count(done.exact, 'duplicate')}{near_text}")
