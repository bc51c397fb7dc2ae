"""Mark pages of the same content as duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation, only_with
from scoter.cli.jobs import working
from scoter.cli.output import print_json

if TYPE_CHECKING:
    from scoter.batch.dedup import Group


@click.command()
@click.argument("directory")
@click.option(
    "--group",
    type=click.Choice(["none", "host", "domain"]),
    default="none",
    show_default=True,
    help="Compare only pages of one host or registered domain.",
)
@click.option(
    "--compare-order",
    default="score,fetchTime,urlLength",
    show_default=True,
    metavar="LIST",
    help="What makes a page the better one: score, fetchTime, httpsOverHttp, urlLength, the most telling first.",
)
@click.option("--near", is_flag=True, help="Also pages of nearly the same text, by their simhashes.")
@click.option(
    "--distance", type=int, default=3, show_default=True, metavar="N", help="With --near: bits that may differ."
)
def command(directory: str, group: Group, compare_order: str, near: bool, distance: int) -> None:
    """Mark pages of the same content as duplicates.

    Of the fetched pages that have one signature, all but the best get the status duplicate. --near needs the
    simhashes that pages get when they are parsed with parse.simhash=true.

    \b
    Example:
      scoter dedup mycrawl
      scoter dedup mycrawl --group domain --compare-order httpsOverHttp,score,urlLength --near
    """
    said = invocation()
    only_with("--near", near, "--distance")
    with working("dedup", directory) as work:
        from scoter.batch.dedup import dedup

        done = dedup(
            work.crawl,
            work.engine,
            work.config,
            now=work.now,
            group=group,
            compare_order=compare_order,
            near=near,
            distance=distance,
        )
    if said.json:
        print_json(done)
    else:
        click.echo(f"{done.exact:,} duplicates found" + (f", {done.near:,} near-duplicates" if near else ""))
