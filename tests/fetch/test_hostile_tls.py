"""Invalid certificates, and what is recorded about TLS and HTTP/2."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator

import pycurl
import pytest
from tests.fetch.certificates import Authority, needs_openssl
from tests.fetch.hostile import KEEP, config_for, ok, serving

from scoter.config import Config
from scoter.core.reply import Failed, Fetched, Reply, Request
from scoter.core.url import canonical
from scoter.fetch.filters import Retry, RetryBudget, kind_of
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup

pytestmark = needs_openssl
HOST = "www.good.test"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def contexts(authority: Authority) -> dict[str, ssl.SSLContext]:
    stranger = authority.self_signed("stranger", HOST)
    assert stranger is not None
    return {
        "good": authority.sign("good", HOST),
        "wildcard": authority.sign("wildcard", "*.good.test"),
        "wrong-name": authority.sign("wrong", "other.test"),
        "expired": authority.sign("expired", HOST, days=-1),
        "self-signed": stranger,
    }


async def _fetch(config: Config, authority: Authority, *paths: str) -> list[Reply]:
    # As on a machine on which an authority of ours is trusted, and no other.
    protocol = HttpProtocol(Setup(config), options=[(pycurl.CAINFO, str(authority.file))])
    try:
        return [await protocol.fetch(Request(url=canonical(f"https://{HOST}{path}"))) for path in paths]
    finally:
        await protocol.close()


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("good", ""),
        ("wildcard", ""),
        ("wrong-name", "no alternative certificate subject name"),
        ("expired", "expired"),
        ("self-signed", "self-signed"),
    ],
)
async def test_bad_certificate_follows_the_setting_and_is_recorded(
    authority: Authority, contexts: dict[str, ssl.SSLContext], kind: str, problem: str
) -> None:
    async with serving({"/": (ok(), KEEP), "/again": (ok(), KEEP)}, tls=contexts[kind]) as server:
        # when certificates are checked
        (reply,) = await _fetch(config_for(server.port), authority, "/")

        # then a bad one ends the hop before anything is sent
        if problem:
            assert isinstance(reply, Failed)
            assert kind_of(reply) == "tls"
            assert problem in reply.detail
            assert not server.asked
        else:
            assert isinstance(reply, Fetched)
            assert reply.exchange.tls_problem == ""

        # when they are not checked, then the page comes, and the fault is recorded for each page of the connection
        replies = await _fetch(config_for(server.port, "http.tls_certificates_check=false"), authority, "/", "/again")
        for each in replies:
            assert isinstance(each, Fetched)
            assert problem in each.exchange.tls_problem
            assert bool(problem) == bool(each.exchange.tls_problem)
            assert each.exchange.tls_version == "TLSv1.3"


async def test_a_plain_server_behind_https_and_a_tls_server_behind_http_are_failures(
    authority: Authority, contexts: dict[str, ssl.SSLContext]
) -> None:
    async with serving({"/": (ok(), KEEP)}) as plain:
        (reply,) = await _fetch(config_for(plain.port), authority, "/")
    assert kind_of(reply) in ("tls", "timeout")  # the server waits for the end of a head that never comes

    async with serving({"/": (ok(), KEEP)}, tls=contexts["good"]) as secure:
        protocol = HttpProtocol(Setup(config_for(secure.port)))
        reply = await protocol.fetch(Request(url=canonical(f"http://{HOST}/")))
        await protocol.close()
    assert kind_of(reply) in ("reset", "malformed")


async def test_broken_handshake_is_not_reported_as_a_certificate_error(
    authority: Authority, contexts: dict[str, ssl.SSLContext]
) -> None:
    accepted: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        if len(accepted) > 1:
            await writer.start_tls(contexts["good"])
            await reader.readuntil(b"\r\n\r\n")
            writer.write(ok())
            await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    config = config_for(listening.sockets[0].getsockname()[1], "http.tls_certificates_check=false")
    first, second = await _fetch(config, authority, "/", "/")
    listening.close()

    assert kind_of(first) == "tls"
    assert isinstance(second, Fetched), second
    assert second.exchange.tls_problem == ""
    assert len(accepted) == 2


async def test_request_is_repeated_over_http_1_if_the_server_requires_it(authority: Authority) -> None:
    context = authority.sign("downgrade", HOST)
    context.set_alpn_protocols(["h2", "http/1.1"])
    spoken: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2":
                await refuse_http_2(reader, writer)
            while await reader.readuntil(b"\r\n\r\n"):
                spoken.append("1.1")
                writer.write(ok())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def refuse_http_2(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
        writer.write(b"\0\0\0" + b"\4" + bytes(5))  # SETTINGS
        while True:
            head = await reader.readexactly(9)
            await reader.readexactly(int.from_bytes(head[:3], "big"))
            if head[3] == 1:  # HEADERS: answer with RST_STREAM, HTTP_1_1_REQUIRED
                spoken.append("2")
                writer.write(b"\0\0\4" + b"\3\0" + head[5:9] + (0xD).to_bytes(4, "big"))

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    config = config_for(listening.sockets[0].getsockname()[1], "http.http2=true")
    protocol = HttpProtocol(Setup(config), options=[(pycurl.CAINFO, str(authority.file))])
    retry = Retry(RetryBudget(ratio=1.0))
    asked = Request(url=canonical(f"https://{HOST}/"))
    replies = [await retry(asked, protocol.fetch) for _ in range(2)]
    await protocol.close()
    listening.close()

    assert all(isinstance(reply, Fetched) for reply in replies), replies
    assert spoken == ["2", "1.1", "1.1"]


@pytest.fixture(scope="module")
def nginx(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed; it is what speaks HTTP/2 here")
    authority.sign("h2", HOST)
    certificate, key = authority.files("h2")
    folder = tmp_path_factory.mktemp("nginx")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr crit; events {{}}\n"
        f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port} ssl http2;"
        f" ssl_protocols TLSv1.2 TLSv1.3;"
        f' ssl_certificate {certificate}; ssl_certificate_key {key}; location / {{ return 200 "hello"; }} }} }}\n'
    )
    process = subprocess.Popen(["nginx", "-p", str(folder), "-c", "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        _await_port(port)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def _await_port(port: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise TimeoutError("nginx did not start")


@pytest.mark.parametrize(("http2", "version"), [("true", "2"), ("false", "1.1")])
async def test_http_2_is_spoken_where_it_is_on_and_recorded(
    authority: Authority, nginx: int, http2: str, version: str
) -> None:
    (reply,) = await _fetch(config_for(nginx, f"http.http2={http2}"), authority, "/page")

    assert isinstance(reply, Fetched)
    assert reply.exchange.http_version == version
    assert reply.exchange.tls_version == "TLSv1.3"
    assert reply.exchange.body == b"hello"
    assert reply.exchange.response_head.startswith(b"HTTP/1.1 200")
    assert reply.exchange.response_head.endswith(b"\r\n\r\n")
    assert reply.exchange.header("content-length") == "5"
