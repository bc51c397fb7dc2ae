"""The named reports on a log with known content."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.live.content.outcomes import NOON
from tests.live.reports.services import service

from scoter.errors import UsageError
from scoter.live.content.log_files import pieces
from scoter.live.content.log_rows import LOG
from scoter.live.reports.views import is_service, service_sql
from scoter.reports.days import ALWAYS, Days, days
from scoter.reports.questions import QUESTIONS

MEMORY = 2**28
TODAY = days("2026-11-05", "2026-11-05", NOON)
YESTERDAY = days("yesterday", "yesterday", NOON)


@pytest.fixture
async def directory(tmp_path: Path) -> Path:
    return await service(tmp_path / "it's a service")


def ask(directory: Path, name: str, when: Days = ALWAYS, *, site: str = "", limit: int = 20) -> list[dict[str, Any]]:
    query = QUESTIONS[name].service
    values = {"since": when.since, "until": when.until, "site": site, "limit": limit}
    with service_sql(directory, memory_limit=MEMORY, days=when) as session:
        return list(session.query(query, {key: value for key, value in values.items() if f"${key}" in query}).rows)


def tuples(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows]


def test_images_per_day_separates_linked_and_preview_images(directory: Path) -> None:
    found = ask(directory, "images-per-day")

    assert found == [
        {"day": "2026-11-04", "image_links": 2, "linked_images": 1, "links_with_image": 1, "page_images": 1},
        {"day": "2026-11-05", "image_links": 0, "linked_images": 0, "links_with_image": 2, "page_images": 1},
    ]


def test_most_linked_sites_counts_messages_by_final_site(directory: Path) -> None:
    assert tuples(ask(directory, "most-linked-sites", limit=2)) == [("bbc.co.uk", 3, 4, 3), ("i.org", 2, 2, 1)]
    assert tuples(ask(directory, "most-linked-sites", YESTERDAY)) == [
        ("bbc.co.uk", 2, 2, 1),
        ("i.org", 2, 2, 1),
        ("x.org", 1, 1, 1),
    ]


def test_pages_from_lists_only_hosts_of_the_site(directory: Path) -> None:
    everything = ask(directory, "pages-from", site="bbc.co.uk")

    assert [(row["page"], row["messages"], row["title"]) for row in everything] == [
        ("http://www.bbc.co.uk/n", 2, "News"),
        ("http://bbc.co.uk/", 1, "Home"),
        ("http://bbc.co.uk/2", 1, None),
    ]
    assert [row["page"] for row in ask(directory, "pages-from", YESTERDAY, site="bbc.co.uk")] == [
        "http://www.bbc.co.uk/n"
    ]
    assert ask(directory, "pages-from", site="co") == []


def test_slowest_sites_counts_only_server_time(directory: Path) -> None:
    assert tuples(ask(directory, "slowest-sites")) == [
        ("bbc.co.uk", 2, 180.0, 260.0, 280.0),
        ("notbbc.co.uk", 1, 150.0, 150.0, 150.0),
    ]


def test_errors_count_each_fetch_once_on_its_day(directory: Path) -> None:
    assert tuples(ask(directory, "errors")) == [
        ("failed", "busy", 503, 1, 1, "http://x.org/"),
        ("gone", "not_found", 404, 1, 1, "http://y.org/"),
        ("refused", "refused_address", None, 1, 1, "http://127.0.0.1/"),
    ]
    assert [row["reason"] for row in ask(directory, "errors", TODAY)] == ["not_found", "refused_address"]


def test_latency_lists_stages_of_fetches(directory: Path) -> None:
    found = {row["stage"]: (row["fetches"], row["median_ms"], row["longest_ms"]) for row in ask(directory, "latency")}

    assert found == {
        "resolve": (3, 200.0, 300.0),
        "related": (1, 50.0, 50.0),
        "record": (3, 6.0, 7.0),
        "waiting for a slot": (3, 10.0, 20.0),
        "waiting for servers": (3, 150.0, 280.0),
        "our own time": (3, 50.0, 90.0),
        "message to record": (3, 260.0, 330.0),
    }
    assert list(found)[:3] == ["resolve", "related", "record"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_all_reports_work_on_an_empty_service(tmp_path: Path, name: str) -> None:
    (tmp_path / "service.sqlite").write_bytes(b"")

    assert ask(tmp_path, name, site="a.org") == []


def test_views_have_the_columns_of_the_log(directory: Path) -> None:
    with service_sql(directory, memory_limit=MEMORY) as session:
        views = {view.name: [name for name, _ in view.columns] for view in session.views()}
        numbers = list(session.query("select (select count(*) from events) as e, count(*) as f from fetches").rows)

    assert views == {"events": LOG.names, "fetches": LOG.names}
    assert numbers == [{"e": 11, "f": 9}]
    assert {piece.is_part for piece in pieces(directory / "log")} == {True, False}


def test_sql_can_read_only_the_log(directory: Path, tmp_path: Path) -> None:
    other = tmp_path / "secret.csv"
    other.write_text("a,b\n1,2\n")

    with service_sql(directory, memory_limit=MEMORY) as session, pytest.raises(UsageError):
        session.query(f"select * from read_csv('{other}')")


def test_directory_without_a_service_is_an_error(tmp_path: Path) -> None:
    assert not is_service(tmp_path)
    with pytest.raises(UsageError, match="not the directory of a live service"), service_sql(tmp_path, memory_limit=1):
        pass


def test_missing_day_means_no_limit() -> None:
    assert days("", "", NOON) == ALWAYS
    assert days("2026-11-01", "today", NOON) == Days(
        datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 6, tzinfo=UTC)
    )
    assert days("", "Yesterday", NOON).until == datetime(2026, 11, 5, tzinfo=UTC)
    assert days("today", "today", NOON).until - days("today", "today", NOON).since == timedelta(days=1)


@pytest.mark.parametrize("text", ["monday", "2026-13-01", "9999-12-31", "1066-10-14", "5"])
def test_invalid_day_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="not a day"):
        days(text, "", NOON)


def test_reversed_range_is_an_error() -> None:
    with pytest.raises(UsageError, match="after"):
        days("today", "yesterday", NOON)
