"""A worker of a cluster: ``python -m scoter.live.service.roles.worker FD``; FD is the socket to the supervisor."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Final

from msgspec.structs import replace

from scoter.config import Config, Size
from scoter.heap import collect_less, keep_memory
from scoter.live.clock import steady_now
from scoter.live.fetching.limits import MAX_BODY_BYTES, WorkerLimits, worker_config
from scoter.live.fetching.process import InPlaceParser
from scoter.live.fetching.worker import LiveWorker
from scoter.live.kafka.consumer import GroupMember
from scoter.live.kafka.role_reports import ReportSender
from scoter.live.kafka.worker import WorkerRole
from scoter.live.pipeline.parser import ResponseParser
from scoter.live.service.components import live_config
from scoter.live.service.plan import ServicePlan
from scoter.live.service.process import SupervisorLink, run_process
from scoter.live.service.roles.connections import ClusterParts, process_name, run_until, stopped_early, trim
from scoter.live.service.roles.measurements import worker_state
from scoter.parse import ContentParser

_COMMITS_PER_LEASE: Final = 4
_HEADERS: Final = 256 * 1024  # of a reply, besides its body
_STOP_WITHIN: Final = 5.0


def worker_role_config(config: Config) -> Config:
    """Return the settings of one worker: partitions are its shards, and replies fit into messages or the store."""
    most = Size(MAX_BODY_BYTES if config.kafka.bodies else max(config.kafka.body_limit - _HEADERS, 16 * 1024))
    config = live_config(config)
    config = replace(
        config,
        live=replace(config.live, shards=config.kafka.partitions),
        fetch=replace(config.fetch, content_limit=Size(min(config.fetch.content_limit or most, most))),
    )
    return worker_config(config, config.live.processes, WorkerLimits().per_worker)


async def work(plan: ServicePlan, link: SupervisorLink) -> int:
    """Make requests until told to stop."""
    config = worker_role_config(plan.config)
    keep_memory()
    name = process_name("worker")
    async with AsyncExitStack() as stack:
        parts = ClusterParts(config, name)
        await parts.open_kafka(stack)
        role = WorkerRole(config, parts.sender, name=name, dead=parts.bury)
        parsing = stack.enter_context(ContentParser(config))  # only what is safe to parse in this process
        worker = role.worker = LiveWorker(
            config,
            role,
            WorkerLimits(),
            promise=lambda until: None,  # the lease is Kafka's: nobody else needs to know
            now=steady_now,
            reading=InPlaceParser(ResponseParser(config, parsing).at_once),
        )
        for rule in parts.rules.all():
            role.set_rule(rule)
        parts.rules.on_change = role.set_rule
        await role.start()
        stack.push_async_callback(role.close)
        commits = config.kafka.fetch_lease.total_seconds() / _COMMITS_PER_LEASE
        running = asyncio.create_task(worker.run())
        member = role.member = GroupMember(
            config.kafka,
            parts.names.worker_group,
            [parts.names.requests],
            role,
            name=name,
            commits=commits,
            is_vital=True,
        )
        member.start()
        collect_less()
        link.report_ready()
        try:
            reports = ReportSender(
                parts.sender,
                parts.names,
                name,
                "worker",
                state=lambda: worker_state(parts),
                is_restart=plan.is_restart,
            )
            return await run_until(
                link,
                [
                    ("requests", _until_done(running)),
                    ("trimming", trim(parts, member)),
                    ("reports", reports.run()),
                ],
            )
        finally:
            await member.close()  # returns the partitions, when their requests have ended
            worker.stop(_STOP_WITHIN)
            await asyncio.gather(running, return_exceptions=True)


async def _until_done(task: asyncio.Task[None]) -> None:
    await asyncio.shield(task)


if __name__ == "__main__":
    run_process("worker", stopped_early(work))
