"""A site and a real Chromium for tests; without Chromium these tests are skipped with the reason."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from tests.fetch.fakes import FakeResolver

from scoter.config import Config, PortRange, Size
from scoter.config.sections.fetch import FetchSettings
from scoter.config.sections.http import AgentSettings
from scoter.config.sections.protocols import BrowserSettings
from scoter.core.reply import Exchange, Fetched, Reply, Request
from scoter.core.url import canonical
from scoter.fetch.network.guard import Guard
from scoter.fetch.network.resolver import CachingResolver
from scoter.fetch.protocols.browser import BrowserProtocol
from scoter.fetch.protocols.chromium import NAMES
from scoter.plugins import Setup

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        importlib.util.find_spec("playwright") is None, reason="Playwright's package is not installed (extra browser)"
    ),
    pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="no Chromium is on the PATH"),
]

HTML = "Content-Type: text/html; charset=utf-8"


class Site:
    """A site made of a table: path to status line, fields and body; it keeps what it was asked."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, str, str]] = {}
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.port = 0

    def page(self, path: str, body: str, *fields: str, status: str = "200 OK") -> None:
        self.pages[path] = (status, "\r\n".join((HTML, *fields)), body)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ")[1]
        self.asked.append(path)
        self.heads.append(head)
        status, fields, body = self.pages.get(path, ("404 Not Found", HTML, "nothing"))
        data = body.encode()
        writer.write(
            f"HTTP/1.1 {status}\r\n{fields}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode()
        )
        writer.write(data)
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    """A site on loopback."""
    made = Site()
    async with await asyncio.start_server(made.serve, "127.0.0.1", 0) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


@asynccontextmanager
async def browser(site: Site, **settings: Any) -> AsyncIterator[BrowserProtocol]:
    """A browser that finds ``site.example`` at the site, and may reach nothing else on this machine."""
    config = Config(
        agent=AgentSettings(name="testbot"),
        fetch=FetchSettings(
            connect_to=(f"site.example:80=127.0.0.1:{site.port}",),
            allow_ports=(PortRange(80, 80), PortRange(1_024, 65_535)),
            content_limit=settings.pop("content_limit", Size(2**20)),
        ),
        browser=BrowserSettings(
            **{
                "url_patterns": (".",),
                "page_load_delay": timedelta(seconds=1),
                "javascript_timeout": timedelta(seconds=1),
                "timeout": timedelta(seconds=20),
                **settings,
            }
        ),
    )
    guard = Guard(config)
    names = {"rebound.example": "127.0.0.1", "metadata.example": "169.254.169.254"}
    made = BrowserProtocol(Setup(config), guard=guard, resolver=CachingResolver(FakeResolver(dict(names)), guard))
    try:
        yield made
    finally:
        await made.close()


async def fetch(protocol: BrowserProtocol, path: str = "/", **known: Any) -> Reply:
    return await protocol.fetch(Request(url=canonical(f"http://site.example{path}"), **known))


def rendered(reply: Reply) -> Exchange:
    assert isinstance(reply, Fetched), reply
    assert reply.exchange.header("X-Crawler-Rendered") == "1"
    return reply.exchange
