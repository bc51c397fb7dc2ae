"""The questions that have a name, on a log of which the truth is known."""

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
from scoter.live.reports.questions import QUESTIONS
from scoter.live.reports.views import ALWAYS, Days, days, is_service, service_sql

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


def test_images_per_day_tells_linked_images_from_those_that_pages_show(directory: Path) -> None:
    found = ask(directory, "images-per-day")

    assert found == [
        {"day": "2026-11-04", "image_links": 2, "linked_images": 1, "links_with_image": 1, "page_images": 1},
        {"day": "2026-11-05", "image_links": 0, "linked_images": 0, "links_with_image": 2, "page_images": 1},
    ]


def test_the_most_linked_sites_are_counted_by_messages_where_the_links_lead(directory: Path) -> None:
    assert tuples(ask(directory, "most-linked-sites", limit=2)) == [("bbc.co.uk", 3, 4, 3), ("i.org", 2, 2, 1)]
    assert tuples(ask(directory, "most-linked-sites", YESTERDAY)) == [
        ("bbc.co.uk", 2, 2, 1),
        ("i.org", 2, 2, 1),
        ("x.org", 1, 1, 1),
    ]


def test_pages_from_a_site_are_those_of_its_hosts_and_of_no_other(directory: Path) -> None:
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


def test_the_slowest_sites_are_told_by_their_servers_time_alone(directory: Path) -> None:
    assert tuples(ask(directory, "slowest-sites")) == [
        ("bbc.co.uk", 2, 180.0, 260.0, 280.0),
        ("notbbc.co.uk", 1, 150.0, 150.0, 150.0),
    ]


def test_an_error_counts_once_however_many_were_told_of_it_and_on_the_day_it_happened(directory: Path) -> None:
    assert tuples(ask(directory, "errors")) == [
        ("failed", "busy", 503, 1, 1, "http://x.org/"),
        ("gone", "not_found", 404, 1, 1, "http://y.org/"),
        ("refused", "refused_address", None, 1, 1, "http://127.0.0.1/"),
    ]
    assert [row["reason"] for row in ask(directory, "errors", TODAY)] == ["not_found", "refused_address"]


def test_latency_is_told_stage_by_stage_of_what_was_fetched(directory: Path) -> None:
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
def test_a_service_that_has_done_nothing_yet_can_be_asked_everything(tmp_path: Path, name: str) -> None:
    (tmp_path / "service.sqlite").write_bytes(b"")

    assert ask(tmp_path, name, site="a.org") == []


def test_events_and_fetches_have_the_columns_of_the_log(directory: Path) -> None:
    with service_sql(directory, memory_limit=MEMORY) as session:
        views = {view.name: [name for name, _ in view.columns] for view in session.views()}
        numbers = list(session.query("select (select count(*) from events) as e, count(*) as f from fetches").rows)

    assert views == {"events": LOG.names, "fetches": LOG.names}
    assert numbers == [{"e": 11, "f": 9}]
    assert {piece.is_part for piece in pieces(directory / "log")} == {True, False}


def test_nothing_but_the_log_can_be_read(directory: Path, tmp_path: Path) -> None:
    other = tmp_path / "secret.csv"
    other.write_text("a,b\n1,2\n")

    with service_sql(directory, memory_limit=MEMORY) as session, pytest.raises(UsageError):
        session.query(f"select * from read_csv('{other}')")


def test_another_directory_is_told_apart(tmp_path: Path) -> None:
    assert not is_service(tmp_path)
    with pytest.raises(UsageError, match="not the directory of a live service"), service_sql(tmp_path, memory_limit=1):
        pass


def test_days_have_limits_that_are_left_out_where_none_is_said() -> None:
    assert days("", "", NOON) == ALWAYS
    assert days("2026-11-01", "today", NOON) == Days(
        datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 6, tzinfo=UTC)
    )
    assert days("", "Yesterday", NOON).until == datetime(2026, 11, 5, tzinfo=UTC)
    assert days("today", "today", NOON).until - days("today", "today", NOON).since == timedelta(days=1)


@pytest.mark.parametrize("text", ["monday", "2026-13-01", "9999-12-31", "1066-10-14", "5"])
def test_what_is_no_day_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="not a day"):
        days(text, "", NOON)


def test_a_range_that_ends_before_it_begins_is_told() -> None:
    with pytest.raises(UsageError, match="after"):
        days("today", "yesterday", NOON)
