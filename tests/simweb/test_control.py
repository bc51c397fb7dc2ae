"""The reserved host, and simulated time with the conditional requests that depend on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.simweb.walker import Client, Got

from scoter.errors import UsageError
from scoter.simweb import CONTROL, SETTINGS, SimServer, WebSpec, running, truth
from scoter.simweb.clock import SimClock, seconds


class ControlClient:
    """The reserved host as a test asks it."""

    def __init__(self, server: SimServer) -> None:
        self.server = server
        self.client = Client(server.port)

    def ask(self, path: str, method: str = "GET") -> Got:
        return self.client.ask(f"http://{CONTROL}{path}", method=method)

    def json(self, path: str, method: str = "GET", status: int = 200) -> Any:
        got = self.ask(path, method)
        assert (got.status, got.kind) == (status, "application/json")
        return json.loads(got.body)


@pytest.fixture
def control() -> Iterator[ControlClient]:
    with running(WebSpec(hosts=4, pages=40)) as server:
        asking = ControlClient(server)
        yield asking
        asking.client.close()


def test_control_host_lists_its_requests_and_all_work(control: ControlClient) -> None:
    offered = control.json("/")["requests"]
    for line in offered:
        method, path = line.split()
        assert control.ask(path + ("?advance=1s" if line == "POST /clock" else ""), method).status == 200


def test_spec_seeds_and_hosts_are_those_of_the_web(control: ControlClient) -> None:
    web = control.server.web
    assert control.json("/spec")["pages"] == 40
    assert control.json("/seeds")["seeds"] == list(web.seeds())
    assert control.json("/hosts")["hosts"] == list(web.hosts())
    assert control.ask("/seeds?format=text").body.decode().split() == list(web.seeds())


def test_the_ledger_is_paged_filtered_streamed_and_reset(control: ControlClient) -> None:
    # Given five requests, two of them to one host
    hosts = control.server.web.hosts()
    for host in (hosts[0], hosts[1], hosts[0], hosts[2], hosts[3]):
        control.client.ask(f"http://{host}/")

    # When it is read in pages, for one host, as lines, and as a summary
    first = control.json("/ledger?limit=3")
    second = control.json(f"/ledger?limit=3&since={first['next']}")
    one = control.json(f"/ledger?host={hosts[0]}")
    lines = control.ask("/ledger?format=jsonl").body.splitlines()
    summary = control.json("/ledger/summary")

    # Then all agree, and asking the reserved host has left no trace
    assert [entry["host"] for entry in first["requests"]] == [hosts[0], hosts[1], hosts[0]]
    assert [entry["number"] for entry in second["requests"]] == [3, 4]
    assert (second["next"], first["count"], first["dropped"]) == (None, 5, 0)
    assert [entry["number"] for entry in one["requests"]] == [0, 2]
    assert [json.loads(line)["number"] for line in lines] == [0, 1, 2, 3, 4]
    assert {line["host"]: line["count"] for line in summary["hosts"]}[hosts[0]] == 2
    control.json("/ledger/reset", "POST")
    assert control.json("/ledger")["count"] == 0


def test_the_truth_is_streamed_as_lines_for_all_or_one_host_or_url(control: ControlClient) -> None:
    web = control.server.web
    told = [found.url for found in truth(web)]
    lines = [json.loads(line) for line in control.ask("/truth").body.splitlines()]
    of_one = control.ask(f"/truth?host={web.hosts()[1]}").body.splitlines()
    single = control.json(f"/truth?url={web.seeds()[0]}")

    assert [line["url"] for line in lines] == told
    assert 0 < len(of_one) < len(lines)
    assert single == lines[0]
    assert control.json("/truth?config")["settings"] == SETTINGS


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "/nothing", 404, "GET / lists"),
        ("POST", "/truth", 405, "requires GET"),
        ("GET", "/ledger/reset", 405, "requires POST"),
        ("GET", "/ledger?limit=0", 400, "integer from 1"),
        ("GET", "/ledger?since=-1", 400, "integer from 0"),
        ("GET", "/ledger?format=xml", 400, "json or jsonl"),
        ("GET", "/truth?host=nobody.test", 404, "GET /hosts"),
        ("GET", "/truth?url=ftp://x/", 400, "begin with http://"),
        ("POST", "/clock", 400, "advance=7d"),
        ("POST", "/clock?advance=soon", 400, "not a duration"),
        ("POST", "/clock?advance=9999w", 400, "hundred years"),
        ("GET", "/ledger?" + "a=1&" * 50, 400, "fields"),
    ],
)
def test_invalid_request_gets_a_json_error(
    control: ControlClient, method: str, path: str, status: int, message: str
) -> None:
    assert message in control.json(path, method, status)["error"]


def _changing(control: ControlClient) -> str:
    """A URL that changes daily and has both validators."""
    site = control.server.web.sites.site(0)
    for number in range(site.size):
        found = control.server.web.find(site.name, site.path(number))
        if found is not None and found.period == 86_400:
            return found.url
    raise AssertionError("no page changes daily")


def test_a_page_stays_until_time_is_advanced_and_conditional_requests_notice(control: ControlClient) -> None:
    # Given a page that changes daily
    url, ask = _changing(control), control.client.ask
    before = ask(url)
    validators = {"If-None-Match": before.headers["etag"]}
    since = {"If-Modified-Since": before.headers["last-modified"]}

    # When nothing has happened, then nothing has changed
    assert ask(url).body == before.body
    unchanged = ask(url, headers=validators)
    assert (unchanged.status, unchanged.body) == (304, b"")
    assert unchanged.headers["etag"] == before.headers["etag"]
    assert ask(url, headers=since).status == 304

    # When a day passes, then the page is another with later validators, and the links are the same
    assert control.json("/clock?advance=1d", "POST")["now"] == "2026-01-02T00:00:00Z"
    after = ask(url, headers=validators)
    assert after.status == 200
    assert after.body != before.body
    assert after.headers["etag"] != before.headers["etag"]
    assert ask(url, headers=since).status == 200
    assert after.body.count(b"<a ") == before.body.count(b"<a ")


def test_etags_take_precedence_over_dates(control: ControlClient) -> None:
    url, ask = _changing(control), control.client.ask
    got = ask(url)
    late = {"If-Modified-Since": "Fri, 01 Jan 2038 00:00:00 GMT"}
    assert ask(url, headers=late).status == 304
    assert ask(url, headers={**late, "If-None-Match": '"other"'}).status == 200
    assert ask(url, headers={"If-None-Match": f'"other", W/{got.headers["etag"]}'}).status == 304
    assert ask(url, headers={"If-None-Match": "*"}).status == 304
    assert ask(url, headers={"If-Modified-Since": "yesterday"}).status == 200


def test_specified_share_of_pages_changes() -> None:
    with running(WebSpec(hosts=1, pages=400, changing=0.5)) as server:
        web, site = server.web, server.web.sites.site(0)
        paths = [site.path(number) for number in range(400)]
        changed = sum(
            web.answer(site.name, path, 0).body != web.answer(site.name, path, 40 * 86_400).body for path in paths
        )
    assert 160 < changed < 240


def test_spans_of_time_are_read_with_their_units() -> None:
    assert [seconds(text) for text in ("5", "5s", "2m", "1.5h", "7d", "1w")] == [5, 5, 120, 5400, 604800, 604800]


def test_simulated_time_never_goes_back() -> None:
    clock = SimClock()
    clock.advance(10)
    with pytest.raises(UsageError, match="only moves forward"):
        clock.advance(-1)
    assert clock.now == 10
