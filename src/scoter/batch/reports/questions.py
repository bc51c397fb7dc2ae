"""The named reports about a crawl: SQL over its views; ``$limit`` is a number of rows."""
# ruff: noqa: S608 - only constants of this module are formatted into the SQL; user input is bound as parameters

from __future__ import annotations

from typing import Final

from msgspec import Struct

from scoter.batch.urls.refusals import TRUNCATED
from scoter.core.reply import Truncation

_PAGES = "('fetched', 'notmodified', 'duplicate')"
_USUAL = "('success', 'notmodified', 'redir_temp', 'redir_perm')"


class CrawlReport(Struct, frozen=True, kw_only=True):
    """A named report: what it answers, its SQL, and the columns of its chart if it has one.

    ``unit`` says how the values of the chart are shown: as numbers, bytes or milliseconds.
    """

    name: str
    sentence: str
    sql: str
    label: str = ""
    value: str = ""
    unit: str = "number"
    has_remedies: bool = False
    """Whether ``remedies`` adds columns to its rows."""


_ALL: Final = (
    CrawlReport(
        name="statuses",
        sentence="Count URLs by status.",
        sql="SELECT status, count(*) AS urls FROM crawldb GROUP BY status ORDER BY urls DESC, status LIMIT $limit",
        label="status",
        value="urls",
    ),
    CrawlReport(
        name="fetches-per-day",
        sentence="Count requests, pages and failures per day.",
        sql=f"""
            SELECT strftime(fetch_time, '%Y-%m-%d') AS day, count(*) AS requests,
                   count(*) FILTER (status = 'success') AS pages,
                   count(*) FILTER (status NOT IN {_USUAL} AND status <> 'deferred') AS failures,
                   coalesce(sum(length), 0)::BIGINT AS bytes
            FROM fetches GROUP BY day ORDER BY day DESC LIMIT $limit""",
        label="day",
        value="requests",
    ),
    CrawlReport(
        name="hosts",
        sentence="Show the hosts with most URLs.",
        sql="""
            SELECT host, count(*) AS urls, count(*) FILTER (status IN ('fetched', 'notmodified')) AS pages,
                   count(*) FILTER (status = 'unfetched') AS unfetched, count(*) FILTER (status = 'gone') AS gone,
                   count(*) FILTER (status = 'duplicate') AS duplicates
            FROM crawldb WHERE host <> '' GROUP BY host ORDER BY urls DESC, host LIMIT $limit""",
        label="host",
        value="urls",
    ),
    CrawlReport(
        name="types",
        sentence="Count pages by content type.",
        sql="""
            SELECT coalesce(nullif(lower(trim(split_part(content_type, ';', 1))), ''), 'unknown') AS type,
                   count(DISTINCT url) AS pages, coalesce(sum(length), 0)::BIGINT AS bytes
            FROM fetches WHERE status = 'success' GROUP BY type ORDER BY pages DESC, type LIMIT $limit""",
        label="type",
        value="pages",
    ),
    CrawlReport(
        name="languages",
        sentence="Count pages by language.",
        sql="""
            SELECT coalesce(nullif(language, ''), 'unknown') AS language, count(DISTINCT url) AS pages
            FROM pages WHERE coalesce(part_of, '') = '' GROUP BY 1 ORDER BY pages DESC, 1 LIMIT $limit""",
        label="language",
        value="pages",
    ),
    CrawlReport(
        name="depth",
        sentence="Count URLs by the number of folders in their path.",
        sql=r"""
            SELECT greatest(0, length(path) - length(replace(path, '/', '')) - 1) AS folders, count(*) AS urls,
                   count(*) FILTER (status IN ('fetched', 'notmodified')) AS pages
            FROM (SELECT status, regexp_extract(url, '^[a-z][a-z0-9+.-]*://[^/?#]*([^?#]*)', 1) AS path FROM crawldb)
            GROUP BY folders ORDER BY folders LIMIT $limit""",
        label="folders",
        value="urls",
    ),
    CrawlReport(
        name="slow-hosts",
        sentence="Show the hosts with the slowest responses.",
        sql="""
            SELECT host, count(*) AS requests, round(approx_quantile(response_ms, 0.5)) AS median_ms,
                   round(approx_quantile(response_ms, 0.95)) AS p95_ms, max(response_ms) AS longest_ms
            FROM fetches WHERE response_ms IS NOT NULL
            GROUP BY host ORDER BY median_ms DESC, host LIMIT $limit""",
        label="host",
        value="median_ms",
        unit="ms",
    ),
    CrawlReport(
        name="large-hosts",
        sentence="Show the hosts that sent most bytes.",
        sql="""
            SELECT host, count(*) FILTER (status = 'success') AS pages, coalesce(sum(length), 0)::BIGINT AS bytes
            FROM fetches GROUP BY host HAVING sum(length) > 0 ORDER BY bytes DESC, host LIMIT $limit""",
        label="host",
        value="bytes",
        unit="bytes",
    ),
    CrawlReport(
        name="challenges",
        sentence="Show the hosts that sent a challenge, a login wall or a consent wall instead of pages.",
        sql="""
            SELECT host, detail AS kind, count(DISTINCT url) AS urls, max(fetch_time) AS last, min(url) AS example
            FROM fetches WHERE reason IN ('challenge', 'wall')
            GROUP BY host, kind ORDER BY urls DESC, host, kind LIMIT $limit""",
        label="host",
        value="urls",
    ),
    CrawlReport(
        name="failures",
        sentence="Show why URLs gave no page, or only a part, and the setting that decided if one did.",
        # A URL counts as its last fetch ended.
        sql=f"""
            WITH last AS (
                SELECT url, max_by(struct_pack(host := host, status := status, http_status := http_status,
                       reason := CASE WHEN truncated = '{Truncation.LENGTH}' THEN '{TRUNCATED}'
                                      ELSE coalesce(reason, status) END, detail := detail), fetch_time) AS f
                FROM fetches WHERE status <> 'deferred' GROUP BY url)
            SELECT f.reason AS reason, f.http_status AS http_status, count(*) AS urls, count(DISTINCT f.host) AS hosts,
                   min(url) AS example, arg_min(f.detail, url) AS detail
            FROM last WHERE f.status NOT IN {_USUAL} OR f.reason = '{TRUNCATED}'
            GROUP BY ALL ORDER BY urls DESC, reason, http_status LIMIT $limit""",
        label="reason",
        value="urls",
        has_remedies=True,
    ),
    CrawlReport(
        name="failing-hosts",
        sentence="Show the hosts with most failed requests.",
        sql=f"""
            SELECT host, count(*) AS requests,
                   count(*) FILTER (status NOT IN {_USUAL}) AS failures, mode(reason) AS usual_reason
            FROM fetches WHERE status <> 'deferred'
            GROUP BY host HAVING failures > 0 ORDER BY failures DESC, host LIMIT $limit""",
        label="host",
        value="failures",
    ),
    CrawlReport(
        name="largest",
        sentence="List the largest pages.",
        sql="""
            SELECT url AS page, max(length) AS bytes, arg_max(content_type, length) AS type
            FROM fetches WHERE status = 'success' AND length IS NOT NULL
            GROUP BY page ORDER BY bytes DESC, page LIMIT $limit""",
    ),
    CrawlReport(
        name="newest",
        sentence="List the newest pages, by the date they give or else by the time of their fetch.",
        sql="""
            SELECT f.url AS page, max(coalesce(p.modified, p.published, f.fetch_time)) AS date,
                   arg_max(p.title, f.fetch_time) AS title
            FROM fetches AS f LEFT JOIN pages AS p
              ON p.segment = f.segment AND p.url = f.url AND coalesce(p.part_of, '') = ''
            WHERE f.status = 'success' GROUP BY page ORDER BY date DESC, page LIMIT $limit""",
    ),
    CrawlReport(
        name="duplicates",
        sentence="List pages that exist several times, with the number of their copies.",
        sql=f"""
            SELECT count(*) AS copies, coalesce(min(url) FILTER (status <> 'duplicate'), min(url)) AS page,
                   max(url) AS another
            FROM crawldb WHERE signature IS NOT NULL AND status IN {_PAGES}
            GROUP BY signature HAVING count(*) > 1 ORDER BY copies DESC, page LIMIT $limit""",
    ),
)
CRAWL_REPORTS: Final = {report.name: report for report in _ALL}

TOTALS: Final = f"""
    SELECT (SELECT count(*) FROM crawldb) AS urls,
           (SELECT count(*) FROM crawldb WHERE status IN {_PAGES}) AS pages,
           (SELECT count(DISTINCT host) FROM crawldb) AS hosts,
           (SELECT count(*) FROM fetches WHERE status <> 'deferred') AS requests,
           (SELECT count(*) FROM fetches WHERE status NOT IN {_USUAL} AND status <> 'deferred') AS failures,
           (SELECT coalesce(sum(length), 0)::BIGINT FROM fetches) AS bytes,
           (SELECT min(fetch_time) FROM fetches) AS first_fetch,
           (SELECT max(fetch_time) FROM fetches) AS last_fetch"""
