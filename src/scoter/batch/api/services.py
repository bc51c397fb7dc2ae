"""The services that the handlers of the REST API depend on, and errors as responses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from scoter.batch.api.commands import CommandCatalogue, OrderError
from scoter.batch.api.crawl_folder import CrawlFolder, NoSuchCrawl
from scoter.batch.api.crawl_metrics import CrawlMetrics, read_crawls
from scoter.batch.api.feeds import ProgressFeeds
from scoter.batch.api.host_tables import HostsUncounted, HostTables
from scoter.batch.api.jobs import CrawlBusy, Jobs, NoSuchJob, TooManyJobs
from scoter.batch.api.queries import Queries, QueriesBusy, QueryRefused, QueryTimeout
from scoter.batch.api.replay_tickets import ReplayTickets
from scoter.batch.api.schedules import NoSuchSchedule, Schedules, TooManySchedules
from scoter.batch.api.summaries import Summaries
from scoter.config import Config
from scoter.config.sections.live import WebSettings
from scoter.errors import ConfigError, MadeByNewer, ScoterError, Unavailable, UrlError, UsageError, UserError
from scoter.http.api_keys import ApiKeys
from scoter.http.asgi import Caller
from scoter.http.metrics import Counter, Histogram, render
from scoter.http.problems import UNAVAILABLE, problem
from scoter.http.records import Problem
from scoter.http.sessions import SessionAccess

T = TypeVar("T")

ADMIN_OPTIONS: Final = frozenset({"allow_seeds"})
"""Options of jobs that are for administrators: they open the network of the server."""


class BatchMetrics:
    """Metrics of the server."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.requests = Counter("scoter_http_requests_total", "Requests answered.", ("route", "status"))
        self.request_seconds = Histogram("scoter_http_request_seconds", "Time to answer a request.", "route")
        self.crawls = CrawlMetrics()
        self.asked = asyncio.Event()

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format; those of crawls as last read, and soon read again."""
        self.asked.set()
        return render([self.requests, self.request_seconds, *self.crawls.gauges])


class BatchServices(Struct, frozen=True, kw_only=True):
    """What the API depends on. ``config`` is the configuration of the server, without that of a crawl.

    ``openapi`` is the OpenAPI document. Reads of files happen in ``readers``, a few threads.
    """

    folder: CrawlFolder
    catalogue: CommandCatalogue
    jobs: Jobs
    schedules: Schedules
    summaries: Summaries
    hosts: HostTables
    feeds: ProgressFeeds
    queries: Queries
    config: Callable[[str], Config]
    access: SessionAccess
    keys: ApiKeys
    tickets: ReplayTickets = msgspec.field(default_factory=ReplayTickets)
    metrics: BatchMetrics = msgspec.field(default_factory=BatchMetrics)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    web: WebSettings = WebSettings()
    is_open: bool = False
    """Whether anybody may use it without a key, not only people on this machine."""
    readers: ThreadPoolExecutor = msgspec.field(default_factory=lambda: ThreadPoolExecutor(4, "read"))
    not_ready: Callable[[], str] = lambda: ""
    openapi: bytes = b""

    def check_consent(self, caller: Caller, options: Mapping[str, Any], pointer: str = "/options") -> None:
        """Raise unless a caller may use the options of a job: only administrators may allow private seeds."""
        for name in ADMIN_OPTIONS:
            if options.get(name) and not caller.administers(is_open=self.is_open):
                raise NotPermitted(
                    f"{name} is for administrators: it needs a key with the scope admin", where=f"{pointer}/{name}"
                )

    async def read(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a function that reads files, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.readers, work, *arguments)

    async def count_crawls(self) -> None:
        """Wait until somebody asks for metrics, and read those of crawls for the next time."""
        await self.metrics.asked.wait()
        self.metrics.asked.clear()
        self.metrics.crawls = await self.read(read_crawls, self.folder, self.summaries.one)


class NotPermitted(UsageError):
    """Only an administrator may do this."""


def batch_problem(error: ScoterError, relative: Callable[[str], str]) -> Problem:
    """Return an error as a response; ``relative`` removes the path of the folder from a text."""
    if not isinstance(error, UserError):
        return UNAVAILABLE
    title = _sentence(relative(error.message))
    detail = relative(error.hint)
    match error:
        case NoSuchCrawl() | NoSuchJob() | NoSuchSchedule():
            return problem(404, "not-found", title, detail)
        case NotPermitted():
            return problem(403, "scope", title, detail)
        case CrawlBusy():
            return problem(409, "busy", title, detail)
        case TooManySchedules():
            return problem(409, "too-many", title, detail)
        case TooManyJobs() | QueriesBusy():
            return problem(503, "crowded", title, detail, retry_after=5)
        case HostsUncounted():
            return problem(503, "counting", title, detail, retry_after=2)
        case QueryTimeout():
            return problem(422, "too-slow", title, detail, where="/query")
        case QueryRefused():
            return problem(
                422, "query", "The query was refused.", relative(f"{error.message}\n{detail}").strip(), where="/query"
            )
        case OrderError():
            found = problem(422, "invalid", "The request is invalid.", title, where=error.where)
            return msgspec.structs.replace(found, accepted=error.accepted)
        case ConfigError():
            return problem(422, "invalid", "The request is invalid.", relative(str(error)), where="/settings")
        case UrlError():
            return problem(422, "invalid", "This is not a URL.", title, where="?url")
        case MadeByNewer():
            return problem(409, "unusable", title, relative(f"{error.where} {error.hint}".strip()))
        case UsageError() if isinstance(error.__cause__, OSError):  # the folder was removed, or its disk fails
            return problem(503, "unavailable", title, relative(error.where), retry_after=5)
        case Unavailable():
            return problem(503, "unavailable", title, detail, retry_after=5)
        case UsageError():
            where = error.where if error.where[:1] in ("?", "/") and not error.where.startswith("//") else ""
            is_parameter = where.startswith("?") or where in ("/every", "/start")
            text = detail or relative(error.where)
            return problem(422, "refused", title, text, where=where if is_parameter else "")
        case _:
            # A damaged file, a full disk.
            return problem(409, "unusable", title, relative(f"{error.where} {error.hint}".strip()))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
