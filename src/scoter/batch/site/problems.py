"""The kinds of problems of a site: what each means, what to do, and the SQL that finds it."""
# ruff: noqa: S608 - only constants are formatted into the SQL

from __future__ import annotations

from typing import Final

from scoter.batch.site.depth import MOST_CLICKS
from scoter.batch.site.errors import ERRORS
from scoter.batch.site.problem_kind import (
    INTERNAL,
    IS_LOADED,
    LINKS,
    SEEN,
    SEVERITIES,
    ProblemKind,
    duplicate,
    link_problem,
    missing,
    several,
)
from scoter.batch.site.state import CLICKED, LOADED

VERSION: Final = 2
"""Increase it when a query changes: reports made by others are then made again."""
MANY_CLICKS: Final = 4
SLOW_MS: Final = 1_000
HEAVY_BYTES: Final = 1_000_000
LONG_CHAIN: Final = 2

# Addresses of pages, as far as addresses tell: a folder, no file extension, or one of HTML.
LIKE_A_PAGE: Final = r"^[a-z]+://[^/]+/([^?#]*/)?([^./?#]*|[^/?#]*\.(x?html?|php|aspx?|jsp))([?#]|$)"

_ALL: Final = (
    *ERRORS,
    ProblemKind(
        name="refused-links",
        severity="warning",
        sentence="Links to pages that the server refuses to show: login, payment, or a check for robots.",
        advice="Follow the link in a browser: it may work there. Remove it if readers cannot see the page either.",
        sql=link_problem("v.outcome = 'refused'"),
    ),
    ProblemKind(
        name="blocked-links",
        severity="warning",
        sentence="Links to pages of this site that its robots.txt forbids robots to read.",
        advice="If the pages should be found by search engines, allow them; otherwise links to them need rel=nofollow.",
        sql=link_problem(f"v.outcome = 'robots' AND {INTERNAL} AND NOT l.nofollow AND NOT {IS_LOADED}"),
    ),
    ProblemKind(
        name="noindex-linked",
        severity="warning",
        sentence="Pages that are linked, but ask search engines not to index them.",
        advice="Remove noindex if the page should be found. Otherwise nothing needs to be done.",
        sql=f"""
            SELECT p.url, min(l.source) AS page, any_value(l.text) AS text, 'has noindex' AS detail, count(*) AS number
            FROM pages AS p JOIN all_links AS l ON l.target = p.url AND l.source <> p.url AND l.kind IN {CLICKED!r}
            WHERE p.noindex AND NOT l.nofollow GROUP BY p.url""",
    ),
    ProblemKind(
        name="redirect-chains",
        severity="warning",
        sentence="Addresses that redirect several times before a page comes.",
        advice="Redirect to the last address at once.",
        sql=f"""
            SELECT c.url, l.page, l.text, array_to_string(c.path, ' → ') AS detail, c.hops AS number
            FROM chains AS c LEFT JOIN (
                SELECT target, min(source) AS page, any_value(text) AS text FROM all_links GROUP BY target) AS l
              ON l.target = c.url
            WHERE NOT c.is_loop AND c.hops >= {LONG_CHAIN} AND host_of(c.url) IN (SELECT host FROM site_hosts)""",
    ),
    ProblemKind(
        name="orphans",
        severity="warning",
        sentence="Pages that no other page links to; only a sitemap or a list of seeds names them.",
        advice="Link to the page from a page that readers visit, or remove it.",
        sql=f"""
            SELECT p.url, NULL AS page, p.text, p.detail, 1 AS number
            FROM (
                SELECT p.url, p.title AS text, CASE WHEN s.url IS NULL THEN 'a seed' ELSE 'in the sitemap' END AS detail
                FROM pages AS p LEFT JOIN sitemap AS s ON s.url = p.url WHERE p.refresh = ''
                UNION ALL
                SELECT s.url, NULL, 'in the sitemap' FROM sitemap AS s LEFT JOIN verdicts AS v ON v.url = s.url
                ANTI JOIN pages AS p ON p.url = s.url
                WHERE coalesce(v.outcome IN ('ok', 'unasked') AND v.hops = 0, true)) AS p
            ANTI JOIN (
                SELECT coalesce(c.final, l.target) AS url FROM all_links AS l LEFT JOIN chains AS c ON c.url = l.target
                WHERE l.kind IN {CLICKED!r} AND l.source <> coalesce(c.final, l.target)) AS t ON t.url = p.url
            ANTI JOIN (
                SELECT coalesce(c.final, s.url) AS url FROM starts AS s LEFT JOIN chains AS c ON c.url = s.url
                WHERE s.url NOT IN (SELECT url FROM sitemap) OR regexp_matches(s.url, '^[a-z]+://[^/]*/$')) AS s
              ON s.url = p.url""",
    ),
    ProblemKind(
        name="unreachable-pages",
        severity="warning",
        sentence="Pages that have links, but no path of clicks from a start page leads to them.",
        advice="Link to one of them from a page that readers visit.",
        sql=f"""
            SELECT p.url, l.page, l.text, NULL AS detail, 1 AS number FROM pages AS p
            ANTI JOIN depths AS d ON d.url = p.url
            JOIN (SELECT target, min(source) AS page, any_value(text) AS text FROM all_links
                  WHERE kind IN {CLICKED!r} AND source <> target GROUP BY target) AS l ON l.target = p.url
            WHERE p.refresh = '' AND (SELECT coalesce(max(depth), 0) FROM depths) < {MOST_CLICKS}""",
    ),
    ProblemKind(
        name="unread-pages",
        severity="warning",
        sentence="Pages of this site that links lead to, but that were not crawled: their own links are not checked.",
        advice="Continue the crawl if it has not fetched all pages. Of a page, a crawl follows the first 100 links "
        "(db.max_outlinks_per_page), and all with --own-site: crawl into a new directory with it.",
        sql=f"""
            SELECT l.target AS url, l.source AS page, l.text, 'one of ' || l.links || ' links of the page' AS detail,
                   count(*) OVER (PARTITION BY l.target) AS number
            FROM (SELECT *, count(*) OVER (PARTITION BY source) AS links FROM all_links WHERE kind IN {CLICKED!r}) AS l
            LEFT JOIN chains AS c ON c.url = l.target
            LEFT JOIN answers AS a ON a.url = coalesce(c.final, l.target)
            WHERE NOT l.nofollow AND {INTERNAL} AND host_of(coalesce(c.final, l.target)) IN (SELECT * FROM site_hosts)
              AND CASE WHEN a.url IS NULL THEN regexp_matches(l.target, '{LIKE_A_PAGE}')
                       ELSE a.is_checked AND a.outcome = 'ok' AND regexp_matches(a.content_type, 'html') END""",
    ),
    ProblemKind(
        name="not-in-sitemap",
        severity="warning",
        sentence="Pages that the sitemap does not list.",
        advice="Add the page to the sitemap, unless it should not be found.",
        sql="""
            SELECT p.url, NULL AS page, p.title AS text, NULL AS detail, d.depth AS number
            FROM pages AS p LEFT JOIN depths AS d USING (url)
            ANTI JOIN sitemap AS s ON s.url = p.url
            WHERE p.is_indexable AND p.host IN (SELECT DISTINCT host_of(url) FROM sitemap)""",
    ),
    ProblemKind(
        name="duplicate-titles",
        severity="warning",
        sentence="Pages with the same title.",
        advice="Give each page a title of its own, or let copies of a page name one canonical address.",
        sql=duplicate("title"),
    ),
    ProblemKind(
        name="several-titles",
        severity="warning",
        sentence="Pages with several titles.",
        advice="Keep one title element; browsers show the first.",
        sql=several("titles"),
    ),
    ProblemKind(
        name="missing-descriptions",
        severity="warning",
        sentence="Pages without a description.",
        advice="Add <meta name=description>: search results show it. Without one, they show any part of the page.",
        sql=missing("description"),
    ),
    ProblemKind(
        name="duplicate-descriptions",
        severity="warning",
        sentence="Pages with the same description.",
        advice="Give each page a description of its own.",
        sql=duplicate("description"),
    ),
    ProblemKind(
        name="several-descriptions",
        severity="warning",
        sentence="Pages with several descriptions.",
        advice="Keep one of them.",
        sql=several("descriptions"),
    ),
    ProblemKind(
        name="missing-headings",
        severity="warning",
        sentence="Pages without a main heading (h1).",
        advice="Begin the content with an h1: readers of screens and search engines look for it.",
        sql=missing("heading"),
    ),
    ProblemKind(
        name="slow-pages",
        severity="warning",
        sentence=f"Pages for which the server took longer than {SLOW_MS / 1000:g} s.",
        advice="Find out what the server does in this time; cache the page if it can be.",
        sql=f"""
            SELECT url, NULL AS page, title AS text, response_ms || ' ms' AS detail, response_ms AS number
            FROM pages WHERE response_ms >= {SLOW_MS}""",
    ),
    ProblemKind(
        name="heavy-pages",
        severity="warning",
        sentence=f"Pages and files of more than {HEAVY_BYTES / 1e6:g} MB.",
        advice="Split the page, shrink the images, or compress the reply.",
        sql=f"""
            SELECT a.url, min(l.source) AS page, any_value(l.text) AS text,
                   round(any_value(a.length) / 1e6, 1) || ' MB, ' || coalesce(any_value(a.content_type), '') AS detail,
                   any_value(a.length) AS number
            FROM answers AS a LEFT JOIN all_links AS l ON l.target = a.url
            WHERE a.outcome = 'ok' AND a.length >= {HEAVY_BYTES}
              AND (l.kind IN {LOADED!r} OR a.url IN (SELECT url FROM pages))
              AND host_of(a.url) IN (SELECT host FROM site_hosts) GROUP BY a.url""",
    ),
    ProblemKind(
        name="unchecked-links",
        severity="notice",
        sentence="Links that could not be checked, because a setting does not allow it or nothing could be asked.",
        advice="The reason names the setting, such as fetch.allow_ports, if one decided it. Otherwise check again.",
        sql=link_problem("v.outcome = 'unasked' AND v.why <> ''"),
    ),
    ProblemKind(
        name="redirected-links",
        severity="notice",
        sentence="Links to pages of this site that are redirected.",
        advice="Link to the new address: readers then wait less.",
        sql=f"""
            SELECT l.target AS url, l.source AS page, l.text, v.final AS detail,
                   count(*) OVER (PARTITION BY l.target) AS number
            FROM {LINKS} WHERE v.hops > 0 AND v.outcome = 'ok' AND {SEEN} AND {INTERNAL}""",
    ),
    ProblemKind(
        name="several-headings",
        severity="notice",
        sentence="Pages with several main headings (h1).",
        advice="Use one h1 for the page, and h2 for its parts.",
        sql=several("headings"),
    ),
    ProblemKind(
        name="duplicate-headings",
        severity="notice",
        sentence="Pages with the same main heading (h1).",
        advice="Give each page a heading of its own.",
        sql=duplicate("heading"),
    ),
    ProblemKind(
        name="skipped-levels",
        severity="notice",
        sentence="Pages whose headings skip a level.",
        advice="Use the levels in order: screen readers show them as an outline.",
        sql="""
            SELECT url, NULL AS page, skipped AS text, NULL AS detail, 1 AS number
            FROM pages WHERE skipped <> ''""",
    ),
    ProblemKind(
        name="missing-languages",
        severity="notice",
        sentence="Pages that do not say in which language they are.",
        advice='Add the language to the page, as in <html lang="en">: screen readers and translators need it.',
        sql="""
            SELECT url, NULL AS page, title AS text, NULL AS detail, 1 AS number FROM pages WHERE language = ''""",
    ),
    ProblemKind(
        name="deep-pages",
        severity="notice",
        sentence=f"Pages that are more than {MANY_CLICKS} clicks away from the start pages.",
        advice="Link to them from a page that is nearer, such as an overview.",
        sql=f"""
            SELECT p.url, NULL AS page, p.title AS text, d.depth || ' clicks' AS detail, d.depth AS number
            FROM pages AS p JOIN depths AS d USING (url) WHERE d.depth > {MANY_CLICKS}""",
    ),
)
PROBLEM_KINDS: Final = {kind.name: kind for kind in _ALL}
GROUPS: Final = tuple(dict.fromkeys(kind.group for kind in _ALL if kind.group))


def kinds_named(name: str) -> frozenset[str]:
    """Return the kinds that a name stands for: one, those of a group, or those at least as bad as a severity."""
    if name in SEVERITIES:
        worse = SEVERITIES[: SEVERITIES.index(name) + 1]
        return frozenset(kind.name for kind in _ALL if kind.severity in worse)
    return frozenset(kind.name for kind in _ALL if name in (kind.name, kind.group))
