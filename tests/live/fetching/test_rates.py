"""Rates and backlogs of domains in a whole service."""

from __future__ import annotations

import json
import os
import signal
import time
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.live.fetching.webs import TOLERANCE, impolite
from tests.live.odd_web import MISSING, OddWeb, Said, odd_web, page
from tests.live.service.running import FETCHER, Service, service

pytestmark = pytest.mark.slow

SLOW = 0.5
NAME = "a.example"


def answer(host: str, path: str) -> Said:
    return MISSING if path == "/robots.txt" else page("<title>It</title>", after=0.02)


def gaps(web: OddWeb, since: float, host: str = NAME) -> list[float]:
    """Return the gaps before the requests to a host after a time."""
    entries = [entry for entry in web.entries if entry.host == host]
    return [later.start - (earlier.end or earlier.start) for earlier, later in pairwise(entries) if later.start > since]


def set_delay(live: Service, delay: float) -> float:
    """Change the rate of a domain; return when the change was acknowledged."""
    assert live.ask("PUT", f"/v1/domains/{NAME}", {"delay": delay}).status == 200
    return time.monotonic()


def post(live: Service, *urls: str) -> tuple[int, str | None, Any]:
    """Submit URLs; return status, Retry-After and body."""
    connection = HTTPConnection("127.0.0.1", live.port, timeout=20)
    try:
        connection.request("POST", "/v1/messages", json.dumps({"urls": urls}), {"Content-Type": "application/json"})
        got = connection.getresponse()
        return got.status, got.getheader("Retry-After"), json.loads(got.read())
    finally:
        connection.close()


def test_changed_rate_survives_worker_death_and_restart(tmp_path: Path) -> None:
    settings = ("live.processes=2", "fetch.delay=0.1s", "fetch.min_crawl_delay=0s")
    urls = [f"http://{NAME}/{n}" for n in range(14)]

    with odd_web(answer) as web:
        with service(tmp_path / "live", web.port, *settings) as live:
            live.wait_for(lambda: len(live.pids(FETCHER)) == 2)
            live.wait_until_ready()
            live.submit(*urls[:8])
            live.record(urls[1])  # the others wait, here and with the fetcher
            slowed = set_delay(live, SLOW)
            live.wait_for(lambda: len(gaps(web, slowed)) >= 3)
            for pid in live.pids(FETCHER):
                os.kill(pid, signal.SIGKILL)
            for url in urls[:8]:
                live.record(url)
        with service(tmp_path / "live", web.port, *settings) as live:
            live.wait_until_ready()
            restarted = time.monotonic()
            live.submit(*urls[8:11])
            live.record(urls[10])
            quickened = set_delay(live, 0.1)
            live.submit(*urls[11:])
            for url in urls[11:]:
                live.record(url)

    assert len(gaps(web, slowed)) >= 9
    # One request may have been on its way when the rate was changed.
    assert min(gaps(web, slowed + TOLERANCE)[1:-4]) > SLOW - TOLERANCE
    assert min(gap for gap in gaps(web, restarted)[:3]) > SLOW - TOLERANCE
    assert min(gaps(web, quickened)[1:]) < SLOW / 2
    assert impolite(web.entries, 0.1) == []


def test_full_domain_is_refused_and_others_are_accepted(tmp_path: Path) -> None:
    options = ("live.backlog_per_domain=6", "live.backlog=12", "fetch.delay=0.5s", "fetch.min_crawl_delay=0s")
    with odd_web(answer) as web, service(tmp_path / "live", web.port, *options) as live:
        live.wait_until_ready()
        taken = post(live, *(f"http://www{n}.{NAME}/" for n in range(6)))
        refused = post(live, f"http://{NAME}/more")
        mixed = post(live, "http://b.example/", f"http://{NAME}/more")
        other = post(live, *(f"http://b.example/{n}" for n in range(4)))
        too_much = post(live, *(f"http://c{n}.example/" for n in range(4)))
        live.record(f"http://www5.{NAME}/")
        later = post(live, f"http://{NAME}/more")
        record = live.record(f"http://{NAME}/more")

    assert (taken[0], other[0], later[0]) == (202, 202, 202)
    assert (refused[0], refused[2]["domain"]) == (429, NAME)
    assert int(refused[1] or 0) >= 1
    assert (mixed[0], mixed[2]["domain"]) == (429, NAME)
    assert (too_much[0], too_much[2].get("domain", "")) == (429, "")
    assert int(too_much[1] or 0) >= 1
    assert record["state"] == "ok"
    asked = {path for host, path in web.asked() if host in ("b.example", NAME) and path != "/robots.txt"}
    assert asked == {"/0", "/1", "/2", "/3", "/more"}  # of what was refused nothing was ever asked for
