"""Ask the tables of a crawl or a service by SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import AtMost, invocation
from scoter.cli.jobs import working
from scoter.errors import UsageError

if TYPE_CHECKING:
    from scoter.engine.session import Session


@click.command()
@click.argument("directory")
@click.argument("query", required=False)
@click.option("--csv", "wants_csv", is_flag=True, help="Print CSV.")
@click.option("--limit", type=AtMost(min=0), metavar="N", help="Print at most N rows.")
def command(directory: str, query: str | None, wants_csv: bool, limit: int | None) -> None:
    """Ask the tables of a crawl or a service by SQL.

    A crawl has the views crawldb, linkdb, segments, fetches, pages and outlinks, a live service's log has events and
    fetches; without a query they are listed with their columns. The SQL is DuckDB's. Nothing but these tables can be
    read, and nothing can be written.

    \b
    Example:
      scoter sql mycrawl
      scoter sql mycrawl "select host, count(*) from crawldb where status = 'fetched' group by all order by 2 desc"
      scoter sql mycrawl "select title, url from pages where text ilike '%scoter%'" --json
      scoter sql service "select domain, count(*) from events where kind = 'video' group by all"
    """
    from scoter.cli.rows import print_rows

    said = invocation()
    if said.json and wants_csv:
        raise UsageError("--json and --csv exclude each other")
    form = "json" if said.json else "csv" if wants_csv else "table"
    with _opened(Path(directory)) as tables:
        if query is None:
            columns = (
                {"view": view.name, "column": name, "type": kind}
                for view in tables.views()
                for name, kind in view.columns
            )
            print_rows(columns, ["view", "column", "type"], form)
            return
        answer = tables.ask(query)
        print_rows(islice(answer.rows, limit), answer.columns, form)


@contextmanager
def _opened(directory: Path) -> Iterator[Session]:
    from scoter.engine.factory import memory_limit
    from scoter.live.reports.views import is_service, service_sql

    limit = memory_limit(invocation().config)
    if is_service(directory):
        with service_sql(directory, memory_limit=limit) as tables:
            yield tables
        return
    from scoter.batch.sql import sql

    with working("sql", str(directory), lock=False) as work, sql(work.crawl, memory_limit=limit) as tables:
        yield tables
