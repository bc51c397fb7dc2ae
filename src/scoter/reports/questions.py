"""The named reports: SQL over a service's log and, where possible, over a crawl's tables.

``$since`` and ``$until`` are times, ``$site`` is a host or a parent domain, ``$limit`` a number of rows.
"""
# ruff: noqa: S608 - only constants of this module are formatted into the SQL; user input is bound as parameters

from __future__ import annotations

from typing import Final

from msgspec import Struct

_IN_TIME = "time >= $since AND time < $until"
_FETCHED = "fetched_at >= $since AND fetched_at < $until"
_CRAWLED = "fetch_time >= $since AND fetch_time < $until"
_HERE = "(host = $site OR ends_with(host, '.' || $site))"
_USUAL = "('success', 'notmodified', 'redir_temp', 'redir_perm')"


class Question(Struct, frozen=True, kw_only=True):
    """A named report: its SQL over a service's views and over a crawl's, which is empty if a crawl cannot answer."""

    name: str
    sentence: str
    service: str
    crawl: str = ""
    why_not: str = ""

    @property
    def takes_site(self) -> bool:
        return "$site" in self.service


_ALL: Final = (
    Question(
        name="images-per-day",
        sentence="Count linked images and the preview images of pages per day.",
        service=f"""
            SELECT strftime(time, '%Y-%m-%d') AS day,
                   count(*) FILTER (kind = 'image') AS image_links,
                   count(DISTINCT resolved) FILTER (kind = 'image') AS linked_images,
                   count(*) FILTER (kind <> 'image' AND image_url IS NOT NULL) AS links_with_image,
                   count(DISTINCT image_url) FILTER (kind <> 'image') AS page_images
            FROM events WHERE state = 'ok' AND {_IN_TIME} GROUP BY day ORDER BY day""",
        crawl=f"""
            SELECT strftime(fetch_time, '%Y-%m-%d') AS day, count(DISTINCT url) AS images
            FROM fetches WHERE status = 'success' AND content_type LIKE 'image/%' AND {_CRAWLED}
            GROUP BY day ORDER BY day""",
    ),
    Question(
        name="most-linked-sites",
        sentence="Show the sites that most messages, or crawled pages, link to.",
        service=f"""
            SELECT domain AS site, count(DISTINCT (tenant, message_id)) AS messages, count(*) AS links,
                   count(DISTINCT resolved) AS pages
            FROM events WHERE domain IS NOT NULL AND {_IN_TIME}
            GROUP BY site ORDER BY messages DESC, links DESC, site LIMIT $limit""",
        crawl="""
            SELECT host AS site, count(DISTINCT source) AS linking_pages, count(*) AS links,
                   count(DISTINCT url) AS pages
            FROM outlinks WHERE host IS NOT NULL
            GROUP BY site ORDER BY linking_pages DESC, links DESC, site LIMIT $limit""",
    ),
    Question(
        name="pages-from",
        sentence="List the pages of a site, the most linked first.",
        service=f"""
            SELECT resolved AS page, count(DISTINCT (tenant, message_id)) AS messages, min(time) AS first_seen,
                   arg_max(title, number) AS title
            FROM events WHERE state = 'ok' AND {_HERE} AND {_IN_TIME}
            GROUP BY page ORDER BY messages DESC, page LIMIT $limit""",
        crawl=f"""
            SELECT f.url AS page, max(f.fetch_time) AS fetched, arg_max(p.title, f.fetch_time) AS title
            FROM fetches AS f LEFT JOIN pages AS p
              ON p.segment = f.segment AND p.url = f.url AND coalesce(p.part_of, '') = ''
            WHERE f.status = 'success' AND {_HERE.replace("host", "f.host")} AND {_CRAWLED}
            GROUP BY page ORDER BY page LIMIT $limit""",
    ),
    Question(
        name="slowest-sites",
        sentence="Show the sites with the slowest servers.",
        service=f"""
            SELECT domain AS site, count(*) AS fetches, round(median(remote_ms), 1) AS median_ms,
                   round(quantile_cont(remote_ms, 0.9), 1) AS p90_ms, round(max(remote_ms), 1) AS longest_ms
            FROM fetches WHERE remote_ms > 0 AND domain IS NOT NULL AND {_FETCHED}
            GROUP BY site ORDER BY median_ms DESC, site LIMIT $limit""",
        crawl=f"""
            SELECT host AS site, count(*) AS fetches, round(median(response_ms), 1) AS median_ms,
                   round(quantile_cont(response_ms, 0.9), 1) AS p90_ms, max(response_ms) AS longest_ms
            FROM fetches WHERE response_ms IS NOT NULL AND {_CRAWLED}
            GROUP BY site ORDER BY median_ms DESC, site LIMIT $limit""",
    ),
    Question(
        name="errors",
        sentence="Count failures by state, reason and status, with an example of each.",
        service=f"""
            SELECT state, reason, status, count(*) AS fetches, count(DISTINCT domain) AS sites,
                   arg_max(resolved, number) AS example
            FROM fetches WHERE state <> 'ok' AND {_FETCHED}
            GROUP BY ALL ORDER BY fetches DESC, state, reason, status LIMIT $limit""",
        crawl=f"""
            SELECT status AS state, reason, http_status AS status, count(*) AS fetches,
                   count(DISTINCT host) AS sites, max(url) AS example
            FROM fetches WHERE fetches.status NOT IN {_USUAL} AND {_CRAWLED}
            GROUP BY fetches.status, reason, http_status
            ORDER BY fetches DESC, state, reason, http_status LIMIT $limit""",
    ),
    Question(
        name="latency",
        sentence="Show how long each stage of a fetch takes in milliseconds: median, 99th percentile, maximum.",
        service=f"""
            WITH timed AS (SELECT * FROM fetches WHERE total_ms IS NOT NULL AND {_FETCHED}),
            stages AS (
                SELECT generate_subscripts(map_keys(stages), 1) AS place, unnest(map_keys(stages)) AS span,
                       unnest(map_values(stages)) AS ms
                FROM timed
                UNION ALL SELECT 1001, 'waiting for a slot', waited_ms FROM timed
                UNION ALL SELECT 1002, 'waiting for servers', remote_ms FROM timed
                UNION ALL SELECT 1003, 'our own time', greatest(0, total_ms - waited_ms - remote_ms) FROM timed
                UNION ALL SELECT 1004, 'message to record', total_ms FROM timed
            )
            SELECT span AS stage, count(*) AS fetches, round(median(ms), 1) AS median_ms,
                   round(quantile_cont(ms, 0.99), 1) AS p99_ms, round(max(ms), 1) AS longest_ms
            FROM stages GROUP BY span ORDER BY max(place), span""",
        why_not="a crawl has no messages; use `slowest-sites` to see how long servers take",
    ),
)
QUESTIONS: Final = {question.name: question for question in _ALL}
