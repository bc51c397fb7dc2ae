"""One fetching process, as its core has it: started, spoken to, and known to be dead only when it is."""

from __future__ import annotations

import asyncio
import heapq
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from scoter.live.fetching.frames import Frames, over
from scoter.live.fetching.messages import Message, Report
from scoter.live.fetching.waiting import Domain, Pending


class Member:
    """A fetching process. ``on_death`` is told when it is gone and everything that it said has been read."""

    def __init__(self, number: int, process: subprocess.Popen[bytes]) -> None:
        self.number = number
        self.under_way: dict[int, Pending] = {}
        self.has_joined = False
        self.report: Report | None = None
        self._process = process
        self._frames: Frames | None = None
        self._backlog: list[tuple[int, int, Domain]] = []
        self._left = 2  # the process and its socket, each of which has an end
        self.gone = asyncio.Event()
        self._since = time.monotonic()

    def __repr__(self) -> str:
        return f"Member({self.number}, pid {self.pid}, {len(self.under_way)} under way)"

    @classmethod
    async def start(
        cls, number: int, on_message: Callable[[Member, Message], None], on_death: Callable[[Member], None]
    ) -> Self:
        """Start a process, which says hello when it is ready."""
        ours, theirs = socket.socketpair()
        try:
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own module, and begun in a millisecond
                [sys.executable, "-m", "scoter.live.fetching.process", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        member, loop = cls(number, process), asyncio.get_running_loop()

        def left() -> None:
            member._left -= 1
            if not member._left:
                member.gone.set()
                on_death(member)
            else:
                member.kill()  # one that has closed its socket is of no use any more

        def wait() -> None:
            process.wait()
            with suppress(RuntimeError):  # the loop is closed: nobody is interested
                loop.call_soon_threadsafe(left)

        try:
            member._frames = await over(ours, lambda message: on_message(member, message), left)
            threading.Thread(target=wait, name=f"wait-{process.pid}", daemon=True).start()
        except BaseException:
            if member._frames is None:
                ours.close()
            else:
                member._frames.close()
            process.kill()
            process.wait()
            raise
        return member

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def frames(self) -> Frames:
        if self._frames is None:
            raise RuntimeError("the process has not been started")
        return self._frames

    def lived(self) -> float:
        """Return for how many seconds the process has been there."""
        return time.monotonic() - self._since

    def send(self, message: Message) -> None:
        self.frames.send(message)

    def kill(self) -> None:
        """See to it that the process runs no further; one that is stopped ends, too."""
        self._process.send_signal(signal.SIGKILL)  # does nothing once it has been waited for

    # Domains that have something to send, while there is no room for it

    def line_up(self, domain: Domain, first: Pending) -> None:
        heapq.heappush(self._backlog, (first.priority, first.id, domain))

    def next_in_line(self) -> Domain | None:
        return heapq.heappop(self._backlog)[2] if self._backlog else None
