"""What happens to a URL of a message, in order, with the reason for the order."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from scoter.compose import Service, Stage, guard
from scoter.config import Config
from scoter.live.context import Context
from scoter.live.ports import ContentStore, Fetching, Ledger, MetadataStore
from scoter.live.stages.archiving import Archiving
from scoter.live.stages.concluding import Concluding
from scoter.live.stages.known import Known, UnderWay
from scoter.live.stages.reading import Reading
from scoter.live.stages.recording import Recording
from scoter.live.stages.related import RelatedImage
from scoter.live.stages.resolving import Resolving


def pipeline(
    config: Config,
    *,
    reader: str,
    store: MetadataStore,
    ledger: Ledger,
    fetching: Fetching,
    reading: Reading,
    content: ContentStore,
    clock: Callable[[], datetime],
    timer: Callable[[], float] = time.perf_counter,
) -> Service[Context, Context]:
    """Return the way of a URL from a message to where it is stored and announced; ``reader`` is who does it."""
    live = config.live
    record = Recording(reader, ledger)
    work = timed("resolve", Resolving(fetching, reading, live.hops), timer)
    if live.fetch_image:
        work = work >> timed("related", RelatedImage(fetching, reading, live.hops), timer)
    work = (
        work
        >> timed("archive", Archiving(content), timer)  # before the record, which says where the answer lies
        >> timed("conclude", Concluding(live.known_for, live.failed_for, clock), timer)
        >> timed("record", record, timer)  # inside what is under way: whoever comes after that finds it in the store
    )
    answer = guard(
        work,
        Known(store, live.known_for, clock),  # outermost: most URLs are known, and cost a lookup
        UnderWay(),  # behind it: what has just been stored is known; one that came a moment earlier is joined
    )
    return Stage(answer) >> record  # those who were answered by another's fetch, or from the store


def timed(
    name: str, stage: Service[Context, Context], timer: Callable[[], float] = time.perf_counter
) -> Stage[Context, Context]:
    """Return a stage that notes how long it took."""

    async def run(context: Context) -> Context:
        began = timer()
        done = await stage(context)
        return done.timed(name, timer() - began)

    return Stage(run)
