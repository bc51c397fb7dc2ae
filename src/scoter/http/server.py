"""Runs uvicorn on sockets opened beforehand, so that several processes can share one port."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import uvicorn
from msgspec.structs import replace

from scoter.config.sections.live import WebSettings
from scoter.errors import UsageError
from scoter.http.asgi import App
from scoter.http.protocol import QuickAnswer, limited_protocol
from scoter.http.refusals import RefusalCounter

_BACKLOG: Final = 4_096
_MAX_FILES: Final = 65_536
_OWN_FILES: Final = 500  # for everything but clients: databases, archives, worker processes
KEEP_ALIVE: Final = 75
"""Seconds for which an idle connection stays open: longer than ``proxy`` keeps one for reuse."""


class _UvicornServer(uvicorn.Server):
    """A server that does not handle signals: its process does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class HttpServer:
    """An application on open sockets; ``run`` ends after ``stop``, once clients had a moment to finish."""

    def __init__(
        self,
        app: App,
        sockets: Sequence[socket.socket],
        *,
        limits: WebSettings = WebSettings(),  # noqa: B008  frozen
        keep_alive: int = KEEP_ALIVE,
        before_stop: Callable[[], None] = lambda: None,
        note: RefusalCounter = lambda why: None,
        at_once: QuickAnswer | None = None,
    ) -> None:
        """``before_stop`` must end streams, which never finish; ``note`` gets the reason for each refusal.

        ``at_once`` answers GET requests before the application sees them, if it can.
        """
        clients = max(1, raise_file_limit() - _OWN_FILES)
        config = uvicorn.Config(
            app,
            http=limited_protocol(replace(limits, connections=min(limits.connections, clients)), note, at_once),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,  # clients are identified by keys, never by a header
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=5,
        )
        self._server = _UvicornServer(config)
        self._sockets = list(sockets)
        self._before_stop = before_stop

    @property
    def has_started(self) -> bool:
        return self._server.started

    async def run(self) -> None:
        """Serve until ``stop``."""
        await self._server.serve(sockets=self._sockets)

    async def run_until(self, stopping: asyncio.Event) -> None:
        """Serve until ``stopping`` is set."""
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self.run())
            stop = group.create_task(stopping.wait())
            await asyncio.wait((running, stop), return_when=asyncio.FIRST_COMPLETED)
            self.stop()
            stop.cancel()

    def stop(self) -> None:
        """Accept no more connections, and end the existing ones."""
        self._before_stop()
        self._server.should_exit = True


def raise_file_limit() -> int:
    """Raise the limit of open files of this process as far as allowed, and return it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if most == resource.RLIM_INFINITY else min(most, _MAX_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    return wanted


@contextlib.contextmanager
def open_sockets(host: str, port: int, count: int) -> Iterator[Sequence[socket.socket]]:
    """Listen with ``count`` sockets on one port, a free one for 0.

    The kernel distributes connections over the sockets. They stay open while processes come and go: connections wait
    for the next process that is given the same socket, and none is refused.
    """
    with contextlib.ExitStack() as stack:
        try:
            # SO_REUSEPORT would also let a second service in, so the port is bound exclusively first.
            with _bound(host, port, shared=False) as alone:
                port = alone.getsockname()[1]
            opened = [stack.enter_context(_bound(host, port, shared=True)) for _ in range(count)]
            for each in opened:
                each.listen(_BACKLOG)
                each.setblocking(False)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host} port {port}: {error.strerror or error}",
                where="serve",
                hint="Choose another port, or stop the process that uses it.",
            ) from None
        yield opened


def _bound(host: str, port: int, *, shared: bool) -> socket.socket:
    opened = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.bind((host, port))
    except OSError:
        opened.close()
        raise
    return opened


def listen_locally(path: Path) -> socket.socket:
    """Return a listening Unix socket that only this user can open; one left by a dead process is replaced."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        path.unlink()
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.bind(str(path))
        path.chmod(0o600)
        opened.listen(_BACKLOG)
    except OSError as error:
        opened.close()
        raise UsageError(f"cannot listen on {path}: {error.strerror or error}", where="serve") from None
    opened.setblocking(False)
    return opened
