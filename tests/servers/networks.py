"""Network namespaces whose loopback reaches some ports of the outer network, and which can be cut off."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path


@cache
def can_isolate() -> bool:
    """Return whether this process may create network namespaces, and links into them."""
    if os.getuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"scoter-try-{os.getpid()}"
    link = ("link", "add", f"sct{os.getpid()}", "type", "veth", "peer", "name", "c", "netns", name)
    probes = [("netns", "add", name), ("netns", "exec", name, "ip", "link", "set", "lo", "up"), link]
    try:
        return all(subprocess.run(["ip", *words], capture_output=True, check=False).returncode == 0 for words in probes)
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


class Gateway:
    """Unix sockets that lead to ports of the outer network: they are visible in every namespace."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self._files: dict[int, str] = {}

    def file_of(self, port: int) -> str:
        """Return the socket that leads to a port."""
        if port not in self._files:
            self._files[port] = f"file:{self.folder}/to-{port}.sock"
            self.relay([], self._files[port], f"port:{port}")
        return self._files[port]

    def relay(self, before: list[str], listen: str, to: str) -> int:
        """Run a relay until the end; return its process id."""
        run = [*before, sys.executable, "-m", "tests.servers.relay", listen, to]
        process = self.stack.enter_context(subprocess.Popen(run, stdout=subprocess.PIPE))
        self.stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline()
        return process.pid


class Network:
    """A network namespace that has only loopback."""

    def __init__(self, name: str, gateway: Gateway) -> None:
        self.name = name
        self._gateway = gateway
        self._relays: dict[int, int] = {}
        subprocess.run(["ip", "netns", "add", name], check=True)
        gateway.stack.callback(subprocess.run, ["ip", "netns", "delete", name], check=True)
        self.heal()

    @property
    def command(self) -> list[str]:
        """What to put before a command so that it runs here."""
        return ["ip", "netns", "exec", self.name]

    def open(self, port: int) -> None:
        """Join a port of this namespace to the same one outside."""
        self._relays[port] = self._gateway.relay(self.command, f"port:{port}", self._gateway.file_of(port))

    def offer(self, port: int, outside: int) -> None:
        """Join a port outside to one of this namespace."""
        file = f"file:{self._gateway.folder}/{self.name}-{port}.sock"
        self._gateway.relay(self.command, file, f"port:{port}")
        self._gateway.relay([], f"port:{outside}", file)

    def reaches(self, port: int) -> bool:
        probe = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        run = [*self.command, sys.executable, "-c", probe]
        return subprocess.run(run, capture_output=True, check=False).returncode == 0

    def cut(self) -> None:
        """Lose all packets; connections stay open, as they do when a cable is pulled."""
        subprocess.run([*self.command, "ip", "link", "set", "lo", "down"], check=True)

    def cut_from(self, port: int) -> None:
        """Pass nothing more to or from one port outside; the others can still be reached."""
        os.kill(self._relays[port], signal.SIGSTOP)

    def heal(self) -> None:
        """Connect it again."""
        subprocess.run([*self.command, "ip", "link", "set", "lo", "up"], check=True)
        for pid in self._relays.values():
            os.kill(pid, signal.SIGCONT)
