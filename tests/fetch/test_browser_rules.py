"""Which pages are rendered, and the errors if the browser is missing; needs no browser."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import seconds_of

from scoter.config import Config
from scoter.config.sections.http import AgentSettings, HttpSettings
from scoter.config.sections.protocols import BrowserSettings
from scoter.core.reply import Exchange, Fetched, Moved, Reply, Request
from scoter.core.url import canonical
from scoter.errors import ConfigError
from scoter.fetch.filters import Deadline
from scoter.fetch.protocols import browser as module
from scoter.fetch.protocols import chromium
from scoter.fetch.protocols.browser import LITTLE_TEXT, BrowserProtocol, needs_scripts
from scoter.fetch.protocols.renderer import Rendered
from scoter.plugins import Setup

MOMENT = datetime(2026, 11, 5, 7, 8, 9, tzinfo=UTC)
SHELL = b'<!doctype html><title>An application</title><div id="root"></div><script src="/app.js"></script>'


class Served:
    """A protocol that gives one reply to all."""

    schemes: tuple[str, ...] = ("http", "https")

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    async def fetch(self, request: Request) -> Reply:
        return self.reply


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_executable", lambda settings: "/nowhere/chromium")


def protocol(http: Served | None = None, **settings: Any) -> BrowserProtocol:
    config = Config(agent=AgentSettings(name="test"), browser=BrowserSettings(**settings))
    return BrowserProtocol(Setup(config), http=http)


def request(text: str) -> Request:
    return Request(url=canonical(text))


def exchange(body: bytes, kind: str = "text/html", status: int = 200, *more: tuple[str, str]) -> Exchange:
    return Exchange(
        url=canonical("http://a.example/"),
        started=MOMENT,
        request_head=b"GET / HTTP/1.1\r\n\r\n",
        response_head=b"HTTP/1.1 200 OK\r\n\r\n",
        status=status,
        headers=(("Content-Type", kind), *more),
        body=body,
    )


@pytest.mark.usefixtures("installed")
async def test_urls_are_claimed_by_pattern() -> None:
    made = protocol(url_patterns=("^https://app[.]", "/spa/"))

    assert made.claims(request("https://app.example/"))
    assert made.claims(request("http://a.example/spa/x"))
    assert not made.claims(request("http://a.example/"))
    assert not made.claims(request("https://app.example/robots.txt"))
    assert not made.claims(request("ftp://app.example/spa/"))


@pytest.mark.usefixtures("installed")
async def test_with_when_empty_every_page_is_looked_at() -> None:
    made = protocol(when_empty=True)

    assert made.claims(request("http://a.example/"))
    assert not made.claims(request("http://a.example/robots.txt"))
    assert not made.claims(request("file:///etc/passwd"))


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "reply",
    [
        Fetched(exchange(b"%PDF", "application/pdf")),
        Fetched(exchange(SHELL, "text/plain")),
        Fetched(exchange(SHELL, "text/html", 206)),
        Fetched(exchange(SHELL, "text/html", 200, ("Content-Disposition", "Attachment; filename=x.html"))),
        Fetched(exchange(b"")),
        Moved(exchange(SHELL, "text/html", 302), canonical("http://b.example/"), permanent=False),
    ],
)
async def test_non_page_is_returned_unrendered(reply: Reply) -> None:
    made = protocol(Served(reply), url_patterns=(".",))

    assert await made.fetch(request("http://a.example/")) is reply


@pytest.mark.usefixtures("installed")
async def test_a_page_with_text_is_not_rendered_for_being_empty() -> None:
    reply = Fetched(exchange(b"<script>x</script><p>" + b"words " * 100))

    assert await protocol(Served(reply), when_empty=True).fetch(request("http://a.example/")) is reply


@pytest.mark.usefixtures("installed")
async def test_waiting_for_a_browser_tab_does_not_count_against_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given a browser that has one page open, and is not done with it
    done, deadline = asyncio.Event(), Deadline(timedelta(milliseconds=20))
    made = protocol(Served(Fetched(exchange(SHELL))), url_patterns=(".",), pages=1)

    async def render(exchange: Exchange, html: bytes) -> Rendered:
        await done.wait()
        return Rendered(b"<p>made</p>")

    monkeypatch.setattr(made, "_render", render)
    first = asyncio.create_task(made.fetch(request("http://a.example/1")))

    # when another waits for longer than a hop may take
    other = asyncio.create_task(deadline(request("http://a.example/2"), made.fetch))
    await asyncio.sleep(0.05)
    done.set()

    # then it comes all the same
    assert isinstance(await first, Fetched)
    assert isinstance(await other, Fetched)


@pytest.mark.parametrize(
    "html",
    [
        SHELL,
        b"<SCRIPT>go()</SCRIPT>",
        b"<noscript>" + b"You need JavaScript. " * 50 + b"</noscript><script>x</script>",
        b"<!--" + b" words" * 100 + b"--><script>x</script>",
        b"<style>" + b"p { color: red } " * 50 + b"</style><script>x</script>",
        b"<script>" + b"var a = '<p>text</p>'; " * 50,
        b'<script src=a></script><p title="' + b"words " * 100 + b'">',
    ],
)
def test_a_page_with_scripts_and_no_text_needs_them(html: bytes) -> None:
    assert needs_scripts(html)


@pytest.mark.parametrize(
    "html",
    [
        b"",
        b"<p>short, but without scripts",
        b"<script>x</script>" + b"<p>words " * 40,
        b"<scripture>" + b"words " * 50 + b"</scripture><script>x</script>",
        b"<script>x</script>" + "слова ".encode() * 40,
    ],
)
def test_a_page_with_text_or_without_scripts_does_not(html: bytes) -> None:
    assert not needs_scripts(html)


MARKUP = [b"<", b">", b"<script", b"</script>", b"<!--", b"-->", b"text ", b"<style>", b"\xff"]


@given(st.lists(st.sampled_from(MARKUP)))
def test_any_bytes_get_an_answer(pieces: list[bytes]) -> None:
    assert needs_scripts(b"".join(pieces)) in (True, False)


@given(
    st.lists(st.sampled_from([b"word", b" ", b"\n", b"<p>", b"</p>", b"<b>longer</b>", b"<!-- x -->"]), max_size=120)
)
def test_only_visible_text_counts(pieces: list[bytes]) -> None:
    seen = sum({b"word": 4, b"<b>longer</b>": 6}.get(piece, 0) for piece in pieces)

    assert needs_scripts(b"<script>go()</script>" + b"".join(pieces)) == (seen < LITTLE_TEXT)


@pytest.mark.parametrize("piece", [b"<", b"<script", b"<!--", b"<style>", b"</", b"<a <"])
def test_hostile_markup_is_examined_in_linear_time(piece: bytes) -> None:
    html = b"<script></script>" + piece * (2_000_000 // len(piece))

    assert seconds_of(lambda: needs_scripts(html)) < 2


def test_missing_playwright_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(ConfigError, match=r"^fetch\.protocols: .*not installed\n.*\[browser\]"):
        chromium.find_executable(BrowserSettings())


def test_missing_chromium_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ConfigError, match=r"^browser\.executable: no Chromium found"):
        chromium.find_executable(BrowserSettings())
    with pytest.raises(ConfigError, match=r"^browser\.executable: .*nothing is not an executable program"):
        chromium.find_executable(BrowserSettings(executable=tmp_path / "nothing"))


@pytest.mark.usefixtures("installed")
def test_invalid_pattern_and_proxy_are_configuration_errors() -> None:
    with pytest.raises(ConfigError, match=r"^browser\.url_patterns: the pattern"):
        protocol(url_patterns=("(",))
    with pytest.raises(ConfigError, match=r"^http\.proxy_host: "):
        BrowserProtocol(Setup(Config(agent=AgentSettings(name="test"), http=HttpSettings(proxy_host="127.0.0.1"))))


def test_the_module_is_imported_without_the_package() -> None:
    code = "import sys; sys.modules['playwright'] = None; import scoter.fetch.protocols.browser"

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


@pytest.mark.usefixtures("installed")
async def test_a_browser_that_does_not_start_fails_a_named_page_and_leaves_an_empty_one() -> None:
    pytest.importorskip("playwright", reason="Playwright's package is not installed")
    served = Served(Fetched(exchange(SHELL)))
    named, guessed = protocol(served, url_patterns=(".",)), protocol(served, when_empty=True)

    failed = await named.fetch(request("http://a.example/"))
    left = await guessed.fetch(request("http://a.example/"))
    await named.close()
    await guessed.close()

    assert getattr(failed, "reason", None) == "broken_plugin"
    assert isinstance(left, Fetched)
    assert left.exchange.body == SHELL
    assert left.exchange.header("X-Crawler-Rendered") == "0"
    assert left.exchange.response_head == b"HTTP/1.1 200 OK\r\nX-Crawler-Rendered: 0\r\n\r\n"
