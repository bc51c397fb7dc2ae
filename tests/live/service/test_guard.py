"""The guard, through the API of a running service: no client can make it reach a private address.

The web of these tests is 127.0.0.2, which is allowed. All other loopback addresses are not, and a trap listens there on
the same port. Each test checks not only the response, but also that the trap got no connection.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from tests.live.service.running import Service, service

pytestmark = pytest.mark.slow

OURS, TRAP = "127.0.0.2", "127.0.0.1"
NAMES = {
    "good.test": [OURS],
    "hooks.test": [OURS],
    "rebinding.test": [OURS],
    "moving.test": [OURS],
    "evil.test": [TRAP],
    "mixed.test": [OURS, TRAP],
    "mapped.test": [f"::ffff:{TRAP}"],
    "six.test": ["::1"],
    "localhost": ["::1", TRAP],
    "a.localhost": [TRAP],
}
HOSTS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "017700000001",
    "0177.0.0.01",
    "0x7f000001",
    "0x7f.0x0.0x0.0x1",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
    "127\u30020\u30020\u30021",
    "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
    "0",
    "0.0.0.0",
    "10.0.0.1",
    "192.168.1",
    "100.64.0.1",
    "169.254.169.254",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "good.test@127.0.0.1",
]
BAD_NAMES = ["evil.test", "mixed.test", "mapped.test", "six.test", "localhost", "LOCALHOST.", "a.localhost"]


class Web(BaseHTTPRequestHandler):
    """Answers every request; ``/to?url=`` redirects, ``/hook`` records posts."""

    posted: ClassVar[list[str]] = []
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        if split.path == "/to":
            self._answer(302, b"", ("Location", parse_qs(split.query)["url"][0]))
        elif split.path == "/robots.txt":
            self._answer(404)
        else:
            self._answer(200, b"<title>Fine</title>", ("Content-Type", "text/html"))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.posted.append(f"{self.headers['Host']}{self.path}")
        split = urlsplit(self.path)
        if split.path == "/to":
            self._answer(307, b"", ("Location", parse_qs(split.query)["url"][0]))
        else:
            self._answer(204)

    def _answer(self, status: int, body: bytes = b"", *fields: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (*fields, ("Content-Length", str(len(body)))):
            self.send_header(name, value.encode("utf-8").decode("latin-1"))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        pass


class Trap:
    """Listens on loopback, and counts connections."""

    def __init__(self, port: int) -> None:
        self.caught = 0
        self._sockets = [socket.create_server((TRAP, port))]
        if socket.has_dualstack_ipv6():
            self._sockets.append(socket.create_server(("::1", port), family=socket.AF_INET6))
        for each in self._sockets:
            threading.Thread(target=self._accept, args=(each,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                listening.accept()[0].close()
            except OSError:
                return
            self.caught += 1

    def close(self) -> None:
        for each in self._sockets:
            each.shutdown(socket.SHUT_RDWR)
            each.close()


class Place:
    """A service, its web and its trap."""

    def __init__(self, service: Service, port: int, trap: Trap, table: Path) -> None:
        self.service = service
        self.port = port
        self.trap = trap
        self._table = table

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def by_way_of(self, target: str, host: str = "good.test") -> str:
        return self.url(host, f"/to?url={quote(target, safe='')}")

    def move(self, **names: str) -> None:
        """Make names resolve to other addresses from now on."""
        moved = {f"{name}.test": [address] for name, address in names.items()}
        self._table.write_text(json.dumps(NAMES | moved))

    def outcomes(self, *urls: str) -> list[tuple[str, str]]:
        """Submit URLs; return the state and reason of each when all are done."""
        entries: dict[str, int] = {}
        for url in urls:
            got = self.service.submit(url, force=True)
            assert got.status == 202
            entries |= got.json["messages"][0]["entries"]
        records = [self.service.record(url) for url in entries]
        return [(record["state"], record.get("reason", "")) for record in records]

    def fetched(self, url: str, hops: int = 0) -> tuple[str, str]:
        got = self.service.ask("POST", "/v1/fetch", {"url": url, "hops": hops})
        assert got.status == 200, got
        return got.json["outcome"], got.json.get("reason", "")

    def deliveries(self, outcome: str) -> int:
        counts = self.service.get("/v1/stats").json["counts"]
        return int(counts.get(f"deliveries.{outcome}", 0))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("guard")
    table = folder / "names.json"
    table.write_text(json.dumps(NAMES))
    here = Path(__file__).parent / "names"
    with ThreadingHTTPServer((OURS, 0), Web) as web, pytest.MonkeyPatch.context() as patch:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        port = web.server_address[1]
        trap = Trap(port)
        patch.setenv("PYTHONPATH", os.pathsep.join((str(here), os.environ.get("PYTHONPATH", ""))).rstrip(os.pathsep))
        patch.setenv("NAMES_TABLE", str(table))
        guarded = (
            "fetch.connect_to=[]",
            f'fetch.allow_networks=["{OURS}"]',
            f"fetch.allow_ports=[{port}]",
            "http.timeout=2s",
        )
        with service(folder / "live", port, *guarded) as started:
            yield Place(started, port, trap, table)
        trap.close()
        web.shutdown()


def test_allowed_address_is_reachable(place: Place) -> None:
    """Otherwise the other tests would prove nothing."""
    assert place.outcomes(place.url("good.test")) == [("ok", "")]
    assert place.fetched(place.by_way_of(place.url("good.test", "/x")), hops=1) == ("fetched", "")


def test_message_cannot_reach_a_private_address_in_any_notation(place: Place) -> None:
    urls = [place.url(host) for host in (*HOSTS, *BAD_NAMES)]

    outcomes = place.outcomes(*urls)

    assert set(outcomes) == {("refused", "refused_address")}
    assert place.trap.caught == 0


def test_links_in_text_cannot_reach_a_private_address(place: Place) -> None:
    text = " ".join(f"see {place.url(host, '/text')} and" for host in HOSTS[:8])

    got = place.service.ask("POST", "/v1/messages", {"text": text})
    records = [place.service.record(url) for url in got.json["messages"][0]["entries"]]

    assert records
    assert {record["state"] for record in records} == {"refused"}
    assert place.trap.caught == 0


def test_redirect_of_a_message_cannot_reach_a_private_address(place: Place) -> None:
    urls = [place.by_way_of(place.url(host)) for host in (*HOSTS, *BAD_NAMES)]

    outcomes = place.outcomes(*urls)

    assert set(outcomes) == {("refused", "refused_address")}
    assert place.trap.caught == 0


def test_direct_fetch_cannot_reach_a_private_address_directly_or_by_redirect(place: Place) -> None:
    urls = [place.url(host) for host in (*HOSTS, *BAD_NAMES)]

    told = {place.fetched(url) for url in urls} | {place.fetched(place.by_way_of(url), hops=3) for url in urls}

    assert told == {("failed", "refused_address")}
    assert place.trap.caught == 0


def test_forbidden_ports_are_refused(place: Place) -> None:
    told = {place.fetched(url) for url in (f"http://good.test:{place.port + 1}/", "https://good.test:22/")}

    assert told == {("failed", "refused_port")}
    assert place.trap.caught == 0


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "dict://127.0.0.1/"])
def test_other_schemes_are_not_fetched(place: Place, url: str) -> None:
    got = place.service.ask("POST", "/v1/fetch", {"url": url})

    assert got.status == 422 or (got.status == 200 and got.json["outcome"] in ("failed", "gone"))
    assert b"root:" not in got.body


def test_name_rebound_to_a_private_address_is_refused(place: Place) -> None:
    before = place.fetched(place.url("rebinding.test"))

    place.move(rebinding=TRAP)
    after = [place.fetched(place.url("rebinding.test", f"/{number}")) for number in range(3)]
    outcome = place.outcomes(place.url("rebinding.test", "/message"))

    assert before == ("fetched", "")
    assert set(after) == {("failed", "refused_address")}
    assert outcome == [("refused", "refused_address")]
    assert place.trap.caught == 0


def test_callback_with_a_private_address_is_refused_on_submission(place: Place) -> None:
    for host in HOSTS:
        got = place.service.submit(place.url("good.test"), callback=place.url(host))
        assert (got.status, got.json["where"]) == (422, "/callback"), host

    assert place.trap.caught == 0


def test_callback_that_resolves_to_a_private_address_gets_no_post(place: Place) -> None:
    failed = place.deliveries("failed")
    for name in BAD_NAMES:
        assert place.service.submit(place.url("good.test", "/a"), callback=place.url(name, "/hook")).status == 202

    place.service.wait_for(lambda: place.deliveries("failed") >= failed + len(BAD_NAMES))

    assert place.trap.caught == 0


def test_redirect_of_a_callback_is_not_followed(place: Place) -> None:
    failed = place.deliveries("failed")
    away = [place.by_way_of(place.url(host), "hooks.test") for host in ("127.0.0.1", "[::1]", "evil.test")]
    for url in away:
        assert place.service.submit(place.url("good.test", "/b"), callback=url).status == 202

    place.service.wait_for(lambda: place.deliveries("failed") >= failed + len(away))

    assert sum(posted.startswith("hooks.test") for posted in Web.posted) >= len(away)
    assert place.trap.caught == 0


def test_callback_rebound_before_delivery_gets_no_post(place: Place) -> None:
    submit = place.service.submit
    assert submit(place.url("good.test", "/c"), callback=place.url("moving.test", "/hook")).status == 202
    place.service.wait_for(lambda: f"moving.test:{place.port}/hook" in Web.posted)
    failed = place.deliveries("failed")

    place.move(moving=TRAP)
    assert submit(place.url("good.test", "/d"), callback=place.url("moving.test", "/again")).status == 202
    place.service.wait_for(lambda: place.deliveries("failed") > failed)

    assert f"moving.test:{place.port}/again" not in Web.posted
    assert place.trap.caught == 0


def test_callback_cannot_inject_a_header(place: Place) -> None:
    sent = len(Web.posted)
    for callback in ("/hook\r\nX-Evil: 1", "/hook%0d%0aX-Evil:%201", "/hook HTTP/1.1\r\nHost: evil.test\r\n\r\n"):
        got = place.service.submit(place.url("good.test", "/e"), callback=place.url("hooks.test", callback))
        assert got.status == 202
    place.service.wait_for(lambda: len(Web.posted) >= sent + 3)

    assert {posted.partition("/")[0] for posted in Web.posted[sent:]} == {f"hooks.test:{place.port}"}
    assert place.trap.caught == 0
