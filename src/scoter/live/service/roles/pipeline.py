"""A pipeline of a cluster: ``python -m scoter.live.service.roles.pipeline FD``; FD is the socket to the supervisor."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial

from scoter.heap import collect_less, keep_memory
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.background import VitalTasks
from scoter.live.content.archive import WarcContent
from scoter.live.content.retention import DiskFloor
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.kafka.consumer import GroupMember
from scoter.live.kafka.intake import intake_message
from scoter.live.kafka.journal import PipelineJournal
from scoter.live.kafka.metadata import CassandraMetadata
from scoter.live.kafka.outcomes import ClusterOutcomes, OutcomeTransactions
from scoter.live.kafka.requests import RemoteWorkers
from scoter.live.kafka.robots import CassandraRobotsCache, RedisRobotsCache
from scoter.live.kafka.role_reports import ReportSender
from scoter.live.pipeline.order import pipeline
from scoter.live.pipeline.parser import ResponseParser
from scoter.live.pipeline.parser_pool import ParserPool
from scoter.live.pipeline.scheduler import Scheduler
from scoter.live.service.components import archive_info, live_config
from scoter.live.service.plan import ServicePlan
from scoter.live.service.process import SupervisorLink, run_process
from scoter.live.service.roles.connections import ClusterParts, process_name, run_until, stopped_early, trim
from scoter.live.service.roles.measurements import PipelineMeasurements
from scoter.parse import ContentParser


async def work(plan: ServicePlan, link: SupervisorLink) -> int:
    """Run the pipeline until told to stop."""
    config = live_config(plan.config)
    keep_memory()
    live, name = config.live, process_name("pipeline")
    plan.folder.create(has_log=False)
    tasks = VitalTasks()
    async with AsyncExitStack() as stack:
        parts = ClusterParts(config, name)
        await parts.open_kafka(stack)
        await parts.open_cassandra(stack)
        clock = parts.clock
        metadata = CassandraMetadata(parts.session, clock)
        robots: CassandraRobotsCache | RedisRobotsCache = CassandraRobotsCache(parts.session, clock.seconds)
        if live.robots_server:
            robots = RedisRobotsCache(live.robots_server, config.kafka.prefix)
            stack.push_async_callback(robots.close)
        content = await stack.enter_async_context(
            WarcContent(plan.folder.content / name, archive_info(config), size=live.archive_size, age=live.archive_age)
        )
        parsing = stack.enter_context(ContentParser(config))
        parsers = stack.enter_context(ParserPool.of(config))
        workers = await stack.enter_async_context(
            WorkerDispatcher(
                config,
                plan.folder.run,
                robots=robots,
                rules=parts.rules.all(),
                pool=partial(RemoteWorkers, config.kafka, parts.sender, name),
            )
        )
        parts.rules.on_change = workers.set_rule
        journal = PipelineJournal(
            live, parts.names, config.kafka.partitions, dead=parts.bury, spawn=tasks.spawn, clock=clock
        )
        member = journal.member = GroupMember(
            config.kafka, parts.names.pipeline_group, parts.names.intakes, journal, name=name
        )
        transactions = OutcomeTransactions(config.kafka, parts.names.events, member, name)
        journal.note = transactions.note
        continued = partial(intake_message, parts.names, config.kafka.partitions)
        outcomes = journal.outcomes = ClusterOutcomes(journal, metadata, transactions, continued, clock)
        way = pipeline(
            config,
            reader=name,
            store=metadata,
            outcomes=outcomes,
            fetching=workers,
            reading=ResponseParser(config, parsing, parsers),
            content=content,
            rules=parts.rules,
            handovers=outcomes,
            clock=clock,
        )
        metrics = ServiceMetrics()
        floor = DiskFloor(plan.folder.root, config.store.disk_floor)
        measured = PipelineMeasurements(parts, journal, metrics, floor)
        scheduler = Scheduler(
            name,
            journal,
            way,
            most=live.in_flight,
            most_of_domain=live.in_flight_per_domain,
            lease=live.lease,
            on_done=metrics.done,
        )
        journal.on_news = scheduler.wake
        reports = ReportSender(
            parts.sender,
            parts.names,
            name,
            "pipeline",
            workers.activity,
            measured.state,
            is_restart=plan.is_restart,
        )
        member.start()
        collect_less()
        link.report_ready()
        try:
            return await run_until(
                link,
                [
                    ("scheduler", scheduler.run()),
                    ("trimming", trim(parts, member)),
                    ("clock", clock.run()),
                    ("reports", reports.run()),
                ],
            )
        finally:
            await member.close()  # notes that its partitions are returned, in a transaction
            await asyncio.to_thread(transactions.close)


if __name__ == "__main__":
    run_process("pipeline", stopped_early(work))
