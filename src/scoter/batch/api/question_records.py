"""The records of questions about a crawl: search, reports and SQL.

Keep this module as cheap to import as ``records``.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from scoter.batch.api.records import MAX_PAGE, Rows

MAX_SQL_ROWS: Final = 100_000


class SearchParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to search for, in the language of `scoter search`."""

    q: Annotated[str, Meta(min_length=1, max_length=1_000)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    offset: Annotated[int, Meta(ge=0, le=1_000)] = 0


class SearchResults(Struct, frozen=True, kw_only=True):
    """Pages that match; see ``scoter.index.search.SearchPage`` for the fields."""

    query: str
    total: int
    hits: Rows
    suggestion: str
    corrected: bool
    partial: bool
    notices: list[str]


class ReportInfo(Struct, frozen=True, kw_only=True):
    """A named report."""

    name: str
    answers: str
    takes_site: bool


class ReportList(Struct, frozen=True):
    """The reports that a crawl can answer."""

    reports: list[ReportInfo]


class ReportQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The site and days of a report, and how many rows to return; ``problem`` is for the report `site`."""

    site: Annotated[str, Meta(max_length=300)] = ""
    problem: Annotated[str, Meta(max_length=60)] = ""
    since: Annotated[str, Meta(max_length=40)] = ""
    until: Annotated[str, Meta(max_length=40)] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGE)] = 20
    exact: bool = False


class ViewColumn(Struct, frozen=True):
    """A column of a view, and its SQL type."""

    name: str
    type: str


class ViewInfo(Struct, frozen=True):
    """A view that queries can use: what its rows are, and its columns."""

    name: str
    rows: str
    columns: list[ViewColumn]


class ViewList(Struct, frozen=True):
    """The views of a crawl, the most useful first."""

    views: list[ViewInfo]


class SqlOrder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One SELECT over the views of `scoter sql`, and its limits."""

    query: Annotated[str, Meta(min_length=1, max_length=100_000)]
    limit: Annotated[int, Meta(ge=1, le=MAX_SQL_ROWS)] = 1_000
    seconds: Annotated[float, Meta(gt=0, le=60)] = 10.0
    exact: Annotated[bool, Meta(description="In CSV, keep texts that a spreadsheet would take for formulas.")] = False


class SqlResult(Struct, frozen=True, kw_only=True):
    """The rows of a query; ``truncated`` if there are more than the limit."""

    columns: list[str]
    rows: Rows
    truncated: bool
