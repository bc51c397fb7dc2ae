"""Find the problems of a site, and store them."""
# ruff: noqa: S608 - only constants are formatted into the SQL

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import xxhash

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.site.depth import make_depths
from scoter.batch.site.page_tables import part_names
from scoter.batch.site.problem_kind import SEVERITIES
from scoter.batch.site.problems import PROBLEM_KINDS, VERSION
from scoter.batch.site.state import make_state
from scoter.batch.site.tables import PROBLEMS, ProblemCount, SiteFolder, SiteReport
from scoter.engine.workspace import SqlWorkspace

_TOTALS: Final = """
    SELECT (SELECT count(*) FROM pages) AS pages,
           (SELECT count(*) FROM site_hosts) AS hosts,
           (SELECT coalesce(sum(links), 0)::BIGINT FROM targets) AS links,
           (SELECT count(*) FROM targets) AS targets,
           (SELECT count(*) FROM targets AS t ANTI JOIN answers AS a ON a.url = t.url
            WHERE NOT t.is_unseen) AS unchecked,
           (SELECT count(*) FROM checks) AS checks,
           (SELECT count(*) FROM sitemap) AS sitemap,
           (SELECT count(*) FROM answers WHERE outcome = 'broken') AS broken"""
_TOTAL_NAMES: Final = ("pages", "hosts", "links", "targets", "unchecked", "checks", "sitemap", "broken")
_MOST_STARTS: Final = 20


def source_digest(crawl: CrawlDir, starts: Sequence[str]) -> str:
    """Return a digest of what a report is made from."""
    folder = SiteFolder(crawl)
    names = [name for name in folder.names() if not name.startswith(("pages-", "links-", "problems-"))]
    text = "\n".join((str(VERSION), *part_names(crawl), "", *names, "", *starts))
    return xxhash.xxh3_128_hexdigest(text.encode())


def analyse(
    crawl: CrawlDir,
    scratch: Path,
    memory_limit: int,
    *,
    now: datetime,
    starts: Sequence[str] = (),
    on_step: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> SiteReport:
    """Find all problems of the pages that were read, and store them; ``on_step`` is told what is looked for."""
    source = source_digest(crawl, starts)
    folder = SiteFolder(crawl)
    total = len(PROBLEM_KINDS) + 2
    with SqlWorkspace(scratch, memory_limit, crawl.path) as work:
        on_step("pages and links", 0, total)
        make_state(work, crawl, starts)
        on_step("clicks", 1, total)
        make_depths(work, scratch)
        _make_names(work)
        work.run(
            "CREATE TABLE problems (rank INT, problem VARCHAR, severity VARCHAR, url VARCHAR, page VARCHAR, "
            "text VARCHAR, detail VARCHAR, number BIGINT)"
        )
        for number, kind in enumerate(PROBLEM_KINDS.values()):
            on_step(kind.name, number + 2, total)
            own = f"{number} AS rank, '{kind.name}' AS problem, '{kind.severity}' AS severity"
            work.run(f"INSERT INTO problems SELECT DISTINCT {own}, url, page, text, detail, number FROM ({kind.sql})")
        file = f"problems-{time.time_ns() // 1_000_000}.parquet"
        draft = folder.draft(file)
        try:
            order = "rank, number DESC NULLS LAST, url, page, text"
            work.save(f"SELECT {', '.join(PROBLEMS.names)} FROM problems ORDER BY {order}", draft)
            folder.finish(file, draft)
        finally:
            draft.unlink(missing_ok=True)
        report = _report(work, now, source, file)
    folder.store_report(report)
    return report


def _make_names(work: SqlWorkspace) -> None:
    """Make the table of the places within pages that links may lead to, by hash."""
    work.table(
        "named",
        """
        WITH wanted AS (
            SELECT DISTINCT coalesce(c.final, l.target) AS url FROM all_links AS l
            LEFT JOIN chains AS c ON c.url = l.target WHERE l.fragment <> '')
        SELECT DISTINCT hash(url || '#' || name) AS place FROM (
            SELECT r.url, unnest(r.names) AS name FROM read_pages AS r SEMI JOIN wanted AS w ON w.url = r.url
            SEMI JOIN pages AS p ON p.url = r.url AND p.fetch_time = r.fetch_time)""",
    )


def _report(work: SqlWorkspace, now: datetime, source: str, file: str) -> SiteReport:
    counted = "SELECT problem, severity, count(*), count(DISTINCT url) FROM problems GROUP BY ALL"
    found = [ProblemCount(*row) for row in work.rows(counted)]
    places = {name: number for number, name in enumerate(PROBLEM_KINDS)}
    found.sort(key=lambda each: (SEVERITIES.index(each.severity), places[each.problem]))
    totals = dict(zip(_TOTAL_NAMES, work.rows(_TOTALS)[0], strict=True))
    depths = [(int(depth), int(count)) for depth, count in work.rows(_DEPTHS)]
    starts = [row[0] for row in work.rows(f"SELECT url FROM starts ORDER BY url LIMIT {_MOST_STARTS}")]
    return SiteReport(
        made=now,
        version=VERSION,
        source=source,
        file=file,
        totals=totals,
        problems=found,
        depths=depths,
        starts=starts,
    )


_DEPTHS: Final = "SELECT depth, count(*) FROM depths GROUP BY depth ORDER BY depth"
