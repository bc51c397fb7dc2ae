"""Check a site's health: the command checksite, and the report `site`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from scoter.cli.invocation import INTERRUPTED, AtMost, Duration, invocation, remark
from scoter.cli.results import open_output, print_result, print_rows
from scoter.cli.session import CrawlSession, crawl_session
from scoter.core.display import count
from scoter.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from datetime import timedelta

    from scoter.batch.jobs.checksite import SiteCheckOptions, SiteCheckResult
    from scoter.batch.site.tables import SiteReport

_FAILED = 1
_ROWS = 20
_HTML_ROWS = 100
_LARGEST = 2**62


def check_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a check."""
    options = (
        click.option(
            "--check-links",
            is_flag=True,
            help="Also ask for what was not crawled: images, styles, scripts, nofollow links, other sites, sitemaps.",
        ),
        click.option(
            "--start", "starts", multiple=True, metavar="URL", help="Count clicks from this page (default: the seeds)."
        ),
        click.option(
            "--max-checks",
            type=AtMost(min=1),
            metavar="N",
            default=100_000,
            show_default=True,
            help="Ask for at most N URLs with --check-links.",
        ),
        click.option(
            "--check-age",
            type=Duration(),
            metavar="TIME",
            default="1d",
            show_default=True,
            help="Ask again for what was asked for longer ago; what failed is always asked for again.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("directory", metavar="DIR")
@check_options
def checksite(directory: str, **options: Any) -> int:
    """Check the health of a crawled site: links, redirects, titles and more.

    Reads the pages in the archive, each once, and finds the problems that `scoter report DIR site` shows. Everything is
    kept in the folder DIR/site. With --check-links, it also asks for what the crawl did not fetch, as politely as a
    crawl; Ctrl-C ends this after the requests in progress, and the next run continues.

    \b
    Example:
      scoter checksite mycrawl
      scoter checksite mycrawl --check-links
    """
    with checked_site("checksite", directory, options) as (_, done, is_stopped):
        print_result(done, lambda done: print_summary(done.report))
    return INTERRUPTED if is_stopped else 0


@contextmanager
def checked_site(
    command: str, directory: str, options: Mapping[str, Any]
) -> Iterator[tuple[CrawlSession, SiteCheckResult, bool]]:
    """Check a site, showing the progress; also tell whether the check was asked to stop."""
    with crawl_session(command, directory, lock=False) as session:
        from scoter.batch.crawldir.directory import StopRequest
        from scoter.batch.jobs.checksite import checksite as check
        from scoter.store.arrow import limit_arrow_memory

        limit_arrow_memory()
        stopping = StopRequest(on_signal=session.status.acknowledge_stop)

        def show(step: str, done: int, total: int) -> None:
            session.status.show(f"site  {step}" + (f"  {done:,} of {total:,}" if total else ""))
            if command == "checksite":
                session.progress.add(step, done=done, total=total)

        run = _run_check(session, stopping, check, _options(options), show)
        session.status.clear()
        yield session, run, bool(stopping)


def _run_check(
    session: CrawlSession,
    stopping: Any,
    check: Callable[..., SiteCheckResult],
    options: SiteCheckOptions,
    show: Callable[[str, int, int], None],
) -> SiteCheckResult:
    arguments = {"now": session.now, "options": options, "on_progress": show, "stopping": stopping}
    if not options.check_links:  # Ctrl-C then ends everything at once
        return check(session.crawl, session.config, session.scratch, **arguments)
    with stopping.handle_signals():
        return check(session.crawl, session.config, session.scratch, **arguments)


def _options(given: Mapping[str, Any]) -> SiteCheckOptions:
    from scoter.batch.jobs.checksite import SiteCheckOptions

    age: timedelta = given["check_age"]
    return SiteCheckOptions(
        starts=tuple(given["starts"]),
        check_links=given["check_links"],
        check_age=age,
        most_checks=given["max_checks"],
    )


def report_site(
    directory: str,
    problem: str | None,
    *,
    form: str,
    limit: int | None,
    html: str | None,
    fail_on: Sequence[str],
    options: Mapping[str, Any],
) -> int:
    """Check a site and show what is wrong: a summary, the rows of a problem, all rows, or a page."""
    from scoter.batch.site.problems import PROBLEM_KINDS

    if problem is not None and problem not in PROBLEM_KINDS:
        message = f"there is no problem {problem!r}{did_you_mean(problem, PROBLEM_KINDS)}"
        raise UsageError(message, hint=f"Problems: {', '.join(PROBLEM_KINDS)}")
    wanted = _kinds_to_fail_on(fail_on)
    with checked_site("report", directory, options) as (session, done, is_stopped):
        found = done.report
        if html is not None:
            _write_page(session, found, html, limit)
        else:
            _print(session, found, problem, form, limit)
        failing = [each for each in found.problems if each.problem in wanted]
        if failing:
            names = ", ".join(f"{each.urls:,} {each.problem}" for each in failing)
            remark(f"Failed because of --fail-on: {names}")
    if is_stopped:
        return INTERRUPTED
    return _FAILED if failing else 0


def _kinds_to_fail_on(names: Sequence[str]) -> frozenset[str]:
    from scoter.batch.site.problem_kind import SEVERITIES
    from scoter.batch.site.problems import GROUPS, PROBLEM_KINDS, kinds_named

    found: set[str] = set()
    for name in (part.strip() for each in names for part in each.split(",")):
        kinds = kinds_named(name)
        if not kinds:
            known = (*GROUPS, *SEVERITIES, *PROBLEM_KINDS)
            hint = f"Accepted: {', '.join(known)}"
            raise UsageError(f"{name!r} is no kind of problem{did_you_mean(name, known)}", where="--fail-on", hint=hint)
        found |= kinds
    return frozenset(found)


def _print(session: CrawlSession, report: SiteReport, problem: str | None, form: str, limit: int | None) -> None:
    from scoter.batch.jobs.sql import sql
    from scoter.batch.site.queries import ALL_ROWS, ROWS
    from scoter.engine.factory import memory_limit

    if problem is None and form == "table":
        print_summary(report)
        return
    with sql(session.crawl, memory_limit=memory_limit(session.config), query="problems") as tables:
        if problem is None:
            answer = tables.query(ALL_ROWS if limit is None else f"{ALL_ROWS} LIMIT {limit}")
        else:
            most = limit or (_ROWS if form == "table" else _LARGEST)
            answer = tables.query(ROWS, {"problem": problem, "limit": most})
        print_rows(answer.rows, answer.columns, form, exact=invocation().exact)
    total = next((each.rows for each in report.problems if each.problem == problem), 0)
    if problem is not None and form == "table" and total > (limit or _ROWS):
        remark(f"The first {limit or _ROWS:,} of {total:,}; --limit shows more, --json all of them.")


def print_summary(report: SiteReport) -> None:
    """Print how many problems of each kind there are."""
    totals = report.totals
    click.echo(
        f"{count(totals['pages'], 'page')} on {count(totals['hosts'], 'host')}, "
        f"{count(totals['links'], 'link')} to {count(totals['targets'], 'URL')}."
    )
    if report.problems:
        click.echo()
        rows = ({"severity": each.severity, "problem": each.problem, "urls": each.urls} for each in report.problems)
        print_rows(rows, ["severity", "problem", "urls"], "table")
    else:
        click.echo("No problems were found.")
    if totals["unchecked"]:
        remark(f"Not checked: {count(totals['unchecked'], 'URL')}; --check-links asks for them.")


def _write_page(session: CrawlSession, report: SiteReport, html: str, limit: int | None) -> None:
    from scoter.batch.jobs.sql import sql
    from scoter.batch.site.page import site_page
    from scoter.engine.factory import memory_limit

    name = report.starts[0] if report.starts else session.crawl.path.name
    with (
        sql(session.crawl, memory_limit=memory_limit(session.config), query="problems") as tables,
        open_output(html) as file,
    ):
        for line in site_page(tables, report, f"Health of {name}", limit=limit or _HTML_ROWS):
            file.write(line.encode("utf-8", "replace") + b"\n")
    if html != "-":
        remark(f"Wrote {html}")
