from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from tests.live.service.running import FETCHER, PATIENCE, Service, pages, service

from scoter.live.api.records import Archived, Statistics
from scoter.live.service.api_keys import make_key
from scoter.live.service.plan import ServiceFolder
from scoter.simweb import SimServer, WebSpec, running

pytestmark = pytest.mark.slow

SPEC = WebSpec(hosts=60, pages=300, page_bytes=2_000)
PAGES = pages(SPEC, 60)
TOKENS: dict[str, str] = {}


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(SPEC) as server:
        yield server


@pytest.fixture(scope="module")
def live(web: SimServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("live") / "new"
    _, TOKENS["reader"] = asyncio.run(make_key(ServiceFolder(folder), "reader", ["read"], None))
    with service(folder, web.port) as started:
        yield started


def test_submitted_link_is_fetched_and_can_be_looked_up(live: Service) -> None:
    taken = live.ask("POST", "/v1/messages", {"text": f"look at {PAGES[0]} and tell me", "priority": "person"})
    record = live.record(PAGES[0])
    at_once = live.get(f"/v1/urls?url={PAGES[0]}")
    several = live.ask("POST", "/v1/urls/lookup", {"urls": [PAGES[0], "http://nobody.test/"]})

    assert (taken.status, list(taken.json["messages"][0]["entries"])) == (202, [PAGES[0]])
    assert (record["state"], record["status"], record["kind"]) == ("ok", 200, "page")
    assert record["metadata"]["title"]
    assert at_once.json == record
    assert [each["state"] for each in several.json["results"]] == ["ok", "unknown"]


def test_record_points_to_the_response_in_the_archive(live: Service) -> None:
    from scoter.live.content.archive import read

    live.submit(PAGES[1], id="archived")

    place = live.record(PAGES[1])["archived"]

    found = read(live.folder / "content", Archived(**place))
    assert (found.url, found.status) == (PAGES[1], 200)


def test_event_stream_announces_each_url(live: Service) -> None:
    with socket.create_connection(("127.0.0.1", live.port), timeout=PATIENCE) as listener:
        listener.sendall(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        heard = listener.recv(65_536)  # the head: the stream is open

        live.submit(PAGES[2], id="heard of")

        while b'"heard of"' not in heard:
            heard += listener.recv(65_536)
    assert PAGES[2].encode() in heard


def test_callback_receives_a_signed_delivery(live: Service, web: SimServer) -> None:
    live.submit(PAGES[3], callback="http://www.grebe0.test/told-here")
    live.record(PAGES[3])

    told = live.wait_for(lambda: [each.method for each in web.ledger.requests() if each.path == "/told-here"])

    assert told[0] == "POST"


def test_domain_rule_applies_at_once(live: Service) -> None:
    before = live.submit(PAGES[4], id="before the rule")
    live.record(PAGES[4])
    domain = PAGES[4].removeprefix("http://").partition("/")[0].removeprefix("www.")

    rule = live.ask("PUT", f"/v1/domains/{domain}", {"blocked": True})
    after = live.submit(PAGES[4], id="after the rule", force=True)
    directly = live.ask("POST", "/v1/fetch", {"url": PAGES[4]})
    live.ask("PUT", f"/v1/domains/{domain}", {})
    again = live.ask("POST", "/v1/fetch", {"url": PAGES[4], "body": "none"})

    assert (before.status, rule.status) == (202, 200)
    assert after.json["messages"][0]["unusable"]
    assert (directly.status, again.status, again.json["outcome"]) == (403, 200, "fetched")


def test_key_scopes_apply_in_every_process(live: Service) -> None:
    reading, forged = f"Bearer {TOKENS['reader']}", f"Bearer {TOKENS['reader'][:-1]}!"
    lookups, core = "/v1/urls?url=http://nobody.test/", "/v1/stats"

    looked_up = [live.ask("GET", target, key=reading).status for target in (lookups, core)]
    refused = [live.ask("GET", target, key=forged).status for target in (lookups, core)]
    submitted = live.ask("POST", "/v1/messages", {"text": "nothing"}, key=reading)

    assert (looked_up, refused) == ([404, 200], [401, 401])
    assert submitted.status == 403


def test_stats_and_metrics_show_a_finished_url(live: Service) -> None:
    live.submit(PAGES[5])
    live.record(PAGES[5])

    stats, metrics = live.get("/v1/stats").json, live.get("/metrics").body.decode()

    assert stats["counts"]["urls.ok"] >= 1
    assert stats["stages"]["record"]["count"] >= 1
    assert stats["gauges"]["fetchers"] == len(live.pids(FETCHER)) == 1
    assert stats["gauges"]["store_records"] >= 1
    assert msgspec.convert(stats, Statistics).gauges == stats["gauges"]  # as clients read it
    assert 'scoter_stage_seconds_bucket{stage="own",le="0.001"}' in metrics
    assert live.get("/readyz").status == live.get("/healthz").status == 200


def test_waiting_url_is_pending_in_lookups(web: SimServer, tmp_path: Path) -> None:
    url = PAGES[0]
    # Its robots.txt takes the first slot, and the page itself the second.
    with service(tmp_path / "slow", web.port, "fetch.delay=5m") as slow:
        slow.submit(url)

        waiting = slow.get(f"/v1/urls?url={url}")
        batch = slow.ask("POST", "/v1/urls/lookup", {"urls": [url]})
        code = slow.stop()

    assert (waiting.status, waiting.json["state"]) == (202, "pending")
    assert batch.json["results"][0]["state"] == "pending"
    assert code == 0
    with service(tmp_path / "slow", web.port) as later:
        assert later.record(url)["state"] == "ok"


def test_fetch_log_is_complete_after_shutdown(web: SimServer, tmp_path: Path) -> None:
    with service(tmp_path / "short", web.port, "live.lookups=2") as short:
        short.submit(*PAGES[:10])
        for url in PAGES[:10]:
            short.record(url)
        code = short.stop()

    (part,) = (tmp_path / "short" / "log").rglob("*.parquet.part")
    rows = pq.read_table(part).to_pylist()
    assert code == 0
    assert {row["submitted"] for row in rows} == set(PAGES[:10])
    assert all(row["total_ms"] > 0 for row in rows)
    assert [path.name for path in (tmp_path / "short" / "content").glob("*.open")] == []


def test_waiting_requests_are_answered_at_shutdown(web: SimServer, tmp_path: Path) -> None:
    order = {"url": PAGES[0], "body": "none"}
    with service(tmp_path / "ending", web.port, "fetch.delay=1m") as ending, ThreadPoolExecutor(3) as pool:
        waiting = pool.submit(ending.get, "/v1/urls?url=http://nobody.test/&wait=30s")
        fetching = pool.submit(ending.ask, "POST", "/v1/fetch", order)  # the next slot of its domain is far away
        time.sleep(0.5)
        code = ending.stop()

    assert code == 0
    assert waiting.result().status == 404
    assert fetching.result().status == 503
    assert fetching.result().json["type"].startswith("urn:scoter:problem:")
