"""How the core is assembled, and the gauges that show its state."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import TypeAlias

from msgspec.structs import asdict, replace

from scoter.config import Config
from scoter.config.sections.fetch import FetchSettings
from scoter.fetch.network.guard import Guard
from scoter.fetch.protocols.request_headers import user_agent
from scoter.live.acceptance import Acceptance
from scoter.live.clock import utc_now
from scoter.live.content.archive import WarcContent
from scoter.live.content.log import FetchLog
from scoter.live.content.log_rows import OutcomeTimings
from scoter.live.content.retention import DiskFloor, Retention
from scoter.live.context import Context
from scoter.live.pipeline import pipeline
from scoter.live.scheduler import Scheduler
from scoter.live.sqlite.stores import SqliteStores
from scoter.live.stages.parser import ResponseParser
from scoter.live.workers.dispatcher import WorkerDispatcher
from scoter.parse import ContentParser
from scoter.parse.html.elements import KINDS
from scoter.store.warc import ArchiveInfo
from scoter.web.app import Api
from scoter.web.keys import AccessControl
from scoter.web.lookups import Lookup, UrlWaiters
from scoter.web.metrics import ServiceMetrics
from scoter.web.service.admission import CachedDomainRules, RoomCheckedSink, is_forced, is_pending
from scoter.web.service.cleanup import Cleanup, SteadyClock
from scoter.web.service.metrics_channel import MetricsReceiver
from scoter.web.service.plan import ServicePlan
from scoter.web.services import Services
from scoter.web.streams import Streams
from scoter.web.webhooks import CurlPoster, Webhooks, callback_check


class CoreComponents:
    """The components of a core; the caller opens and closes stores, fetchers, archive and parser."""

    def __init__(
        self,
        plan: ServicePlan,
        config: Config,
        *,
        stores: SqliteStores,
        fetchers: WorkerDispatcher,
        content: WarcContent,
        parsing: ContentParser,
    ) -> None:
        folder = plan.folder
        guard = Guard(config)
        self.stores = stores
        self.fetchers = fetchers
        self.is_stopping = False
        self.metrics = ServiceMetrics(gauges(self))
        self.floor = DiskFloor(folder.root, config.store.disk_floor)
        self.timings = OutcomeTimings()
        self.log = FetchLog(folder.log, stores.events, self.timings)
        retention = Retention(
            config.live,
            content=folder.content,
            log=self.log,
            metadata=stores.metadata,
            events=stores.events,
        )
        self.cleanup = Cleanup(stores, retention, is_steady=SteadyClock())
        self.streams = Streams(stores.events, most=config.web.streams)
        self.waiters = UrlWaiters(config.web.waiting)
        self.post = CurlPoster(config, guard=guard)
        self.webhooks = Webhooks(stores.deliveries, self.post, folder.secret(), metrics=self.metrics)
        rules = CachedDomainRules(stores.rules, fetchers.set_rule)
        reader = f"core-{os.getpid()}-{secrets.token_hex(4)}"
        way = pipeline(
            config,
            reader=reader,
            store=stores.metadata,
            outcomes=stores.outcomes,
            fetching=fetchers,
            reading=ResponseParser(config, parsing),
            content=content,
            rules=rules,
            clock=utc_now,
        )
        live, web = config.live, config.web
        self.scheduler = Scheduler(
            reader,
            stores.journal,
            way,
            most=live.in_flight,
            most_of_domain=live.in_flight_per_domain,
            lease=live.lease,
            on_done=self._done,
        )
        acceptance = Acceptance(config, stores.journal, stores.journal, rules, on_accepted=self.scheduler.wake)
        access = AccessControl(stores.keys, required=plan.needs_keys, any_host=plan.any_host)
        self.metrics_receiver = MetricsReceiver(folder.metrics_socket, self.metrics, access, stores.keys.add_uses)
        self.api = Api(
            Services(
                sink=RoomCheckedSink(
                    acceptance,
                    self.floor,
                    waiting_callbacks=lambda: stores.deliveries.waiting(live.callbacks_most),
                    most_callbacks=live.callbacks_most,
                    is_known=lambda message: stores.journal.is_done(message) is not None,
                ),
                lookup=Lookup(stores.metadata, partial(is_pending, stores.db.reader)),
                is_forced=partial(is_forced, stores.db.reader),
                waiters=self.waiters,
                streams=self.streams,
                rules=rules,
                fetching=fetchers,
                content=content,
                keys=stores.keys,
                access=access,
                metrics=self.metrics,
                check_callback=callback_check(guard),
                not_ready=self.not_ready,
                clock=utc_now,
                web=web,
                fetch_slots=asyncio.Semaphore(web.fetches),
            )
        )

    def not_ready(self) -> str:
        """Return why the service is not ready, or ""."""
        if self.is_stopping:
            return "The service is shutting down."
        if not self.fetchers.is_ready:
            return "No worker is running yet."
        if not self.floor.has_room():
            return "The disk is nearly full; messages are refused."
        if why := self.scheduler.trouble or self.stores.db.writer.trouble:
            return f"Nothing can be stored: {why}."
        return ""

    def release_clients(self) -> None:
        """End streams and waiting lookups: the service is shutting down."""
        self.streams.close()
        self.waiters.close()

    def _done(self, context: Context) -> None:
        self.metrics.done(context)
        self.timings.note(context)
        self.waiters.note({context.url.text, *(row.url for row in context.rows)})
        if len(self.streams):
            self.streams.wake()
        if context.entry.callback:
            self.webhooks.wake()


def live_config(config: Config) -> Config:
    """Return the settings for a live service, which needs the metadata of pages but not their links or text."""
    fetch = config.fetch
    return replace(
        config,
        fetch=fetch if fetch.delay != FetchSettings().delay else replace(fetch, delay=config.live.delay),
        parse=replace(
            config.parse,
            metadata=True,
            html_outlinks_ignore_tags=tuple(KINDS),  # saves a third of the cost of parsing a page of 12 KB
            script_links=False,
            store_text=False,
            simhash=False,
            extractor="none",
            markdown=False,
        ),
    )


def archive_info(config: Config) -> ArchiveInfo:
    """Return the description of this service for its archive."""
    agent = config.agent
    return ArchiveInfo(
        software=f"Scoter/{version('scoter')}", agent=user_agent(config), operator=agent.email or agent.url
    )


Gauges: TypeAlias = Mapping[str, Callable[[], Mapping[str, float]]]


def gauges(core: CoreComponents) -> Gauges:
    """Return the gauges of the core, by group and name."""
    return {
        "journal_entries": lambda: {
            priority.name.lower(): count for priority, count in core.stores.journal.depth().items()
        },
        "journal_oldest_seconds": lambda: {"entry": _oldest(core)},
        "pipeline": lambda: {"under_way": core.scheduler.under_way, "held": core.scheduler.held},
        "fetching": lambda: _fetching(core),
        "fetchers": lambda: _fetchers(core),
        "store": lambda: asdict(core.stores.metadata.size()),
        "writer": lambda: {"waiting": core.stores.db.writer.waiting, **asdict(core.stores.db.writer.counts)},
        "clients": lambda: {"streams": len(core.streams), "waiting": len(core.waiters)},
        "webhooks": lambda: {"under_way": len(core.webhooks)},
        "log": lambda: {"behind": core.stores.events.last() - core.log.number},
        "disk_bytes": lambda: {"free": core.floor.free, "floor": core.floor.floor},
        "core": _core,
    }


def _oldest(core: CoreComponents) -> float:
    found = core.stores.journal.oldest()
    return found.total_seconds() if found is not None else 0.0


def _fetching(core: CoreComponents) -> Mapping[str, float]:
    view = asdict(core.fetchers.snapshot())
    processes = len(view.pop("fetchers"))
    return {**view, "processes": processes}


def _fetchers(core: CoreComponents) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for number, report in core.fetchers.snapshot().fetchers.items():
        if report is not None:
            found[f"{number}.cpu_seconds"] = report.cpu
            found[f"{number}.memory_bytes"] = report.memory
            found[f"{number}.queues"] = report.queues
            found[f"{number}.shards"] = report.shards
    return found


def _core() -> Mapping[str, float]:
    # Peak memory; Linux reports kilobytes (getrusage(2)).
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cpu_seconds": time.process_time(), "most_memory_bytes": most}
