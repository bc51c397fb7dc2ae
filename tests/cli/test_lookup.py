"""Output and exit codes of `scoter lookup`."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Run
from tests.client.service import RECORD, FakeService, problem, said

PAGE = {
    **RECORD,
    "url": "http://t.example/x",
    "resolved": "http://a.example/",
    "hops": [
        {"url": "http://t.example/x", "status": 301, "permanent": True},
        {"url": "http://a.example/", "status": 200},
    ],
    "kind": "page",
    "content_type": "text/html",
    "length": 5120,
    "metadata": {
        "title": "A page\u001b[2J",
        "description": "What it says.",
        "site_name": "A site",
        "image": {"url": "http://a.example/i.png", "width": 1200, "height": 630},
        "authors": [{"name": "Ann"}, {"name": "Bob"}],
        "published": "2026-04-01T08:00:00Z",
        "keywords": ["one", "two"],
    },
}


def test_record_is_shown_line_by_line(run: Run) -> None:
    with FakeService(said(200, {"results": [PAGE]})) as service:
        done = run("lookup", "http://t.example/x", "--server", service.url)

    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "http://t.example/x",
        "  state       ok · 200 · page · text/html · 5 KiB",
        "  resolved    http://a.example/",
        "  hops        301 http://t.example/x (permanent)",
        "              200 http://a.example/",
        "  title       A page\\x1b[2J",
        "  description What it says.",
        "  site        A site",
        "  author      Ann, Bob",
        "  published   2026-04-01 08:00:00 UTC",
        "  keywords    one, two",
        "  image       http://a.example/i.png (1200 × 630)",
        "  fetched     2026-05-01 12:00:00 UTC, valid until 2026-05-15 12:00:00 UTC",
    ]


def test_stale_record_is_shown_with_its_reason(run: Run) -> None:
    times = {"failed_at": "2026-05-16T12:00:00Z", "retry_at": "2026-05-16T13:00:00Z"}
    stale = {**RECORD, "stale": {"reason": "busy", "detail": "HTTP 503", "status": 503, **times}}
    with FakeService(said(200, {"results": [stale]})) as service:
        done = run("lookup", RECORD["url"], "--server", service.url)

    line = "busy: HTTP 503; not fetched at 2026-05-16 12:00:00 UTC, next try after 2026-05-16 13:00:00 UTC"
    assert f"  stale       {line}" in done.out.splitlines()


def test_json_is_one_record_per_line(run: Run) -> None:
    results = [RECORD, {"url": "http://b.example/", "state": "unknown"}]
    with FakeService(said(200, {"results": results})) as service:
        done = run("lookup", RECORD["url"], "http://b.example/", "--server", service.url, "--json")

    assert done.code == 1
    assert [json.loads(line)["state"] for line in done.out.splitlines()] == ["ok", "unknown"]


def test_wait_option_waits_for_pending_urls(run: Run) -> None:
    absent = said(200, {"results": [{"url": RECORD["url"], "state": "pending"}]})
    with FakeService(absent, said(200, RECORD)) as service:
        done = run("lookup", RECORD["url"], "--wait", "5s", "--server", service.url)

    assert done.code == 0, done.err
    assert "&wait=" in service.asked[1].target


def test_missing_records_are_shown_with_their_reason(run: Run) -> None:
    results = [{"url": "x", "state": state} for state in ("pending", "unknown", "unusable")]
    with FakeService(said(200, {"results": results})) as service:
        done = run("lookup", "http://a/", "http://b/", "x", "--server", service.url)

    assert done.code == 1
    assert [line.split()[1] for line in done.out.splitlines() if "state" in line] == [
        "pending:",
        "unknown:",
        "unusable:",
    ]


def test_urls_are_read_from_stdin(run: Run) -> None:
    with FakeService(said(200, {"results": [RECORD, RECORD]})) as service:
        done = run("lookup", "--json", stdin="http://a.example/\n\nhttp://a.example/\n", SCOTER_SERVER=service.url)

    assert (done.code, len(done.out.splitlines())) == (0, 2)


def test_unreachable_service_hints_at_scoter_serve(run: Run) -> None:
    with FakeService() as service:
        url = service.url
    done = run("lookup", "http://a.example/", "--server", url)

    assert done.code == 2
    assert "scoter serve" in done.err
    assert "Traceback" not in done.err


def test_missing_key_hints_at_the_environment_variable(run: Run) -> None:
    with FakeService(problem(401, "unauthorized"), said(200, {"results": [RECORD]})) as service:
        done = run("lookup", "http://a.example/", "--server", service.url)
        with_key = run("lookup", "http://a.example/", "--server", service.url, SCOTER_KEY="k")

    assert (done.code, with_key.code) == (2, 0)
    assert "SCOTER_KEY" in done.err
    assert service.asked[1].headers["authorization"] == "Bearer k"


@pytest.mark.parametrize("options", [("--wait", "soon"), ("--server", "ftp://a"), ("--key", "a b")])
def test_invalid_option_is_a_usage_error(run: Run, options: tuple[str, ...]) -> None:
    done = run("lookup", "http://a.example/", *options)

    assert done.code == 2
    assert "scoter: " in done.err


@pytest.mark.parametrize("asked", [["lookup", "http://a.example/"], ["submit", "http://a.example/"], ["watch"]])
def test_server_that_is_not_scoter_is_reported_with_its_address(run: Run, asked: list[str]) -> None:
    refused = said(405, b"<h1>no</h1>", "text/html")
    with FakeService(*[refused] * 3) as service:
        address = service.url
        done = run(*asked, "--server", address)

    assert done.code == 2
    assert done.err.startswith(f"scoter: {address}: HTTP status 405\nCheck that a Scoter service")
