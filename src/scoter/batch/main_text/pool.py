"""Worker processes for main text, as their parent sees them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from scoter.batch.main_text.worker import MainTextTask, run_task
from scoter.errors import Defect, UserError

MAX_ATTEMPTS = 3
"""How often a part is begun whose worker is killed."""


def run_tasks(tasks: Iterable[MainTextTask], processes: int, on_done: Callable[[int], None]) -> None:
    """Run tasks in worker processes; ``on_done`` is called with the number of pages that were done.

    The workers end with their parent. If one is killed, another one begins its part again.
    """
    crew = _Crew(on_done)
    try:
        crew.run(iter(tasks), processes)
    finally:
        crew.close()


class _Crew:
    def __init__(self, on_done: Callable[[int], None]) -> None:
        self._on_done = on_done
        self._workers: dict[Any, Any] = {}
        self._busy: dict[Any, tuple[MainTextTask, int, int]] = {}  # task, attempt, pages done

    def run(self, tasks: Iterator[MainTextTask], processes: int) -> None:
        """Give every worker a task, and another one when it is done."""
        for task in tasks:
            self._begin(self._start(), task)
            if len(self._busy) >= processes:
                break
        while self._busy:
            ready: list[Any] = wait(list(self._busy))
            for pipe in ready:
                if self._is_done(pipe) and (following := next(tasks, None)) is not None:
                    self._begin(pipe, following)

    def close(self) -> None:
        """End the workers, whatever they are doing; what they have not finished does not count."""
        for pipe, process in self._workers.items():
            if pipe in self._busy:
                process.terminate()
            pipe.close()
        for process in self._workers.values():
            process.join()

    def _start(self) -> Any:
        context: Any = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), name=f"scoter-main-text-{len(self._workers)}")
        # Ctrl-C reaches the whole process group; a worker that does not ignore it yet would die with a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self._workers[ours] = process
        return ours

    def _begin(self, pipe: Any, task: MainTextTask, attempt: int = 1) -> None:
        self._busy[pipe] = (task, attempt, 0)
        with suppress(OSError):  # a dead worker is noticed when it is waited for
            pipe.send(task)

    def _is_done(self, pipe: Any) -> bool:
        """Take a report of a worker, and return whether it is free."""
        task, attempt, done = self._busy[pipe]
        try:
            report: int | tuple[str, str, str] | None = pipe.recv()
        except (EOFError, OSError):
            self._replace(pipe)
            return False
        if isinstance(report, int):
            self._busy[pipe] = (task, attempt, done + report)
            self._on_done(report)
            return False
        del self._busy[pipe]
        if report is not None:
            message, where, hint = report
            raise UserError(message, where=where, hint=hint)
        return True

    def _replace(self, pipe: Any) -> None:
        """Begin the part of a dead worker again, in another one."""
        task, attempt, done = self._busy.pop(pipe)
        process = self._workers.pop(pipe)
        process.join()
        pipe.close()
        if process.exitcode is not None and process.exitcode > 0:
            raise Defect(f"a worker failed with exit code {process.exitcode}; see its traceback above")
        if attempt >= MAX_ATTEMPTS:
            raise UserError(
                f"workers keep being killed (the last one by signal {-(process.exitcode or 0)})",
                where=task.segment,
                hint="Check the available memory. Finished parts are kept; to make the rest, run the command again.",
            )
        self._on_done(-done)
        self._begin(self._start(), task, attempt + 1)


def _serve(pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task: MainTextTask = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            for done in run_task(task):
                pipe.send(done)
            pipe.send(None)
        except UserError as error:
            pipe.send((error.message, error.where, error.hint))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
