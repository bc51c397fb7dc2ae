"""How a process of the service is told what to do, says that it is ready and alive, and hears that it must end.

One pair of sockets joins it to the supervisor. The plan comes first, a length in front of it. When the supervisor ends,
however that came about, the socket does, and so does whoever holds its other end.
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
from scoter.web.service.plan import ServicePlan

DEFECT: Final = 70
USER_ERROR: Final = 2
END_WITHIN: Final = 20.0
"""Seconds in which a process ends, or is ended."""
_AT_ONCE: Final = 4096
_LENGTH: Final = struct.Struct("!I")
READY: Final = b"R"
ALIVE: Final = b"."
_log = logging.getLogger(__name__)

Work = Callable[[ServicePlan, "SupervisorLink"], Awaitable[int]]


class SupervisorLink:
    """The process's end of it; ``stopping`` is set when it must end."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self.stopping = asyncio.Event()

    def stop(self) -> None:
        """End; what takes too long is cut off, with a line that says where it stood."""
        if not self.stopping.is_set():
            faulthandler.dump_traceback_later(END_WITHIN, exit=True)
            self.stopping.set()

    def say_ready(self) -> None:
        """Tell the supervisor that the work has begun."""
        try:
            self._link.send(READY)
        except OSError:  # it is gone, as ``listen`` is about to find
            self.stop()

    async def say_alive(self, every: float) -> None:
        """Tell the supervisor again and again that the event loop turns, until this is cancelled."""
        while True:
            with suppress(OSError):  # one that is stopped does not read; one that is gone is found by ``listen``
                self._link.send(ALIVE)
            await asyncio.sleep(every)

    async def listen(self) -> None:
        """Stop when the supervisor has ended."""
        # Nothing is ever said. One that left signs of life unread ends in a reset, which is an end, too.
        while await receive(self._link):
            pass
        if not self.stopping.is_set():
            _log.warning("the supervisor is gone")
        self.stop()


def send_plan(link: socket.socket, plan: ServicePlan) -> None:
    """Tell a process what to do."""
    packed = pickle.dumps(plan)
    link.sendall(_LENGTH.pack(len(packed)) + packed)


async def receive(link: socket.socket) -> bytes:
    """Return what a process says next, a byte a word; nothing when it has ended."""
    try:
        return await asyncio.get_running_loop().sock_recv(link, _AT_ONCE)
    except OSError:
        return b""


def run_process(name: str, work: Work) -> None:
    """Run a process's work with the plan that comes over the socket named on the command line; exit with its code."""
    link = socket.socket(fileno=int(sys.argv[1]))
    plan = _plan(link)
    configure_logging(plan.level)
    # Whoever ends a process that hangs asks it first where it stands.
    faulthandler.register(signal.SIGQUIT)
    link.setblocking(False)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(_run(name, work, plan, link))
    logging.shutdown()
    # Not sys.exit: threads that hang on a sick disk would keep the process.
    sys.stderr.flush()
    os._exit(code)


async def _run(name: str, work: Work, plan: ServicePlan, link: socket.socket) -> int:
    joint = SupervisorLink(link)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, joint.stop)
    listening = asyncio.create_task(joint.listen())
    silence = plan.config.live.silence
    beating = asyncio.create_task(joint.say_alive(silence.total_seconds() / HEARTBEATS)) if silence else None
    try:
        return await work(plan, joint)
    except UserError as error:
        print(f"scoter: {error}", file=sys.stderr)
        return USER_ERROR
    except Exception:
        _log.exception("the %s ends because of a defect", name)
        return DEFECT
    finally:
        listening.cancel()
        if beating is not None:
            beating.cancel()


def _plan(link: socket.socket) -> ServicePlan:
    (length,) = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    found = pickle.loads(_exactly(link, length))  # noqa: S301 - from the process that started this one
    assert isinstance(found, ServicePlan)  # noqa: S101 - as ``send_plan`` sends it
    return found


def _exactly(link: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        more = link.recv(length - len(found))
        if not more:
            sys.exit(DEFECT)
        found += more
    return found


def configure_logging(level: str) -> None:
    """Send what is logged to stderr, a line each."""
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, logging.getLevelName(level)))


HEARTBEATS: Final = 10  # signs of life within the time in which one is expected
_BUSY_TIMES: Final = 6
_BUSY: Final = 0.01  # of the time: a process that uses more of a processor than that does something


class StallDetector:
    """Tells when a process stands still, by what it was heard to say and by the processor's time that it used."""

    def __init__(
        self, silence: float, used: Callable[[], float | None], timer: Callable[[], float] = time.monotonic
    ) -> None:
        """``silence`` is how long nothing need be heard; ``used`` tells the process's seconds of processor time."""
        self._silence = silence
        self._used = used
        self._timer = timer
        self._heard = self._looked = timer()
        self._used_then: float | None = None
        self._is_ready = False

    def heard(self) -> None:
        """Note a sign of life."""
        self._heard = self._timer()
        self._used_then = None

    def is_ready(self) -> None:
        """Note that the process has begun its work. Until then it may be reading a long log, and say nothing."""
        self._is_ready = True
        self.heard()

    def stands_still(self) -> bool:
        """Tell whether the process has been silent for too long; to be asked ``HEARTBEATS`` times in that time."""
        now = self._timer()
        if now - self._looked > self._silence / 2:
            # It was the watcher who was away: what was said meanwhile has not been read yet.
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
        # At its start a process that works is let work: nobody knows how much there is to mend.
        return silent >= _BUSY_TIMES * self._silence and (self._is_ready or not is_busy)


def cpu_time(pid: int) -> float | None:
    """Return the seconds of processor time that a process has used; none where that cannot be told."""
    with suppress(OSError, ValueError, IndexError):
        # proc(5): the name, the second field, may hold blanks and brackets; utime and stime are the 14th and 15th.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return None
