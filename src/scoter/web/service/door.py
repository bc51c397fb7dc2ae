"""The public port: one socket for each process that answers there, open for as long as the service runs.

The kernel spreads connections over the sockets. When a process dies, those who connect meanwhile wait for the next one,
which is given the same socket: nobody is turned away.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from scoter.errors import UsageError

_BACKLOG: Final = 4_096


@contextmanager
def listening(host: str, port: int, count: int) -> Iterator[Sequence[socket.socket]]:
    """Listen with so many sockets at one port, a free one for 0, until the end."""
    with ExitStack() as stack:
        try:
            opened = [stack.enter_context(socket.socket(_family(host), socket.SOCK_STREAM)) for _ in range(count)]
            # Several may share a port if each says so, and a second service would: so it is asked for alone first.
            with socket.socket(_family(host), socket.SOCK_STREAM) as alone:
                alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                alone.bind((host, port))
                port = alone.getsockname()[1]
            for each in opened:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                each.bind((host, port))
                each.listen(_BACKLOG)
                each.setblocking(False)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host} port {port}: {error.strerror or error}",
                where="serve",
                hint="Choose another port, or end what listens there.",
            ) from None
        yield opened


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
