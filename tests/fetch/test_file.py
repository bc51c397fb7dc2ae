"""The protocol for local files: link pages, contents, redirects, and what must not be opened."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from scoter.config import Config, Size, load
from scoter.config.sections.protocols import FileSettings
from scoter.core.reply import Exchange, Failed, Fetched, Gone, Moved, NotModified, Reason, Reply, Request, Truncation
from scoter.core.url import Url, canonical, join
from scoter.fetch.fetcher import Fetcher
from scoter.fetch.protocols import file as module
from scoter.fetch.protocols.file import FileProtocol
from scoter.fetch.protocols.listings import path_text
from scoter.plugins import Setup

NOON = datetime(2026, 11, 5, 12, 0, 0, tzinfo=UTC)


def url_of(path: Path) -> Url:
    """Return the file: URL of a path."""
    return canonical(f"file://{path_text(os.fsencode(path))}")


async def fetch(url: Url | str, since: datetime | None = None, *, settings: FileSettings | None = None) -> Reply:
    protocol = FileProtocol(Setup(Config(file=settings or FileSettings())))
    try:
        where = url if isinstance(url, Url) else canonical(url)
        return await protocol.fetch(
            Request(url=where, last_modified="" if since is None else format_datetime(since, usegmt=True))
        )
    finally:
        await protocol.close()


def fetched(reply: Reply) -> Exchange:
    assert isinstance(reply, Fetched), reply
    return reply.exchange


def links(exchange: Exchange) -> list[str]:
    found = [join(exchange.url, unescape(href)) for href in re.findall('href="([^"]*)"', exchange.body.decode())]
    return [url.text for url in found if url is not None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def test_file_has_media_type_length_and_time(folder: Path) -> None:
    page = folder / "page.html"
    page.write_bytes(b"<p>hello")
    os.utime(page, (NOON.timestamp(), NOON.timestamp()))

    exchange = fetched(await fetch(url_of(page)))

    assert exchange.body == b"<p>hello"
    assert exchange.headers == (
        ("Content-Type", "text/html"),
        ("Content-Length", "8"),
        ("Last-Modified", "Thu, 05 Nov 2026 12:00:00 GMT"),
    )
    # no head: the archive keeps it as a resource, not as an answer of a server
    assert (exchange.status, exchange.response_head, exchange.request_head) == (200, b"", b"")


@pytest.mark.parametrize("seconds", [10**12, -(10**12), 10**18])
async def test_file_with_time_out_of_range_has_no_last_modified(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    (folder / "page.html").write_bytes(b"<p>hello")
    looked_at = os.stat

    def stat(path: Any, **options: Any) -> os.stat_result:
        facts = looked_at(path, **options)
        return os.stat_result((*facts[:8], seconds, facts[9]), {"st_mtime": seconds})

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", stat)  # not every file system keeps such a time
        reply = await fetch(url_of(folder / "page.html"), NOON)

    exchange = fetched(reply)
    assert (exchange.body, exchange.header("Last-Modified")) == (b"<p>hello", "")


async def test_folder_is_a_page_that_links_to_its_entries_and_its_parent(folder: Path) -> None:
    for name in ("b.txt", "a & <b>.txt", "100%.txt", "c#d?e.txt", "ü.txt"):
        (folder / name).write_text("", "utf-8")
    (folder / "sub").mkdir()
    (folder / os.fsdecode(b"latin\xfc.txt")).write_text("", "utf-8")

    exchange = fetched(await fetch(f"{url_of(folder)}/"))

    base = f"{url_of(folder)}/"
    assert links(exchange) == [
        f"{url_of(folder.parent)}/",
        f"{base}100%25.txt",
        f"{base}a%20&%20%3Cb%3E.txt",
        f"{base}b.txt",
        f"{base}c%23d%3Fe.txt",
        f"{base}latin%FC.txt",
        f"{base}sub/",
        f"{base}%C3%BC.txt",
    ]
    assert exchange.header("content-type") == "text/html; charset=utf-8"
    assert b"a &amp; &lt;b&gt;.txt</a>" in exchange.body
    for link in links(exchange)[1:]:
        fetched(await fetch(link))


async def test_the_link_to_the_folder_above_can_be_left_out(folder: Path) -> None:
    (folder / "a").write_text("", "utf-8")

    exchange = fetched(await fetch(f"{url_of(folder)}/", settings=FileSettings(crawl_parent=False)))

    assert links(exchange) == [f"{url_of(folder)}/a"]


async def test_the_root_has_nothing_above_it() -> None:
    exchange = fetched(await fetch("file:///"))

    assert "file:///" not in links(exchange)
    assert "file:///etc/" in links(exchange)


@pytest.mark.parametrize(
    ("size", "cut"),
    [(99, Truncation.NOT), (100, Truncation.NOT), (101, Truncation.LENGTH), (3_000_000, Truncation.LENGTH)],
)
async def test_long_file_is_truncated(folder: Path, size: int, cut: Truncation) -> None:
    (folder / "f").write_bytes(b"x" * size)

    exchange = fetched(await fetch(url_of(folder / "f"), settings=FileSettings(content_limit=Size(100))))

    assert len(exchange.body) == min(size, 100)
    assert exchange.truncation is cut
    assert exchange.header("content-length") == str(size)


async def test_without_a_limit_a_file_is_read_whole(folder: Path) -> None:
    (folder / "f").write_bytes(b"x" * 3_000_000)

    exchange = fetched(await fetch(url_of(folder / "f"), settings=FileSettings(content_limit=None)))

    assert (len(exchange.body), exchange.truncation) == (3_000_000, Truncation.NOT)


async def test_huge_folder_is_truncated_between_two_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        (folder / f"{number:04d}").write_text("", "utf-8")

    short = fetched(await fetch(f"{url_of(folder)}/", settings=FileSettings(content_limit=Size(2_000))))
    monkeypatch.setattr(module, "MAX_NAMES", 50)
    few = fetched(await fetch(f"{url_of(folder)}/", settings=FileSettings(crawl_parent=False)))

    assert len(short.body) <= 2_000
    assert short.body.endswith(b"</html>\n")
    assert short.truncation is Truncation.LENGTH
    assert len(links(few)) == 50
    assert few.truncation is Truncation.LENGTH


async def test_a_path_through_a_link_is_moved_to_the_real_one(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "f").write_text("x", "utf-8")
    (folder / "link").symlink_to("real")

    through = await fetch(url_of(folder / "link" / "f"))
    to_folder = await fetch(url_of(folder / "link"))

    assert isinstance(through, Moved)
    assert (through.target, through.permanent) == (url_of(folder / "real" / "f"), True)
    assert isinstance(to_folder, Moved)
    assert to_folder.target == canonical(f"{url_of(folder / 'real')}/")


@pytest.mark.parametrize("spelling", ["//f", "/f?query", "/%66", "/x/%2E./f"])
async def test_noncanonical_path_is_redirected(folder: Path, spelling: str) -> None:
    (folder / "f").write_text("x", "utf-8")
    (folder / "x").mkdir()

    reply = await fetch(f"{url_of(folder)}{spelling}")

    assert (reply.target if isinstance(reply, Moved) else reply.url) == url_of(folder / "f")


async def test_folder_without_trailing_slash_is_moved(folder: Path) -> None:
    reply = await fetch(url_of(folder))

    assert isinstance(reply, Moved)
    assert reply.target == canonical(f"{url_of(folder)}/")


async def test_links_are_read_through_when_redirects_are_off(folder: Path) -> None:
    (folder / "real").write_text("x", "utf-8")
    (folder / "link").symlink_to("real")

    exchange = fetched(await fetch(url_of(folder / "link"), settings=FileSettings(crawl_redirect_noncanonical=False)))

    assert exchange.body == b"x"


@pytest.mark.parametrize(("seconds", "kind"), [(-1, Fetched), (0, NotModified), (1, Fetched)])
async def test_unchanged_file_is_not_modified(folder: Path, seconds: int, kind: type) -> None:
    (folder / "f").write_text("x", "utf-8")
    os.utime(folder / "f", (NOON.timestamp() + 0.7,) * 2)

    reply = await fetch(url_of(folder / "f"), NOON + timedelta(seconds=seconds))

    assert isinstance(reply, kind)


async def test_missing_file_is_gone(folder: Path) -> None:
    (folder / "f").write_text("x", "utf-8")
    (folder / "loop").symlink_to("loop")
    (folder / "broken").symlink_to("nowhere")

    for path in ("missing", "f/below", "loop", "broken", "%00", "n" * 300, "f%00"):
        reply = await fetch(f"{url_of(folder)}/{path}")
        assert isinstance(reply, Gone), path


async def test_file_url_with_a_host_is_refused() -> None:
    reply = await fetch("file://server.example/etc/passwd")

    assert isinstance(reply, Gone)
    assert reply.reason is Reason.BAD_REQUEST


async def test_pipes_devices_and_sockets_are_not_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "pipe")
    monkeypatch.chdir(folder)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("socket")

        for path in (folder / "pipe", folder / "socket", Path("/dev/zero"), Path("/dev/null")):
            reply = await fetch(url_of(path))
            assert isinstance(reply, Gone), path
            assert reply.detail == "neither a file nor a folder"


async def test_only_the_folders_that_are_named_may_be_read(folder: Path) -> None:
    (folder / "open").mkdir()
    (folder / "open" / "f").write_text("x", "utf-8")
    (folder / "open" / "out").symlink_to("/etc/hostname")
    (folder / "openly").write_text("secret", "utf-8")
    settings = FileSettings(folders=(folder / "open",))

    inside = fetched(await fetch(url_of(folder / "open" / "f"), settings=settings))
    listing = fetched(await fetch(f"{url_of(folder / 'open')}/", settings=settings))

    assert inside.body == b"x"
    assert links(listing) == [url_of(folder / "open" / "f").text, url_of(folder / "open" / "out").text]
    for path in (folder / "openly", folder / "open" / "out", folder, Path("/etc/passwd")):
        reply = await fetch(url_of(path), settings=settings)
        assert isinstance(reply, Failed), path
        assert (reply.reason, reply.transient, reply.blames_host) == (Reason.FORBIDDEN, False, False)


async def test_unreadable_file_is_forbidden(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "f").write_text("x", "utf-8")

    def refuse(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # the tests may run as root, whom nobody refuses anything
    reply = await fetch(url_of(folder / "f"))

    assert isinstance(reply, Failed)
    assert (reply.reason, reply.blames_host) == (Reason.FORBIDDEN, False)


async def test_a_pipe_that_takes_a_files_place_does_not_block(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    protocol = FileProtocol(Setup(Config()))

    with pytest.raises(FileNotFoundError):
        protocol._contents(os.fsencode(folder / "pipe"))


async def test_a_folder_is_crawled_by_the_fetcher(folder: Path) -> None:
    (folder / "a.txt").write_text("a", "utf-8")
    (folder / "sub").mkdir()
    config = load(overrides=["agent.name=test", "fetch.protocols=file", "fetch.delay=0"])
    outcomes: dict[str, Reply] = {}

    async def source() -> AsyncIterator[Request]:
        for url in (f"{url_of(folder)}/", url_of(folder / "a.txt").text, url_of(folder / "none").text):
            yield Request(url=canonical(url))
        yield Request(url=canonical("http://example.org/"))

    await Fetcher(config).run(source(), lambda request, reply: outcomes.update({request.url.text: reply}))

    assert len(outcomes) == 4
    assert links(fetched(outcomes[f"{url_of(folder)}/"]))[1:] == [f"{url_of(folder)}/a.txt", f"{url_of(folder)}/sub/"]
    assert isinstance(outcomes[url_of(folder / "none").text], Gone)
    refused = outcomes["http://example.org/"]
    assert isinstance(refused, Failed)
    assert refused.reason is Reason.REFUSED_SCHEME
