"""The tasks of a fetch by worker processes of this machine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.crawldb import scoring_columns
from scoter.batch.crawldir.segment import Segment
from scoter.batch.fetchlists.lists import process_count
from scoter.batch.worker.process import FetchTask, assign_lists, share_limits
from scoter.config import Config
from scoter.engine import Engine, source_of
from scoter.errors import UsageError
from scoter.store.disk import try_lock
from scoter.store.objects.copies import local_file

_WAIT_FOR_OTHERS = 60.0


class SharedState(Struct, frozen=True):
    """What the workers of a fetch share: the paths of the robots.txt cache and the holds, and the segment's lock."""

    robots: str
    holds: str
    lock: str


def local_tasks(
    segment: Segment,
    config: Config,
    shared: SharedState,
    finished: Sequence[str],
    *,
    parses: bool,
    engine: Callable[[], Engine],
) -> list[FetchTask]:
    """Begin an attempt to fetch what is in no finished part, and return the task of each worker."""
    info = segment.info()
    lists = (
        _remaining(segment, config, engine())
        if finished
        else [Path(local_file(each)) for each in segment.crawl_generate().files]
    )
    attempt = segment.begin_attempt(finished)
    processes = min(process_count(config), len(lists) or 1)
    own = share_limits(config, processes)
    tasks = [
        FetchTask(
            config=own,
            segment=str(segment.path),
            worker=worker,
            attempt=attempt,
            files=tuple(str(lists[number]) for number in numbers),
            numbers=tuple(numbers),
            lists=info.lists,
            partition=info.partition,
            buckets=info.buckets,
            parses=parses,
            robots=shared.robots,
            holds=shared.holds,
            lock=shared.lock,
        )
        for worker, numbers in enumerate(assign_lists(list(map(str, lists)), processes))
    ]
    # With fewer hosts than workers, some lists are empty; a worker without URLs would cost as much as ten pages.
    return [task for task in tasks if any(map(_has_rows, task.files))] or tasks[:1]


def _has_rows(file: str) -> bool:
    try:
        return bool(pq.read_metadata(file).num_rows)
    except (OSError, pa.ArrowException):  # its worker reports it
        return True


def wait_for_workers(segment: Segment, on_message: Callable[[str], None]) -> None:
    """Wait until the workers of a killed fetch have finished their parts."""
    until = time.monotonic() + _WAIT_FOR_OTHERS
    with segment.workers_lock.open("ab") as file:
        if try_lock(file.fileno()):
            return
        on_message("Waiting for the workers of an earlier fetch to finish.")
        while not try_lock(file.fileno()):
            if time.monotonic() > until:
                raise UsageError(
                    "workers of an earlier fetch are still running on this segment",
                    where=str(segment.path),
                    hint="Wait until they are done, or kill them.",
                )
            time.sleep(0.2)


def _remaining(segment: Segment, config: Config, engine: Engine) -> list[Path]:
    """Write the fetch lists again without the URLs of finished parts, and return the files."""
    extra = scoring_columns(config)
    done = engine.read(source_of(segment.crawl_fetch(extra), ["url"]))
    generated = segment.crawl_generate(extra)
    whole = source_of(generated)
    folder = segment.scratch / "remaining"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    found = [folder / f"list-{number:05d}.parquet" for number in range(len(whole.files))]
    for file, path in zip(whole.files, found, strict=True):
        rows = engine.read(replace(whole, files=(file,))).anti_join(done, "url")
        engine.save(rows, generated.schema, path)
    return found
