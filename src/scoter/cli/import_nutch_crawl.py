"""Import a crawl of Apache Nutch."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import invocation, remark
from scoter.cli.output import StatusLine
from scoter.cli.results import print_result, print_table
from scoter.core.display import count
from scoter.errors import typed

if TYPE_CHECKING:
    from scoter.nutch.crawl.job import NutchImportResult

_SHOWN = 20


@click.command("import-nutch-crawl")
@click.argument("nutch", metavar="NUTCHDIR")
@click.argument("directory", metavar="DIR")
def command(nutch: str, directory: str) -> None:
    """Import a crawl of Apache Nutch 1.x.

    NUTCHDIR holds Nutch's crawldb, linkdb, hostdb and segments, or some of them. They become the crawldb, the linkdb
    and the segments of a new crawl in DIR, which must not exist or be empty; pages go to WARC files. What cannot be
    read is reported with its file and offset, and everything else is imported. The exit code is 1 if nothing could be
    read of a part, such as the linkdb.

    \b
    Example:
      scoter import-nutch-crawl /data/nutch/crawl mycrawl
    """
    from scoter.engine import open_engine
    from scoter.nutch.crawl.job import ImportFolder, import_nutch_crawl
    from scoter.nutch.crawl.layout import NutchCrawl
    from scoter.store.arrow import limit_arrow_memory

    options = invocation()
    source = NutchCrawl(Path(nutch))
    status = StatusLine(options.quiet)
    limit_arrow_memory()
    try:
        with ImportFolder(directory) as folder, open_engine(options.config, folder.scratch) as engine:
            done = import_nutch_crawl(
                source,
                folder,
                engine,
                options.config,
                now=datetime.now(UTC),
                progress=lambda doing: status.show(f"importing {doing}"),
            )
    finally:
        status.clear()
    print_result(done, lambda result: _print_report(result, directory))
    if lost := [each.part for each in done.parts if each.is_lost]:
        remark(f"Nothing could be read of: {', '.join(lost)}")
        raise click.exceptions.Exit(1)


def _print_report(done: NutchImportResult, directory: str) -> None:
    rows = [
        {
            "part": each.part,
            "records": f"{each.read:,}",
            "imported": f"{each.imported:,}",
            "not imported": "; ".join(f"{number:,} {why}" for why, number in sorted(each.left_out.items())),
        }
        for each in done.parts
    ]
    print_table(rows, ("part", "records", "imported", "not imported"))
    for each in done.segments:
        steps = "fetched and parsed" if each.is_parsed else "fetched" if each.is_fetched else "not fetched yet"
        click.echo(f"segment {each.name}: {count(each.urls, 'URL')}, {steps}")
    if any(each.part == "hostdb" for each in done.parts):
        click.echo(f"To see the hosts: scoter readhostdb {typed(directory)}")
    for problem in done.problems[:_SHOWN]:
        remark(f"{problem.file}, byte {problem.offset}: {problem.what}")
    if done.problem_count > _SHOWN:
        remark(f"{done.problem_count - _SHOWN:,} more problems; --json shows the first {len(done.problems)}.")
    if done.pending:
        remark(f"Not in the crawldb yet: {', '.join(done.pending)}. To add: scoter updatedb {typed(directory)}")
