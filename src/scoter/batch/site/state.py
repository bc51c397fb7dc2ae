"""What is known about each URL of a site, as tables of a SQL workspace.

```
answers     url, outcome, http_status, why, redirect_to, content_type, length, response_ms, is_checked
            the last answer for each URL, from the crawl or else from a check; outcome is one of ok, redirect, broken,
            refused, robots, unasked
chains      url, final, hops, path, is_loop: where each redirecting URL ends
verdicts    url, final, outcome, why, hops: the outcome at the end of redirects
starts      url: the start pages
site_hosts  host: the hosts of the start pages, which the report is about
pages       what the current version of each page says; with host, title, canonical, is_indexable
all_links   a view: every address on the current versions of pages
targets     url, host, links, sources, example: the distinct targets of links on pages of the site
sitemap     url: the URLs that sitemaps list
```
"""
# ruff: noqa: S608 - only constants and quoted texts are formatted into the SQL

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import SegmentSources
from scoter.batch.site.tables import SITE_CHECKS, SITE_LINKS, SITE_PAGES, SITE_STYLES, SITE_URLS, SiteFolder
from scoter.core.url import canonical
from scoter.engine.sql import quoted
from scoter.engine.workspace import SqlWorkspace
from scoter.errors import UrlError, UsageError

MOST_HOPS: Final = 20
"""Redirects after which a chain counts as one that never ends."""
LOADED: Final = ("image", "script", "style", "media", "object", "frame", "preload")
"""The kinds of addresses that a browser loads with a page."""
CLICKED: Final = ("a", "frame", "refresh")
"""The kinds of addresses by which a reader gets to a page."""
UNSEEN_KINDS: Final = ("form", "cite")
"""The kinds of addresses that nobody asks for to see a page: a form may change something."""
_REFUSED_STATUSES: Final = (401, 402, 403, 407, 429, 451)
_UNASKED: Final = (
    *("refused_address", "refused_port", "refused_scheme", "purged", "deferred", "stopped", "robots_unreachable"),
    *("broken_plugin",),
)

HOST: Final = "regexp_extract({}, '^[a-z][a-z0-9+.-]*://([^/?#]*)', 1)"
"""The host and port of a URL."""

_ANSWERS: Final = """
    SELECT url, {outcome} AS outcome, http_status, {why} AS why, redirect_to, content_type, length, response_ms,
           {checked} AS is_checked, {time} AS time
    FROM ({rows})"""
# Why a robots.txt could not be read that says that nothing of the host can be.
_NO_HOST: Final = "^robots.txt: (unresolved|unreachable|tls|timeout|reset|malformed)"
_OUTCOME: Final = f"""CASE
        WHEN status IN ('success', 'notmodified') THEN 'ok'
        WHEN status IN ('redir_temp', 'redir_perm') AND redirect_to IS NOT NULL THEN 'redirect'
        WHEN reason IN ('robots_denied', 'crawl_delay') THEN 'robots'
        WHEN reason = 'robots_unreachable' AND regexp_matches(detail, '{_NO_HOST}') THEN 'broken'
        WHEN reason IN {_UNASKED!r} OR status = 'deferred' THEN 'unasked'
        WHEN reason IN ('challenge', 'wall') OR http_status IN {_REFUSED_STATUSES!r} THEN 'refused'
        ELSE 'broken' END"""
_WHY: Final = f"""CASE
        WHEN reason = 'robots_unreachable' AND regexp_matches(detail, '{_NO_HOST}')
        THEN regexp_replace(detail, '{_NO_HOST} ?', '\\1: ')
        ELSE concat_ws(': ',
            coalesce('HTTP ' || http_status, replace(reason, '_', ' '), status),
            CASE WHEN http_status IS NULL OR reason IN ('challenge', 'wall', 'moved') THEN nullif(detail, '') END)
        END"""


def make_state(work: SqlWorkspace, crawl: CrawlDir, starts: Sequence[str] = ()) -> None:
    """Make the tables; ``starts`` are the start pages, by default the seeds, or else the root pages of all hosts."""
    folder = SiteFolder(crawl)
    fetches = SegmentSources(crawl.all_segments()).fetch
    work.run(f"CREATE MACRO host_of(url) AS {HOST.format('url')}")
    work.files("fetches", fetches.files, schemas.CRAWL_FETCH)
    work.files("read_pages", folder.files("pages-"), SITE_PAGES)
    work.files("read_links", folder.files("links-"), SITE_LINKS)
    work.files("read_styles", folder.files("styles-"), SITE_STYLES)
    work.files("checks", folder.files("checks-"), SITE_CHECKS)
    work.files("seeds", folder.files("seeds-"), SITE_URLS)
    _make_answers(work)
    _make_pages(work)
    _make_chains(work)
    _make_starts(work, starts)
    _make_links(work)
    make_sitemap(work, folder)


def make_sitemap(work: SqlWorkspace, folder: SiteFolder) -> None:
    """Make the table of what sitemaps list, once they are read."""
    work.files("listed", folder.files("sitemap-"), SITE_URLS)
    work.table("sitemap", "SELECT DISTINCT url FROM listed WHERE host_of(url) IN (SELECT host FROM site_hosts)")


def _make_answers(work: SqlWorkspace) -> None:
    last = "QUALIFY row_number() OVER (PARTITION BY url ORDER BY {} DESC) = 1"
    fetched = f"SELECT * FROM fetches WHERE status <> 'deferred' {last.format('fetch_time')}"
    crawled = _ANSWERS.format(outcome=_OUTCOME, why=_WHY, checked="false", time="fetch_time", rows=fetched)
    checked = f"SELECT *, outcome AS status FROM checks {last.format('time')}"
    asked = _ANSWERS.format(outcome=_OUTCOME, why=_WHY, checked="true", time="time", rows=checked)
    # What the crawl could not ask for may have been asked for by a check since.
    order = "ORDER BY (outcome = 'unasked'), is_checked, time DESC"
    work.table(
        "answers",
        f"SELECT * FROM ({crawled} UNION ALL {asked}) QUALIFY row_number() OVER (PARTITION BY url {order}) = 1",
    )


def _make_pages(work: SqlWorkspace) -> None:
    newest = "QUALIFY row_number() OVER (PARTITION BY url ORDER BY fetch_time DESC) = 1"
    work.table(
        "pages",
        f"""
        SELECT p.*, host_of(p.url) AS host, a.content_type, a.length, a.response_ms,
               coalesce(p.titles[1], '') AS title, coalesce(p.descriptions[1], '') AS description,
               coalesce(p.headings[1], '') AS heading, p.canonicals[1] AS canonical,
               NOT p.noindex AND p.refresh = '' AND coalesce(p.canonicals[1] = p.url, true) AS is_indexable
        FROM (SELECT * EXCLUDE (names) FROM read_pages {newest}) AS p
        JOIN answers AS a ON a.url = p.url AND a.outcome = 'ok'""",
    )


def _make_chains(work: SqlWorkspace) -> None:
    work.table(
        "redirects",
        """
        SELECT url, any_value(redirect_to) AS redirect_to FROM (
            SELECT url, redirect_to FROM answers WHERE outcome = 'redirect'
            UNION ALL SELECT url, refresh FROM pages WHERE refresh <> '' AND refresh <> url)
        GROUP BY url""",
    )
    work.table("chains", "SELECT url, redirect_to AS final, 1 AS hops, [redirect_to] AS path FROM redirects")
    for _ in range(MOST_HOPS):
        more = "SELECT count(*) FROM chains AS c SEMI JOIN redirects AS r ON c.final = r.url"
        if not work.value(more):
            break
        work.table(
            "chains",
            """
            SELECT c.url, coalesce(r.redirect_to, c.final) AS final, c.hops + (r.url IS NOT NULL)::INT AS hops,
                   CASE WHEN r.url IS NULL THEN c.path ELSE list_append(c.path, r.redirect_to) END AS path
            FROM chains AS c LEFT JOIN redirects AS r ON c.final = r.url""",
        )
    work.table("chains", f"SELECT *, final IN (SELECT url FROM redirects) OR hops > {MOST_HOPS} AS is_loop FROM chains")
    work.table(
        "verdicts",
        """
        SELECT a.url, coalesce(c.final, a.url) AS final, coalesce(c.hops, 0) AS hops,
               CASE WHEN c.is_loop THEN 'loop' WHEN c.url IS NULL THEN a.outcome
                    ELSE coalesce(f.outcome, 'unasked') END AS outcome,
               CASE WHEN c.url IS NULL THEN a.why WHEN f.outcome IS NULL OR f.outcome = 'ok' THEN ''
                    ELSE 'redirects to ' || c.final || ': ' || f.why END AS why
        FROM answers AS a
        LEFT JOIN chains AS c ON c.url = a.url
        LEFT JOIN answers AS f ON f.url = c.final""",
    )


def _make_starts(work: SqlWorkspace, given: Sequence[str]) -> None:
    if given:
        urls = [_start_url(each) for each in given]
        work.table("starts", f"SELECT unnest([{', '.join(map(quoted, urls))}]) AS url")
    else:
        work.table("starts", "SELECT DISTINCT url FROM seeds SEMI JOIN answers USING (url)")
    if not work.value("SELECT count(*) FROM starts"):
        root = "'^[a-z][a-z0-9+.-]*://[^/?#]*/$'"
        work.table("starts", f"SELECT url FROM answers WHERE regexp_matches(url, {root}) AND NOT is_checked")
    if not work.value("SELECT count(*) FROM starts"):
        work.table("starts", "SELECT min(url) AS url FROM pages HAVING count(*) > 0")
    work.table(
        "site_hosts",
        """
        SELECT DISTINCT host_of(url) AS host FROM (
            SELECT url FROM starts
            UNION ALL SELECT v.final FROM starts AS s JOIN verdicts AS v USING (url) WHERE v.outcome = 'ok')""",
    )
    work.run("DELETE FROM pages WHERE host NOT IN (SELECT host FROM site_hosts)")


def _start_url(text: str) -> str:
    try:
        return canonical(text).text
    except UrlError as error:
        raise UsageError(f"{text!r} is not a URL: {error.message}", where="--start") from error


def _make_links(work: SqlWorkspace) -> None:
    styles = "SELECT *, '' AS fragment, false AS nofollow FROM read_styles"
    work.view(
        "all_links",
        f"""
        SELECT source, target, href, fragment, text, kind, nofollow FROM read_links AS l
        SEMI JOIN (
            SELECT url, fetch_time FROM pages
            UNION ALL SELECT url, time FROM answers
            WHERE content_type LIKE 'text/css%' AND host_of(url) IN (SELECT host FROM site_hosts)
        ) AS p ON p.url = l.source AND p.fetch_time = l.fetch_time
        UNION ALL SELECT source, target, href, fragment, text, kind, nofollow FROM ({styles})""",
    )
    work.table(
        "targets",
        f"""
        SELECT target AS url, host_of(target) AS host, count(*) AS links,
               count(*) FILTER (source <> target AND kind IN {CLICKED!r}) AS clicks,
               bool_or(kind = 'style') AS is_style, bool_and(kind IN {UNSEEN_KINDS!r}) AS is_unseen
        FROM all_links WHERE target IS NOT NULL GROUP BY target""",
    )
