"""Commands that query a crawl or a live service: sql and report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.checksite import check_options, report_site
from scoter.cli.invocation import AtMost, invocation, remark
from scoter.cli.results import exact_option, open_output, print_rows, row_format
from scoter.errors import UsageError, did_you_mean
from scoter.store.objects.path import StorePath, any_path

if TYPE_CHECKING:
    from scoter.engine.session import SqlSession
    from scoter.reports.days import Days
    from scoter.reports.questions import Question

_CSV = click.option("--csv", "wants_csv", is_flag=True, help="Print CSV.")
_REPORT_ROWS = 20
_SITE = "site"


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("query", required=False)
@_CSV
@exact_option
@click.option("--limit", type=AtMost(min=0), metavar="N", help="Print at most N rows.")
def sql(directory: str, query: str | None, wants_csv: bool, limit: int | None) -> None:
    """Query a crawl or a live service with SQL.

    A crawl has the views crawldb, linkdb, hosts, segments, fetches, pages and outlinks, and those of the link graph:
    nodes, links, host_nodes, host_links, domain_nodes and domain_links; the log of a live service has events and
    fetches. Without a query, the views and their columns are listed. The dialect is DuckDB's. Queries are read-only and
    can only access these views.

    \b
    Example:
      scoter sql mycrawl
      scoter sql mycrawl "select host, count(*) from crawldb where status = 'fetched' group by all order by 2 desc"
      scoter sql mycrawl "select title, url from pages where text ilike '%scoter%'" --json
      scoter sql live "select domain, count(*) from events where kind = 'video' group by all"
    """
    form = row_format(wants_csv)
    with _open_tables(any_path(directory), query=query) as (tables, _):
        if query is None:
            columns = (
                {"view": view.name, "column": name, "type": kind}
                for view in tables.views()
                for name, kind in view.columns
            )
            print_rows(columns, ["view", "column", "type"], form)
            return
        answer = tables.query(query)
        print_rows(islice(answer.rows, limit), answer.columns, form, exact=invocation().exact)


@click.command()
@click.argument("directory", metavar="DIR")
@click.argument("name", required=False)
@click.argument("site", required=False)
@click.option("--day", metavar="DAY", help="Only this day: today, yesterday, or a date (UTC).")
@click.option("--since", metavar="DAY", default="", help="From this day on.")
@click.option("--until", metavar="DAY", default="", help="Up to and including this day.")
@click.option("--limit", type=AtMost(min=1), metavar="N", help=f"Print at most N rows (default: {_REPORT_ROWS}).")
@_CSV
@exact_option
@click.option("--html", metavar="FILE", help="Write all reports about a crawl, or `site`, to an HTML page.")
@check_options
@click.option(
    "--fail-on",
    multiple=True,
    metavar="KIND",
    help="With `site`: exit code 1 if there are such problems: a name, broken, fragments, error, warning or notice.",
)
def report(
    directory: str,
    name: str | None,
    site: str | None,
    day: str | None,
    since: str,
    until: str,
    limit: int | None,
    wants_csv: bool,
    html: str | None,
    fail_on: tuple[str, ...],
    **checks: Any,
) -> int | None:
    """Answer common questions about a live service or a crawl.

    DIR is the directory of a live service or a crawl. Reports on a service read its log, which may lag by a minute.
    Without NAME, the reports are listed, or with --html all of them are written to one page. `pages-from` needs a SITE:
    a host or a domain. `site` checks the health of a crawled site; SITE may then be the name of a problem, whose rows
    are shown. For other questions, use `scoter sql`.

    \b
    Example:
      scoter report live
      scoter report live most-linked-sites --day yesterday
      scoter report live pages-from example.org --since 2026-11-01 --json
      scoter report mycrawl largest --limit 5
      scoter report mycrawl --html report.html
      scoter report mycrawl site --html health.html
      scoter report mycrawl site broken-links
      scoter report mycrawl site --check-links --fail-on broken
    """
    from scoter.reports.days import days
    from scoter.reports.questions import QUESTIONS

    form = row_format(wants_csv)
    root = any_path(directory)
    if not isinstance(root, StorePath) and not root.is_dir():
        raise UsageError(
            "there is no such directory", where=directory, hint="Give the directory of a service or crawl."
        )
    if name == _SITE:
        if day or since or until:
            raise UsageError(f"{_SITE} takes no days")
        if html is not None and (site or form != "table"):
            raise UsageError("--html shows all problems; give no name of one and no other format")
        if _is_service(root):
            raise UsageError(f"{_SITE} is only available for a crawl", where=directory)
        return report_site(directory, site, form=form, limit=limit, html=html, fail_on=fail_on, options=checks)
    if fail_on or checks["check_links"] or checks["starts"]:
        raise UsageError("--check-links, --start and --fail-on belong to the report `site`")
    limit = limit or _REPORT_ROWS
    if html is not None:
        if name is not None or day or since or until or form != "table":
            raise UsageError("--html writes all reports; give no NAME, no days and no other format")
        _write_page(root, html, limit, directory)
        return None
    from scoter.batch.reports.questions import CRAWL_REPORTS

    if name is None:
        known = {each.name: each.sentence for each in QUESTIONS.values()}
        if not _is_service(root):
            from scoter.batch.crawldir.directory import CrawlDir

            CrawlDir.open(root)
            known = {each.name: each.sentence for each in QUESTIONS.values() if each.crawl}
            known |= {each.name: each.sentence for each in CRAWL_REPORTS.values()}
            known[_SITE] = "Check the health of a site: links, redirects, titles, canonical addresses and more."
        reports = ({"name": each, "answers": sentence} for each, sentence in known.items())
        print_rows(reports, ["name", "answers"], form)
        return None
    if name in CRAWL_REPORTS:
        if _is_service(root):
            raise UsageError(f"{name} is only available for a crawl", where=directory)
        if site or day or since or until:
            raise UsageError(f"{name} takes no site and no days")
        with _open_tables(root) as (tables, _):
            answer = tables.query(CRAWL_REPORTS[name].sql, {"limit": limit})
            columns, rows = answer.columns, answer.rows
            if CRAWL_REPORTS[name].has_remedies:
                from scoter.batch.reports.remedies import REMEDIES, with_remedies

                columns, rows = (*columns, *REMEDIES), with_remedies(rows, directory, invocation().config)
            print_rows(rows, columns, form, exact=invocation().exact)
        return None
    question = _question(name, site, _is_service(root))
    if day and (since or until):
        raise UsageError("--day cannot be combined with --since or --until")
    when = days(day or since, day or until, datetime.now(UTC))
    with _open_tables(root, when) as (tables, is_live):
        query = (
            question.service if is_live else _crawl_query(question, has_days=bool(day or since or until), where=root)
        )
        values = {"since": when.since, "until": when.until, "site": _host(site or ""), "limit": limit}
        answer = tables.query(query, {key: value for key, value in values.items() if f"${key}" in query})
        print_rows(answer.rows, answer.columns, form, exact=invocation().exact)
    return None


def _write_page(root: Path, html: str, limit: int, directory: str) -> None:
    from scoter.batch.reports.page import report_page

    if _is_service(root):
        raise UsageError("--html is only available for a crawl", where=str(root))
    title = f"Crawl {root.absolute().name}"
    with _open_tables(root) as (tables, _), open_output(html) as file:
        config = invocation().config
        for line in report_page(tables, title, now=datetime.now(UTC), limit=limit, directory=directory, config=config):
            file.write(line.encode("utf-8", "replace") + b"\n")
    if html != "-":
        remark(f"Wrote {html}")


def _question(name: str, site: str | None, is_live: bool) -> Question:
    from scoter.batch.reports.questions import CRAWL_REPORTS
    from scoter.reports.questions import QUESTIONS

    if name not in QUESTIONS:
        known = [*QUESTIONS, *(() if is_live else (*CRAWL_REPORTS, _SITE))]
        message = f"there is no report {name!r}{did_you_mean(name, known)}"
        raise UsageError(message, hint=f"Reports: {', '.join(known)}")
    question = QUESTIONS[name]
    if question.takes_site and not site:
        raise UsageError(f"{name} needs a site", hint=f"For example: scoter report DIR {name} example.org")
    if site and not question.takes_site:
        raise UsageError(f"{name} takes no site", hint=f"Leave out {site!r}.")
    return question


def _crawl_query(question: Question, *, has_days: bool, where: Path) -> str:
    if not question.crawl:
        raise UsageError(f"{question.name} is not available for a crawl: {question.why_not}", where=str(where))
    if has_days and "$since" not in question.crawl:
        raise UsageError(f"{question.name} of a crawl cannot be limited to days: links have no time", where=str(where))
    return question.crawl


@contextmanager
def _open_tables(
    directory: Path, when: Days | None = None, query: str | None = None
) -> Iterator[tuple[SqlSession, bool]]:
    """Open the tables of a live service or a crawl, and say whether it is a live service.

    Of a crawl, only the tables are opened that the query names, if there is one.
    """
    from scoter.engine.factory import memory_limit
    from scoter.live.reports.views import is_role, is_service, service_sql

    limit = memory_limit(invocation().config)
    if not isinstance(directory, StorePath) and is_role(directory):
        raise UsageError(
            "this is the directory of a pipeline or a worker, which has no log of outcomes",
            where=str(directory),
            hint="Pass the directory of an api process (`scoter serve --role api`): it has the log of them all.",
        )
    if not isinstance(directory, StorePath) and is_service(directory):
        with service_sql(directory, memory_limit=limit, days=when) as tables:
            yield tables, True
        return
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.batch.jobs.sql import sql as crawl_sql

    with crawl_sql(CrawlDir.open(directory), memory_limit=limit, query=query) as tables:
        yield tables, False


def _is_service(directory: Path) -> bool:
    from scoter.live.reports.views import is_service

    return not isinstance(directory, StorePath) and is_service(directory)


def _host(site: str) -> str:
    """Return the host of a site given as a host or a URL, as the tables spell it."""
    from scoter.core.url import canonical
    from scoter.errors import UrlError

    if not site:
        return ""
    try:
        return canonical(site if "://" in site else f"http://{site}/").host
    except UrlError as error:
        raise UsageError(f"{site!r} is not a site", hint="Give a host or a domain, such as example.org.") from error
