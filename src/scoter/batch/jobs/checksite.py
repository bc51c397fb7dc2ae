"""checksite: read the pages of a crawl for the report on the site's health, and find the problems.

Everything is kept in the folder ``site`` of the crawl: what was read of a segment is not read again, and a report is
made anew only if something has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from scoter.batch.crawldir.directory import CrawlDir, StopRequest
from scoter.batch.site.analysis import analyse, source_digest
from scoter.batch.site.page_tables import PageReading, read_pages
from scoter.batch.site.requests import LinkCheck, check_links
from scoter.batch.site.tables import SiteFolder, SiteReport
from scoter.config import Config
from scoter.engine.factory import memory_limit
from scoter.errors import UsageError, typed


class SiteCheckOptions(Struct, frozen=True, kw_only=True):
    """What to check: from which start pages, and whether to ask for what was not crawled."""

    starts: tuple[str, ...] = ()
    check_links: bool = False
    check_age: timedelta = timedelta(days=1)
    most_checks: int = 100_000


class SiteCheckResult(Struct, frozen=True):
    """The report, and what was read and asked for it."""

    report: SiteReport
    read: PageReading
    checked: LinkCheck | None = None


def checksite(
    crawl: CrawlDir,
    config: Config,
    scratch: Path,
    *,
    now: datetime,
    options: SiteCheckOptions = SiteCheckOptions(),  # noqa: B008 - frozen
    on_progress: Callable[[str, int, int], None] = lambda step, done, total: None,
    stopping: StopRequest | None = None,
) -> SiteCheckResult:
    """Check a site; ``on_progress`` gets the step, how much of it is done, and how much there is."""
    with SiteFolder(crawl).lock("checksite", now):
        return _checked(crawl, config, scratch, now, options, on_progress, stopping)


def _checked(
    crawl: CrawlDir,
    config: Config,
    scratch: Path,
    now: datetime,
    options: SiteCheckOptions,
    on_progress: Callable[[str, int, int], None],
    stopping: StopRequest | None,
) -> SiteCheckResult:
    limit = memory_limit(config)
    read = read_pages(crawl, config, on_progress=lambda done, total: on_progress("reading pages", done, total))
    checked = None
    if options.check_links:
        checked = check_links(
            crawl,
            config,
            scratch,
            limit,
            now=now,
            starts=options.starts,
            max_age=options.check_age,
            most=options.most_checks,
            on_progress=lambda done, total: on_progress("checking links", done, total),
            stopping=stopping,
        )
    folder = SiteFolder(crawl)
    known = folder.report()
    if known is None or known.source != source_digest(crawl, options.starts) or not folder.problem_files():
        known = analyse(
            crawl,
            scratch,
            limit,
            now=now,
            starts=options.starts,
            on_step=lambda name, done, total: on_progress(f"looking for {name}", done, total),
        )
    if not known.totals["pages"]:
        hint = f"To fetch some: scoter crawl {typed(str(crawl.path))} URL"
        raise UsageError("this crawl has no HTML pages in its archive", where=str(crawl.path), hint=hint)
    return SiteCheckResult(known, read, checked)
