"""Show the inlinks of a URL, or dump the linkdb."""

from __future__ import annotations

import click

from scoter.cli.invocation import NOTHING_TO_DO, only_with
from scoter.cli.output import note
from scoter.cli.results import dump_format, print_rows, write_dump
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count
from scoter.errors import UsageError


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("--url", metavar="U", help="Show the inlinks of one URL.")
@click.option("--dump", metavar="OUT", help="Write the linkdb to a file, or - for stdout.")
@dump_format
@click.option("--regex", default="", metavar="R", help="With --dump: only URLs that contain a match of this pattern.")
def command(directory: str, url: str | None, dump: str | None, form: str | None, regex: str) -> int:
    """Show the inlinks of a URL, or dump the linkdb.

    Exit code 1: the linkdb has no link to the URL of --url.

    \b
    Example:
      scoter readlinkdb mycrawl --url https://example.org/
      scoter readlinkdb mycrawl --dump inlinks.json --format json --regex '^https://example'
    """
    if (url is None) == (dump is None):
        raise UsageError("give either --url or --dump", hint="See scoter readlinkdb --help")
    only_with("--dump", dump is not None, "--format", "--regex")
    with crawl_session("readlinkdb", directory, lock=False) as session:
        return _show(session, url) if dump is None else _dump(session, dump, form, regex)


def _show(session: CrawlSession, url: str | None) -> int:
    from scoter.batch.jobs.readlinkdb import inlinks

    found = inlinks(session.crawl, url or "")
    if not found:
        note(f"The linkdb has no link to {url}")
        return NOTHING_TO_DO
    print_rows(found, ["url", "anchor"])
    return 0


def _dump(session: CrawlSession, out: str, form: str | None, regex: str) -> int:
    from scoter.batch.jobs.readlinkdb import select

    number = write_dump(*select(session.crawl, regex), out, form)
    if out != "-":
        session.status.note(f"Wrote {count(number, 'URL')} to {out}")
    return 0
