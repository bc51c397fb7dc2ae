"""A headless Chromium that is restarted when it gets old or stops responding.

It is driven by Playwright and reaches the network through our proxy only. Each page has its own context: no
cookie, cache or storage outlives it. Twice a second the memory of all its processes is checked; if they use too much,
the largest page is killed and the others go on.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import secrets
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from scoter.config.sections.protocols import BrowserSettings
from scoter.errors import ConfigError
from scoter.extras import install_command

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BACKGROUND_HOSTS = (
    "accounts.google.com",
    "android.clients.google.com",
    "clients1.google.com",
    "clients2.google.com",
    "clients2.googleusercontent.com",
    "content-autofill.googleapis.com",
    "edgedl.me.gvt1.com",
    "mtalk.google.com",
    "optimizationguide-pa.googleapis.com",
    "redirector.gvt1.com",
    "safebrowsing.googleapis.com",
    "update.googleapis.com",
)
"""Hosts that Chromium contacts by itself, whatever its flags; the proxy refuses them."""

_CHECK_EVERY = 0.5  # seconds between two checks of the memory
_CLOSE = 5.0  # seconds to wait for Chromium to close something
_PAGE = os.sysconf("SC_PAGE_SIZE")
_RENDERER = b"--type=renderer"


class BrowserProcess(Struct, frozen=True):
    """A process: its parent, private bytes, and command line."""

    pid: int
    parent: int
    private: int
    command: bytes


class Chromium:
    """Opens contexts in a browser that is kept running."""

    def __init__(self, settings: BrowserSettings, executable: str) -> None:
        self._settings = settings
        self._executable = executable
        self._lock = asyncio.Lock()
        self._current: _BrowserInstance | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self.started = 0

    def __repr__(self) -> str:
        return f"Chromium({self._executable}, started {self.started} times, current: {self._current})"

    @asynccontextmanager
    async def context(self, proxy_port: int, **options: Any) -> AsyncIterator[BrowserContext]:
        """Open a fresh context, and close everything in it afterwards."""
        instance = await self._instance(proxy_port)
        try:
            context = await instance.browser.new_context(**options)
            try:
                yield context
            finally:
                try:
                    async with asyncio.timeout(_CLOSE):
                        await context.close()
                except Exception:  # a browser that cannot close a page is unusable
                    instance.kill()
        finally:
            instance.active -= 1
            self._retire_if_done(instance)

    async def close(self) -> None:
        """End the browser."""
        async with self._lock:
            if self._current is not None:
                await self._current.close()
                self._current = None
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _instance(self, proxy_port: int) -> _BrowserInstance:
        async with self._lock:
            current = self._current
            if current is not None and (current.opened >= self._settings.restart_after or not current.is_alive):
                self._current = None
                self._retire_if_done(current)
                current = None
            if current is None:
                current = self._current = await _start(self._settings, self._executable, proxy_port)
                self.started += 1
            current.opened += 1
            current.active += 1
            return current

    def _retire_if_done(self, instance: _BrowserInstance) -> None:
        if instance is self._current or instance.active:
            return
        task = asyncio.create_task(instance.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


class _BrowserInstance:
    """One browser process with its children."""

    def __init__(self, playwright: Playwright, browser: Browser, mark: bytes, memory: int) -> None:
        self.playwright = playwright
        self.browser = browser
        self.opened = 0
        self.active = 0
        self._mark = mark
        self._memory = memory
        self._watching = asyncio.create_task(self._watch())

    def __repr__(self) -> str:
        return f"{self.opened} pages, {self.active} open"

    @property
    def is_alive(self) -> bool:
        return bool(self.browser.is_connected())

    def kill(self) -> None:
        """Kill the browser and all its processes."""
        for process in self._processes():
            _kill(process.pid)

    async def close(self) -> None:
        """Close the browser, and kill what remains."""
        self._watching.cancel()
        for closing in (self.browser.close(), self.playwright.stop()):
            try:
                async with asyncio.timeout(_CLOSE):
                    await closing
            except Exception:  # kill whatever remains
                self.kill()
        self.kill()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            found = self._processes()
            if sum(process.private for process in found) <= self._memory:
                continue
            pages = [process for process in found if _RENDERER in process.command]
            if pages:
                _kill(max(pages, key=lambda page: page.private).pid)
            else:
                self.kill()

    def _processes(self) -> tuple[BrowserProcess, ...]:
        # Find it by its mark each time: after it has ended, another process may have its number.
        everything = processes()
        pid = next((process.pid for process in everything if self._mark in process.command), 0)
        return family(pid, everything)


def find_executable(settings: BrowserSettings) -> str:
    """Return the path of Chromium; raise ``ConfigError`` if it or Playwright is missing."""
    if importlib.util.find_spec("playwright") is None:
        raise ConfigError(
            '"browser" needs the package playwright, which is not installed',
            where="fetch.protocols",
            hint=f"Install it with: {install_command('browser')}",
        )
    wanted = settings.executable
    found = next(filter(None, map(shutil.which, NAMES if wanted is None else (str(wanted),))), None)
    if found is None:
        missing = f"{wanted} is not an executable program" if wanted else "no Chromium found on the PATH"
        raise ConfigError(
            missing,
            where="browser.executable",
            hint="Install Chromium (on Debian: apt-get install chromium), or set the path to it.",
        )
    return found


async def _start(settings: BrowserSettings, executable: str, proxy_port: int) -> _BrowserInstance:
    from playwright.async_api import async_playwright  # an optional extra

    sandbox = settings.sandbox if settings.sandbox is not None else os.geteuid() != 0
    mark = f"--started-by={secrets.token_hex(8)}"
    playwright = await async_playwright().start()
    try:
        browser = await playwright.chromium.launch(
            executable_path=executable,
            headless=settings.headless,
            chromium_sandbox=sandbox,
            args=[mark, *arguments(proxy_port)],
            # Not our own environment, which may hold secrets.
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"},
            timeout=settings.timeout.total_seconds() * 1000,
        )
    except BaseException:
        await playwright.stop()
        raise
    return _BrowserInstance(playwright, browser, mark.encode(), settings.memory_limit)


def arguments(proxy_port: int) -> list[str]:
    """Return command-line options that make the proxy Chromium's only way to the network."""
    return [
        f"--proxy-server=http://127.0.0.1:{proxy_port}",
        "--proxy-bypass-list=<-loopback>",  # by default it would connect to loopback directly
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the proxy resolves names, Chromium never does
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-domain-reliability",
        "--disable-sync",
        "--dns-prefetch-disable",
        "--no-pings",
        "--disable-gpu",
        "--disable-file-system",
        "--disable-notifications",
        "--disable-crash-reporter",
        "--deny-permission-prompts",
        "--js-flags=--max-old-space-size=512",
        "--block-new-web-contents",  # window.open
    ]


def family(pid: int, everything: tuple[BrowserProcess, ...]) -> tuple[BrowserProcess, ...]:
    """Return a process and all its descendants."""
    members = {pid} if pid else set()
    while True:
        more = {process.pid for process in everything if process.parent in members} - members
        if not more:
            return tuple(process for process in everything if process.pid in members)
        members |= more


def processes() -> tuple[BrowserProcess, ...]:
    """Return all visible processes; empty without /proc."""
    found: list[BrowserProcess] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            resident, shared = (folder / "statm").read_text().split()[1:3]
            private = (int(resident) - int(shared)) * _PAGE
            found.append(BrowserProcess(int(folder.name), parent, private, (folder / "cmdline").read_bytes()))
    return tuple(found)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
