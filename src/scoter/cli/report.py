"""Answer common questions about a service or a crawl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scoter.cli.invocation import AtMost, invocation
from scoter.errors import UsageError, nearest

if TYPE_CHECKING:
    from scoter.batch.crawldir.directory import CrawlDir
    from scoter.engine.session import Session
    from scoter.live.reports.days import Days
    from scoter.live.reports.questions import Question

_ROWS = 20


@click.command()
@click.argument("directory")
@click.argument("name", required=False)
@click.argument("site", required=False)
@click.option("--day", metavar="DAY", help="One day: today, yesterday, or a date (UTC).")
@click.option("--since", metavar="DAY", default="", help="From this day on.")
@click.option("--until", metavar="DAY", default="", help="Up to this day, which is part of it.")
@click.option("--limit", type=AtMost(min=1), metavar="N", default=_ROWS, help=f"At most N rows ({_ROWS}).")
@click.option("--csv", "wants_csv", is_flag=True, help="Print CSV.")
def command(
    directory: str,
    name: str | None,
    site: str | None,
    day: str | None,
    since: str,
    until: str,
    limit: int,
    wants_csv: bool,
) -> None:
    """Answer common questions about a service or a crawl.

    The directory is that of a live service, whose log is read (what was done in the last minute may not be in it
    yet), or a crawl's. Without a name the questions are listed; `pages-from` needs a site, a host or a domain. What
    else you want to know `scoter sql` tells.

    \b
    Example:
      scoter report service
      scoter report service most-linked-sites --day yesterday
      scoter report service pages-from example.org --since 2026-11-01 --json
    """
    from scoter.cli.rows import print_rows
    from scoter.live.reports.days import days
    from scoter.live.reports.questions import QUESTIONS

    said = invocation()
    if said.json and wants_csv:
        raise UsageError("--json and --csv exclude each other")
    form = "json" if said.json else "csv" if wants_csv else "table"
    if name is None:
        _checked(Path(directory))
        listed = ({"name": each.name, "answers": each.sentence} for each in QUESTIONS.values())
        print_rows(listed, ["name", "answers"], form)
        return
    question = _question(name, site)
    if day and (since or until):
        raise UsageError("--day excludes --since and --until")
    when = days(day or since, day or until, datetime.now(UTC))
    with _opened(Path(directory), question, when, has_days=bool(day or since or until)) as (session, query):
        given = {"since": when.since, "until": when.until, "site": _host(site or ""), "limit": limit}
        answer = session.ask(query, {key: value for key, value in given.items() if f"${key}" in query})
        print_rows(answer.rows, answer.columns, form)


def _question(name: str, site: str | None) -> Question:
    from scoter.live.reports.questions import QUESTIONS

    if name not in QUESTIONS:
        close = nearest(name, QUESTIONS)
        raise UsageError(
            f"there is no report {name!r}" + (f"; did you mean {close!r}?" if close else ""),
            hint=f"There are {', '.join(QUESTIONS)}.",
        )
    question = QUESTIONS[name]
    if question.takes_site and not site:
        raise UsageError(f"{name} needs a site", hint=f"For example: scoter report DIR {name} example.org")
    if site and not question.takes_site:
        raise UsageError(f"{name} takes no site, and {site!r} stands where one would")
    return question


@contextmanager
def _opened(directory: Path, question: Question, when: Days, *, has_days: bool) -> Iterator[tuple[Session, str]]:
    """Open a directory for a question, whichever kind it is; give the SQL for it, too."""
    from scoter.engine.factory import memory_limit
    from scoter.live.reports.views import service_sql

    crawl = _checked(directory)
    limit = memory_limit(invocation().config)
    if crawl is None:
        with service_sql(directory, memory_limit=limit, days=when) as session:
            yield session, question.service
        return
    from scoter.batch.sql import sql

    if not question.crawl:
        raise UsageError(f"{question.name} cannot be told of a crawl: {question.why_not}", where=str(directory))
    if has_days and "$since" not in question.crawl:
        raise UsageError(f"{question.name} of a crawl knows no days: its links have no time", where=str(directory))
    with sql(crawl, memory_limit=limit) as session:
        yield session, question.crawl


def _checked(directory: Path) -> CrawlDir | None:
    """Return the crawl that lies in a directory, nothing for a service's; anything else is a mistake."""
    from scoter.live.reports.views import is_service

    if not directory.is_dir():
        raise UsageError("there is no such directory", where=str(directory), hint="Name that of a service or a crawl.")
    if is_service(directory):
        return None
    from scoter.batch.crawldir.directory import CrawlDir

    return CrawlDir.open(directory)


def _host(site: str) -> str:
    """Return a site as the tables spell it, be it given as a host or as a URL."""
    from scoter.core.url import canonical
    from scoter.errors import UrlError

    if not site:
        return ""
    try:
        return canonical(site if "://" in site else f"http://{site}/").host
    except UrlError as error:
        raise UsageError(f"{site!r} is not a site", hint="Name a host or a domain, such as example.org.") from error
