"""Run a tutorial as its readers do: its commands in one shell, in a folder with the files that it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.test_readme import ROOT, check, free_port, run_script, session

_FILE: Final = re.compile(r"^```\w+ (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SERVERS: Final = {
    "python3 -m http.server ": "18080",
    "scoter serve ": "8008",
    "scoter ui ": "8010",
    "scoter search-server ": "8020",
}
"""The port of each server that a tutorial may start in the background."""


class Tutorial:
    """A page of ``docs/tutorials``, with free ports for its servers, unless those of the page are wanted."""

    def __init__(self, name: str, folder: Path, *, own_ports: bool = True) -> None:
        self.folder = folder
        self.ports = {port: str(free_port()) if own_ports else port for port in _SERVERS.values()}
        self._page = (ROOT / "docs" / "tutorials" / name).read_text("utf-8")

    def here(self, text: str) -> str:
        """Return a text of the page with the ports of this run."""
        for port, free in self.ports.items():
            text = re.sub(rf"\b{port}\b", free, text)
        return text

    def run(self, last: str = "") -> list[tuple[str, str, str]]:
        """Run the commands; return each with what the page shows and what it printed.

        ``last`` replaces the command that ends the servers, and what follows it.
        """
        for name, content in _FILE.findall(self._page):
            file = self.folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(self.here(content), "utf-8")
        commands = session(self._page)
        if last:
            end = next(at for at, (command, _) in enumerate(commands) if command.startswith("kill "))
            commands = [*commands[:end], (last, ""), *commands[end : end + 1]]
        script = self._awaiting([each for each, _ in commands])
        printed = run_script(script, self.folder, (), ports=self.ports)
        for port, free in self.ports.items():
            printed = [each.replace(free, port) for each in printed]
        assert len(printed) == len(commands), printed[-1:]
        return [(*each, found) for each, found in zip(commands, printed, strict=True)]

    def _awaiting(self, commands: list[str]) -> list[str]:
        """Return commands that wait, instead of sleeping, for the servers that were started."""
        started: list[str] = []
        found = []
        for command in commands:
            started += [port for begins, port in _SERVERS.items() if command.startswith(begins) and command[-1] == "&"]
            if command.startswith("sleep "):
                tries = (f"until (: < /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep 0.1; done" for port in started)
                command = "; ".join(tries)
            found.append(self.here(command))
        return found


def run_tutorial(name: str, folder: Path) -> None:
    """Run a tutorial in a folder, and compare what its commands print with what it shows."""
    done = Tutorial(name, folder).run()

    assert len(done) >= 3
    check([(command, expected) for command, expected, _ in done], [printed for _, _, printed in done])
