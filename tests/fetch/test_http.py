"""The protocol plug-in for the web, against servers that show what was sent."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scoter import __version__
from scoter.config import load
from scoter.core.reply import Cut, Failed, Fetched, Gone, Moved, NotModified, Reason, Reply, Request
from scoter.core.url import canonical
from scoter.errors import ConfigError, RuleError
from scoter.fetch.protocols import hops
from scoter.fetch.protocols.cookiejar import CookieJar
from scoter.fetch.protocols.credentials import Credential, parse_cookies, parse_credentials
from scoter.fetch.protocols.http import HttpProtocol
from scoter.fetch.protocols.sites import usable_kinds
from scoter.plugins import Setup

Handler = Callable[[bytes], bytes]


def response(body: bytes = b"ok", *fields: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Serve each request head with what the handler makes of it; yield the port and the heads."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                heads.append(head)
                writer.write(handler(head))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1], heads
    finally:
        listening.close()


@asynccontextmanager
async def protocol(port: int, *overrides: str) -> AsyncIterator[HttpProtocol]:
    config = load(
        overrides=["agent.name=testbot", f'fetch.connect_to=["*:*=127.0.0.1:{port}"]', "http.timeout=2s", *overrides]
    )
    made = HttpProtocol(Setup(config))
    try:
        yield made
    finally:
        await made.close()


async def get(port: int, text: str, *overrides: str, **known: object) -> Reply:
    async with protocol(port, *overrides) as http:
        return await http.fetch(Request(url=canonical(text), **known))  # type: ignore[arg-type]


def lines_of(head: bytes) -> list[str]:
    return head.decode("latin-1").split("\r\n")


async def test_the_request_says_who_we_are_and_the_archive_gets_it_as_it_was_sent() -> None:
    settings = ["agent.url=https://example.org/bot", "agent.email=bot@example.org", 'http.headers=["DNT: 1"]']
    async with server(lambda head: response()) as (port, heads):
        reply = await get(port, "http://example.com:8080/a?b", *settings)

    assert isinstance(reply, Fetched)
    assert reply.exchange.request_head == heads[0]
    lines = lines_of(heads[0])
    assert lines[:2] == ["GET /a?b HTTP/1.1", "Host: example.com:8080"]
    assert f"User-Agent: testbot/{__version__} (https://example.org/bot; bot@example.org)" in lines
    assert "From: bot@example.org" in lines
    assert "Accept-Encoding: gzip, deflate, br, zstd" in lines
    assert "DNT: 1" in lines


async def test_a_header_of_ones_own_takes_the_place_of_ours() -> None:
    async with server(lambda head: response()) as (port, heads):
        await get(port, "http://example.com/", 'http.headers=["accept-language: da", "X-A: 1", "X-A: 2"]')

    fields = [line for line in lines_of(heads[0]) if line.lower().startswith(("accept-language", "x-a"))]
    assert fields == ["accept-language: da", "X-A: 1", "X-A: 2"]


async def test_who_we_are_is_not_said_by_a_header() -> None:
    with pytest.raises(ConfigError, match=r"User-Agent.*agent settings"):
        await get(80, "http://example.com/", 'http.headers=["user-agent: x"]')


async def test_the_answer_is_kept_as_it_came() -> None:
    raw = b"HTTP/1.1 200 Fine, thanks\r\nX-Odd:  two  \r\ncontent-length: 2\r\nX-odd: again\r\n\r\nok"
    async with server(lambda head: raw) as (port, _):
        reply = await get(port, "http://example.com/")

    assert isinstance(reply, Fetched)
    exchange = reply.exchange
    assert exchange.response_head + exchange.body == raw
    assert exchange.headers == (("X-Odd", "two"), ("content-length", "2"), ("X-odd", "again"))
    assert (exchange.peer, exchange.http_version, exchange.tls_version) == ("127.0.0.1", "1.1", "")
    assert 0 < exchange.timings.first_byte <= exchange.timings.total


async def test_an_etag_goes_back_byte_for_byte_as_it_came() -> None:
    tag = b'ETag: "caf\xc3\xa9 \xe9"\r\n'
    async with server(lambda head: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + tag + b"\r\nok") as (port, heads):
        first = await get(port, "http://example.com/")
        assert isinstance(first, Fetched)
        again = await get(port, "http://example.com/", etag=first.exchange.header("etag"))

    assert isinstance(again, Fetched)
    assert b'If-None-Match: "caf\xc3\xa9 \xe9"\r\n' in heads[-1]
    assert again.exchange.request_head == heads[-1]


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\0"])
async def test_nothing_that_is_sent_along_becomes_a_field_of_its_own(end: str) -> None:
    odd = f"v{end}X-Other: 1"
    own = (("X-A", odd), (f"X-B{end}X-Other", "1"), ("X-C", end), ("Cookie", odd))
    async with server(lambda head: response()) as (port, heads):
        reply = await get(port, "http://example.com/", etag=odd, headers=own)

    assert isinstance(reply, Fetched)
    assert reply.exchange.request_head == heads[0]
    gap = " " * len(end)
    told = [line for line in heads[0].decode().splitlines() if line.startswith(("Cookie", "If-", "X-"))]
    assert told == [
        f"Cookie: v{gap}X-Other: 1",
        f"If-None-Match: v{gap}X-Other: 1",
        f"X-A: v{gap}X-Other: 1",
        f"X-B{gap}X-Other: 1",
        "X-C:",
    ]


async def test_what_is_known_of_a_page_is_sent_along() -> None:
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    async with server(lambda head: response(b"", status="304 Not Modified")) as (port, heads):
        reply = await get(port, "http://example.com/", modified_since=moment, etag='"v1"')
        off = "http.enable_if_modified_since_header=false"
        await get(port, "http://example.com/", off, modified_since=moment, etag='"v1"')

    assert isinstance(reply, NotModified)
    assert "If-Modified-Since: Sun, 01 Mar 2026 12:00:00 GMT" in lines_of(heads[0])
    assert 'If-None-Match: "v1"' in lines_of(heads[0])
    assert b"If-" not in heads[1]


async def test_a_body_over_the_limit_is_cut_and_marked() -> None:
    async with server(lambda head: response(b"x" * 100_000)) as (port, _):
        cut = await get(port, "http://example.com/", "fetch.content_limit=50000")
        whole = await get(port, "http://example.com/", "fetch.content_limit=100000")
        unlimited = await get(port, "http://example.com/", "fetch.content_limit=off")

    assert isinstance(cut, Fetched)
    assert (len(cut.exchange.body), cut.exchange.cut) == (50_000, Cut.LENGTH)
    for reply in (whole, unlimited):
        assert isinstance(reply, Fetched)
        assert (len(reply.exchange.body), reply.exchange.cut) == (100_000, Cut.NOT)


async def test_a_robots_txt_is_not_cut_by_the_limit_for_pages() -> None:
    async with server(lambda head: response(b"x" * 100_000)) as (port, _):
        rules = await get(port, "http://example.com/robots.txt", "fetch.content_limit=50000")
        page = await get(port, "http://example.com/about/robots.txt", "fetch.content_limit=50000")

    assert isinstance(rules, Fetched)
    assert isinstance(page, Fetched)
    assert (len(rules.exchange.body), rules.exchange.cut) == (100_000, Cut.NOT)
    assert page.exchange.cut is Cut.LENGTH


async def test_bodies_wait_for_each_other_when_the_budget_is_used_up() -> None:
    async with (
        server(lambda head: response(b"x" * 400_000)) as (port, _),
        protocol(port, "fetch.body_budget=1MiB", "fetch.content_limit=300KB") as http,
    ):
        urls = [canonical(f"http://h{number}.example/") for number in range(30)]
        replies = await asyncio.wait_for(asyncio.gather(*(http.fetch(Request(url=url)) for url in urls)), 20)

    assert all(isinstance(reply, Fetched) and len(reply.exchange.body) == 300_000 for reply in replies)


async def test_cookies_are_sent_to_their_hosts_only(tmp_path: Path) -> None:
    (tmp_path / "cookies.txt").write_text("# cookies\nexample.com\tlang=en; x=1\n")
    setting = f'agent.host_cookie_file="{tmp_path}/cookies.txt"'
    async with server(lambda head: response()) as (port, heads):
        await get(port, "http://example.com/", setting)
        await get(port, "http://www.example.com/", setting)
        await get(port, "http://example.com/", setting, "http.enable_cookie_header=false")

    assert ["Cookie: lang=en; x=1" in lines_of(head) for head in heads] == [True, False, False]


@pytest.mark.parametrize(("setting", "expected"), [("true", True), ("false", False)])
async def test_cookies_that_servers_set_are_kept_when_wanted(setting: str, expected: bool) -> None:
    async with (
        server(lambda head: response(b"", "Set-Cookie: s=1")) as (port, heads),
        protocol(port, f"http.keep_cookies={setting}") as http,
    ):
        for host in ("a.test", "a.test", "b.test"):
            await http.fetch(Request(url=canonical(f"http://{host}/")))

    assert ["Cookie: s=1" in lines_of(head) for head in heads] == [False, expected, False]


async def test_all_cookies_of_a_request_go_in_one_field_and_of_ones_own_the_closest_counts(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    file.write_text("a.example.com\tconsent=yes\n")
    settings = (f"agent.host_cookie_file={file}", 'http.headers=["Cookie: all=1"]', "http.keep_cookies=true")
    own = (("cookie", "mine=1"), ("X-A", "1"))
    async with (
        server(lambda head: response(b"ok", "Set-Cookie: id=7")) as (port, heads),
        protocol(port, *settings) as http,
    ):
        for text, more in (("a", ()), ("a", ()), ("a", own), ("b", ()), ("b", ())):
            reply = await http.fetch(Request(url=canonical(f"http://{text}.example.com/"), headers=more))

    cookies = [[line for line in lines_of(head) if line.lower().startswith("cookie")] for head in heads]
    assert cookies == [
        ["Cookie: consent=yes"],
        ["Cookie: id=7; consent=yes"],
        ["Cookie: id=7; mine=1"],
        ["Cookie: all=1"],
        ["Cookie: id=7; all=1"],
    ]
    assert "X-A: 1" in lines_of(heads[2])
    assert isinstance(reply, Fetched)
    assert reply.exchange.request_head == heads[-1].replace(b"id=7; ", b"")


async def test_the_cookies_of_every_answer_count_towards_what_the_jar_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops, "CookieJar", lambda: CookieJar(most=2))
    async with (
        server(lambda head: response(b"", "Set-Cookie: s=1")) as (port, heads),
        protocol(port, "http.keep_cookies=true") as http,
    ):
        for host in ("a.test", "a.test", "a.test"):
            await http.fetch(Request(url=canonical(f"http://{host}/")))

    assert ["Cookie: s=1" in lines_of(head) for head in heads] == [False, True, False]


def asks_for(kind: str) -> Handler:
    def handler(head: bytes) -> bytes:
        if b"Authorization:" in head and (kind != "Digest" or b"response=" in head):
            return response()
        challenge = 'realm="r", nonce="n", qop="auth"' if kind == "Digest" else 'realm="r"'
        return response(b"", f"WWW-Authenticate: {kind} {challenge}", status="401 Unauthorized")

    return handler


@pytest.mark.parametrize(
    ("line", "kind", "sent"),
    [
        ("example.com basic joe s3cret", "Basic", "Authorization: Basic " + base64.b64encode(b"joe:s3cret").decode()),
        ("*.com bearer t0ken", "Bearer", "Authorization: Bearer t0ken"),
        ("example.com digest joe s3cret", "Digest", 'Authorization: Digest username="joe"'),
        ("example.com basic jö pä", "Basic", "Authorization: Basic " + base64.b64encode("jö:pä".encode()).decode()),
    ],
)
async def test_credentials_are_sent_to_their_hosts_and_kept_out_of_the_archive(
    tmp_path: Path, line: str, kind: str, sent: str
) -> None:
    (tmp_path / "auth.txt").write_text(line + "\n")
    setting = f'http.auth_file="{tmp_path}/auth.txt"'
    async with server(asks_for(kind)) as (port, heads):
        reply = await get(port, "http://example.com/", setting)
        await get(port, "http://example.org/", setting)

    assert isinstance(reply, Fetched)
    assert any(text.startswith(sent) for head in heads for text in lines_of(head))
    assert b"Authorization" not in heads[-1]
    assert b"Authorization" not in reply.exchange.request_head


async def test_a_host_without_credentials_is_asked_after_one_that_has_some_and_gets_none(tmp_path: Path) -> None:
    (tmp_path / "auth.txt").write_text("a.test basic joe s3cret\nb.test bearer t0ken\n")
    async with (
        server(lambda head: response()) as (port, heads),
        protocol(port, f'http.auth_file="{tmp_path}/auth.txt"', "fetch.threads=1") as http,
    ):
        hosts = ("a.test", "c.test", "b.test", "c.test", "a.test", "b.test")
        replies = [await http.fetch(Request(url=canonical(f"http://{host}/"))) for host in hosts]

    assert all(isinstance(reply, Fetched) for reply in replies)
    basic = "Authorization: Basic " + base64.b64encode(b"joe:s3cret").decode()
    sent = [[line for line in lines_of(head) if line.startswith("Authorization")] for head in heads]
    assert sent == [[basic], [], ["Authorization: Bearer t0ken"], [], [basic], ["Authorization: Bearer t0ken"]]


async def test_a_refused_address_is_not_connected_to() -> None:
    async with server(lambda head: response()) as (port, heads):
        literal = await get(port, f"http://127.0.0.1:{port}/", f"fetch.allow_ports=[{port}]")

    assert isinstance(literal, Failed)
    assert (literal.reason, literal.blames_host) == (Reason.REFUSED_ADDRESS, False)
    assert heads == []


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    from scoter.fetch.reach.resolve import FakeResolver

    async with server(lambda head: response()) as (port, heads):
        config = load(
            overrides=["agent.name=testbot", "fetch.allow_networks=127.0.0.0/8", f"fetch.allow_ports=[{port}]"]
        )
        http = HttpProtocol(Setup(config), resolver=FakeResolver({"two.test": "127.0.0.9 127.0.0.1"}))
        reply = await http.fetch(Request(url=canonical(f"http://two.test:{port}/")))
        await http.close()

    assert isinstance(reply, Fetched)
    assert reply.exchange.peer == "127.0.0.1"
    assert len(heads) == 1


async def test_a_name_without_an_address_and_a_port_without_a_server_are_told() -> None:
    from scoter.fetch.reach.resolve import FakeResolver

    config = load(overrides=["agent.name=testbot", "fetch.allow_networks=127.0.0.0/8", "fetch.allow_ports=[1]"])
    http = HttpProtocol(Setup(config), resolver=FakeResolver({"closed.test": "127.0.0.1", "private.test": "10.0.0.1"}))
    unknown = await http.fetch(Request(url=canonical("http://nobody.test:1/")))
    closed = await http.fetch(Request(url=canonical("http://closed.test:1/")))
    await http.close()

    assert isinstance(unknown, Failed)
    assert unknown.reason is Reason.UNRESOLVED
    assert isinstance(closed, Failed)
    assert closed.reason is Reason.UNREACHABLE


async def test_a_download_over_the_time_limit_is_cut_and_a_silent_one_fails() -> None:
    promised = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome"
    async with server(lambda head: promised) as (port, _):
        late = await get(port, "http://example.com/", "http.time_limit=300ms", "http.timeout=5s")
        silent = await get(port, "http://example.com/", "http.timeout=1s")
        kept = await get(port, "http://example.com/", "http.timeout=1s", "http.partial_truncated=true")
    async with server(lambda head: b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n") as (port, _):
        hinted = await get(port, "http://example.com/", "http.time_limit=300ms", "http.timeout=5s")

    assert isinstance(late, Fetched)
    assert (late.exchange.body, late.exchange.cut) == (b"some", Cut.TIME)
    assert isinstance(silent, Failed)
    assert silent.reason is Reason.TIMEOUT
    assert isinstance(kept, Fetched)
    assert kept.exchange.cut is Cut.TIME
    assert isinstance(hinted, Failed)
    assert hinted.reason is Reason.TIMEOUT


async def test_what_a_head_says_counts_also_when_its_body_falls_silent() -> None:
    answers = {
        "moved": b"HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 1000\r\n\r\nsome",
        "missing": b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n",
        "busy": b"HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 1000\r\n\r\nsome",
        "early": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
    }
    async with (
        server(lambda head: answers[head.split(b" ")[1][1:].decode()]) as (port, _),
        asyncio.TaskGroup() as tasks,
    ):
        asked = {
            name: tasks.create_task(get(port, f"http://{name}.example.com/{name}", "http.timeout=1s"))
            for name in answers
        }
        replies = {name: await task for name, task in asked.items()}

    moved, missing, busy, early = replies.values()
    assert isinstance(moved, Moved)
    assert moved.target == canonical("http://moved.example.com/there")
    assert isinstance(missing, Gone)
    assert missing.reason is Reason.NOT_FOUND
    assert isinstance(busy, Failed)
    assert (busy.reason, busy.retry_after) == (Reason.BUSY, timedelta(minutes=1))
    assert isinstance(early, Failed)
    assert early.reason is Reason.TIMEOUT


async def test_a_rotated_name_comes_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "agents.txt").write_text("onebot/1\ntwobot/2\n")
    settings = ["agent.rotate=true", f'agent.rotate_file="{tmp_path}/agents.txt"']
    async with server(lambda head: response()) as (port, heads), protocol(port, *settings) as http:
        for _ in range(30):
            await http.fetch(Request(url=canonical("http://example.com/")))

    sent = {line for head in heads for line in lines_of(head) if line.startswith("User-Agent")}
    assert sent == {"User-Agent: onebot/1", "User-Agent: twobot/2"}


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ([], "agent.name: is not set"),
        (["agent.name=x", "agent.rotate=true"], "agent.rotate_file: is empty"),
        (["agent.name=x", "http.auth_file=/no/such/file"], "http.auth_file: /no/such/file cannot be read"),
        (["agent.name=x", "http.proxy_host=no-such-host.invalid"], "http.proxy_host: no-such-host.invalid cannot"),
        (["agent.name=x", "fetch.connect_to=a.test:80=nowhere:80"], "connect_to"),
    ],
)
def test_settings_that_cannot_work_are_told(overrides: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        HttpProtocol(Setup(load(overrides=overrides)))


@pytest.mark.parametrize(
    "line",
    [
        "example.com",
        "example.com magic a b",
        "example.com basic joe",
        "example.com bearer",
        "https://example.com basic joe s3cret",
        "example.com:8080 basic joe s3cret",
        "example.com/private basic joe s3cret",
        "joe@example.com basic joe s3cret",
        "a.*.com basic joe s3cret",
    ],
)
def test_a_bad_line_of_credentials_is_told_with_its_number(line: str) -> None:
    with pytest.raises(RuleError, match=r"^auth\.txt:2: "):
        parse_credentials(["# who", line], "auth.txt")


def test_a_kind_of_authentication_that_libcurl_does_not_have_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "auth.txt"
    file.write_text("example.com ntlm joe s3cret\n")

    with pytest.raises(RuleError, match=r"^auth\.txt:1: 'ntlm' is not built into this libcurl"):
        parse_credentials(["example.com ntlm joe s3cret"], "auth.txt", can=("basic",))
    if "ntlm" in usable_kinds():
        HttpProtocol(Setup(load(overrides=["agent.name=testbot", f"http.auth_file={file}"])))
    else:
        with pytest.raises(RuleError, match="'ntlm' is not built into"):
            HttpProtocol(Setup(load(overrides=["agent.name=testbot", f"http.auth_file={file}"])))


@pytest.mark.skipif("ntlm" not in usable_kinds(), reason="this libcurl has no NTLM")
async def test_ntlm_answers_the_challenge_of_a_server(tmp_path: Path) -> None:
    # MS-NLMP 2.2.1.2: no target, NTLM and Unicode, eight bytes to be answered.
    challenge = b"NTLMSSP\0" + struct.pack("<IHHII", 2, 0, 0, 48, 0x8201) + b"01234567" + bytes(8)
    challenge += struct.pack("<HHI", 0, 0, 48)

    def asked(head: bytes) -> bytes:
        said = next((line for line in lines_of(head) if line.startswith("Authorization: NTLM ")), "")
        if not said or base64.b64decode(said[20:])[8] == 1:
            offered = f"NTLM {base64.b64encode(challenge).decode()}" if said else "NTLM"
            return response(b"", f"WWW-Authenticate: {offered}", status="401 Unauthorized")
        return response(b"for joe")

    (tmp_path / "auth.txt").write_text("example.com ntlm WORK\\joe s3cret\n")
    async with server(asked) as (port, _), protocol(port, f"http.auth_file={tmp_path}/auth.txt") as http:
        reply = await http.fetch(Request(url=canonical("http://example.com/")))

    assert isinstance(reply, Fetched)
    assert reply.exchange.body == b"for joe"
    assert b"NTLM" not in reply.exchange.request_head


def test_a_bad_line_of_cookies_is_told_with_its_number() -> None:
    with pytest.raises(RuleError, match=r"^cookies\.txt:1: "):
        parse_cookies(["example.com lang=en"], "cookies.txt")


def test_hosts_of_credentials_and_cookies_are_found_as_they_stand_in_urls() -> None:
    names = ("BÜCHER.test", "*.müller.test", "[2606:2800:0:0::1]", "2606:2800::2", "192.0.43.8")
    credentials = parse_credentials([f"{name} bearer {name}" for name in names], "auth.txt")
    cookies = parse_cookies([f"{name}\t{name}" for name in names], "cookies.txt")

    for name, text in zip(
        names, ("bücher.test", "www.müller.test", "[2606:2800::1]", "[2606:2800::2]", "192.0.43.8"), strict=True
    ):
        host = canonical(f"http://{text}/").host
        assert (credentials.get(host), cookies.get(host)) == (Credential("bearer", "", name), name)


def test_the_closest_entry_counts_and_no_secret_is_shown() -> None:
    found = parse_credentials(["*.example.com basic wide w", "a.example.com basic own o"], "auth.txt")

    assert found.get("a.example.com") == Credential("basic", "own", "o")
    assert found.get("b.example.com") == Credential("basic", "wide", "w")
    assert found.get("example.com") == Credential("basic", "wide", "w")
    assert found.get("example.org") is None
    assert "'o'" not in repr(found.get("a.example.com"))


async def test_a_cancellation_at_the_moment_of_the_answer_leaves_the_transport_sound() -> None:
    async with server(lambda head: response()) as (port, _), protocol(port) as http:
        for pause in range(60):
            asking = asyncio.create_task(http.fetch(Request(url=canonical("http://example.com/"))))
            await asyncio.sleep(pause / 20_000)
            asking.cancel()
            (ended,) = await asyncio.gather(asking, return_exceptions=True)
            assert isinstance(ended, asyncio.CancelledError | Fetched)

        assert isinstance(await http.fetch(Request(url=canonical("http://example.com/"))), Fetched)


async def test_a_transfer_that_ends_after_it_was_cancelled_is_taken_back_once() -> None:
    async with server(lambda head: response()) as (port, _), protocol(port) as http:
        await http.fetch(Request(url=canonical("http://example.com/")))
        loop = http._hops._loop()
        asking = asyncio.create_task(http.fetch(Request(url=canonical("http://example.com/"))))
        await asyncio.sleep(0)
        while not loop._busy:
            await asyncio.sleep(0)
        (curl,) = loop._busy
        asking.cancel()  # the task has not run yet when libcurl says that it is done
        loop.end(curl, 0, "")

        (ended,) = await asyncio.gather(asking, return_exceptions=True)

        assert isinstance(ended, asyncio.CancelledError)
        assert isinstance(await http.fetch(Request(url=canonical("http://example.com/"))), Fetched)
