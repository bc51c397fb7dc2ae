"""Show who links to a URL, or the whole linkdb."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation, only_with
from scoter.cli.jobs import working
from scoter.cli.output import note
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.cli.jobs import Work


@click.command()
@click.argument("directory")
@click.option("--url", metavar="U", help="Show the links to one URL.")
@click.option("--dump", metavar="OUT", help="Write all to a file; - is standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet", "plain"]),
    help="Format of the dump (default: json with --json, else plain).",
)
@click.option("--regex", default="", metavar="R", help="With --dump: only URLs in which this pattern is found.")
def command(directory: str, url: str | None, dump: str | None, form: str | None, regex: str) -> int:
    """Show who links to a URL, or the whole linkdb.

    Exit code 1 when the linkdb knows no link to the URL of --url.

    \b
    Example:
      scoter readlinkdb mycrawl --url https://example.org/
      scoter readlinkdb mycrawl --dump inlinks.json --format json --regex '^https://example'
    """
    if (url is None) == (dump is None):
        raise UsageError("say what to show: either --url or --dump", hint="Try `scoter readlinkdb --help`.")
    only_with("--dump", dump is not None, "--format", "--regex")
    with working("readlinkdb", directory, lock=False) as work:
        return _show(work, url) if dump is None else _dump(work, dump, form, regex)


def _show(work: Work, url: str | None) -> int:
    from scoter.batch.readlinkdb import inlinks
    from scoter.cli.rows import print_rows

    found = inlinks(work.crawl, url or "")
    if not found:
        note(f"the linkdb knows no link to {url}")
        return 1
    print_rows(found, ["url", "anchor"], "json" if invocation().json else "table")
    return 0


def _dump(work: Work, out: str, form: str | None, regex: str) -> int:
    from scoter.batch.crawldir.export import dump
    from scoter.batch.readlinkdb import select
    from scoter.cli.rows import opened

    form = form or ("json" if invocation().json else "plain")
    schema, batches = select(work.crawl, regex)
    with opened(out, binary=form == "parquet") as file:
        number = dump(batches, schema, file, form)
    if out != "-":
        work.line.note(f"{number:,} URLs written to {out}")
    return 0
