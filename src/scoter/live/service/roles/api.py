"""An api process of a cluster: ``python -m scoter.live.service.roles.api FD PORT``.

FD is the socket to the supervisor, PORT the one to listen on. It keeps no state that must not be lost.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from scoter.errors import ScoterError
from scoter.fetch.network.guard import Guard
from scoter.heap import collect_less, keep_memory
from scoter.http.server import HttpServer
from scoter.http.sessions import SessionAccess
from scoter.http.shares import ApiShares
from scoter.http.streams import Streams
from scoter.live.api.app import Api
from scoter.live.api.history import StatisticsHistory
from scoter.live.api.lookups import Lookup, UrlWaiters
from scoter.live.api.services import Services
from scoter.live.api.webhooks import CurlPoster, Webhooks, callback_check
from scoter.live.content.log import FetchLog
from scoter.live.content.retention import DiskFloor
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.intake.messages import MessageReceiver
from scoter.live.kafka.access import CassandraKeys, MessageIds
from scoter.live.kafka.backlogs import GroupBacklog, ServiceBacklog
from scoter.live.kafka.deliveries import CassandraDeliveries, DeliveryFeed
from scoter.live.kafka.events import KafkaEvents
from scoter.live.kafka.intake import KafkaIntake
from scoter.live.kafka.metadata import CachedRecords, CassandraMetadata
from scoter.live.kafka.requests import RemoteWorkers
from scoter.live.records import Event
from scoter.live.service.components import live_config
from scoter.live.service.plan import ServicePlan
from scoter.live.service.process import SupervisorLink, run_process
from scoter.live.service.roles.connections import ClusterParts, process_name, run_until, stopped_early, until_available
from scoter.live.service.roles.measurements import ClusterMetrics
from scoter.live.service.roles.sessions import SharedSessions
from scoter.ui.files import Pages

_COUNT_EVERY: Final = 1.0
_NOTE_EVERY: Final = 60.0
_EXPIRE_EVERY: Final = 3_600.0
_log = logging.getLogger("scoter.live.service.roles.api")  # __name__ is "__main__"


async def work(plan: ServicePlan, link: SupervisorLink) -> int:
    """Serve the API until told to stop."""
    config = live_config(plan.config)
    keep_memory()
    live, web, name = config.live, config.web, process_name("api")
    plan.folder.create()
    async with AsyncExitStack() as stack:
        parts = ClusterParts(config, name)
        await parts.open_kafka(stack)
        await parts.open_cassandra(stack)
        clock = parts.clock
        metadata = CassandraMetadata(parts.session, clock)
        records = CachedRecords(metadata, config.cassandra.cached)
        keys = CassandraKeys(parts.session, clock)
        await until_available("Cassandra", keys.read)
        intake = KafkaIntake(
            parts.sender, parts.names, config.kafka.partitions, MessageIds(parts.session, live.messages_for)
        )
        waiters = UrlWaiters(web.waiting)
        guard = Guard(config)

        def announced(new: Sequence[Event]) -> None:
            for event in new:
                urls = {event.url, *(hop.url for hop in event.record.hops)}
                metrics.announced(event)
                for url in urls:
                    records.forget(url)
                intake.finished(event)
                waiters.note(urls)
            streams.wake()

        events = KafkaEvents(config.kafka, name, announced)
        streams = Streams(events, most=web.streams)
        backlog = ServiceBacklog(parts.names)
        floor = DiskFloor(plan.folder.root, config.store.disk_floor)
        cluster = ClusterMetrics(parts, backlog=backlog, events=events, streams=streams, waiters=waiters, floor=floor)
        metrics, reports = cluster.service, cluster.reports
        sessions = SharedSessions(config.kafka, parts.sender, name)
        workers = await stack.enter_async_context(
            WorkerDispatcher(
                config,
                plan.folder.run,
                rules=parts.rules.all(),
                pool=partial(RemoteWorkers, config.kafka, parts.sender, name),
            )
        )
        parts.rules.on_change = workers.set_rule
        for each in (events, reports, sessions):
            stack.push_async_callback(each.close)
            await until_available("Kafka", each.start)
        # Processes that share a directory would overwrite each other's files.
        is_alone = live.lookups == 1
        history = StatisticsHistory(metrics, plan.folder.history if is_alone else None)
        log = FetchLog(plan.folder.log, events, clock=clock) if is_alone else None
        if log is not None:
            cluster.watch_log(log, events)
        deliveries = CassandraDeliveries(parts.session, clock=clock)
        post = CurlPoster(config, guard=guard)
        stack.push_async_callback(post.close)
        webhooks = Webhooks(deliveries, post, plan.folder.secret(), metrics=metrics)
        feed = DeliveryFeed(config.kafka, deliveries, webhooks.wake, name=name)
        access = SessionAccess(
            keys, sessions, required=plan.needs_keys, any_host=plan.any_host, origins=web.cors_origins
        )
        receiver = MessageReceiver(config, intake, intake, parts.rules)
        api = Api(
            Services(
                sink=receiver,
                lookup=Lookup(records, intake.is_pending),
                is_forced=intake.is_forced,
                waiters=waiters,
                streams=streams,
                rules=parts.rules,
                deliveries=deliveries,
                wake_deliveries=webhooks.wake,
                fetching=workers,
                waiting_for=intake.waiting_for,
                activity=lambda most: reports.activity(most, workers.activity(most)),
                keys=keys,
                access=access,
                metrics=metrics,
                history=history,
                check_callback=callback_check(guard),
                clock=clock,
                web=web,
                shares=ApiShares.of(web),
                fetch_slots=asyncio.Semaphore(web.fetches),
            )
        )

        def release() -> None:
            streams.close()
            waiters.close()

        server = HttpServer(
            Pages(api, "live"),
            [socket.socket(fileno=int(sys.argv[2]))],
            limits=web,
            keep_alive=round(web.kept_alive.total_seconds()),
            before_stop=release,
            note=metrics.refuse,
        )
        feed.start()
        stack.push_async_callback(feed.close)
        collect_less()
        link.report_ready()
        return await run_until(
            link,
            [
                ("API", _serve(server, link)),
                ("event streams", streams.run()),
                ("webhooks", webhooks.run()),
                ("keys", keys.run()),
                ("uses of keys", _note_uses(keys)),
                ("backlog", _count(parts, intake, backlog)),
                ("history", history.run()),
                ("clock", clock.run()),
                *([] if log is None else [("fetch log", _write_log(log, live.log_for, clock))]),
            ],
        )


async def _serve(server: HttpServer, link: SupervisorLink) -> None:
    await server.run_until(link.stopping)


async def _write_log(log: FetchLog, kept: timedelta | None, clock: Callable[[], datetime]) -> None:
    """Write the outcomes of all pipelines to the log, and remove old ones."""
    async with asyncio.TaskGroup() as group:
        group.create_task(log.run())
        try:
            while True:
                try:
                    if kept is not None:
                        await log.expire(clock() - kept)
                except ScoterError as error:
                    _log.warning("cannot remove old files of the log: %s", error)
                await asyncio.sleep(_EXPIRE_EVERY)
        except asyncio.CancelledError:
            with suppress(ScoterError):  # the next process continues where this one has stopped
                await log.flush()
            raise


async def _note_uses(keys: CassandraKeys) -> None:
    while True:
        await asyncio.sleep(_NOTE_EVERY)
        try:
            await keys.note_uses()
        except ScoterError as error:
            _log.warning("cannot store the uses of keys: %s", error)


async def _count(parts: ClusterParts, intake: KafkaIntake, backlog: ServiceBacklog) -> None:
    """Count the URLs that are not done, the requests and the dead letters, once a second."""
    kafka, names = parts.config.kafka, parts.names
    accepted = GroupBacklog(kafka, names.pipeline_group, names.intakes)
    requests = GroupBacklog(kafka, names.worker_group, [names.requests])
    try:
        while True:
            try:
                backlog.note(await asyncio.to_thread(accepted.count), await asyncio.to_thread(requests.count))
                backlog.dead_letters = await asyncio.to_thread(accepted.dead_letters)
                intake.lag = backlog.accepted
            except ScoterError as error:  # the last count stays valid
                _log.info("cannot count the backlog: %s", error)
            await asyncio.sleep(_COUNT_EVERY)
    finally:
        await asyncio.to_thread(accepted.close)
        await asyncio.to_thread(requests.close)


if __name__ == "__main__":
    run_process("api", stopped_early(work))
