"""Runs uvicorn on sockets of ours, several processes to a port, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import stat
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import uvicorn
import uvloop
from msgspec.structs import replace

from scoter.errors import UsageError
from scoter.web.asgi import App
from scoter.web.protocol import Limits, Note, options

_BACKLOG: Final = 4_096
_MOST_FILES: Final = 65_536
_OWN_FILES: Final = 500  # for everything that is no client: databases, archives, fetchers
KEPT_ALIVE: Final = 75
"""Seconds for which an idle connection stays open: longer than ``passing`` keeps one for reuse."""


class _Server(uvicorn.Server):
    """A server that leaves signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Serving:
    """An application on open sockets; ``run`` ends when ``stop`` was called and clients had a moment to finish."""

    def __init__(
        self,
        app: App,
        sockets: Sequence[socket.socket],
        *,
        limits: Limits = Limits(),  # noqa: B008  frozen
        kept_alive: int = KEPT_ALIVE,
        before_stop: Callable[[], None] = lambda: None,
        note: Note = lambda why: None,
    ) -> None:
        """``before_stop`` is called first when it ends: streams must be told, or they would never finish.

        ``note`` is told of every connection that the limits end.
        """
        room = max(1, descriptors() - _OWN_FILES)
        settings: dict[str, Any] = options(replace(limits, connections=min(limits.connections, room)), note)
        config = uvicorn.Config(app, timeout_keep_alive=kept_alive, backlog=_BACKLOG, **settings)
        self._server = _Server(config)
        self._sockets = list(sockets)
        self._before_stop = before_stop

    @property
    def has_started(self) -> bool:
        return self._server.started

    async def run(self) -> None:
        """Serve until ``stop``."""
        await self._server.serve(sockets=self._sockets)

    def stop(self) -> None:
        """Take no more connections, and end those there are."""
        self._before_stop()
        self._server.should_exit = True


def descriptors() -> int:
    """Allow this process as many open files as it may have, and return how many those are."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if most == resource.RLIM_INFINITY else min(most, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    return wanted


def listen(host: str, port: int, *, shared: bool = True) -> socket.socket:
    """Return a socket that listens; ``shared`` lets other processes listen at the same address, in turns."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.bind((host, port))
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}",
            where="serve",
            hint="Choose another port, or end what listens there.",
        ) from None
    opened.setblocking(False)
    return opened


def listen_locally(path: Path) -> socket.socket:
    """Return a Unix socket that listens, open to this user alone; one that a dead process left behind is replaced."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        path.unlink()
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.bind(str(path))
        path.chmod(0o600)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        raise UsageError(f"cannot listen at {path}: {error.strerror or error}", where="serve") from None
    opened.setblocking(False)
    return opened


async def serve_all(servings: Sequence[Serving], stopping: asyncio.Event) -> None:
    """Run servers side by side until ``stopping`` is set; one that fails ends all."""
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(each.run()) for each in servings]
        ended = group.create_task(stopping.wait())
        await asyncio.wait((*running, ended), return_when=asyncio.FIRST_COMPLETED)
        for each in servings:
            each.stop()
        ended.cancel()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a process's work on uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)
