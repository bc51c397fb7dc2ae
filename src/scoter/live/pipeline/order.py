"""The pipeline of a URL: its stages in order, with the reason for the order."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from scoter.compose import Service, Stage, guard
from scoter.config import Config
from scoter.live.pipeline.context import Context
from scoter.live.pipeline.image import FetchImage
from scoter.live.pipeline.image_size import MeasureImage
from scoter.live.pipeline.lookup import AnswerKnown, FreshRecords
from scoter.live.pipeline.outcome import ArchiveResponses, BuildRecord, RecordOutcome
from scoter.live.pipeline.parser import ResponseParser
from scoter.live.pipeline.redirects import ResolveRedirects
from scoter.live.pipeline.requests import HopFetcher
from scoter.live.pipeline.shared_fetch import JoinFetch
from scoter.live.ports import (
    ContentStore,
    DomainRuleStore,
    MetadataStore,
    OutcomeRecorder,
    RedirectHandovers,
    RequestQueues,
)


def pipeline(
    config: Config,
    *,
    reader: str,
    store: MetadataStore,
    outcomes: OutcomeRecorder,
    fetching: RequestQueues,
    reading: ResponseParser,
    content: ContentStore,
    clock: Callable[[], datetime],
    rules: DomainRuleStore | None = None,
    handovers: RedirectHandovers | None = None,
    timer: Callable[[], float] = time.perf_counter,
) -> Service[Context, Context]:
    """Return the pipeline that fetches, parses, archives, stores and announces one URL.

    ``reader`` is the scheduler's name in the journal. The resulting context has ``is_recorded`` unset if the entry's
    lease was lost. ``handovers`` passes on redirects to domains of other processes.
    """
    live = config.live
    record = timed("record", RecordOutcome(reader, outcomes, handovers), timer)
    fresh = FreshRecords(store, live.known_for, clock)
    asking = HopFetcher(fetching, rules, timer, live.retries)
    is_elsewhere = None if handovers is None else handovers.is_elsewhere
    resolve = ResolveRedirects(asking, reading, fresh, live.hops, clock, is_elsewhere)
    work = timed("resolve", resolve, timer)
    if live.fetch_image:
        work = work >> timed("related", FetchImage(asking, reading, live.hops), timer)
    elif live.image_rate:
        measure = MeasureImage(asking, fetching, wait=live.image_wait, rate=live.image_rate, timer=timer)
        work = work >> timed("related", measure, timer)
    work = (
        work
        >> timed("archive", ArchiveResponses(content), timer)  # before the record, which contains the location
        >> timed("conclude", BuildRecord(live, fresh, clock), timer)
        >> record  # inside JoinFetch: entries too late to join find the record in the store
    )
    return guard(
        work,
        AnswerKnown(fresh, record, timer),  # outermost: most URLs are known, and cost a lookup
        # After the lookup: a URL is either joined or, once stored, known.
        JoinFetch(record, timer, asking.raise_priority),
        asking,  # innermost: chains share a hop until each of them has recorded its outcome
    )


def timed(name: str, stage: Service[Context, Context], timer: Callable[[], float]) -> Stage[Context, Context]:
    """Return a stage that adds its duration to the context."""

    async def run(context: Context) -> Context:
        began = timer()
        done = await stage(context)
        return done.timed(name, timer() - began)

    return Stage(run)
