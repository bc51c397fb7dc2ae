"""Redirects between the domains of different workers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.live.cluster.conftest import cluster_settings
from tests.live.cluster.running import Cluster
from tests.web.service.running import settings

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]
ORIGINS = [f"http://site{number}.example/" for number in range(16)]
TARGET = "http://target.example/page"


class RedirectingWeb(ThreadingHTTPServer):
    """Every site redirects to ``middle.example`` and from there to the target, or on and on."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Redirects)
        self.asked: Counter[str] = Counter()


class _Redirects(BaseHTTPRequestHandler):
    server: RedirectingWeb

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        self.server.asked[f"http://{host}{self.path}"] += 1
        if self.path == "/robots.txt":
            self.send_error(404)
        elif host.startswith("loop"):
            number = int(host.removeprefix("loop").partition(".")[0])
            self._redirect(f"http://loop{number + 1}.example/")
        elif host.startswith("site"):
            self._redirect("http://middle.example/")
        elif host.startswith("middle"):
            self._redirect(TARGET)
        else:
            self._page(b"<title>The target</title>")

    def _redirect(self, to: str) -> None:
        self.send_response(302)
        self.send_header("Location", to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _page(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@contextmanager
def redirecting() -> Iterator[RedirectingWeb]:
    server = RedirectingWeb()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_redirects_continue_at_the_worker_of_their_target(tmp_path: Path, prefix: str) -> None:
    with redirecting() as web:
        options = settings(web.server_address[1], *cluster_settings(prefix, f"k{prefix}"), "live.hops=5")
        with Cluster(tmp_path, prefix, options) as live:
            for role in ("fetcher", "worker", "worker", "api"):
                live.start(role)
            got = live.api.submit(*ORIGINS, "http://loop0.example/", id="m")
            assert got.status == 202
            wanted = {("m", url) for url in got.json["messages"][0]["entries"]}
            live.wait_until_announced(wanted, 90)
            events = {event.url: event.record for event in live.events()}
            assert set(live.announced().values()) == {1}

            for origin in ORIGINS:
                record = events[origin]
                assert (record.url, record.resolved, record.state) == (origin, TARGET, "ok")
                assert [hop.url for hop in record.hops] == [origin, "http://middle.example/", TARGET]
                assert live.api.record(origin)["hops"][0]["url"] == origin
            assert live.api.record("http://middle.example/")["resolved"] == TARGET
            endless = events["http://loop0.example/"]
            assert (endless.state, endless.reason, len(endless.hops)) == ("failed", "redirects", 6)
    # However many workers have followed redirects to it, one owner has requested it.
    assert web.asked[TARGET] == 1
    assert {web.asked[f"http://loop{number}.example/"] for number in range(6)} == {1}
    assert web.asked["http://loop6.example/"] == 0
