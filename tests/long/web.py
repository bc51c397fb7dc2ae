"""A synthetic web in its own process, so that its CPU time and memory are not counted for the code under test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection

import msgspec

from scoter.simweb import CONTROL, LoggedRequest, WebSpec

_SERVER = (
    "import sys, msgspec; from scoter.simweb import SimWeb, WebSpec, run_forever;"
    "spec = msgspec.json.decode(sys.argv[1], type=WebSpec);"
    "run_forever(SimWeb(spec), ready=lambda server: print(server.port, flush=True))"
)


@contextmanager
def serving(spec: WebSpec) -> Iterator[int]:
    """Run a web and yield its port."""
    command = [sys.executable, "-c", _SERVER, msgspec.json.encode(spec).decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()


def ledger(port: int) -> Iterator[LoggedRequest]:
    """Yield every request to a web, in the order of their start."""
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", "/ledger?format=jsonl", headers={"Host": CONTROL})
        decoder = msgspec.json.Decoder(LoggedRequest)
        for line in connection.getresponse():
            yield decoder.decode(line)
    finally:
        connection.close()
