"""What a kind of problem is, and SQL that several kinds share.

Each query returns ``url, page, text, detail, number`` over the tables of ``state``: the URL that has the problem, a
page that leads there and its link text, what is wrong, and a number by which rows are sorted.
"""
# ruff: noqa: S608 - only constants are formatted into the SQL

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from scoter.batch.site.state import LOADED, UNSEEN_KINDS

Severity = Literal["error", "warning", "notice"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "notice")


class ProblemKind(Struct, frozen=True, kw_only=True):
    """A kind of problem: its name, how bad it is, what is wrong, what to do about it, and how it is found."""

    name: str
    severity: Severity
    sentence: str
    advice: str
    sql: str
    group: str = ""


FAILED: Final = "('broken', 'loop')"
LINKS: Final = "all_links AS l JOIN verdicts AS v ON v.url = l.target"
INTERNAL: Final = "host_of(l.target) IN (SELECT host FROM site_hosts)"
SEEN: Final = f"l.kind NOT IN {UNSEEN_KINDS!r}"
IS_LOADED: Final = f"l.kind IN {LOADED!r}"
_LINK_ROW: Final = "l.target AS url, l.source AS page, l.text, v.why AS detail"
_NUMBERED: Final = "count(*) OVER (PARTITION BY l.target) AS number"


def link_problem(condition: str) -> str:
    return f"SELECT {_LINK_ROW}, {_NUMBERED} FROM {LINKS} WHERE {SEEN} AND {condition}"


def missing(what: str) -> str:
    return f"""
        SELECT url, NULL AS page, title AS text, NULL AS detail, depth AS number
        FROM pages LEFT JOIN depths USING (url) WHERE {what} = '' AND is_indexable"""


def duplicate(what: str) -> str:
    return f"""
        SELECT url, other AS page, {what} AS text, copies || ' pages have it' AS detail, copies AS number FROM (
            SELECT url, {what}, count(*) OVER same AS copies,
                   CASE WHEN min(url) OVER same = url THEN max(url) OVER same ELSE min(url) OVER same END AS other
            FROM pages WHERE {what} <> '' AND is_indexable WINDOW same AS (PARTITION BY {what}))
        WHERE copies > 1"""


def several(what: str) -> str:
    return f"""
        SELECT url, NULL AS page, array_to_string({what}[:3], ' | ') AS text, len({what}) || ' of them' AS detail,
               len({what}) AS number
        FROM pages WHERE len({what}) > 1"""
