"""How the core is assembled, and the metrics that show its state."""

from __future__ import annotations

import asyncio
import os
import resource
import secrets
import time
from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from scoter import __version__
from scoter.config import Config
from scoter.fetch.network.guard import Guard
from scoter.fetch.protocols.request_headers import user_agent
from scoter.http.metrics import Reading
from scoter.http.sessions import SessionAccess, Sessions
from scoter.http.shares import ApiShares
from scoter.http.streams import Streams
from scoter.live.api.app import Api
from scoter.live.api.history import StatisticsHistory
from scoter.live.api.lookups import Lookup, UrlWaiters
from scoter.live.api.metrics import ServiceMetrics
from scoter.live.api.services import Services
from scoter.live.api.webhooks import CurlPoster, Webhooks, callback_check
from scoter.live.clock import utc_now
from scoter.live.content.archive import WarcContent
from scoter.live.content.log import FetchLog
from scoter.live.content.log_rows import OutcomeTimings
from scoter.live.content.retention import DiskFloor, Retention
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.intake.checks import CachedDomainRules, RoomCheckedSink, is_forced, is_pending
from scoter.live.intake.messages import MessageReceiver
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.order import pipeline
from scoter.live.pipeline.parser import ResponseParser
from scoter.live.pipeline.parser_pool import ParserPool
from scoter.live.pipeline.retries import RetryTimer
from scoter.live.pipeline.scheduler import Scheduler
from scoter.live.service.cleanup import Cleanup, SteadyClock
from scoter.live.service.metrics_channel import MetricsReceiver
from scoter.live.service.plan import ServicePlan
from scoter.live.sqlite.probe import DatabaseProbe
from scoter.live.sqlite.stores import SqliteStores
from scoter.parse import ContentParser
from scoter.parse.html.elements import KINDS
from scoter.store.warc import ArchiveInfo


class CoreComponents:
    """The components of a core; the caller opens and closes stores, workers, archive and parsers."""

    def __init__(
        self,
        plan: ServicePlan,
        config: Config,
        *,
        stores: SqliteStores,
        workers: WorkerDispatcher,
        content: WarcContent,
        parsing: ContentParser,
        parsers: ParserPool,
    ) -> None:
        folder = plan.folder
        guard = Guard(config)
        self.stores = stores
        self.workers = workers
        self.is_stopping = False
        self.metrics = ServiceMetrics(readings(self))
        self.history = StatisticsHistory(self.metrics, folder.history)
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
        rules = CachedDomainRules(stores.rules, workers.set_rule)
        reader = f"core-{os.getpid()}-{secrets.token_hex(4)}"
        way = pipeline(
            config,
            reader=reader,
            store=stores.metadata,
            outcomes=stores.outcomes,
            fetching=workers,
            reading=ResponseParser(config, parsing, parsers),
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
        self.retries = RetryTimer(stores.journal, self.scheduler.wake)
        receiver = MessageReceiver(config, stores.journal, stores.journal, rules, on_accepting=self.scheduler.wake)
        access = SessionAccess(
            stores.keys,
            Sessions(folder.sessions),
            required=plan.needs_keys,
            any_host=plan.any_host,
            origins=web.cors_origins,
        )
        self.probe = DatabaseProbe(stores.db)
        self.metrics_receiver = MetricsReceiver(
            folder.metrics_socket, self.metrics, access, stores.keys.add_uses, stores.db.health
        )
        self.api = Api(
            Services(
                sink=RoomCheckedSink(
                    receiver,
                    self.floor,
                    waiting_callbacks=stores.deliveries.waiting,
                    most_callbacks=live.callbacks_most,
                    most_of_tenant=live.callbacks_per_tenant,
                    is_known=lambda message: stores.journal.is_done(message) is not None,
                ),
                lookup=Lookup(stores.metadata, partial(is_pending, stores.db.reader)),
                is_forced=partial(is_forced, stores.db.reader),
                waiters=self.waiters,
                streams=self.streams,
                rules=rules,
                deliveries=stores.deliveries,
                wake_deliveries=self.webhooks.wake,
                fetching=workers,
                waiting_for=stores.journal.waiting_for,
                activity=workers.activity,
                content=content,
                keys=stores.keys,
                access=access,
                metrics=self.metrics,
                history=self.history,
                check_callback=callback_check(guard),
                not_ready=self.not_ready,
                clock=utc_now,
                web=web,
                shares=ApiShares.of(web),
                fetch_slots=asyncio.Semaphore(web.fetches),
            )
        )

    def not_ready(self) -> str:
        """Return why the service is not ready, or ""."""
        if self.is_stopping:
            return "The service is shutting down."
        if not self.workers.is_ready:
            return "No worker is running yet."
        if not self.floor.has_room():
            return "The disk is nearly full; messages are refused."
        db = self.stores.db
        if why := db.health.damage or self.scheduler.trouble or db.writer.trouble or db.health.trouble:
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
    live = config.live
    return replace(
        config,
        fetch=replace(config.fetch, delay=live.delay, content_limit=live.content_limit),
        parse=replace(
            config.parse,
            skip_truncated=False,  # the title of a long page is usually at its beginning
            metadata=True,
            html_outlinks_ignore_tags=tuple(KINDS),  # saves a third of the cost of parsing a page of 12 KB
            script_links=False,
            store_text=False,
            simhash=False,
            main_text=False,
            markdown=False,
        ),
    )


def archive_info(config: Config) -> ArchiveInfo:
    """Return the description of this service for its archive."""
    agent = config.agent
    return ArchiveInfo(software=f"Scoter/{__version__}", agent=user_agent(config), operator=agent.email or agent.url)


def readings(core: CoreComponents) -> tuple[Reading, ...]:
    """Return the metrics that the components of the core keep."""

    def workers(field: str) -> Callable[[], Mapping[str, float]]:
        return lambda: {
            str(number): getattr(report, field)
            for number, report in core.workers.snapshot().workers.items()
            if report is not None
        }

    def counts(field: str) -> Callable[[], float]:
        return lambda: getattr(core.stores.db.writer.counts, field)

    def size(field: str) -> Callable[[], float]:
        return lambda: getattr(core.stores.metadata.size(), field)

    return (
        Reading("scoter_journal_entries", "URLs accepted and not finished.", lambda: _depth(core), "priority"),
        Reading("scoter_journal_oldest_seconds", "Age of the oldest of these.", lambda: _oldest(core)),
        Reading("scoter_retries_waiting", "URLs to be fetched again.", lambda: core.stores.journal.retries()),
        Reading("scoter_pipeline_urls", "URLs in progress, or held back by a limit.", lambda: _urls(core), "state"),
        Reading("scoter_fetch_requests", "Requests, by what they wait for.", lambda: _requests(core), "state"),
        # The metrics of workers keep the names that they had at first: dashboards and alerts use them.
        Reading("scoter_fetch_domains", "Domains in memory.", lambda: core.workers.snapshot().domains),
        Reading("scoter_fetchers", "Worker processes.", lambda: len(core.workers.snapshot().workers)),
        Reading("scoter_fetcher_restarts_total", "Workers started again.", lambda: core.workers.snapshot().restarts),
        Reading("scoter_fetcher_cpu_seconds_total", "CPU time of a worker.", workers("cpu"), "fetcher"),
        Reading("scoter_fetcher_memory_bytes", "Memory of a worker.", workers("memory"), "fetcher"),
        Reading("scoter_fetcher_queues", "Domains with a queue in a worker.", workers("queues"), "fetcher"),
        Reading("scoter_fetcher_shards", "Shards that a worker leases.", workers("shards"), "fetcher"),
        Reading("scoter_store_records", "Records.", size("records")),
        Reading("scoter_store_collisions", "Records whose hash collides with another.", size("collisions")),
        Reading("scoter_store_file_bytes", "Size of the database.", size("file_bytes")),
        Reading("scoter_store_free_bytes", "Free space inside the database.", size("free_bytes")),
        Reading("scoter_writes_waiting", "Writes that wait.", lambda: core.stores.db.writer.waiting),
        Reading("scoter_writes_total", "Writes to the database.", counts("writes")),
        Reading("scoter_commits_total", "Commits of the database.", counts("commits")),
        Reading("scoter_write_failures_total", "Failed writes to the database.", counts("failures")),
        Reading("scoter_read_failures_total", "Failed reads.", lambda: core.stores.db.health.read_failures),
        Reading("scoter_store_damaged", "1 if damage is known.", lambda: int(bool(core.stores.db.health.damage))),
        Reading("scoter_streams", "Open event streams.", lambda: len(core.streams)),
        Reading("scoter_lookups_waiting", "Lookups that wait for a URL.", lambda: len(core.waiters)),
        Reading("scoter_deliveries_under_way", "Deliveries in progress.", lambda: len(core.webhooks)),
        Reading("scoter_log_behind", "Outcomes not in the log yet.", lambda: _behind(core)),
        Reading("scoter_disk_free_bytes", "Free disk space.", lambda: core.floor.free),
        Reading("scoter_disk_floor_bytes", "Disk space that must stay free.", lambda: core.floor.floor),
        Reading("scoter_core_cpu_seconds_total", "CPU time of the core.", time.process_time),
        Reading("scoter_core_peak_memory_bytes", "Peak memory of the core.", _peak_memory),
    )


def _depth(core: CoreComponents) -> Mapping[str, float]:
    return {priority.name.lower(): count for priority, count in core.stores.journal.depth().items()}


def _oldest(core: CoreComponents) -> float:
    found = core.stores.journal.oldest()
    return found.total_seconds() if found is not None else 0.0


def _urls(core: CoreComponents) -> Mapping[str, float]:
    return {"under_way": core.scheduler.under_way, "held": core.scheduler.held}


def _requests(core: CoreComponents) -> Mapping[str, float]:
    view = core.workers.snapshot()
    return {"waiting": view.waiting, "under_way": view.under_way}


def _behind(core: CoreComponents) -> float:
    return core.stores.events.last() - core.log.number


def _peak_memory() -> float:
    # Linux reports kilobytes (getrusage(2)).
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
