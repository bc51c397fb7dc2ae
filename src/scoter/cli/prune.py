"""Remove old segments and table versions."""

from __future__ import annotations

from typing import Any

import click

from scoter.cli.invocation import NOTHING_TO_DO, Duration, invocation, remark
from scoter.cli.output import print_json
from scoter.cli.results import print_table
from scoter.cli.session import crawl_session
from scoter.core.display import size


@click.command()
@click.argument("directory", metavar="DIR")
@click.option(
    "--segments-older-than",
    "older_than",
    type=Duration(unit_required=True),
    metavar="TIME",
    help="Remove segments older than this, such as 30d.",
)
@click.option("--keep-segments", "keep", type=int, metavar="N", help="Keep the N newest segments, whatever their age.")
@click.option("--versions", is_flag=True, help="Remove all but the last two versions of each table.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option(
    "--force", is_flag=True, help="Also remove segments that are incomplete or not in the crawldb and linkdb."
)
def command(directory: str, dry_run: bool, **choices: Any) -> int:
    """Remove old segments and table versions.

    A segment is only removed if it is in the crawldb, and in the linkdb if there is one. Its pages are removed with it:
    their text and their archived bytes. Exit code 1: there was nothing to remove.

    \b
    Example:
      scoter prune mycrawl --segments-older-than 30d --dry-run
      scoter prune mycrawl --keep-segments 10 --versions
    """
    with crawl_session("prune", directory) as session:
        from scoter.batch.jobs.prune import prune

        done = prune(session.crawl, now=session.now, dry_run=dry_run, **choices)
    if invocation().json:
        for item in done.removed:
            print_json({"kind": item.kind, "name": item.name, "bytes": item.size, "removed": not dry_run})
    elif done.removed:
        rows = [{"kind": item.kind, "name": item.name, "size": size(item.size)} for item in done.removed]
        print_table(rows, ["kind", "name", "size"])
        click.echo(f"\n{'Would free' if dry_run else 'Freed'} {size(done.size)}")
    for each in done.spared:
        remark(f"Kept {each.name}: {each.why}")
    if not done.removed:
        remark("There is nothing to remove.")
    return 0 if done.removed else NOTHING_TO_DO
