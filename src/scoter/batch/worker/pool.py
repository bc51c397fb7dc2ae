"""The pool of worker processes, as their parent sees it."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoter.errors import ScoterError
from scoter.plugins import preload
from scoter.store.disk import Closing

if TYPE_CHECKING:
    from scoter.batch.worker.process import FetchTask, FetchTaskReport
    from scoter.config import Config

_LOOK = 0.5
# A server with one thread loads the modules once and forks every worker, so that each starts in a few milliseconds.
_METHOD = "forkserver" if sys.platform == "linux" else "spawn"
_USED = (  # by workers
    "protocol",
    "urlfilter",
    "urlnormalizer",
    "urlexemption",
    "parser",
    "parsefilter",
    "scoring",
    "signature",
    "publisher",
)
_TASKS = Path("/proc/self/task")
_ALLOCATOR = "jemalloc_bg_thd"  # a thread of pyarrow


class WorkerDied(ScoterError):
    """A worker ended without a final report."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(f"a worker ended with {code}")

    def __str__(self) -> str:
        return f"signal {-self.code}" if self.code is not None and self.code < 0 else f"exit code {self.code}"


class FetchPool(Closing):
    """Workers, which are reused for the next segment, because starting the first takes half a second.

    When the pool is closed or its owner is killed, they finish their current part and exit.
    """

    def __init__(self) -> None:
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []

    def __repr__(self) -> str:
        return f"FetchPool({len(self._processes)} processes)"

    def close(self) -> None:
        """Close the pipes, so that the workers end, and wait for them."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()
        self._pipes, self._processes = [], []

    def fork(self, count: int, config: Config) -> None:
        """Fork workers, which share modules and plug-ins that are loaded here; do nothing if forking is not safe.

        It is safe only while this process has a single thread: another thread might hold a lock, which would never be
        released in the copy. Call it before opening files: workers would keep them open, such as the lock of a crawl.
        """
        import scoter.batch.worker.process  # noqa: F401 - loaded once, for all workers
        from scoter.store.arrow import limit_arrow_memory

        limit_arrow_memory()
        preload(_USED, config)
        if not _is_alone():
            return
        gc.freeze()  # garbage collection writes to every object, which would unshare its memory
        while len(self._processes) < count:
            self._start("fork")

    def run(
        self,
        tasks: Sequence[FetchTask],
        on_report: Callable[[FetchTaskReport], None],
        should_stop: Callable[[], bool],
        should_end: Callable[[], str] = lambda: "",
    ) -> None:
        """Run tasks, one per worker; if a worker is killed, stop the others and raise ``WorkerDied``.

        Once ``should_end`` returns a reason, the tasks end without what is still queued.
        """
        while len(self._processes) < len(tasks):
            self._start(_METHOD)
        for pipe, task in zip(self._pipes, tasks, strict=False):
            with suppress(OSError):  # a dead worker is noticed below
                pipe.send(task)
        busy: dict[Any, int] = {pipe: number for number, pipe in enumerate(self._pipes[: len(tasks)])}
        lost: WorkerDied | None = None
        has_stopped = has_ended = False
        while busy:
            ready: list[Any] = wait(list(busy), _LOOK)
            for pipe in ready:
                try:
                    report: FetchTaskReport = pipe.recv()
                except (EOFError, OSError):
                    process = self._processes[busy.pop(pipe)]
                    process.join()
                    lost = WorkerDied(process.exitcode)
                    continue
                if report.ended:
                    del busy[pipe]
                on_report(report)
            if not has_stopped and (lost is not None or should_stop()):
                has_stopped = True
                _send(busy, None)
            elif not has_stopped and not has_ended and (reason := should_end()):
                has_ended = True
                _send(busy, reason)
        if lost is not None:
            self.close()
            raise lost

    def _start(self, method: str) -> None:
        if method != "fork":
            resource_tracker.ensure_running()  # starting it later would unblock the signal blocked below
        context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            context.set_forkserver_preload(["__main__", "scoter.batch.worker.process"])
        ours, theirs = context.Pipe()
        # A forked worker inherits the parent's ends of all pipes and must close them, or no pipe is seen to close.
        not_theirs = [*self._pipes, ours] if method == "fork" else []
        process = context.Process(target=_serve, args=(theirs, not_theirs), name=f"scoter-fetch-{len(self._processes)}")
        # Ctrl-C reaches the whole process group; a worker that does not ignore it yet would die with a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._pipes.append(ours)
        self._processes.append(process)


def _send(pipes: Iterable[Connection], order: str | None) -> None:
    for pipe in pipes:
        with suppress(OSError):  # a dead worker is noticed elsewhere
            pipe.send(order)


def _is_alone() -> bool:
    """Return whether this process has one thread, apart from the allocator's, which supports fork."""
    if sys.platform != "linux":
        return False
    try:
        names = [task.joinpath("comm").read_text().strip() for task in _TASKS.iterdir()]
    except OSError:  # unknown, or a thread has just ended
        return False
    return len(names) - names.count(_ALLOCATOR) == 1


def _serve(pipe: Connection, not_ours: Iterable[Connection]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for each in not_ours:
        each.close()
    from scoter.batch.worker.process import run_worker

    run_worker(pipe)
