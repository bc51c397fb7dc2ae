"""Merge the delta parts of the crawldb into its base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import NOTHING_TO_DO, remark
from scoter.cli.results import print_result
from scoter.cli.session import crawl_session
from scoter.core.display import count

if TYPE_CHECKING:
    from scoter.batch.jobs.compact import CompactResult


@click.command()
@click.argument("directory", metavar="DIR")
def command(directory: str) -> int:
    """Merge the delta parts of the crawldb into its base.

    Commands that change the crawldb write the changed rows next to it, and compact key ranges with many changes
    themselves (db.compaction_share). This command compacts all of it, for example before other tools read the files.
    Exit code 1: there is nothing to compact.

    \b
    Example:
      scoter compact mycrawl
    """
    with crawl_session("compact", directory) as session:
        from scoter.batch.jobs.compact import compact

        done = compact(session.crawl, session.engine, session.config, now=session.now)
    if done is None:
        remark("The crawldb has no delta parts.")
        return NOTHING_TO_DO
    print_result(done, _print_summary)
    return 0


def _print_summary(done: CompactResult) -> None:
    parts = f"{count(done.parts_before, 'part')} became {done.parts:,}"
    click.echo(f"{parts}: wrote {count(done.written, 'row')}, left out {count(done.replaced, 'replaced row')}")
