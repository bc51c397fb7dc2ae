"""The core process: ``python -m scoter.web.service.core FD``, told by the supervisor over the socket FD."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

from scoter.errors import ScoterError
from scoter.heap import collect_less, keep_memory
from scoter.live.content.archive import WarcContent
from scoter.live.sqlite.database import ServiceDb
from scoter.live.sqlite.stores import SqliteStores
from scoter.live.workers.dispatcher import WorkerDispatcher
from scoter.parse import ContentParser
from scoter.store.arrow import limit_arrow_memory
from scoter.web.protocol import ServerLimits
from scoter.web.server import HttpServer, listen_locally
from scoter.web.service.components import CoreComponents, archive_info, live_config
from scoter.web.service.plan import ServicePlan
from scoter.web.service.process import DEFECT, SupervisorLink, run_process

_DELIVERIES_WITHIN: Final = 3.0
_log = logging.getLogger("scoter.web.service.core")  # here __name__ is "__main__"


async def work(plan: ServicePlan, joint: SupervisorLink) -> int:
    """Be the core until told to stop; return its exit code."""
    config = live_config(plan.config)
    limit_arrow_memory()
    keep_memory()
    live, folder = config.live, plan.folder
    folder.create()
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(ServiceDb(folder.database, apart=live.commit_apart.total_seconds()))
        stores = SqliteStores(
            db,
            messages_kept=live.messages_for,
            most_messages=live.messages_most,
            events_kept=live.events_for,
            most_events=live.events_most,
            patience=live.patience,
            most_tries=live.tries,
            window=live.in_flight_per_domain,
        )
        content = await stack.enter_async_context(
            WarcContent(folder.content, archive_info(config), size=live.archive_size, age=live.archive_age)
        )
        parsing = stack.enter_context(ContentParser(config))
        fetchers = await stack.enter_async_context(WorkerDispatcher(config, folder.run, rules=stores.rules.all()))
        parts = CoreComponents(plan, config, stores=stores, fetchers=fetchers, content=content, parsing=parsing)
        stack.push_async_callback(parts.post.close)
        serving = HttpServer(
            parts.api,
            [listen_locally(folder.socket)],
            limits=ServerLimits.of(config.web),
            before_stop=parts.let_go,
            note=parts.measures.refused.add,
        )
        collect_less()
        return await CoreProcess(parts, serving).until(joint)


class CoreProcess:
    """The tasks of a core. None of them ends by itself: one that does takes the core with it."""

    def __init__(self, parts: CoreComponents, serving: HttpServer) -> None:
        self._parts = parts
        self._serving = serving
        self._tasks = [
            _named("API", serving.run()),
            _named("scheduler", parts.scheduler.run()),
            _named("event streams", parts.streams.run()),
            _named("webhooks", parts.webhooks.run()),
            _named("fetch log", parts.log.run()),
            _named("upkeep", parts.upkeep.run()),
            _named("tallies", parts.hearing.run()),
        ]

    async def until(self, joint: SupervisorLink) -> int:
        """Work until told to stop, or until a task ends; return the exit code."""
        ready = _named("readiness", self._say_when_ready(joint))
        stopping = asyncio.create_task(joint.stopping.wait())
        await asyncio.wait((stopping, *self._tasks), return_when=asyncio.FIRST_COMPLETED)
        failed = [task for task in self._tasks if task.done()]
        for task in failed:
            _log.critical("the core ends, since its task %r did", task.get_name(), exc_info=task.exception())
        joint.stop()
        for each in (ready, stopping):
            each.cancel()
        await self._end()
        return DEFECT if failed else 0

    async def _say_when_ready(self, joint: SupervisorLink) -> None:
        await self._parts.fetchers.ready()
        joint.say_ready()
        _log.info("the core is ready: %r", self._parts.fetchers)

    async def _end(self) -> None:
        """Take nothing more, give back what is under way, and write what is not written yet."""
        parts = self._parts
        parts.is_stopping = True
        self._serving.stop()
        parts.scheduler.stop()
        parts.webhooks.stop()
        api, scheduler, streams, webhooks, *others = self._tasks
        for task in others:
            task.cancel()
        await asyncio.wait((webhooks,), timeout=_DELIVERIES_WITHIN)
        webhooks.cancel()  # what is under way is tried again by the next core
        await asyncio.gather(api, scheduler, streams, webhooks, *others, return_exceptions=True)
        with suppress(ScoterError):  # the next core writes it
            await parts.log.flush()


def _named(name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(work, name=name)


if __name__ == "__main__":
    run_process("core", work)
