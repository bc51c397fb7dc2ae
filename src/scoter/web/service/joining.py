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
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import uvloop

from scoter.errors import UserError
from scoter.web.service.plan import Plan
from scoter.web.service.watching import BEATS

DEFECT: Final = 70
MISTAKE: Final = 2
END_WITHIN: Final = 20.0
"""Seconds in which a process ends, or is ended."""
_AT_ONCE: Final = 4096
_LENGTH: Final = struct.Struct("!I")
READY: Final = b"R"
ALIVE: Final = b"."
_log = logging.getLogger(__name__)

Work = Callable[[Plan, "Joint"], Awaitable[int]]


class Joint:
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
        while await hear(self._link):
            pass
        if not self.stopping.is_set():
            _log.warning("the supervisor is gone")
        self.stop()


def send_plan(link: socket.socket, plan: Plan) -> None:
    """Tell a process what to do."""
    packed = pickle.dumps(plan)
    link.sendall(_LENGTH.pack(len(packed)) + packed)


async def hear(link: socket.socket) -> bytes:
    """Return what a process says next, a byte a word; nothing when it has ended."""
    try:
        return await asyncio.get_running_loop().sock_recv(link, _AT_ONCE)
    except OSError:
        return b""


def be_process(name: str, work: Work) -> None:
    """Run a process's work with the plan that comes over the socket named on the command line; exit with its code."""
    link = socket.socket(fileno=int(sys.argv[1]))
    plan = _plan(link)
    prepare_log(plan.level)
    # Whoever ends a process that hangs asks it first where it stands.
    faulthandler.register(signal.SIGQUIT)
    link.setblocking(False)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(_run(name, work, plan, link))
    logging.shutdown()
    # Not sys.exit: threads that hang on a sick disk would keep the process.
    sys.stderr.flush()
    os._exit(code)


async def _run(name: str, work: Work, plan: Plan, link: socket.socket) -> int:
    joint = Joint(link)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, joint.stop)
    listening = asyncio.create_task(joint.listen())
    silence = plan.config.live.silence
    beating = asyncio.create_task(joint.say_alive(silence.total_seconds() / BEATS)) if silence else None
    try:
        return await work(plan, joint)
    except UserError as error:
        print(f"scoter: {error}", file=sys.stderr)
        return MISTAKE
    except Exception:
        _log.exception("the %s ends because of a defect", name)
        return DEFECT
    finally:
        listening.cancel()
        if beating is not None:
            beating.cancel()


def _plan(link: socket.socket) -> Plan:
    (length,) = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    found = pickle.loads(_exactly(link, length))  # noqa: S301 - from the process that started this one
    assert isinstance(found, Plan)  # noqa: S101 - as ``send_plan`` sends it
    return found


def _exactly(link: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        more = link.recv(length - len(found))
        if not more:
            sys.exit(DEFECT)
        found += more
    return found


def prepare_log(level: str) -> None:
    """Send what is logged to stderr, a line each."""
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, logging.getLevelName(level)))
