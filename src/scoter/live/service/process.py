"""How a process of the service gets its plan, reports that it is ready and alive, and is told to stop.

A socket pair connects it to the supervisor. The plan comes first, preceded by its length. When the supervisor ends, for
whatever reason, the socket is closed and the process stops too.

The event loop sends the heartbeats, so that a process whose loop hangs falls silent. One that is silent but busy (a
long computation, an overloaded machine) is given more time than one that does nothing, like a stopped process.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import pickle
import signal
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvloop

from scoter.errors import UserError
from scoter.http.logs import configure_logging
from scoter.live.background import DEFECT, VitalTasks
from scoter.live.service.plan import ServicePlan

USER_ERROR: Final = 2
END_WITHIN: Final = 20.0
"""Seconds in which a process must end, or is killed."""
_CHUNK: Final = 4096
_LENGTH: Final = struct.Struct("!I")
READY: Final = b"R"
ALIVE: Final = b"."
_log = logging.getLogger(__name__)

Work = Callable[[ServicePlan, "SupervisorLink"], Awaitable[int]]


class SupervisorLink:
    """The process's end of the socket pair; ``stopping`` is set when it must stop."""

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)  # a stopped supervisor does not read
        self._link = link
        self.stopping = asyncio.Event()
        self.is_ready = False

    def stop(self) -> None:
        """Stop; if that takes too long, exit with a traceback."""
        if not self.stopping.is_set():
            faulthandler.dump_traceback_later(END_WITHIN, exit=True)
            self.stopping.set()

    def report_ready(self) -> None:
        """Tell the supervisor that the process is ready."""
        self.is_ready = True
        try:
            self._link.send(READY)
        except OSError:  # the supervisor is gone, as ``listen`` will notice
            self.stop()

    async def send_heartbeats(self, every: float) -> None:
        """Send heartbeats to the supervisor until cancelled."""
        while True:
            with suppress(OSError):  # a stopped supervisor does not read; ``listen`` notices one that is gone
                self._link.send(ALIVE)
            await asyncio.sleep(every)

    async def listen(self) -> None:
        """Stop when the supervisor ends."""
        # The supervisor sends nothing after the plan. If it left heartbeats unread, reading raises a connection reset.
        while await receive(self._link):
            pass
        if not self.stopping.is_set():
            _log.warning("the supervisor is gone")
        self.stop()


def send_plan(link: socket.socket, plan: ServicePlan) -> None:
    """Send a process its plan."""
    packed = pickle.dumps(plan)
    link.sendall(_LENGTH.pack(len(packed)) + packed)


async def receive(link: socket.socket) -> bytes:
    """Return the next signals of a process, one byte each; empty when it has ended."""
    try:
        return await asyncio.get_running_loop().sock_recv(link, _CHUNK)
    except OSError:
        return b""


def run_process(name: str, work: Work) -> None:
    """Run ``work`` with the plan received over the socket given on the command line; exit with its code."""
    link = socket.socket(fileno=int(sys.argv[1]))
    plan = _plan(link)
    configure_logging(plan.level, plan.config.web.log_format)
    # The supervisor asks a hanging process for a traceback before it kills it.
    faulthandler.register(signal.SIGQUIT)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(_run(name, work, plan, link))
    logging.shutdown()
    # Not sys.exit: threads blocked on a failing disk would keep the process alive.
    sys.stderr.flush()
    os._exit(code)


async def _run(name: str, work: Work, plan: ServicePlan, link: socket.socket) -> int:
    link_end = SupervisorLink(link)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, link_end.stop)
    vital = VitalTasks()
    vital.spawn(link_end.listen())
    if silence := plan.config.live.silence:
        vital.spawn(link_end.send_heartbeats(silence.total_seconds() / HEARTBEATS))
    try:
        return await work(plan, link_end)
    except UserError as error:
        print(f"scoter: {error}", file=sys.stderr)
        return USER_ERROR
    except Exception:
        _log.exception("the %s ends because of a defect", name)
        return DEFECT
    finally:
        await vital.close()


def _plan(link: socket.socket) -> ServicePlan:
    (length,) = _LENGTH.unpack(_receive_exactly(link, _LENGTH.size))
    found = pickle.loads(_receive_exactly(link, length))  # noqa: S301 - from the process that started this one
    assert isinstance(found, ServicePlan)  # noqa: S101 - as ``send_plan`` sends it
    return found


def _receive_exactly(link: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        more = link.recv(length - len(found))
        if not more:
            sys.exit(DEFECT)
        found += more
    return found


HEARTBEATS: Final = 10  # heartbeats within the time in which one is expected
_BUSY_FACTOR: Final = 6
_BUSY: Final = 0.01  # a process that uses more of a CPU than this is busy


class StallDetector:
    """Detects that a process hangs, by its heartbeats and its CPU time."""

    def __init__(
        self, silence: float, used: Callable[[], float | None], timer: Callable[[], float] = time.monotonic
    ) -> None:
        """``silence`` is the time allowed between heartbeats; ``used`` returns its CPU time in seconds."""
        self._silence = silence
        self._used = used
        self._timer = timer
        self._heard = self._looked = timer()
        self._used_then: float | None = None
        self._is_ready = False

    def heard(self) -> None:
        """Record a heartbeat."""
        self._heard = self._timer()
        self._used_then = None

    def is_ready(self) -> None:
        """Record that the process is ready. Until then it may replay a long log without heartbeats."""
        self._is_ready = True
        self.heard()

    def is_stalled(self) -> bool:
        """Return whether the process has been silent for too long; call it ``HEARTBEATS`` times in that time."""
        now = self._timer()
        if now - self._looked > self._silence / 2:
            # The supervisor itself was paused: heartbeats sent meanwhile have not been read yet.
            self.heard()
        self._looked = now
        used = self._used()
        if self._used_then is None:
            self._used_then = used
        silent = now - self._heard
        if silent < self._silence:
            return False
        is_busy = used is None or used - (self._used_then or 0.0) > _BUSY * silent
        if self._is_ready and not is_busy:
            return True
        # A busy process that is still starting is left alone: its recovery may take long.
        return silent >= _BUSY_FACTOR * self._silence and (self._is_ready or not is_busy)


def cpu_time(pid: int) -> float | None:
    """Return the CPU time of a process in seconds; ``None`` if unknown."""
    with suppress(OSError, ValueError, IndexError):
        # proc(5): the second field, the name, may contain spaces and parentheses; utime and stime are fields 14 and 15.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None
