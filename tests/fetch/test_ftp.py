"""The FTP protocol, against a real server and against misbehaving ones."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.fetch.fakes import FakeResolver
from tests.fetch.ftpserver import ftp_server

from scoter.config import Config, Network, PortRange, Size
from scoter.config.sections.fetch import FetchSettings
from scoter.config.sections.protocols import FtpSettings
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Moved, NotModified, Reason, Reply, Request, Truncation
from scoter.core.url import canonical, join
from scoter.fetch.protocols.ftp import FtpProtocol
from scoter.plugins import Setup

NOON = datetime(2026, 11, 5, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pub").mkdir()
    (tmp_path / "pub" / "a b.txt").write_bytes(b"hello")
    (tmp_path / "pub" / "deep").mkdir()
    os.utime(tmp_path / "pub" / "a b.txt", (NOON.timestamp(),) * 2)
    return tmp_path


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def port(folder: Path, said: list[str]) -> Iterator[int]:
    with ftp_server(folder, said=said) as port:
        yield port


@asynccontextmanager
async def protocol(
    port: int, *, networks: tuple[str, ...] = ("127.0.0.0/8",), **options: Any
) -> AsyncIterator[FtpProtocol]:
    settings = FtpSettings(**{"timeout": timedelta(seconds=5), **options.pop("ftp", {})})
    fetch = FetchSettings(
        allow_networks=tuple(map(Network, networks)),
        allow_ports=(PortRange(port, port),),
        connect_to=options.pop("connect_to", ()),
    )
    made = FtpProtocol(Setup(Config(fetch=fetch, ftp=settings)), **options)
    try:
        yield made
    finally:
        await made.close()


async def fetch(port: int, path: str, since: datetime | None = None, **options: Any) -> Reply:
    async with protocol(port, **options) as made:
        known = "" if since is None else format_datetime(since, usegmt=True)
        return await made.fetch(Request(url=canonical(f"ftp://127.0.0.1:{port}{path}"), last_modified=known))


def fetched(reply: Reply) -> Exchange:
    assert isinstance(reply, Fetched), reply
    return reply.exchange


def links(exchange: Exchange) -> list[str]:
    found = [join(exchange.url, unescape(href)) for href in re.findall('href="([^"]*)"', exchange.body.decode())]
    return [url.target for url in found if url is not None]


async def test_file_has_media_type_and_time(port: int) -> None:
    exchange = fetched(await fetch(port, "/pub/a%20b.txt"))

    assert exchange.body == b"hello"
    assert exchange.headers == (("Content-Type", "text/plain"), ("Last-Modified", "Thu, 05 Nov 2026 12:00:00 GMT"))
    assert (exchange.status, exchange.response_head, exchange.peer) == (200, b"", "127.0.0.1")
    assert exchange.timings.total > 0


async def test_folder_is_a_page_that_links_to_its_entries(port: int, said: list[str]) -> None:
    exchange = fetched(await fetch(port, "/pub/"))

    assert links(exchange) == ["/pub/a%20b.txt", "/pub/deep/"]
    assert exchange.header("content-type") == "text/html; charset=utf-8"
    assert "MLSD" in said
    assert fetched(await fetch(port, links(exchange)[0])).body == b"hello"


async def test_the_root_is_listed_and_an_empty_folder_has_no_links(port: int) -> None:
    assert links(fetched(await fetch(port, "/"))) == ["/pub/"]
    assert links(fetched(await fetch(port, "/pub/deep/"))) == []


async def test_a_server_without_mlsd_is_asked_for_a_list_and_only_once_for_mlsd(folder: Path, said: list[str]) -> None:
    (folder / "pub" / "link").symlink_to("deep")
    with ftp_server(folder, said=said, without=("MLSD",)) as port:
        async with protocol(port) as made:
            replies = [
                await made.fetch(Request(url=canonical(f"ftp://127.0.0.1:{port}{path}"))) for path in ("/pub/", "/")
            ]

    assert [links(fetched(reply)) for reply in replies] == [["/pub/a%20b.txt", "/pub/deep/", "/pub/link"], ["/pub/"]]
    assert said.count("MLSD") == 1


async def test_folder_without_trailing_slash_is_moved(port: int) -> None:
    reply = await fetch(port, "/pub")

    assert isinstance(reply, Moved)
    assert reply.target == canonical(f"ftp://127.0.0.1:{port}/pub/")
    assert reply.permanent


@pytest.mark.parametrize("path", ["/missing.txt", "/missing/", "/missing/deeper.txt"])
async def test_missing_file_is_gone(port: int, path: str) -> None:
    reply = await fetch(port, path)

    assert isinstance(reply, Gone), reply
    assert reply.reason is Reason.NOT_FOUND


@pytest.mark.parametrize(("seconds", "kind"), [(-1, Fetched), (0, NotModified), (1, Fetched)])
async def test_unchanged_remote_file_is_not_modified(port: int, said: list[str], seconds: int, kind: type) -> None:
    reply = await fetch(port, "/pub/a%20b.txt", NOON + timedelta(seconds=seconds))

    assert isinstance(reply, kind)
    assert any(line.startswith("RETR") for line in said) == (kind is Fetched)


async def test_file_over_the_limit_is_truncated(folder: Path, port: int) -> None:
    (folder / "big").write_bytes(b"x" * 300_000)

    exchange = fetched(await fetch(port, "/big", ftp={"content_limit": Size(1_000)}))

    assert (len(exchange.body), exchange.truncation) == (1_000, Truncation.LENGTH)


async def test_listing_beyond_the_limit_is_truncated_between_two_names(folder: Path, port: int) -> None:
    for number in range(100):
        (folder / "pub" / "deep" / f"{number:05d}.txt").write_text("", "utf-8")

    exchange = fetched(await fetch(port, "/pub/deep/", ftp={"content_limit": Size(3_000)}))

    assert exchange.truncation is Truncation.LENGTH
    assert len(exchange.body) <= 3_000
    assert links(exchange)
    assert all(re.fullmatch(r"/pub/deep/[0-9]{5}\.txt", link) for link in links(exchange))


async def test_the_user_of_the_settings_logs_in(port: int, said: list[str]) -> None:
    fetched(await fetch(port, "/pub/", ftp={"username": "user", "password": "secret"}))

    assert "USER user" in said


async def test_wrong_password_is_unauthorized(folder: Path) -> None:
    with ftp_server(folder, auth_failed_timeout=0.01) as port:
        reply = await fetch(port, "/pub/", ftp={"username": "user", "password": "wrong"})

    assert isinstance(reply, Gone)
    assert reply.reason is Reason.UNAUTHORIZED


@pytest.mark.parametrize(("keep", "logins"), [(True, 1), (False, 3)])
async def test_connections_are_kept_when_the_setting_says_so(
    port: int, said: list[str], keep: bool, logins: int
) -> None:
    async with protocol(port, ftp={"keep_connection": keep}) as made:
        for _ in range(3):
            fetched(await made.fetch(Request(url=canonical(f"ftp://127.0.0.1:{port}/pub/a%20b.txt"))))

    assert sum(line.startswith("USER") for line in said) == logins


async def test_a_name_is_resolved_checked_and_connected_to(port: int) -> None:
    resolver = FakeResolver({"files.example": "127.0.0.1"})
    async with protocol(port, resolver=resolver) as made:
        reply = await made.fetch(Request(url=canonical(f"ftp://files.example:{port}/pub/a%20b.txt")))
        missing = await made.fetch(Request(url=canonical(f"ftp://no.example:{port}/")))

    assert fetched(reply).body == b"hello"
    assert isinstance(missing, Failed)
    assert missing.reason is Reason.UNRESOLVED


async def test_a_name_may_be_sent_to_an_address_of_ours_and_its_data_comes_from_there_too(port: int) -> None:
    async with protocol(port, networks=(), connect_to=(f"files.example:{port}=127.0.0.1:{port}",)) as made:
        reply = await made.fetch(Request(url=canonical(f"ftp://files.example:{port}/pub/a%20b.txt")))
        direct = await made.fetch(Request(url=canonical(f"ftp://127.0.0.1:{port}/pub/a%20b.txt")))

    assert fetched(reply).body == b"hello"
    assert isinstance(direct, Failed)
    assert direct.reason is Reason.REFUSED_ADDRESS


async def test_a_private_address_is_refused_at_the_socket_whatever_the_resolver_says(
    port: int, said: list[str]
) -> None:
    async with protocol(port, networks=(), resolver=FakeResolver({"rebound.example": "127.0.0.1"})) as made:
        reply = await made.fetch(Request(url=canonical(f"ftp://rebound.example:{port}/pub/a%20b.txt")))

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.REFUSED_ADDRESS
    assert said == []


@pytest.mark.parametrize("path", ["/a%0d%0aDELE%20x", "/a%0Ab", "/%00", "/a?b"])
async def test_a_path_that_would_be_a_command_is_not_sent(port: int, said: list[str], path: str) -> None:
    reply = await fetch(port, path)

    assert isinstance(reply, Gone)
    assert reply.reason is Reason.BAD_REQUEST
    assert said == []


async def test_ftp_type_suffix_is_part_of_the_name(folder: Path, port: int) -> None:
    (folder / "f;type=a").write_bytes(b"one\ntwo")

    assert fetched(await fetch(port, "/f;type=a")).body == b"one\ntwo"


# Servers that do what no server should.

Script = Callable[[str], str | None]


@asynccontextmanager
async def liar(answer: Script, greeting: str = "220 hello") -> AsyncIterator[int]:
    """A server that answers each command as a script says; none closes the connection."""

    serving: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.append(asyncio.current_task())
        writer.write(f"{greeting}\r\n".encode())
        while line := await reader.readline():
            said = answer(line.decode().strip())
            if said is None:
                break
            writer.write(f"{said}\r\n".encode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*filter(None, serving))  # they end with the client's connections


def usual(line: str, **others: str | None) -> str | None:
    command = line.partition(" ")[0]
    table: dict[str, str | None] = {
        "USER": "331 password",
        "PASS": "230 in",
        "PWD": '257 "/"',
        "TYPE": "200 as you like",
        "CWD": "250 there",
        "MDTM": "550 no",
        "SIZE": "550 no",
        **others,
    }
    return table.get(command, "500 what?")


async def tells(answer: Script, path: str = "/f", **options: Any) -> Reply:
    async with liar(answer) as port:
        return await fetch(port, path, **options)


async def test_a_server_cannot_send_us_to_another_machine_for_the_data() -> None:
    reached: list[bool] = []

    async def data(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.append(True)
        writer.close()

    async with await asyncio.start_server(data, "127.0.0.2", 0) as victim:
        port = victim.sockets[0].getsockname()[1]
        reply = await tells(lambda line: usual(line, PASV=f"227 go (127,0,0,2,{port >> 8},{port & 255})"))

    assert isinstance(reply, Failed)
    assert reached == []


async def test_a_server_cannot_send_us_to_another_service_of_its_machine() -> None:
    reply = await tells(lambda line: usual(line, EPSV="229 go (|||25|)"))

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.REFUSED_ADDRESS
    assert reply.detail == "port 25 belongs to another service and is not used for data"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"USER": "421 too many"}, Reason.BUSY),
        ({"USER": None}, Reason.RESET),
        ({"PASS": "530 no"}, Reason.UNAUTHORIZED),
        ({"EPSV": "500 no", "PASV": "227 nonsense"}, Reason.MALFORMED),
        ({"USER": "banana"}, Reason.TIMEOUT),
    ],
)
async def test_misbehaving_server_yields_a_reply(answers: dict[str, str | None], reason: Reason) -> None:
    reply = await tells(lambda line: usual(line, **answers), ftp={"timeout": timedelta(seconds=1)})

    assert isinstance(reply, Gone | Failed)
    assert reply.reason is reason, reply


async def test_an_endless_greeting_ends() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                writer.write(b"220-hello again\r\n" * 1_000)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        reply = await fetch(port, "/f")

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.detail) == (Reason.MALFORMED, "more than 256 KiB of headers")


async def test_silent_server_times_out() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        reply = await fetch(server.sockets[0].getsockname()[1], "/f", ftp={"timeout": timedelta(seconds=1)})

    assert isinstance(reply, Failed)
    assert reply.reason is Reason.TIMEOUT
