"""Remove old segments and versions of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.cli.output import note, print_json, print_table
from scoter.errors import UsageError

if TYPE_CHECKING:
    from datetime import timedelta


@click.command()
@click.argument("directory")
@click.option("--segments-older-than", "age", metavar="TIME", help="Remove segments made longer ago, such as 30d.")
@click.option("--keep-segments", "keep", type=int, metavar="N", help="Keep the N newest segments, whatever their age.")
@click.option("--versions", is_flag=True, help="Remove versions of tables that are older than the one before the last.")
@click.option("--dry-run", is_flag=True, help="Only show what would go.")
@click.option("--force", is_flag=True, help="Also segments that are unfinished, or not in the crawldb and linkdb yet.")
def command(directory: str, age: str | None, keep: int | None, versions: bool, dry_run: bool, force: bool) -> int:
    """Remove old segments and versions of tables.

    A segment goes when its results are in the crawldb, and its links in the linkdb if there is one. With it go its
    pages: their text and their archived bytes. Exit code 1: there was nothing to remove.

    \b
    Example:
      scoter prune mycrawl --segments-older-than 30d --dry-run
      scoter prune mycrawl --keep-segments 10 --versions
    """
    said = invocation()
    older_than = None if age is None else _time(age)
    with working("prune", directory) as work:
        from scoter.batch.prune import prune

        done = prune(
            work.crawl,
            now=work.now,
            older_than=older_than,
            keep=keep,
            versions=versions,
            dry_run=dry_run,
            force=force,
        )
    if said.json:
        for item in done.removed:
            print_json({"kind": item.kind, "name": item.name, "bytes": item.size, "removed": not dry_run})
    elif done.removed:
        rows = [{"what": item.kind, "name": item.name, "size": _size(item.size)} for item in done.removed]
        print_table(rows, ["what", "name", "size"])
        click.echo(f"\n{_size(done.size)} {'would be freed' if dry_run else 'freed'}")
    for each in () if said.quiet else done.spared:
        note(f"{each.name} stays: {each.why}")
    if not done.removed and not said.quiet:
        note("there was nothing to remove")
    return 0 if done.removed else 1


def _time(text: str) -> timedelta:
    from scoter.config.units import read_duration

    try:
        if text.strip()[-1:] in set("0123456789.") and text.strip("0. "):
            # In a setting these are seconds; here, whoever means days would lose all segments.
            raise ValueError("has no unit")
        return read_duration(text)
    except ValueError as failure:
        raise UsageError(
            f"{text!r} {failure}", where="--segments-older-than", hint="Write 12h, 30d or 8w."
        ) from failure


def _size(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"
