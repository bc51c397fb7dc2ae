"""SQL over the view ``problems`` of a crawl: the summary of a report, and its rows."""
# ruff: noqa: S608 - only constants are formatted into the SQL

from __future__ import annotations

from typing import Final

_RANK: Final = "CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END"
SUMMARY: Final = f"""
    SELECT severity, problem, count(DISTINCT url) AS urls, count(*) AS found, min(url) AS example
    FROM problems GROUP BY severity, problem ORDER BY {_RANK}, urls DESC, problem LIMIT $limit"""
ROWS: Final = """
    SELECT url, page, text, detail FROM problems WHERE problem = $problem
    ORDER BY number DESC NULLS LAST, url, page, text LIMIT $limit"""
ALL_ROWS: Final = "SELECT severity, problem, url, page, text, detail, number FROM problems"
"""All rows as they are stored: by kind, the most frequent first."""
GROUPED: Final = """
    SELECT url, any_value(detail) AS detail, any_value(text) AS text, max(copies) AS copies,
           list(struct_pack(page := page, text := text) ORDER BY place) FILTER (place <= $pages) AS pages
    FROM (
        SELECT *, count(*) OVER (PARTITION BY url) AS copies,
               row_number() OVER (PARTITION BY url ORDER BY page, text, detail) AS place
        FROM problems WHERE problem = $problem AND url IN (
            SELECT url FROM problems WHERE problem = $problem
            GROUP BY url ORDER BY max(number) DESC NULLS LAST, url LIMIT $limit))
    GROUP BY url ORDER BY max(number) DESC NULLS LAST, url"""
"""The URLs of a kind of problem, each with the first pages that lead there."""
