"""Pages rendered in a real Chromium."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
from tests.fetch.browsers import Site, browser, fetch, needs_browser, rendered, serving

from scoter.config import Size
from scoter.core.reply import Failed, Fetched, Moved, NotModified, Truncation
from scoter.core.url import canonical
from scoter.fetch.protocols.chromium import family, processes

pytestmark = needs_browser


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as made:
        yield made


async def test_page_is_read_after_its_scripts_ran(site: Site) -> None:
    site.page("/", '<!doctype html><title>t</title><body><script src="/app.js"></script>', "X-Own: 1", 'ETag: "e"')
    site.page("/app.js", "fetch('/data').then(r => r.text()).then(t => document.body.append(t))")
    site.page("/data", "грузи ✓")

    async with browser(site) as protocol:
        exchange = rendered(await fetch(protocol))

    text = exchange.body.decode()
    assert text.startswith("<!DOCTYPE html>\n<html>")
    assert "грузи ✓" in text
    assert sorted(site.asked) == ["/", "/app.js", "/data"]
    assert all("testbot/" in head for head in site.heads)
    # a head that fits the body, for the archive
    assert exchange.header("content-type") == "text/html; charset=utf-8"
    assert exchange.header("content-length") == str(len(exchange.body))
    assert (exchange.status, exchange.header("x-own"), exchange.header("etag")) == (200, "1", '"e"')
    assert exchange.response_head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert exchange.response_head.endswith(b"X-Crawler-Rendered: 1\r\n\r\n")
    assert exchange.peer == "127.0.0.1"
    assert exchange.timings.total > exchange.timings.first_byte > 0


async def test_a_redirect_is_one_hop_and_needs_no_browser(site: Site) -> None:
    site.page("/", "", "Location: /next", status="302 Found")
    site.page("/old", "", status="304 Not Modified")

    async with browser(site) as protocol:
        reply = await fetch(protocol)
        same = await fetch(protocol, "/old", etag='"e"')

        assert isinstance(reply, Moved)
        assert reply.target == canonical("http://site.example/next")
        assert isinstance(same, NotModified)
        assert repr(protocol) == "BrowserProtocol(None, None)"


@pytest.mark.parametrize("script", ["location = '/next'", "location.replace('http://site.example/next#x')"])
async def test_navigation_by_script_is_reported_as_redirect(site: Site, script: str) -> None:
    site.page("/", f"<script>{script}</script>")

    async with browser(site) as protocol:
        reply = await fetch(protocol)

    assert isinstance(reply, Moved)
    assert (reply.target, reply.permanent) == (canonical("http://site.example/next"), False)
    assert site.asked == ["/"]


async def test_images_and_media_are_not_requested(site: Site) -> None:
    site.page("/", "<img src=/a.png><video src=/b.mp4></video><p>text")

    async with browser(site) as protocol:
        rendered(await fetch(protocol))

    assert site.asked == ["/"]


async def test_an_empty_page_is_rendered_and_one_with_text_is_not(site: Site) -> None:
    site.page("/empty", "<div></div><script>document.body.append('made')</script>")
    site.page("/full", "<script>document.body.append('made')</script>" + "<p>a good deal of text " * 20)

    async with browser(site, url_patterns=(), when_empty=True) as protocol:
        empty, full = await fetch(protocol, "/empty"), await fetch(protocol, "/full")

    assert b"made</body>" in rendered(empty).body
    assert isinstance(full, Fetched)
    assert full.exchange.header("X-Crawler-Rendered") == ""


async def test_page_beyond_the_limit_is_truncated(site: Site) -> None:
    site.page("/", "<body><script>document.body.append('ö'.repeat(500000))</script>")

    async with browser(site, content_limit=Size(10_001)) as protocol:
        exchange = rendered(await fetch(protocol))

    assert exchange.truncation is Truncation.LENGTH
    assert 9_990 < len(exchange.body) <= 10_001
    assert exchange.body.decode().endswith("ö")


async def test_several_pages_at_once_do_not_see_each_other(site: Site) -> None:
    for number in range(4):
        script = f"document.cookie='c={number}'; localStorage.x = (localStorage.x || '') + '{number}'"
        site.page(
            f"/{number}", f"<body><script>{script};document.body.append(localStorage.x, document.cookie)</script>"
        )

    async with browser(site, pages=2) as protocol:
        replies = await asyncio.gather(*(fetch(protocol, f"/{number}") for number in range(4)))

    assert all(f"{number}c={number}</body>".encode() in rendered(replies[number]).body for number in range(4))


async def test_the_browser_is_started_anew_after_some_pages_and_leaves_nothing_behind(site: Site) -> None:
    site.page("/", "<body><script>document.body.append('fine')</script>")

    async with browser(site, restart_after=2) as protocol:
        for _ in range(3):
            rendered(await fetch(protocol))
        assert protocol._chromium is not None
        assert protocol._chromium.started == 2
        running = [each for each in family(os.getpid(), processes()) if b"--started-by=" in each.command]
        assert len(running) <= 2

    assert not [each for each in family(os.getpid(), processes()) if b"--started-by=" in each.command]


async def test_a_browser_that_was_killed_is_started_anew(site: Site) -> None:
    site.page("/", "<body><script>document.body.append('fine')</script>")

    async with browser(site) as protocol:
        rendered(await fetch(protocol))
        assert protocol._chromium is not None
        assert protocol._chromium._current is not None
        protocol._chromium._current.kill()
        replies = [await fetch(protocol) for _ in range(3)]

    # the first may have been asked before the death was noticed
    rendered(replies[-1])
    assert all(isinstance(reply, Fetched | Failed) for reply in replies)


def test_processes_are_counted_with_their_own_memory() -> None:
    own = next(each for each in processes() if each.pid == os.getpid())

    assert own.private > 5_000_000
    assert own.pid in {each.pid for each in family(os.getppid(), processes())}
