"""What goes over the wire: framing, pipelining, old clients, bad requests, and each fault as it is named."""

from __future__ import annotations

import asyncio
import gzip
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.simweb.conftest import FAULTY
from tests.simweb.walker import Client

from scoter.errors import UsageError
from scoter.simweb import SimServer, SimWeb, WebSpec, fault_name, running, serve
from scoter.simweb.responses import ConnectionEnd, FramingOptions, wire_script


def _talk(server: SimServer, data: bytes) -> bytes:
    """Send bytes, then read until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as sock:
        sock.sendall(data)
        parts = []
        while part := sock.recv(65536):
            parts.append(part)
    return b"".join(parts)


def _get(host: str, path: str = "/", *, close: bool = True, more: str = "") -> bytes:
    ending = "Connection: close\r\n" if close else ""
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}{ending}\r\n".encode()


def _fault(fault: str, path: str) -> bytes:
    return _get(fault_name(fault), path)


def _split(answer: bytes) -> tuple[bytes, bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


def test_pipelined_requests_are_answered_in_order(plain: SimServer) -> None:
    host = plain.web.hosts()[0]
    site = plain.web.sites.site(0)
    paths = [site.path(number) for number in range(100)]

    answer = _talk(plain, b"".join(_get(host, path, close=path == paths[-1]) for path in paths))

    for path in paths:
        body = plain.web.answer(host, path).body
        place = answer.index(body)
        answer = answer[place + len(body) :]
    assert answer == b""


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 250), max_size=6))
def test_requests_may_arrive_in_any_pieces(plain: SimServer, cuts: list[int]) -> None:
    host = plain.web.hosts()[1]
    data = _get(host, "/images/logo.png", close=False) + _get(host, "/robots.txt")
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    with socket.create_connection(("127.0.0.1", plain.port), timeout=10) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in pairwise(edges):
            sock.sendall(data[start:end])
        answer = b""
        while part := sock.recv(65536):
            answer += part
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert plain.web.answer(host, "/images/logo.png").body in answer
    assert answer.endswith(plain.web.answer(host, "/robots.txt").body)


def test_slow_reader_gets_the_whole_response(faulty: SimServer) -> None:
    # Given answers larger than any socket's buffer, asked for in one go
    host, path = fault_name("overlong"), "/long.html"
    size = len(faulty.web.answer(host, path).body)
    data = b"".join(_get(host, path, close=number == 4) for number in range(5))

    # When the other side of the connection is read only thereafter
    answer = _talk(faulty, data)

    # Then all five are there
    assert answer.count(b"HTTP/1.1 200 OK") == 5
    assert 5 * size < len(answer) < 5 * (size + 500)


def test_an_old_client_gets_no_chunks_and_a_closed_connection(plain: SimServer) -> None:
    chunking = plain.web.hosts()[3]
    head, body = _split(_talk(plain, f"GET / HTTP/1.0\r\nHost: {chunking}\r\n\r\n".encode()))
    assert head.startswith(b"HTTP/1.0 200")
    assert b"chunked" not in head
    assert body == plain.web.answer(chunking, "/").body


def test_chunks_are_sound_where_a_host_chunks(plain: SimServer, client: Client) -> None:
    chunking = plain.web.hosts()[3]
    got = client.ask(f"http://{chunking}/")
    assert got.headers["transfer-encoding"] == "chunked"
    assert got.body == plain.web.answer(chunking, "/").body


def test_head_has_the_headers_of_get_and_no_body(plain: SimServer, client: Client) -> None:
    url = f"http://{plain.web.hosts()[0]}/"
    head, get = client.ask(url, method="HEAD"), client.ask(url)
    assert head.body == b""
    assert {**head.headers, "date": ""} == {**get.headers, "date": ""}
    assert int(head.headers["content-length"]) == len(get.body)


def test_gzip_is_sent_to_those_who_accept_it_by_the_hosts_that_can(plain: SimServer, client: Client) -> None:
    packing, other = (f"http://{plain.web.hosts()[index]}/" for index in (0, 1))
    accepts = {"Accept-Encoding": "br, gzip"}
    packed = client.ask(packing, headers=accepts)
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == client.ask(packing).body
    assert "content-encoding" not in client.ask(other, headers=accepts).headers
    assert "content-encoding" not in client.ask(packing, headers={"Accept-Encoding": "gzip;q=0"}).headers
    again = {**accepts, "If-None-Match": packed.headers["etag"]}
    assert client.ask(packing, headers=again).status == 304


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: %b\r\n" % (b"b" * 1000) * 70 + b"\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\n\r\n" + b"c" * 70_000, b"413"),
    ],
)
def test_unreadable_requests_get_an_error(plain: SimServer, data: bytes, status: bytes) -> None:
    with socket.create_connection(("127.0.0.1", plain.port), timeout=10) as sock:
        sock.sendall(data)
        assert sock.recv(65536).startswith(b"HTTP/1.1 " + status)


def test_other_methods_are_not_allowed(plain: SimServer, client: Client) -> None:
    assert client.ask(f"http://{plain.web.hosts()[0]}/", method="DELETE").status == 405


@pytest.mark.parametrize("spelled", ["{host}:80", "{HOST}", "{host}.", "{host}:8443"])
def test_the_host_is_found_however_it_is_spelled(plain: SimServer, spelled: str) -> None:
    host = plain.web.hosts()[0]
    head, _ = _split(_talk(plain, _get(spelled.format(host=host, HOST=host.upper()))))
    assert head.startswith(b"HTTP/1.1 200")


def test_a_request_for_a_proxy_is_answered_like_any_other(plain: SimServer) -> None:
    host = plain.web.hosts()[1]
    answer = _talk(plain, _get("ignored.test", f"http://{host}/robots.txt"))
    assert answer.endswith(plain.web.answer(host, "/robots.txt").body)


def test_upgrade_offer_is_declined(plain: SimServer) -> None:
    host = plain.web.hosts()[0]
    offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    answer = _talk(plain, _get(host, close=False, more=offer) + _get(host))
    assert answer.count(b"HTTP/1.1 200") == 2


def test_an_unknown_host_is_not_found(client: Client) -> None:
    got = client.ask("http://nobody.test/<b>")
    assert (got.status, b"<b>" in got.body) == (404, False)


@pytest.mark.parametrize("path", ["/at-once.html", "/midway.html"])
def test_reset_fault_resets_the_connection(faulty: SimServer, path: str) -> None:
    with pytest.raises(ConnectionResetError):
        _talk(faulty, _fault("reset", path))


def test_truncated_bodies_end_halfway(faulty: SimServer) -> None:
    whole = faulty.web.answer(fault_name("truncated"), "/length.html").body
    head, body = _split(_talk(faulty, _fault("truncated", "/length.html")))
    assert f"Content-Length: {len(whole)}".encode() in head
    assert body == whole[: len(whole) // 2]
    _, chunks = _split(_talk(faulty, _fault("truncated", "/chunks.html")))
    assert not chunks.endswith(b"0\r\n\r\n")


def test_bad_chunking_has_an_invalid_chunk_size(faulty: SimServer) -> None:
    head, body = _split(_talk(faulty, _fault("chunking", "/chunks.html")))
    assert b"Transfer-Encoding: chunked" in head
    assert b"\r\nzz\r\n" in body


def test_drip_is_slow_but_complete(faulty: SimServer, faulty_client: Client) -> None:
    started = time.monotonic()
    got = faulty_client.ask(f"http://{fault_name('drip')}/drip.html")
    assert time.monotonic() - started >= FAULTY.drip_seconds
    assert got.body == faulty.web.answer(fault_name("drip"), "/drip.html").body


def test_silent_host_closes_after_its_time(faulty: SimServer) -> None:
    started = time.monotonic()
    assert _talk(faulty, _fault("silent", "/silent.html")) == b""
    assert time.monotonic() - started >= FAULTY.silence_seconds


def test_the_header_flood_is_two_mebibytes(faulty: SimServer) -> None:
    head, _ = _split(_talk(faulty, _fault("header-flood", "/headers.html")))
    assert 1_900_000 < len(head) < 2_200_000
    assert head.count(b"\r\nX-Flood-") > 15_000


def test_bomb_is_small_and_decompresses_to_100_mib(faulty_client: Client) -> None:
    got = faulty_client.ask(f"http://{fault_name('bomb')}/bomb.html")
    assert (got.headers["content-encoding"], len(got.body) < 120_000) == ("gzip", True)
    # zlib checks CRC and size at the end of the file.
    unpacker, size, rest = zlib.decompressobj(31), 0, got.body
    while rest and not unpacker.eof:
        size += len(unpacker.decompress(rest, 4 * 1024 * 1024))
        rest = unpacker.unconsumed_tail
    assert unpacker.eof
    assert size > 100 * 1024 * 1024


def test_recovering_urls_send_retry_after() -> None:
    with running(FAULTY) as server:
        client = Client(server.port)
        for fault, status in (("busy", 429), ("overloaded", 503)):
            for path, expected in (
                ("/recovers-1.html", [status, 200, 200]),
                ("/recovers-2.html", [status, status, 200]),
                ("/always.html", [status] * 3),
            ):
                answers = [client.ask(f"http://{fault_name(fault)}{path}") for _ in range(3)]
                assert [got.status for got in answers] == expected
                assert answers[0].headers["retry-after"] == "1"
                assert "retry-after" not in answers[2].headers or expected[2] != 200
        client.close()


def test_the_huge_robots_file_has_one_rule_before_and_one_after_the_limit(faulty_client: Client) -> None:
    body = faulty_client.ask(f"http://{fault_name('robots-huge')}/robots.txt").body
    early, late = body.index(b"Disallow: /early/"), body.index(b"Disallow: /late/")
    assert (early < 100, late >= 500 * 1024, len(body) > 600_000) == (True, True, True)
    assert body[late - 1 : late] == b"\n"


def test_closed_connection_for_robots_txt_sends_nothing(faulty: SimServer) -> None:
    assert _talk(faulty, _fault("robots-unreachable", "/robots.txt")) == b""


def test_head_requests_are_not_affected_by_body_faults() -> None:
    web = SimWeb(FAULTY)
    for fault, path in (("truncated", "/length.html"), ("drip", "/drip.html"), ("reset", "/midway.html")):
        plan = wire_script(web.answer(fault_name(fault), path), FramingOptions(head_only=True), web.spec)
        steps = list(plan.steps)
        assert len(steps) == 1
        assert steps[0][1].endswith(b"\r\n\r\n")
        assert plan.end is ConnectionEnd.KEEP


@pytest.fixture
def own_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_server_also_runs_on_the_asyncio_loop(own_loop: asyncio.AbstractEventLoop) -> None:
    async def ask() -> bytes:
        async with serve(SimWeb(WebSpec(hosts=1, pages=3))) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(_get(server.web.hosts()[0]))
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answer

    assert own_loop.run_until_complete(ask()).startswith(b"HTTP/1.1 200 OK")


def test_port_in_use_is_a_usage_error(plain: SimServer) -> None:
    with pytest.raises(UsageError, match="cannot listen"), running(WebSpec(hosts=1, pages=1), port=plain.port):
        pass


def test_disconnecting_client_is_logged_and_does_not_harm_the_server(faulty: SimServer) -> None:
    host = fault_name("silent")
    before = faulty.ledger.count(host)
    with socket.create_connection(("127.0.0.1", faulty.port), timeout=10) as sock:
        sock.sendall(_get(host, "/silent.html", close=False))
    assert _talk(faulty, _get(faulty.web.hosts()[0])).startswith(b"HTTP/1.1 200")
    last = list(faulty.ledger.requests(host))[-1]
    assert faulty.ledger.count(host) == before + 1
    assert last.status == 0


def test_serving_until_a_signal_ends_cleanly() -> None:
    code = (
        "from scoter.simweb import SimWeb, WebSpec, run_forever;"
        "run_forever(SimWeb(WebSpec(hosts=1, pages=2)), ready=lambda server: print(server.port, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        client = Client(int(process.stdout.readline()))
        assert client.ask("http://control.simweb.test/spec").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        client.close()
