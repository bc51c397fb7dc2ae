"""The worker process: ``python -m scoter.live.fetching.process FD``, connected to the core by the socket FD.

It opens no store. It ends when the core or SIGTERM tells it to. Without a core it continues to answer direct requests
at its Unix socket, for the domains it holds, until a new core ends it or no request has come for a while.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import pickle
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import uvloop

from scoter.core.reply import Exchange
from scoter.heap import collect_less, keep_memory
from scoter.live import clock
from scoter.live.fetching.lease import WorkerLock
from scoter.live.fetching.wire import FrameConnection, MakeHop, StartWorker, WireMessage, frames_over
from scoter.live.fetching.worker import LiveWorker
from scoter.live.pipeline.parser import ResponseParser
from scoter.live.records import ContentSummary, Priority
from scoter.parse import ContentParser

_DIRECT_LIMIT = 1024 * 1024  # bytes of a direct request
_MOST_DIRECT = 64  # connections


class WorkerStartup:
    """Waits for ``StartWorker``, and queues other messages until the worker exists."""

    def __init__(self) -> None:
        self.begun: asyncio.Future[StartWorker] = asyncio.get_running_loop().create_future()
        self._worker: LiveWorker | None = None
        self._early: list[WireMessage | None] = []

    def receive(self, message: WireMessage | None = None) -> None:
        """Handle a message of the core; ``None`` means that the core is gone."""
        if isinstance(message, StartWorker):
            self.begun.set_result(message)
        elif self._worker is None:
            self._early.append(message)
            if message is None:
                self.begun.cancel()
        elif message is None:
            self._worker.lose_core()
        else:
            self._worker.receive(message)

    def settle(self, worker: LiveWorker) -> None:
        """Pass queued messages to the worker, and all later ones."""
        self._worker = worker
        for message in self._early:
            self.receive(message)
        self._early.clear()


class DirectRequests:
    """Direct requests at the Unix socket of this process."""

    def __init__(self, worker: LiveWorker) -> None:
        self._worker = worker
        self._count = 0

    def accept(self) -> FrameConnection:
        """Return the protocol of a new connection."""
        self._count += 1
        frames = FrameConnection(lambda message: self._receive(message, frames), self._ended, _DIRECT_LIMIT)
        if self._count > _MOST_DIRECT:
            frames.close()
        return frames

    def _ended(self) -> None:
        self._count -= 1

    def _receive(self, message: WireMessage, asker: FrameConnection) -> None:
        if not isinstance(message, MakeHop) or message.is_forwarded:
            raise ValueError(f"unexpected message on the socket for direct requests: {type(message).__name__}")
        self._worker.ask(message, asker)


async def serve(sock: socket.socket) -> None:
    """Serve the core at the other end of a socket as a worker."""
    process = WorkerStartup()
    core = await frames_over(sock, process.receive, process.receive)
    with suppress(asyncio.CancelledError):
        begin = await process.begun
        await _work(begin, process, core)
    core.close()


async def _work(begin: StartWorker, process: WorkerStartup, core: FrameConnection) -> None:
    loop = asyncio.get_running_loop()
    folder = Path(begin.folder)
    lock = WorkerLock(folder)
    config = pickle.loads(begin.config)  # noqa: S301 - from the parent process, over a private socket
    keep_memory()
    parsing = ContentParser(config)  # only what is safe to parse in this process
    worker = LiveWorker(
        config,
        core,
        begin.limits,
        promise=lock.promise,
        now=clock.steady_now,
        reading=InPlaceParser(ResponseParser(config, parsing).at_once),
    )
    loop.add_signal_handler(signal.SIGTERM, partial(worker.stop, 0.0))
    path = folder / f"fetcher-{os.getpid()}.sock"
    path.unlink(missing_ok=True)
    listening = await loop.create_unix_server(DirectRequests(worker).accept, path=str(path))
    try:
        process.settle(worker)
        collect_less()
        await worker.run()
    finally:
        parsing.close()
        listening.close()
        path.unlink(missing_ok=True)


def main() -> None:
    # Ctrl-C reaches the whole process group; the core ends its workers in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.umask(0o077)
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.setblocking(False)
    uvloop.run(serve(sock))


# Seconds of parsing between two turns of the event loop. A hostile page may take one second: without turns in between,
# a few of them would delay heartbeats until the core kills the process.
_PARSE_SLICE: Final = 0.02


class InPlaceParser:
    """Parses one response at a time, the most urgent first, and yields to the event loop in between."""

    def __init__(
        self, at_once: Callable[[Exchange], ContentSummary | None], timer: Callable[[], float] = time.perf_counter
    ) -> None:
        """``at_once`` parses a response, or returns ``None`` if that may take long."""
        self._at_once = at_once
        self._timer = timer
        self._is_busy = False
        self._waiting: list[tuple[Priority, int, asyncio.Future[None]]] = []
        self._last = 0
        self._spent = 0.0

    async def __call__(self, exchange: Exchange, priority: Priority = Priority.NORMAL) -> ContentSummary | None:
        """Return the content of a response, or ``None`` if the core should parse it."""
        await self._turn(priority)
        try:
            if self._spent > _PARSE_SLICE:
                self._spent = 0.0
                await asyncio.sleep(0)
            began = self._timer()
            try:
                return self._at_once(exchange)
            except Exception:  # the core will parse it, and report the error
                return None
            finally:
                self._spent += self._timer() - began
        finally:
            self._pass_on()

    async def _turn(self, priority: Priority) -> None:
        if not self._is_busy:
            self._is_busy = True
            return
        self._last += 1
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (priority, self._last, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it has just been given the turn
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            turn = heapq.heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._is_busy = False


if __name__ == "__main__":
    main()
