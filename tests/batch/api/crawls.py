"""Crawls of a small synthetic web, made once per process, and the REST API over a folder of them."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.cli.conftest import run_in_process
from tests.live.api.client import Client
from tests.live.memory.stores import MemoryStores

from scoter.batch.api.app import BatchApi
from scoter.batch.api.crawl_folder import SPILL, CrawlFolder
from scoter.batch.api.feeds import ProgressFeeds
from scoter.batch.api.host_tables import HostTables
from scoter.batch.api.jobs import Jobs
from scoter.batch.api.queries import Queries
from scoter.batch.api.schedules import Schedules
from scoter.batch.api.services import BatchServices
from scoter.batch.api.summaries import Summaries
from scoter.cli.invocation import Invocation
from scoter.cli.job_commands import ClickCatalogue
from scoter.cli.ui import _configuration
from scoter.http.sessions import SessionAccess, Sessions
from scoter.http.streams import StreamTimings
from scoter.simweb import WebSpec, running

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
SEED = "http://www.grebe0.test/"
HOST = ("Host", "127.0.0.1:8010")


@lru_cache(maxsize=1)
def crawled() -> Path:
    """Return a crawl of two rounds, with links and an index."""
    folder = Path(mkdtemp(prefix="crawled-"))
    with running(WebSpec(hosts=3, pages=6)) as web:
        settings = ["fetch.delay=0", "agent.name=testbot", f'fetch.connect_to=["*:*=127.0.0.1:{web.port}"]']
        options = ["--rounds", "2", "--scope", "any", "--index", *(f"-D{each}" for each in settings)]
        done = run_in_process(folder, "crawl", "news", *web.web.seeds(), *options)
    assert done.code == 0, done.err
    return folder / "news"


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class BatchBench:
    """The REST API over a folder, with a client that checks every response against the OpenAPI document."""

    def __init__(
        self,
        root: Path,
        *,
        required: bool = False,
        program: list[str] | None = None,
        overrides: tuple[str, ...] = ("agent.name=testbot",),
        stream_share: float = 1.0,
        is_open: bool = False,
        **changes: Any,
    ) -> None:
        self.clock = FakeClock()
        self.folder = CrawlFolder(root)
        self.folder.create()
        given = Invocation()
        given.overrides = list(overrides)
        catalogue = ClickCatalogue(given)
        command = [sys.executable, "-m", "scoter.cli.main"]
        self.jobs = Jobs(self.folder, catalogue, program or command, clock=self.clock, **changes)
        self.schedules = Schedules(self.folder.state, self.jobs, clock=self.clock)
        self.keys = MemoryStores().keys
        self.sessions = Sessions(clock=lambda: self.clock.now.timestamp())
        self.feeds = ProgressFeeds(
            most=10, share=stream_share, pace=StreamTimings(heartbeat=0.05, slow=0.05, look=0.01)
        )
        self.hosts = HostTables()
        services = BatchServices(
            folder=self.folder,
            catalogue=catalogue,
            jobs=self.jobs,
            schedules=self.schedules,
            summaries=Summaries(self.folder, self.jobs, self.hosts, clock=self.clock),
            hosts=self.hosts,
            feeds=self.feeds,
            queries=Queries(self.folder.state / SPILL),
            config=_configuration(given, self.folder.root),
            access=SessionAccess(self.keys, self.sessions, required=required),
            keys=self.keys,
            clock=self.clock,
            is_open=is_open,
        )
        self.services = services
        self.app = BatchApi(services)
        self.document: dict[str, Any] = json.loads(self.app.openapi)
        self.client = Client(self.app, self.document, (HOST,))

    def add_crawl(self, name: str = "news") -> Path:
        """Copy the crawl into the folder."""
        return Path(shutil.copytree(crawled(), self.folder.root / name))

    async def token(self, *scopes: str) -> tuple[str, str]:
        """Create a key and return the header that has its token."""
        _, token = await self.keys.create("tester", scopes)
        return "Authorization", f"Bearer {token}"


def names(folder: Path) -> list[str]:
    """Return the names in a folder, sorted."""
    return sorted(each.name for each in folder.iterdir())


async def until(check: Callable[[], Any], within: float = 30.0) -> Any:
    """Wait until a check returns something true, and return it."""
    ends = time.monotonic() + within
    while not (found := check()):
        assert time.monotonic() < ends, "it did not happen in time"
        await asyncio.sleep(0.02)
    return found
