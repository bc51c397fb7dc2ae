"""The ledger by itself, with a clock that is told the time, and as the server fills it."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st
from tests.simweb.walker import Client
from tests.waiting import wait_until

from scoter.simweb import SimLedger, WebSpec, running


class FakeTime:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _filled(spans: list[tuple[float, float]], host: str = "a.test") -> SimLedger:
    """A ledger with requests that started and ended at the given times."""
    time = FakeTime()
    ledger = SimLedger(time=time)
    events = sorted([(start, 0, n) for n, (start, _) in enumerate(spans)])
    tickets = {}
    for start, _, number in events:
        time.now = 100.0 + start
        tickets[number] = ledger.begin(host, f"/{number}", "GET", 1234)
    for number, (_, end) in enumerate(spans):
        time.now = 100.0 + end
        ledger.end(tickets[number], 200, 10)
    return ledger


def test_sitemap_entry_has_all_fields() -> None:
    time = FakeTime()
    ledger = SimLedger(time=time)
    time.now += 1.5
    ticket = ledger.begin("a.test", "/x?y=1", "HEAD", 40000)
    (under_way,) = ledger.requests()
    time.now += 0.25
    ledger.end(ticket, 200, 512)
    (done,) = ledger.requests("a.test")

    assert (under_way.end, under_way.status) == (None, 0)
    assert (done.host, done.path, done.method, done.port) == ("a.test", "/x?y=1", "HEAD", 40000)
    assert (done.start, done.end, done.status, done.bytes) == (1.5, 1.75, 200, 512)


def test_gaps_run_from_start_to_start_of_one_host() -> None:
    ledger = _filled([(0.0, 3.0), (2.0, 2.5), (5.0, 6.0)])
    ledger.begin("b.test", "/", "GET", 1)
    assert ledger.gaps("a.test") == [2.0, 3.0]
    assert ledger.gaps("b.test") == []
    assert ledger.gaps("nobody.test") == []


def test_the_hosts_of_a_domain_can_be_taken_together() -> None:
    time = FakeTime()
    ledger = SimLedger(time=time)
    for host in ("www.a.test", "blog.a.test", "b.test"):
        ledger.begin(host, "/", "GET", 1)
        time.now += 2.0

    assert ledger.gaps("www.a.test", "blog.a.test") == [2.0]
    assert ledger.gaps() == [2.0, 2.0]
    assert ledger.max_concurrency("www.a.test", "blog.a.test") == 2
    assert ledger.max_concurrency() == 3


def test_requests_that_follow_each_other_at_once_do_not_overlap() -> None:
    assert _filled([(0.0, 1.0), (1.0, 2.0), (2.0, 2.0)]).max_concurrency("a.test") == 1
    assert _filled([(0.0, 2.0), (1.0, 3.0)]).max_concurrency("a.test") == 2


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)), max_size=30))
def test_concurrency_matches_brute_force(spans: list[tuple[int, int]]) -> None:
    ledger = _filled([(float(start), float(start + length)) for start, length in spans])
    by_hand = [sum(start <= moment < start + length for start, length in spans) for moment in range(45)]
    assert ledger.max_concurrency("a.test") == max(by_hand)


def test_full_ledger_counts_dropped_requests() -> None:
    ledger = SimLedger(limit=2)
    tickets = [ledger.begin("a.test", f"/{n}", "GET", 1) for n in range(5)]
    for ticket in tickets:
        ledger.end(ticket, 200, 1)
    assert (ledger.count(), ledger.dropped) == (2, 3)
    assert [entry.path for entry in ledger.requests()] == ["/0", "/1"]


def test_request_started_before_reset_is_not_logged() -> None:
    ledger = SimLedger()
    old = ledger.begin("a.test", "/old", "GET", 1)
    ledger.reset()
    new = ledger.begin("b.test", "/new", "GET", 1)
    ledger.end(old, 500, 99)
    assert [(entry.path, entry.status) for entry in ledger.requests()] == [("/new", 0)]
    ledger.end(new, 200, 1)
    assert next(ledger.requests()).status == 200


def test_summary_has_one_line_per_host() -> None:
    ledger = _filled([(0.0, 2.0), (1.5, 3.0)])
    (line,) = ledger.summary()
    assert (line.host, line.count, line.min_gap, line.max_concurrency) == ("a.test", 2, 1.5, 2)


def test_the_server_enters_what_it_answers_and_latency_makes_requests_overlap() -> None:
    # Given a web that takes its time
    with running(WebSpec(hosts=2, pages=10, latency=0.3)) as server:
        host, other = server.web.hosts()
        clients = [Client(server.port) for _ in range(3)]

        # When three clients ask one host at once, and one of them another host thereafter
        threads = [threading.Thread(target=client.ask, args=(f"http://{host}/",)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        clients[0].ask(f"http://{other}/none")
        wait_until(
            lambda: all(request.status for request in server.ledger.requests())
        )  # the server enters a status after it has sent the response
        for client in clients:
            client.close()

        # Then the ledger shows it
        ledger = server.ledger
        assert ledger.count() == 4
        assert ledger.count(host) == 3
        assert ledger.max_concurrency(host) == 3
        assert ledger.max_concurrency(other) == 1
        (missed,) = ledger.requests(other)
        assert (missed.path, missed.status) == ("/none", 404)
        assert missed.end is not None
        assert missed.end - missed.start >= 0.3
