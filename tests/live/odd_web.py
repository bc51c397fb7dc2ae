"""A small web server in a thread: any response for any host, and a log of requests."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from scoter.simweb import LoggedRequest


class Said(Struct, frozen=True):
    """A response, sent after ``after`` seconds."""

    body: bytes = b"hello"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    after: float = 0.0


MISSING = Said(b"", 404)
Answering: TypeAlias = Callable[[str, str], Said]


def page(head: str, after: float = 0.0) -> Said:
    """Return an HTML page with the given head."""
    body = f"<!doctype html><html><head>{head}</head><body>A page.</body></html>".encode()
    return Said(body, headers=(("Content-Type", "text/html; charset=utf-8"),), after=after)


def moved(to: str, status: int = 302, after: float = 0.0) -> Said:
    return Said(b"", status, (("Location", to),), after)


class OddWeb:
    """The requests in order; an unanswered one has no end."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.entries: list[LoggedRequest] = []

    def asked(self, *hosts: str) -> list[tuple[str, str]]:
        """Return host and path of each request, for some hosts or all."""
        return [(entry.host, entry.path) for entry in self.entries if not hosts or entry.host in hosts]


@contextmanager
def odd_web(answer: Answering, *, notices_close: bool = True) -> Iterator[OddWeb]:
    """Serve the response that ``answer`` returns for a host and a path.

    If a client closes its connection, the request ends then, or later if the server does not notice.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            began = time.monotonic()
            if notices_close and self._is_closed(0.0):
                self.close_connection = True  # a killed client sent it long ago, and this thread runs only now
                return
            host = self.headers.get("Host", "").partition(":")[0]
            said = answer(host, self.path)
            with lock:
                at = len(web.entries)
                begun = LoggedRequest(at, host, self.path, "GET", began, None, said.status, len(said.body), web.port)
                web.entries.append(begun)
            if notices_close:
                self.close_connection = self._is_closed(said.after)
            else:
                time.sleep(said.after)
            # Before it is sent: whoever asked may have all of it long before this thread runs again.
            web.entries[at] = replace(begun, end=time.monotonic())
            try:
                self.send_response(said.status)
                for name, value in said.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(said.body)))
                self.end_headers()
                self.wfile.write(said.body)
            except OSError:  # whoever asked was killed
                self.close_connection = True

        def _is_closed(self, within: float) -> bool:
            try:
                return bool(select.select([self.connection], [], [], within)[0]) and not self.connection.recv(
                    1, socket.MSG_PEEK
                )
            except OSError:
                return True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
            return

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, request: object, client_address: object) -> None:
            return  # a client that is killed resets its connection

    lock = threading.Lock()
    server = Server(("127.0.0.1", 0), Handler)
    web = OddWeb(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
