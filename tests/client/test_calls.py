"""The requests of both kinds of client, and how they handle responses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.client.service import DROP, RECORD, Asked, Clients, FakeService, Said, accepted, problem, receipts, said

from scoter.client import Absence, ClientError, Missing, Outcome, Preview, State, Unreachable, UrlRecord, calls
from scoter.client.calls import ApiAnswer
from scoter.errors import UsageError

URL = "http://a.example/?q=1&r=ä"


def test_submitted_message_gets_its_own_id(clients: Clients) -> None:
    with FakeService(receipts) as service:
        receipt = clients(service, key="scoter_k").submit("see a.example", priority="person", force=True)

    asked = service.asked[0]
    assert (asked.method, asked.target) == ("POST", "/v1/messages")
    assert asked.headers["authorization"] == "Bearer scoter_k"
    assert asked.headers["content-type"] == "application/json"
    assert asked.json == {"id": asked.json["id"], "text": "see a.example", "priority": "person", "force": True}
    assert (receipt.id, receipt.status) == (asked.json["id"], Outcome.ACCEPTED)


def test_urls_are_submitted_unchanged(clients: Clients) -> None:
    with FakeService(receipts) as service:
        clients(service).submit(urls=[URL], id="mine", callback="http://c.example/")

    assert service.asked[0].json == {"id": "mine", "urls": [URL], "callback": "http://c.example/"}


def test_string_instead_of_a_url_list_is_refused(clients: Clients) -> None:
    with FakeService() as service, pytest.raises(UsageError, match="not a list"):
        clients(service).submit(urls="http://a.example/")


def test_calls_share_a_connection(clients: Clients) -> None:
    with FakeService(receipts, receipts, receipts) as service:
        client = clients(service)
        for _ in range(3):
            client.submit("a.example")

    assert service.connections == 1


def test_message_is_resent_under_its_id_when_the_kept_connection_is_closed(clients: Clients) -> None:
    with FakeService(receipts, DROP, receipts) as service:
        client = clients(service)
        client.submit("first")
        client.submit("second")

    assert service.connections == 2
    assert service.asked[1].json == service.asked[2].json


def test_dropped_new_connection_is_not_retried(clients: Clients) -> None:
    with FakeService(DROP, receipts) as service, pytest.raises(Unreachable):
        clients(service).submit("a.example")

    assert len(service.asked) == 1


def test_key_creation_is_never_retried(clients: Clients) -> None:
    with FakeService(receipts, DROP, said(500, {})) as service:
        client = clients(service)
        client.submit("first")
        with pytest.raises(Unreachable):
            client.make_key("bot", ["read"])

    assert [each.json for each in service.asked[1:]] == [{"name": "bot", "scopes": ["read"], "rate": None}]


def test_connection_closed_by_the_service_is_not_reused(clients: Clients) -> None:
    ending = Said(said(200, RECORD, Connection="close").raw, closes=True)
    with FakeService(ending, said(200, RECORD)) as service:
        client = clients(service)
        assert client.lookup(URL) == client.lookup(URL)

    assert service.connections == 2


def test_error_carries_the_problem_of_the_service(clients: Clients) -> None:
    told = problem(422, "invalid", detail="Expected `str`", where="/text")
    with FakeService(told) as service, pytest.raises(ClientError) as raised:
        clients(service).submit("a.example")

    found = raised.value.problem
    assert (found.status, found.type, found.where) == (422, "urn:scoter:problem:invalid", "/text")
    assert str(raised.value) == "It is so. Expected `str` (at /text)"


def test_too_many_requests_error_carries_retry_after(clients: Clients) -> None:
    with (
        FakeService(problem(429, retry_after=7.5, domain="a.example")) as service,
        pytest.raises(ClientError) as raised,
    ):
        clients(service).submit("a.example")

    assert (raised.value.problem.retry_after, raised.value.problem.domain) == (7.5, "a.example")
    assert clients.pauses == []


def test_error_page_of_a_proxy_is_an_error(clients: Clients) -> None:
    page = said(502, b"<h1>Bad", "text/html", Retry_After="3")
    with FakeService(page) as service, pytest.raises(ClientError) as raised:
        clients(service).stats()

    assert (raised.value.problem.status, raised.value.problem.retry_after) == (502, 3.0)


@pytest.mark.parametrize("body", [b"<h1>Welcome", b'{"url": 1}', b"\xff\xfe", b"", b"[" * 100_000])
def test_unexpected_body_is_an_error(clients: Clients, body: bytes) -> None:
    with FakeService(said(200, body)) as service, pytest.raises(ClientError, match="The answer is not from a Scoter"):
        clients(service).lookup(URL)


@pytest.mark.parametrize(
    "raw",
    [
        said(200, RECORD).raw[:-5],
        said(200, RECORD).raw[:20],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ],
    ids=["body", "head", "chunk"],
)
def test_truncated_response_is_unreachable(clients: Clients, raw: bytes) -> None:
    with FakeService(Said(raw, closes=True)) as service, pytest.raises(Unreachable):
        clients(service).lookup(URL)


def test_response_without_a_length_ends_with_the_connection(clients: Clients) -> None:
    raw = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(RECORD).encode()
    with FakeService(Said(raw, closes=True)) as service:
        found = clients(service).lookup(URL)

    assert isinstance(found, UrlRecord)


def test_interim_responses_are_skipped(clients: Clients) -> None:
    with FakeService(Said(b"HTTP/1.1 100 Continue\r\n\r\n" + said(200, RECORD).raw)) as service:
        assert isinstance(clients(service).lookup(URL), UrlRecord)


def test_response_that_is_not_http_is_an_error(clients: Clients) -> None:
    with FakeService(Said(b"SSH-2.0-OpenSSH_9.9\r\n", closes=True)) as service, pytest.raises(ClientError):
        clients(service).stats()


def test_silent_service_times_out(clients: Clients) -> None:
    silent = Said(b"HTTP/1.1 200", hangs=True)
    with FakeService(silent) as service, pytest.raises(Unreachable, match="timed out"):
        clients(service, timeout=0.05).stats()


def test_unreachable_service_error_says_what_to_run(clients: Clients) -> None:
    with FakeService() as service:
        url = service.url
    with pytest.raises(Unreachable) as raised:
        clients(url).stats()

    assert url in str(raised.value)
    assert "refused" in str(raised.value)
    assert "scoter serve" in str(raised.value)


@pytest.mark.parametrize("key", ["a\r\nX: y", "a b", "ä"])
def test_key_cannot_inject_a_header(clients: Clients, key: str) -> None:
    with pytest.raises(UsageError, match="invalid characters"):
        clients("http://127.0.0.1:1", key=key)


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (said(202, {"url": URL, "state": "pending"}), Absence.PENDING),
        (problem(404, "unknown-url"), Absence.UNKNOWN),
        (problem(422, "invalid", where="?url"), Absence.UNUSABLE),
    ],
)
def test_url_without_a_record_returns_missing(clients: Clients, answer: Said, state: Absence) -> None:
    with FakeService(answer) as service:
        assert clients(service).lookup(URL) == Missing(URL, state)


def test_other_404_is_an_error(clients: Clients) -> None:
    with FakeService(problem(404, "no-such-path")) as service, pytest.raises(ClientError):
        clients(service).lookup(URL)


def test_lookup_sends_the_shortest_request(clients: Clients) -> None:
    with FakeService(said(200, RECORD)) as service:
        found = clients(service).lookup(URL)

    assert (isinstance(found, UrlRecord), found.state) == (True, State.OK)
    assert service.asked[0].target == "/v1/urls?url=http%3A%2F%2Fa.example%2F%3Fq%3D1%26r%3D%C3%A4"


class Waiting:
    """A service that waits at most ``longest`` seconds and knows the URL from ``at`` on; it records requests."""

    def __init__(self, longest: float, at: float, away: tuple[float, float] = (0, 0)) -> None:
        """``away`` is the interval in which it is down."""
        self._longest = longest
        self._away = away
        self._at = at
        self.now = 100.0
        self.asked: list[tuple[float, str]] = []

    def clock(self) -> float:
        return self.now

    def lookup(self, wait: float) -> UrlRecord | Missing:
        steps = calls.lookup_by(self.clock, "http://a.example/", wait)
        try:
            call = next(steps)
            while True:
                self.now += call.after
                query = call.target.partition("&")[2]
                self.asked.append((round(self.now - 100, 3), query))
                waited = min(float(query[5:-1] or 0), self._longest)
                if self._away[0] <= self.now - 100 < self._away[1]:
                    call = steps.throw(Unreachable("http://s.example", "it is gone"))
                    continue
                known = max(self.now, 100 + self._at)
                self.now = min(self.now + waited, known)
                body = RECORD if self.now >= known else {"url": URL, "state": "pending"}
                call = steps.send(ApiAnswer(200 if body is RECORD else 202, {}, json.dumps(body).encode()))
        except StopIteration as done:
            found: UrlRecord | Missing = done.value
            return found


def test_long_wait_is_split_into_several_requests() -> None:
    service = Waiting(longest=30, at=65)

    assert isinstance(service.lookup(wait=65.5), UrlRecord)
    assert service.asked == [(0, "wait=30.000s"), (30, "wait=30.000s"), (60, "wait=5.500s")]


def test_lookup_repeats_when_the_service_waits_less_than_requested() -> None:
    service = Waiting(longest=2, at=4.5)

    assert isinstance(service.lookup(wait=5), UrlRecord)
    assert service.asked == [(0, "wait=5.000s"), (2, "wait=3.000s"), (4, "wait=1.000s")]


def test_lookup_polls_every_second_when_the_service_does_not_wait() -> None:
    service = Waiting(longest=0, at=9)

    assert service.lookup(wait=2.5) == Missing("http://a.example/", Absence.PENDING)
    assert service.asked == [(0, "wait=2.500s"), (1, "wait=1.500s"), (2, "wait=0.500s"), (2.5, "")]


def test_waiting_lookup_survives_a_service_restart() -> None:
    service = Waiting(longest=2, at=5, away=(2, 3.5))

    assert isinstance(service.lookup(wait=6), UrlRecord)
    assert [at for at, _ in service.asked] == [0, 2, 3, 4]


@pytest.mark.parametrize(("away", "asked"), [((0, 99), [0]), ((2, 99), [0, 2, 3, 4, 5, 6])])
def test_waiting_lookup_fails_if_the_service_is_down_at_the_start_or_end(
    away: tuple[float, float], asked: list[float]
) -> None:
    service = Waiting(longest=2, at=5, away=away)

    with pytest.raises(Unreachable):
        service.lookup(wait=6)
    assert [at for at, _ in service.asked] == asked


def test_lookup_without_wait_sends_one_request() -> None:
    service = Waiting(longest=30, at=9)

    assert service.lookup(wait=0) == Missing("http://a.example/", Absence.PENDING)
    assert service.asked == [(0, "")]


def found_for(asked: Asked) -> Said:
    def result(url: str) -> dict[str, Any]:
        number = int(url.rpartition("/")[2])
        return {**RECORD, "url": url} if number % 2 else {"url": url, "state": "unknown"}

    return said(200, {"results": [result(url) for url in asked.json["urls"]]})


def test_lookup_many_sends_300_urls_per_request_and_preserves_order(clients: Clients) -> None:
    urls = [f"http://a.example/{number}" for number in range(700)]
    with FakeService(found_for, found_for, found_for) as service:
        found = list(clients(service).lookup_many(iter(urls)))

    assert [len(asked.json["urls"]) for asked in service.asked] == [300, 300, 100]
    assert [each.url for each in found] == urls
    assert [isinstance(each, UrlRecord) for each in found] == [number % 2 == 1 for number in range(700)]


def test_lookup_many_keeps_bodies_below_the_size_limit(clients: Clients) -> None:
    urls = [f"http://a.example/{'x' * 7_900}/{number}" for number in range(300)]
    with FakeService(*[found_for] * 20) as service:
        assert len(list(clients(service).lookup_many(urls))) == 300

    assert max(len(asked.body) for asked in service.asked) < 1_000_000


def test_lone_surrogates_are_replaced_before_sending(clients: Clients) -> None:
    with FakeService(said(422, {"title": "No."}), said(422, {"title": "No."})) as service:
        client = clients(service)
        with pytest.raises(ClientError):
            client.submit("a\udcff", id="b\udcff", callback="http://c/\udcff")
        with pytest.raises(ClientError):
            client.set_domain("example.org", note="\udcff")

    assert service.asked[0].json | {"priority": ""} == {
        "text": "a?",
        "id": "b?",
        "callback": "http://c/?",
        "priority": "",
    }
    assert service.asked[1].json["note"] == "?"


def test_unusable_urls_are_not_looked_up(clients: Clients) -> None:
    with FakeService(found_for) as service:
        client = clients(service)
        found = list(client.lookup_many(["", "http://a.example/1", "x" * 9_000, "http://\udcff/"]))
        assert client.lookup("").state is Absence.UNUSABLE

    assert [each.state.value for each in found] == ["unusable", "ok", "unusable", "unusable"]
    assert service.asked[0].json == {"urls": ["http://a.example/1"]}


def test_wrong_number_of_lookup_results_is_an_error(clients: Clients) -> None:
    with FakeService(said(200, {"results": []})) as service, pytest.raises(ClientError, match="0 results for 1"):
        list(clients(service).lookup_many(["http://a.example/1"]))


def test_unknown_url_is_not_waited_for(clients: Clients) -> None:
    with FakeService(problem(404, "unknown-url")) as service:
        assert clients(service).lookup(URL, wait=60).state is Absence.UNKNOWN

    assert len(service.asked) == 1


def test_preview_is_one_request(clients: Clients) -> None:
    with FakeService(said(200, {**RECORD, "oembed": {"type": "photo"}}), said(202, {"url": URL})) as service:
        client = clients(service)
        found = client.preview("http://a.example/?q=1", 3, oembed=True)
        pending = client.preview("http://a.example/", priority="bulk")
        assert client.preview("") == Missing("", Absence.UNUSABLE)

    assert [asked.target for asked in service.asked] == [
        "/v1/preview?url=http%3A%2F%2Fa.example%2F%3Fq%3D1&wait=3.000s&priority=person&oembed=true",
        "/v1/preview?url=http%3A%2F%2Fa.example%2F&wait=10.000s&priority=bulk",
    ]
    assert isinstance(found, Preview)
    assert found.oembed == {"type": "photo"}
    assert pending == Missing("http://a.example/", Absence.PENDING)


def test_fetch_returns_the_decoded_body(clients: Clients) -> None:
    body = {"url": URL, "outcome": "fetched", "status": 200, "body": "aGVsbG8=", "headers": [["A", "b"]]}
    with FakeService(said(200, body)) as service:
        answer = clients(service).fetch(URL, hops=3, most=100)

    assert service.asked[0].json == {"url": URL, "hops": 3, "body": "inline", "most": 100, "priority": "person"}
    assert (answer.body, answer.headers) == (b"hello", [("A", "b")])


def test_domain_rule_can_be_read_and_set(clients: Clients) -> None:
    shown, now = said(200, {"domain": "a.example"}), said(200, {"domain": "a.example", "delay": 2.5, "new": 1})
    with FakeService(shown, now) as service:
        client = clients(service)
        assert client.domain("a.example").delay is None
        assert client.set_domain("a.example", delay=2.5, note="slow").delay == 2.5

    assert [(asked.method, asked.target) for asked in service.asked] == [
        ("GET", "/v1/domains/a.example"),
        ("PUT", "/v1/domains/a.example"),
    ]
    assert service.asked[1].json == {"delay": 2.5, "concurrency": None, "blocked": False, "note": "slow"}


def test_domain_name_cannot_change_the_path(clients: Clients) -> None:
    with FakeService(said(200, {"domain": "x"})) as service:
        clients(service).domain("../stats?x#y")

    assert service.asked[0].target == "/v1/domains/..%2Fstats%3Fx%23y"


def test_stats_are_decoded(clients: Clients) -> None:
    body = {
        "uptime": 1.5,
        "counts": {"a": 1},
        "gauges": {},
        "stages": {"fetch": {"count": 1, "median": 0.1, "p99": None}},
    }
    with FakeService(said(200, body)) as service:
        found = clients(service).stats()

    assert (found.uptime, found.stages["fetch"].median) == (1.5, 0.1)


def test_base_path_of_the_service_is_used(clients: Clients) -> None:
    with FakeService(receipts) as service:
        clients(service.url + "/links/").submit("a.example")

    assert service.asked[0].target == "/links/v1/messages"


def test_wrong_number_of_receipts_is_an_error(clients: Clients) -> None:
    two = said(202, {"messages": [accepted("x"), accepted("y")]})
    with FakeService(two) as service, pytest.raises(ClientError, match="2 receipts for 1"):
        clients(service).submit("a.example")
