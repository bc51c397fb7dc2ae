"""The core process: ``python -m scoter.live.service.core FD``; FD is the socket to the supervisor."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

from scoter.errors import ScoterError
from scoter.heap import collect_less, keep_memory
from scoter.http.server import HttpServer, listen_locally
from scoter.live.background import DEFECT, VitalTasks
from scoter.live.content.archive import WarcContent
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.pipeline.parser_pool import ParserPool
from scoter.live.service.components import CoreComponents, archive_info, live_config
from scoter.live.service.plan import ServicePlan
from scoter.live.service.process import SupervisorLink, run_process
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores
from scoter.parse import ContentParser
from scoter.store.arrow import limit_arrow_memory

_DELIVERY_GRACE: Final = 3.0
_log = logging.getLogger("scoter.live.service.core")  # __name__ is "__main__"


async def work(plan: ServicePlan, link: SupervisorLink) -> int:
    """Run the core until told to stop; return its exit code."""
    config = live_config(plan.config)
    limit_arrow_memory()
    keep_memory()
    live, folder = config.live, plan.folder
    folder.create()
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(
            ServiceDb(folder.database, traces=folder.traces, apart=live.commit_apart.total_seconds())
        )
        stores = SqliteStores(db, live)
        content = await stack.enter_async_context(
            WarcContent(folder.content, archive_info(config), size=live.archive_size, age=live.archive_age)
        )
        parsing = stack.enter_context(ContentParser(config))
        parsers = stack.enter_context(ParserPool.of(config))
        workers = await stack.enter_async_context(
            WorkerDispatcher(config, folder.run, rules=stores.rules.all(), holds=stores.holds)
        )
        components = CoreComponents(
            plan, config, stores=stores, workers=workers, content=content, parsing=parsing, parsers=parsers
        )
        stack.push_async_callback(components.post.close)
        server = HttpServer(
            components.api,
            [listen_locally(folder.socket)],
            limits=config.web,
            before_stop=components.release_clients,
            note=components.metrics.refuse,
        )
        collect_less()
        return await CoreProcess(components, server).until(link)


class CoreProcess:
    """The tasks of a core. None should end by itself: if one does, the core ends too."""

    def __init__(self, components: CoreComponents, server: HttpServer) -> None:
        self._components = components
        self._server = server
        self._tasks = [
            _named("API", server.run()),
            _named("scheduler", components.scheduler.run()),
            _named("event streams", components.streams.run()),
            _named("webhooks", components.webhooks.run()),
            _named("fetch log", components.log.run()),
            _named("cleanup", components.cleanup.run()),
            _named("metrics", components.metrics_receiver.run()),
            _named("history", components.history.run()),
            _named("retries", components.retries.run()),
            _named("database check", components.probe.run()),
        ]

    async def until(self, link: SupervisorLink) -> int:
        """Run until told to stop or until a task ends; return the exit code."""
        vital = VitalTasks()
        vital.spawn(self._report_ready(link))
        stopping = asyncio.create_task(link.stopping.wait())
        await asyncio.wait((stopping, *self._tasks), return_when=asyncio.FIRST_COMPLETED)
        failed = [task for task in self._tasks if task.done()]
        for task in failed:
            error = None if task.cancelled() else task.exception()
            _log.critical("the core ends because its task %r ended", task.get_name(), exc_info=error)
        link.stop()
        stopping.cancel()
        await vital.close()
        await self._end()
        return DEFECT if failed else 0

    async def _report_ready(self, link: SupervisorLink) -> None:
        await self._components.workers.ready()
        link.report_ready()
        _log.info("the core is ready: %r", self._components.workers)

    async def _end(self) -> None:
        """Accept nothing more, return unfinished work, and write what is not on disk yet."""
        components = self._components
        components.is_stopping = True
        self._server.stop()
        components.scheduler.stop()
        components.webhooks.stop()
        api, scheduler, streams, webhooks, *others = self._tasks
        for task in others:
            task.cancel()
        await asyncio.wait((webhooks,), timeout=_DELIVERY_GRACE)
        webhooks.cancel()  # unfinished deliveries are retried by the next core
        await asyncio.gather(api, scheduler, streams, webhooks, *others, return_exceptions=True)
        with suppress(ScoterError):  # the next core will write it
            await components.log.flush()


def _named(name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(work, name=name)


if __name__ == "__main__":
    run_process("core", work)
