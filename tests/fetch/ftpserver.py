"""A real FTP server on loopback, in a thread of its own."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it still needs asyncore on Python 3.11
    from pyftpdlib.authorizers import DummyAuthorizer  # type: ignore[import-untyped]
    from pyftpdlib.handlers import FTPHandler  # type: ignore[import-untyped]
    from pyftpdlib.ioloop import IOLoop  # type: ignore[import-untyped]
    from pyftpdlib.servers import FTPServer  # type: ignore[import-untyped]

logging.getLogger("pyftpdlib").setLevel(logging.CRITICAL)


@contextmanager
def ftp_server(
    folder: Path, *, said: list[str] | None = None, without: tuple[str, ...] = (), **attributes: Any
) -> Iterator[int]:
    """Serve a folder to ``anonymous`` and to ``user`` with the password ``secret``; give the port.

    ``said`` takes the commands that come; those in ``without`` are not known to the server.
    """
    authorizer = DummyAuthorizer()
    authorizer.add_anonymous(str(folder))
    authorizer.add_user("user", "secret", str(folder))

    class Handler(FTPHandler):  # type: ignore[misc]
        def pre_process_command(self, line: str, cmd: str, arg: str) -> None:
            if said is not None:
                said.append(line)
            if cmd in without:
                self.respond("502 not here")
                return
            super().pre_process_command(line, cmd, arg)

    Handler.authorizer = authorizer
    for name, value in attributes.items():
        setattr(Handler, name, value)
    loop = IOLoop()
    server = FTPServer(("127.0.0.1", 0), Handler, ioloop=loop)
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            server.serve_forever(timeout=0.02, blocking=False, handle_exit=False)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.address[1]
    finally:
        stop.set()
        thread.join(5)
        server.close_all()
