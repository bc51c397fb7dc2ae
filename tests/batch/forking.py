"""Uses of a pool of forked workers in a process with one thread; run as ``python -m tests.batch.forking NAME``."""

from __future__ import annotations

import json
import os
import signal
import sys
from multiprocessing.connection import Connection, wait
from typing import Any

from scoter.batch.worker import process
from scoter.batch.worker.pool import FetchPool
from scoter.config import Config


def pipes() -> dict[str, Any]:
    """Exchange a message with each worker, then close the pipe of the first."""
    with FetchPool() as pool:
        pool.fork(3, Config())
        first, *others = pool._processes
        for number, pipe in enumerate(pool._pipes):
            pipe.send(number)
        said = [pipe.recv() for pipe in pool._pipes if wait([pipe], 60)]
        pool._pipes[0].close()
        first.join(60)
        alive = [each.is_alive() for each in others]
        return {
            "said": said,
            "expected": [[each.pid, number] for number, each in enumerate(pool._processes)],
            "first": first.exitcode,
            "others alive": alive,
        }


def signals() -> dict[str, Any]:
    """Send signals to workers forked from a process with its own signal handlers."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    with FetchPool() as pool:
        pool.fork(2, Config())
        first, second = pool._processes
        for pipe in pool._pipes:
            pipe.send("are you there?")
            pipe.recv()
        os.kill(first.pid, signal.SIGINT)
        os.kill(second.pid, signal.SIGTERM)
        second.join(60)
    return {"interrupted": first.exitcode, "ended": second.exitcode}


def killed() -> None:
    """Die and leave workers behind."""
    pool = FetchPool()
    pool.fork(2, Config())
    print(*(each.pid for each in pool._processes), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def _echo(pipe: Connection) -> None:
    """Replace a worker: send back each message until the pipe closes."""
    while True:
        try:
            pipe.send((os.getpid(), pipe.recv()))
        except EOFError:
            return


if __name__ == "__main__":
    process.run_worker = _echo
    print(json.dumps({"pipes": pipes, "signals": signals, "killed": killed}[sys.argv[1]]()))
