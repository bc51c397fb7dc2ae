"""Configured limits are enforced by lookup processes and the core, and the core shows metrics of both."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest
from tests.live.service.running import Service, service

from scoter.live.service.api_keys import make_key
from scoter.live.service.plan import ServiceFolder

pytestmark = pytest.mark.slow

TOKENS: dict[str, str] = {}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("limits") / "live"
    _, TOKENS["slow"] = asyncio.run(make_key(ServiceFolder(folder), "slow", ["read"], 2.0))
    settings = (
        "live.lookups=2",
        "web.body_size=2KiB",
        "web.head_size=2KiB",
        "web.streams=0",
        "web.fetches=0",
        "web.longest_wait=10ms",
    )
    with service(folder, 1, *settings) as started:
        yield started


def shown(live: Service, line: str) -> float:
    text = live.get("/metrics").body.decode()
    return sum(float(each.rpartition(" ")[2]) for each in text.splitlines() if each.startswith(line))


@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("POST", "/v1/messages", {"text": "x" * 3_000}, 413),
        ("POST", "/v1/urls/lookup", {"urls": ["http://a.example/" + "x" * 3_000]}, 413),
        ("GET", "/v1/urls?url=" + "x" * 3_000, None, 431),
        ("GET", "/v1/events", None, 503),
        ("POST", "/v1/fetch", {"url": "http://a.example/"}, 503),
        ("GET", "/v1/urls?url=http://nobody.example/&wait=30s", None, 404),
    ],
)
def test_configured_limit_is_enforced(live: Service, method: str, target: str, body: object, status: int) -> None:
    got = live.ask(method, target, body)

    assert got.status == status


def test_core_shows_metrics_of_lookup_processes(live: Service) -> None:
    asked = 'scoter_http_requests_total{route="/v1/urls",status="404"}'
    refused = 'scoter_connections_refused_total{reason="not_http"}'
    before = shown(live, asked), shown(live, refused)

    for _ in range(10):
        live.get("/v1/urls?url=http://nobody.example/")
        with socket.create_connection(("127.0.0.1", live.port)) as client:
            client.sendall(b"NONSENSE\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 400 ")

    live.wait_for(lambda: (shown(live, asked), shown(live, refused)) == (before[0] + 10, before[1] + 10))
    assert shown(live, 'scoter_http_request_seconds_count{route="/v1/urls"}') >= 10


def test_key_rate_limit_applies_across_processes(live: Service) -> None:
    key = f"Bearer {TOKENS['slow']}"

    statuses = [live.ask("GET", "/v1/urls?url=http://nobody.example/", key=key).status for _ in range(60)]

    # Each of the two processes admits two requests at once and two more per second; sixty take far less than 5 s.
    assert statuses.count(429) > 30
    assert statuses[0] == 404
