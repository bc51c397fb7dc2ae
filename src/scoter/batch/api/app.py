"""The REST API for batch crawls as one ASGI application, and the server that runs it."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from scoter.batch.api.commands import CommandCatalogue
from scoter.batch.api.crawl_folder import SPILL, CrawlFolder, check_crawl_name
from scoter.batch.api.feeds import ProgressFeeds
from scoter.batch.api.handlers import copies, crawls, jobs, questions, results
from scoter.batch.api.host_tables import HostTables
from scoter.batch.api.jobs import Jobs
from scoter.batch.api.queries import Queries
from scoter.batch.api.schedules import Schedules
from scoter.batch.api.services import BatchServices, batch_problem
from scoter.batch.api.summaries import Summaries
from scoter.config import Config
from scoter.errors import ScoterError
from scoter.http.api_keys import ApiKeys
from scoter.http.asgi import App, Cors
from scoter.http.dispatcher import ApiDispatcher
from scoter.http.handlers import api_keys, sessions, status
from scoter.http.openapi import ApiInfo
from scoter.http.records import Problem
from scoter.http.server import HttpServer
from scoter.http.sessions import SessionAccess, Sessions
from scoter.ui.files import Pages

_log = logging.getLogger(__name__)
_USES_EVERY: Final = 60.0
_CRAWLS_APART: Final = 5.0
BATCH_API: Final = ApiInfo("Scoter crawls", "Start, watch and stop batch crawls, and read what they found.")
BATCH_ROUTES: Final = (
    crawls.list_crawls,
    crawls.create_crawl,
    crawls.show_crawl,
    crawls.show_progress,
    crawls.watch_crawl,
    jobs.list_jobs,
    jobs.start_job,
    jobs.show_job,
    jobs.show_log,
    jobs.stop_job,
    jobs.list_schedules,
    jobs.create_schedule,
    jobs.show_schedule,
    jobs.delete_schedule,
    jobs.list_commands,
    results.list_urls,
    results.list_hosts,
    results.list_segments,
    results.show_url,
    results.list_inlinks,
    results.list_outlinks,
    copies.show_headers,
    copies.show_copy,
    copies.replay_copy,
    copies.replay_linked,
    results.show_text,
    questions.search_pages,
    questions.list_reports,
    questions.show_report,
    questions.list_views,
    questions.query_crawl,
    sessions.show_session,
    sessions.open_session,
    sessions.end_session,
    api_keys.list_keys,
    api_keys.make_key,
    api_keys.revoke_key,
    status.metrics,
    status.health,
    status.ready,
    status.openapi,
)
"""All routes, in the order of the OpenAPI document."""


class BatchApi(ApiDispatcher):
    """The REST API for batch crawls."""

    def __init__(self, services: BatchServices) -> None:
        super().__init__(services, BATCH_ROUTES, BATCH_API)
        self._relative = services.summaries.relative

    def check_path(self, path: Mapping[str, str]) -> None:
        if "name" in path:
            check_crawl_name(path["name"])

    def problem_of(self, error: ScoterError) -> Problem:
        return batch_problem(error, self._relative)


class BatchServer:
    """Everything that ``scoter ui`` runs in its one process."""

    def __init__(
        self,
        folder: CrawlFolder,
        catalogue: CommandCatalogue,
        program: Sequence[str],
        config: Callable[[str], Config],
        *,
        api_keys: ApiKeys,
        sessions: Sessions,
        needs_keys: bool,
        any_host: bool = False,
    ) -> None:
        """``config`` returns the configuration of a crawl; for an empty name, that of the server."""
        own = config("")
        job_runner = Jobs(folder, catalogue, program, share=own.web.share)
        hosts = HostTables()
        self.services = BatchServices(
            folder=folder,
            catalogue=catalogue,
            jobs=job_runner,
            schedules=Schedules(folder.state, job_runner),
            summaries=Summaries(folder, job_runner, hosts),
            hosts=hosts,
            feeds=ProgressFeeds(most=own.web.streams, share=own.web.share),
            queries=Queries(folder.state / SPILL, share=own.web.share),
            config=config,
            is_open=any_host and not needs_keys,
            access=SessionAccess(
                api_keys,
                sessions,
                required=needs_keys,
                any_host=any_host,
                origins=own.web.cors_origins,
            ),
            keys=api_keys,
            web=own.web,
        )
        api = BatchApi(self.services)
        allowed: App = Cors(api, own.web.cors_origins) if own.web.cors_origins else api
        self.app: App = Pages(allowed, "batch")

    async def run(self, sockets: Sequence[socket.socket], announce: Callable[[], None]) -> int:
        """Serve until SIGINT or SIGTERM. Jobs go on."""
        services = self.services
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopping.set)
        server = HttpServer(self.app, sockets, limits=services.web, before_stop=services.feeds.close)
        tasks = [asyncio.create_task(work) for work in self._work()]
        services.queries.prepare()
        announce()
        try:
            await server.run_until(stopping)
        finally:
            for task in tasks:
                task.cancel()
            services.readers.shutdown(wait=False, cancel_futures=True)
            services.summaries.close()
            services.hosts.close()
            services.queries.close()
            with suppress(ScoterError):
                await services.keys.note_uses()
        return 0

    async def _note_uses(self) -> None:
        while True:
            await asyncio.sleep(_USES_EVERY)
            with suppress(ScoterError):
                await self.services.keys.note_uses()

    def _work(self) -> Sequence[Coroutine[Any, Any, None]]:
        return self.services.schedules.run(), self._note_uses(), self._reap(), self._count_crawls()

    async def _count_crawls(self) -> None:
        while True:
            with suppress(ScoterError, OSError):  # the folder cannot be read at the moment
                await self.services.count_crawls()
            await asyncio.sleep(_CRAWLS_APART)

    async def _reap(self) -> None:
        while True:
            for job in self.services.jobs.reap():
                _log.info("job %s (%s of %s): %s", job.id, job.command, job.crawl, job.state)
            await asyncio.sleep(1.0)
