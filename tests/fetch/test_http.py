"""The HTTP protocol plug-in, against servers that record what was sent."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from tests.fetch.http_servers import get, lines_of, protocol, response, server

from scoter import __version__
from scoter.config import load
from scoter.core.reply import Failed, Fetched, Gone, Moved, NotModified, Reason, Request, Truncation, header
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.fetch.filters import Retry, RetryBudget
from scoter.fetch.protocols.http import HttpProtocol
from scoter.plugins import Setup


async def test_request_head_identifies_us_and_is_archived_as_sent() -> None:
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


async def test_configured_header_replaces_the_default() -> None:
    async with server(lambda head: response()) as (port, heads):
        await get(port, "http://example.com/", 'http.headers=["accept-language: da", "X-A: 1", "X-A: 2"]')

    fields = [line for line in lines_of(heads[0]) if line.lower().startswith(("accept-language", "x-a"))]
    assert fields == ["accept-language: da", "X-A: 1", "X-A: 2"]


async def test_user_agent_header_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"must not set User-Agent"):
        await get(80, "http://example.com/", 'http.headers=["user-agent: x"]')


async def test_response_is_kept_unchanged() -> None:
    raw = b"HTTP/1.1 200 Fine, thanks\r\nX-Odd:  two  \r\ncontent-length: 2\r\nX-odd: again\r\n\r\nok"
    async with server(lambda head: raw) as (port, _):
        reply = await get(port, "http://example.com/")

    assert isinstance(reply, Fetched)
    exchange = reply.exchange
    assert exchange.response_head + exchange.body == raw
    assert exchange.headers == (("X-Odd", "two"), ("content-length", "2"), ("X-odd", "again"))
    assert (exchange.peer, exchange.http_version, exchange.tls_version) == ("127.0.0.1", "1.1", "")
    assert 0 < exchange.timings.first_byte <= exchange.timings.total


async def test_etag_is_sent_back_byte_for_byte() -> None:
    tag = b'ETag: "caf\xc3\xa9 \xe9"\r\n'
    async with server(lambda head: b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + tag + b"\r\nok") as (port, heads):
        first = await get(port, "http://example.com/")
        assert isinstance(first, Fetched)
        again = await get(port, "http://example.com/", etag=first.exchange.header("etag"))

    assert isinstance(again, Fetched)
    assert b'If-None-Match: "caf\xc3\xa9 \xe9"\r\n' in heads[-1]
    assert again.exchange.request_head == heads[-1]


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\0"])
async def test_line_breaks_in_values_add_no_fields(end: str) -> None:
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


async def test_known_page_is_requested_conditionally() -> None:
    known = {"last_modified": "Sunday, 06-Nov-94 08:49:37 GMT", "etag": 'W/"v1"'}
    async with server(lambda head: response(b"", status="304 Not Modified")) as (port, heads):
        reply = await get(port, "http://example.com/", **known)
        off = await get(port, "http://example.com/", "http.enable_if_modified_since_header=false", **known)

    assert isinstance(reply, NotModified)
    assert "If-Modified-Since: Sunday, 06-Nov-94 08:49:37 GMT" in lines_of(heads[0])
    assert 'If-None-Match: W/"v1"' in lines_of(heads[0])
    assert b"If-" not in heads[1]
    assert isinstance(off, Failed)
    assert (off.reason, off.detail) == (Reason.OTHER_STATUS, "HTTP 304 to an unconditional request")


@pytest.mark.parametrize(
    "framing",
    [
        "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
        "Content-Length: many\r\n\r\nhello",
        "Content-Length: 3\r\nContent-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: unknown\r\n\r\nhello",
    ],
)
async def test_target_of_a_redirect_is_taken_even_if_its_body_is_framed_wrongly(framing: str) -> None:
    async with server(lambda head: f"HTTP/1.1 301 Moved\r\nLocation: /new\r\n{framing}".encode()) as (port, _):
        moved = await get(port, "http://example.com/")
    async with server(lambda head: f"HTTP/1.1 301 Moved\r\n{framing}".encode()) as (port, _):
        lost = await get(port, "http://example.com/")
    async with server(lambda head: f"HTTP/1.1 200 OK\r\nLocation: /new\r\n{framing}".encode()) as (port, _):
        page = await get(port, "http://example.com/")
    unknown = "Content-Length; 0\r\n\r\n"  # a line that is not a field
    async with server(lambda head: f"HTTP/1.1 304 Same\r\nLocation: /new\r\n{unknown}".encode()) as (port, _):
        same = await get(port, "http://example.com/")

    assert isinstance(moved, Moved)
    assert moved.target == canonical("http://example.com/new")
    for reply in (lost, page, same):
        assert isinstance(reply, Failed)
        assert reply.reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: abc",
        "Content-Length: 3\r\nContent-Length: 5",
        "Transfer-Encoding: unknown",
        "Content-Length: -1\r\nTransfer-Encoding: chunked",
    ],
)
async def test_target_of_a_redirect_is_taken_even_after_an_invalid_length(framing: str) -> None:
    said = f"HTTP/1.1 301 Moved\r\n{framing}\r\nX: 1\r\nLocation: /new\r\nSet-Cookie: a=b\r\n\r\nhello"
    async with server(lambda head: said.encode()) as (port, heads), protocol(port) as http:
        retry, asked = Retry(RetryBudget(ratio=1.0)), Request(url=canonical("http://example.com/"))

        reply = await retry(asked, http.fetch)

        assert isinstance(reply, Moved)
        assert reply.target == canonical("http://example.com/new")
        assert (reply.exchange.truncation, reply.exchange.body) == (Truncation.UNSPECIFIED, b"")
        assert header(reply.exchange.headers, "Set-Cookie") == "a=b"
        assert len(heads) == 2
        assert heads[0] == heads[1]


async def test_page_that_replaces_a_redirect_of_invalid_length_is_fetched_whole() -> None:
    said = [b"HTTP/1.1 301 Moved\r\nContent-Length: abc\r\nLocation: /new\r\n\r\n", response(b"hello")]
    async with server(lambda head: said[min(len(heads) - 1, 1)]) as (port, heads), protocol(port) as http:
        asked = Request(url=canonical("http://example.com/"))
        retry = Retry(RetryBudget(ratio=1.0))

        first, second = await retry(asked, http.fetch), await retry(asked, http.fetch)

        assert isinstance(first, Failed)
        assert first.reason is Reason.MALFORMED
        assert isinstance(second, Fetched)
        assert second.exchange.body == b"hello"


async def test_body_over_the_limit_is_truncated() -> None:
    async with server(lambda head: response(b"x" * 100_000)) as (port, _):
        cut = await get(port, "http://example.com/", "fetch.content_limit=50000")
        whole = await get(port, "http://example.com/", "fetch.content_limit=100000")
        unlimited = await get(port, "http://example.com/", "fetch.content_limit=off")

    assert isinstance(cut, Fetched)
    assert (len(cut.exchange.body), cut.exchange.truncation) == (50_000, Truncation.LENGTH)
    for reply in (whole, unlimited):
        assert isinstance(reply, Fetched)
        assert (len(reply.exchange.body), reply.exchange.truncation) == (100_000, Truncation.NOT)


async def test_first_bytes_of_a_body_are_requested_and_no_more_are_read() -> None:
    def answer(head: bytes) -> bytes:
        if head.startswith(b"GET /deaf "):
            return response(b"x" * 100_000)
        return (
            b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-999/5000\r\nContent-Length: 1000\r\n\r\n"
            + b"x" * 1000
        )

    async with server(answer) as (port, heads):
        part = await get(port, "http://example.com/", first_bytes=1000)
        deaf = await get(port, "http://example.com/deaf", first_bytes=1000)
        await get(port, "http://example.com/whole")

    assert isinstance(part, Fetched)
    assert isinstance(deaf, Fetched)
    assert (len(part.exchange.body), part.exchange.truncation) == (1000, Truncation.UNSPECIFIED)
    assert (len(deaf.exchange.body), deaf.exchange.truncation) == (1000, Truncation.LENGTH)
    assert [b"Range: bytes=0-999\r\n" in head for head in heads] == [True, True, False]


async def test_page_limit_does_not_truncate_robots_txt() -> None:
    async with server(lambda head: response(b"x" * 100_000)) as (port, _):
        rules = await get(port, "http://example.com/robots.txt", "fetch.content_limit=50000")
        page = await get(port, "http://example.com/about/robots.txt", "fetch.content_limit=50000")

    assert isinstance(rules, Fetched)
    assert isinstance(page, Fetched)
    assert (len(rules.exchange.body), rules.exchange.truncation) == (100_000, Truncation.NOT)
    assert page.exchange.truncation is Truncation.LENGTH


async def test_bodies_wait_for_each_other_when_the_budget_is_used_up() -> None:
    async with (
        server(lambda head: response(b"x" * 400_000)) as (port, _),
        protocol(port, "fetch.body_budget=1MiB", "fetch.content_limit=300KB") as http,
    ):
        urls = [canonical(f"http://h{number}.example/") for number in range(30)]
        replies = await asyncio.wait_for(asyncio.gather(*(http.fetch(Request(url=url)) for url in urls)), 20)

    assert all(isinstance(reply, Fetched) and len(reply.exchange.body) == 300_000 for reply in replies)


async def test_a_refused_address_is_not_connected_to() -> None:
    async with server(lambda head: response()) as (port, heads):
        literal = await get(port, f"http://127.0.0.1:{port}/", f"fetch.allow_ports=[{port}]")

    assert isinstance(literal, Failed)
    assert (literal.reason, literal.blames_host) == (Reason.REFUSED_ADDRESS, False)
    assert heads == []


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    from tests.fetch.fakes import FakeResolver

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


async def test_unresolved_name_and_closed_port_are_failures() -> None:
    from tests.fetch.fakes import FakeResolver

    config = load(overrides=["agent.name=testbot", "fetch.allow_networks=127.0.0.0/8", "fetch.allow_ports=[1]"])
    http = HttpProtocol(Setup(config), resolver=FakeResolver({"closed.test": "127.0.0.1", "private.test": "10.0.0.1"}))
    unknown = await http.fetch(Request(url=canonical("http://nobody.test:1/")))
    closed = await http.fetch(Request(url=canonical("http://closed.test:1/")))
    await http.close()

    assert isinstance(unknown, Failed)
    assert unknown.reason is Reason.UNRESOLVED
    assert isinstance(closed, Failed)
    assert closed.reason is Reason.UNREACHABLE
    assert "closed.test" in closed.detail
    assert " ms" not in closed.detail  # so that the failures of two crawls compare equal


async def test_slow_download_is_truncated_and_silent_one_fails() -> None:
    promised = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nsome"
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
    async with server(lambda head: hints if b"/hinted" in head else promised) as (port, _):
        late, silent, kept, hinted = await asyncio.gather(
            get(port, "http://example.com/", "http.time_limit=300ms", "http.timeout=5s"),
            get(port, "http://example.com/", "http.timeout=1s"),
            get(port, "http://example.com/", "http.timeout=1s", "http.partial_truncated=true"),
            get(port, "http://example.com/hinted", "http.time_limit=300ms", "http.timeout=1s"),
        )

    assert isinstance(late, Fetched)
    assert (late.exchange.body, late.exchange.truncation) == (b"some", Truncation.TIME)
    assert isinstance(silent, Failed)
    assert silent.reason is Reason.TIMEOUT
    assert isinstance(kept, Fetched)
    assert kept.exchange.truncation is Truncation.TIME
    assert isinstance(hinted, Failed)
    assert hinted.reason is Reason.TIMEOUT


async def test_head_of_a_redirect_or_error_counts_if_its_body_stalls() -> None:
    answers = {
        "moved": b"HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 1000\r\n\r\nsome",
        "missing": b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n",
        "busy": b"HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 1000\r\n\r\nsome",
        "early": b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
    }
    async with (
        server(lambda head: answers.get(head.split(b" ")[1][1:].decode(), response())) as (port, _),
        protocol(port, "http.timeout=1s") as http,
        asyncio.TaskGroup() as tasks,
    ):
        await http.fetch(Request(url=canonical("http://example.com/")))  # the slow start of libcurl is behind us
        asked = {
            name: tasks.create_task(http.fetch(Request(url=canonical(f"http://{name}.example.com/{name}"))))
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


async def test_rotated_user_agent_comes_from_the_file(tmp_path: Path) -> None:
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
        (["agent.name=x", "agent.rotate=true"], "agent.rotate_file: is not set"),
        (["agent.name=x", "http.auth_file=/no/such/file"], "http.auth_file: /no/such/file cannot be read"),
        (["agent.name=x", "http.proxy_host=no-such-host.invalid"], "http.proxy_host: no-such-host.invalid cannot"),
        (["agent.name=x", "fetch.connect_to=a.test:80=nowhere:80"], "connect_to"),
    ],
)
def test_invalid_settings_are_configuration_errors(overrides: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        HttpProtocol(Setup(load(overrides=overrides)))


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
        loop = http._transport._loop()
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
