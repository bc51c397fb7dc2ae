"""Many hostile pages in a whole service do not delay the page that a person waits for.

Time is measured as CPU time of the service, since wall time depends on the machine and on what else runs there.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.live.odd_web import MISSING, OddWeb, Said, odd_web
from tests.live.service.running import Service, family, service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HTML = (("Content-Type", "text/html"),)
DEEP = Said(b"<title>Deep</title>" + b"<div>" * 200_000, headers=HTML)
HIDDEN = Said(b"<title>Deep</title><svg>" + b"<div/>" * 170_000, headers=HTML)  # the pre-scan does not recognise it
FEED = Said(
    b"<rss version='2.0'><channel><title>News</title>"
    + b"<item><title>One</title><link>http://feed.example/1</link></item>" * 20
    + b"</channel></rss>",
    headers=(("Content-Type", "application/rss+xml"),),
)
DEEP_SITES, HIDDEN_SITES = 50, 12


def answer(host: str, path: str) -> Said:
    if path == "/robots.txt":
        return MISSING
    return FEED if host == "feed.example" else HIDDEN if host.startswith("hidden") else DEEP


@pytest.fixture
def web() -> Iterator[OddWeb]:
    with odd_web(answer) as found:
        yield found


def cpu_seconds(live: Service) -> float:
    """Return the CPU time of all processes of a service, including those that have ended."""
    ticks = 0
    for pid in (live.process.pid, *family(live.process.pid)):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks / 100


def record_of(live: Service, url: str) -> dict[str, Any]:
    """Wait for a record, for as long as it takes on a busy machine."""
    until = time.monotonic() + 600
    while time.monotonic() < until:
        with suppress(OSError):
            got = live.get(f"/v1/urls?url={url}&wait=10s")
            if got.status == 200:
                return dict(got.json)
    raise AssertionError("it never happened")


def person(live: Service, url: str) -> float:
    """Submit a URL as a person; return the CPU time of the whole service until it is recorded."""
    before = cpu_seconds(live)
    assert live.submit(url, priority="person").status == 202
    record = record_of(live, url)
    assert record["metadata"]["title"] == "News"
    return cpu_seconds(live) - before


def submit_all(live: Service, urls: list[str], priority: str) -> None:
    for at in range(0, len(urls), 20):
        assert live.submit(*urls[at : at + 20], priority=priority).status == 202


@pytest.mark.parametrize("priority", ["normal", "person"])
def test_deep_pages_of_fifty_domains_hardly_delay_a_feed(web: OddWeb, tmp_path: Path, priority: str) -> None:
    urls = [f"http://deep{number}.example/" for number in range(DEEP_SITES)]
    with service(tmp_path / "live", web.port) as live:
        live.wait_until_ready()
        idle = person(live, "http://feed.example/first")
        submit_all(live, urls, priority)
        live.wait_for(lambda: len(web.entries) >= 2 * DEEP_SITES)
        loaded = person(live, "http://feed.example/second")
        records = [record_of(live, url) for url in urls]

    print(f"feed alone {idle:.2f} s, with {DEEP_SITES} deep pages {loaded:.2f} s of CPU time")
    assert {record["metadata"]["title"] for record in records} == {"Deep"}
    assert all("nested too deeply" in record["detail"] for record in records)
    # A ratio, so that it does not depend on the machine.
    assert loaded < 10 * idle


def test_feed_does_not_wait_for_pages_that_exceed_the_cpu_limit(web: OddWeb, tmp_path: Path) -> None:
    urls = [f"http://hidden{number}.example/" for number in range(HIDDEN_SITES)]
    log = tmp_path / "log"
    with log.open("w") as out, service(tmp_path / "live", web.port, "live.parse_cpu=1s", log=out) as live:
        live.wait_until_ready()
        submit_all(live, urls, "normal")
        live.wait_for(lambda: len(web.entries) >= 2 * HIDDEN_SITES)
        loaded = person(live, "http://feed.example/")
        before = cpu_seconds(live)
        records = [record_of(live, url) for url in urls]
        hostile = cpu_seconds(live) - before

    print(f"the feed took {loaded:.2f} s of CPU time, the hostile pages {hostile:.2f} s more")
    assert {(record["state"], record["detail"]) for record in records} == {("ok", "cpu: after 1 s of CPU time")}
    assert loaded < hostile
    assert log.read_text().count("come last for") == HIDDEN_SITES
