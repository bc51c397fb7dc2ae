"""The clients of the REST API for batch crawls: which requests they make, and what they return."""

from __future__ import annotations

import pytest
from tests.client.service import DROP, Clients, FakeService, problem, said, stream

from scoter.batch.api.records import JobInfo
from scoter.client import ClientError, Unreachable

JOB = {"id": "7", "crawl": "news", "command": "generate", "state": "running"}


def test_options_and_settings_of_a_job_are_sent_apart(clients: Clients) -> None:
    with FakeService(said(200, JOB)) as service:
        started = clients.crawls(service).start("news", "generate", settings={"fetch.delay": "2s"}, top_n=5)

    assert (started.id, started.state) == ("7", "running")
    assert (service.asked[0].method, service.asked[0].target) == ("POST", "/v1/crawls/news/jobs")
    assert service.asked[0].json == {
        "command": "generate",
        "options": {"top_n": 5},
        "settings": {"fetch.delay": "2s"},
    }


def test_job_is_never_started_twice(clients: Clients) -> None:
    with FakeService(said(200, {"jobs": [JOB]}), DROP, said(200, JOB)) as service:
        client = clients.crawls(service)
        client.jobs("news")
        with pytest.raises(Unreachable):
            client.start("news")

    assert [asked.method for asked in service.asked] == ["GET", "POST"]


def test_rows_are_read_page_by_page(clients: Clients) -> None:
    pages = [{"rows": [{"url": "a"}, {"url": "b"}], "next": "b c"}, {"rows": [], "next": "d"}, {"rows": [{"url": "e"}]}]
    with FakeService(*(said(200, page) for page in pages)) as service:
        rows = clients.crawls(service).urls("n/ws", status="fetched")
        first = next(rows)
        asked_for_the_first = len(service.asked)
        rest = list(rows)

    assert [first, *rest] == [{"url": "a"}, {"url": "b"}, {"url": "e"}]
    assert asked_for_the_first == 1
    assert [asked.target for asked in service.asked] == [
        "/v1/crawls/n%2Fws/urls?status=fetched&limit=1000",
        "/v1/crawls/n%2Fws/urls?status=fetched&after=b+c&limit=1000",
        "/v1/crawls/n%2Fws/urls?status=fetched&after=d&limit=1000",
    ]


@pytest.mark.parametrize("exact", [False, True])
def test_csv_keeps_formulas_only_if_asked_to(clients: Clients, exact: bool) -> None:
    with FakeService(said(200, b"a\n=1\n", "text/csv")) as service:
        found = clients.crawls(service).sql_file("news", "SELECT '=1' a", "csv", limit=5, exact=exact)

    assert found == b"a\n=1\n"
    assert service.asked[0].headers["accept"] == "text/csv"
    assert service.asked[0].json.get("exact", False) is exact


def test_refused_query_is_an_error(clients: Clients) -> None:
    refusal = problem(422, "bad-query", detail="no such view")
    with FakeService(refusal) as service, pytest.raises(ClientError, match="no such view"):
        clients.crawls(service).sql_file("news", "SELECT", "arrow")


def test_progress_is_watched(clients: Clients) -> None:
    frame = b'id: 5\nevent: job\ndata: {"id": "7", "crawl": "news", "command": "fetch", "state": "stopped"}\n\n'
    with FakeService(stream(frame)) as service:
        events = clients.crawls(service).watch("news", 4)
        seen = next(events)

    assert isinstance(seen, JobInfo)
    assert seen.state == "stopped"
    assert service.asked[0].target == "/v1/crawls/news/events?after=4"
