"""Search servers that fail on purpose: what a real one does only when it is overloaded, full or broken."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from msgspec import Struct


class Asked(Struct, frozen=True):
    """A request that a server got."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Answer(Struct, frozen=True):
    """What a server answers. ``closes``: it ends the connection afterwards without saying so."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = {}
    closes: bool = False


def told(status: int, reason: str = "", kind: str = "", **headers: str) -> Answer:
    """Return the answer of a search server that refuses a request."""
    error = {"error": {"type": kind, "reason": reason, "msg": reason}}
    return Answer(status, json.dumps(error).encode(), {name.replace("_", "-"): text for name, text in headers.items()})


class FakeServer:
    """Answers like OpenSearch, Elasticsearch and Solr, unless ``fault`` has another answer.

    ``judge`` gets an operation and an id, and returns the status and the error of the operation.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.held: dict[str, Any] = {}
        self.fault: Callable[[Asked], Answer | None] = lambda asked: None
        self.judge: Callable[[str, str], tuple[int, Any]] = lambda operation, key: (200, None)
        self.port = 0
        self.wait: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def updates(self) -> list[Asked]:
        """The requests that write or delete."""
        return [each for each in self.asked if each.path.partition("?")[0].endswith(("/_bulk", "/update"))]

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        fault = self.fault(asked)
        if fault is not None:
            return fault
        path = asked.path.partition("?")[0]
        if path.endswith("/_bulk"):
            return Answer(body=json.dumps(self._bulk(asked.body)).encode())
        if path.endswith("/update"):
            return self._update(json.loads(asked.body))
        return Answer()

    def _bulk(self, body: bytes) -> Any:
        lines = iter(body.splitlines())
        items = []
        for line in lines:
            ((operation, facts),) = json.loads(line).items()
            source = json.loads(next(lines)) if operation == "index" else None
            status, error = self.judge(operation, facts["_id"])
            if error is None and source is not None:
                self.held[facts["_id"]] = source
            elif error is None:
                status = 200 if self.held.pop(facts["_id"], None) else 404
            items.append({operation: {"status": status, **({"error": error} if error else {})}})
        return {"errors": True, "items": items}

    def _update(self, given: Any) -> Answer:
        if isinstance(given, dict):
            for key in given.get("delete", ()):
                self.held.pop(key, None)
            return Answer()
        for document in given:
            status, error = self.judge("index", document["id"])
            if error is not None:
                return told(status, error)
            self.held[document["id"]] = document
        return Answer()


@contextmanager
def fake_server(tls: ssl.SSLContext | None = None) -> Iterator[FakeServer]:
    """Run a server on a free port of loopback."""
    fake = FakeServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = fake.answer(Asked(self.command, self.path, dict(self.headers), body))
            fake.wait()
            self.send_response(answer.status)
            for name, value in {"X-Elastic-Product": "Elasticsearch", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)
            self.close_connection = answer.closes

        do_GET = do_HEAD = do_POST = do_PUT = _handle  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that hang up are part of the tests."""

    with Server(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        server.daemon_threads = True
        fake.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()
