"""The fetching processes as their parent sees them: started once, given one task after another, told to stop."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Self

from scoter.errors import ScoterError

if TYPE_CHECKING:
    from scoter.batch.fetching.worker import Said, Task

_LOOK = 0.5


class Interrupted(ScoterError):
    """A process ended without a word."""

    def __init__(self, code: int | None) -> None:
        self.code = code
        super().__init__(f"a fetching process ended with {code}")

    def __str__(self) -> str:
        return f"signal {-self.code}" if self.code is not None and self.code < 0 else f"exit code {self.code}"


class Pool:
    """Processes that fetch, kept from one segment to the next: starting one takes half a second.

    When the pool is closed, or its owner killed, they finish what they are at and end.
    """

    def __init__(self) -> None:
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []

    def __repr__(self) -> str:
        return f"Pool({len(self._processes)} processes)"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the processes end, and wait for them."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()
        self._pipes, self._processes = [], []

    def run(self, tasks: Sequence[Task], hear: Callable[[Said], None], wants_end: Callable[[], bool]) -> None:
        """Do tasks, each in its own process, and hear what they say; one that is killed brings all to their end."""
        while len(self._processes) < len(tasks):
            self._start()
        for pipe, task in zip(self._pipes, tasks, strict=False):
            with suppress(OSError):  # then its end is noticed below
                pipe.send(task)
        busy: dict[Any, int] = {pipe: number for number, pipe in enumerate(self._pipes[: len(tasks)])}
        lost: Interrupted | None = None
        has_stopped = False
        while busy:
            ready: list[Any] = wait(list(busy), _LOOK)
            for pipe in ready:
                try:
                    said: Said = pipe.recv()
                except (EOFError, OSError):
                    process = self._processes[busy.pop(pipe)]
                    process.join()
                    lost = Interrupted(process.exitcode)
                    continue
                if said.ended:
                    del busy[pipe]
                hear(said)
            if not has_stopped and (lost is not None or wants_end()):
                has_stopped = True
                for pipe in busy:
                    with suppress(OSError):
                        pipe.send(None)
        if lost is not None:
            self.close()
            raise lost

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        process = spawn.Process(target=_serve, args=(theirs,), name=f"scoter-fetch-{len(self._processes)}")
        # Ctrl-C reaches the whole group; a process that has not come so far as to ignore it would die of it loudly.
        resource_tracker.ensure_running()  # which would unblock the signal
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._pipes.append(ours)
        self._processes.append(process)


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from scoter.batch.fetching.worker import serve

    serve(pipe)
