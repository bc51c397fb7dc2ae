"""How a process of the service is told what to do, says that it is ready, and hears that it must end.

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
from typing import Final

import uvloop

from scoter.errors import UserError
from scoter.web.service.plan import Plan

DEFECT: Final = 70
MISTAKE: Final = 2
END_WITHIN: Final = 20.0
"""Seconds in which a process ends, or is ended."""
_LENGTH: Final = struct.Struct("!I")
_READY: Final = b"ready"
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
            self._link.send(_READY)
        except OSError:  # it is gone, as ``listen`` is about to find
            self.stop()

    async def listen(self) -> None:
        """Stop when the supervisor has ended."""
        loop = asyncio.get_running_loop()
        while await loop.sock_recv(self._link, 1):
            pass
        if not self.stopping.is_set():
            _log.warning("the supervisor is gone")
        self.stop()


def send_plan(link: socket.socket, plan: Plan) -> None:
    """Tell a process what to do."""
    packed = pickle.dumps(plan)
    link.sendall(_LENGTH.pack(len(packed)) + packed)


async def becomes_ready(link: socket.socket) -> bool:
    """Wait until a process is ready; it never is if it ends before."""
    try:
        return await asyncio.get_running_loop().sock_recv(link, len(_READY)) == _READY
    except OSError:
        return False


def be_process(name: str, work: Work) -> None:
    """Run a process's work with the plan that comes over the socket named on the command line; exit with its code."""
    link = socket.socket(fileno=int(sys.argv[1]))
    plan = _plan(link)
    prepare_log(plan.level)
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
