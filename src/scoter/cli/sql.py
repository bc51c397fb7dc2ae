"""Ask the tables of a crawl by SQL."""

from __future__ import annotations

from itertools import islice

import click

from scoter.cli.invocation import invocation
from scoter.cli.jobs import working
from scoter.errors import UsageError


@click.command()
@click.argument("directory")
@click.argument("query", required=False)
@click.option("--csv", "wants_csv", is_flag=True, help="Print CSV.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Print at most N rows.")
def command(directory: str, query: str | None, wants_csv: bool, limit: int | None) -> None:
    """Ask the tables of a crawl by SQL.

    There are the views crawldb, linkdb, segments, fetches, pages and outlinks; without a query they are listed with
    their columns. The SQL is DuckDB's. Nothing but these tables can be read, and nothing can be written.

    \b
    Example:
      scoter sql mycrawl
      scoter sql mycrawl "select host, count(*) from crawldb where status = 'fetched' group by all order by 2 desc"
      scoter sql mycrawl "select title, url from pages where text ilike '%scoter%'" --json
    """
    from scoter.batch.sql import sql
    from scoter.cli.rows import print_rows
    from scoter.engine.opening import memory_limit

    said = invocation()
    if said.json and wants_csv:
        raise UsageError("--json and --csv exclude each other")
    form = "json" if said.json else "csv" if wants_csv else "table"
    with (
        working("sql", directory, lock=False) as work,
        sql(work.crawl, memory_limit=memory_limit(work.config)) as crawl,
    ):
        if query is None:
            columns = (
                {"view": view.name, "column": name, "type": kind}
                for view in crawl.views()
                for name, kind in view.columns
            )
            print_rows(columns, ["view", "column", "type"], form)
            return
        answer = crawl.ask(query)
        print_rows(islice(answer.rows, limit), answer.columns, form)
