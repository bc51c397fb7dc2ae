"""Messages for a service whose processes are killed, and the check that each accepted URL has exactly one event."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from random import Random

from msgspec import Struct
from tests.live.service.running import Service


class MessageLoad:
    """Submits messages continuously, in one thread per service, and records the accepted ones."""

    def __init__(
        self,
        services: Sequence[Service],
        urls: Sequence[str],
        seed: int,
        *,
        prefix: str = "m",
        together: int = 3,
        apart: float = 0.03,
    ) -> None:
        self.accepted: dict[str, set[str]] = {}
        self.refused: Counter[int] = Counter()
        self._prefix = prefix
        self._urls = urls
        self._together, self._apart = together, apart
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(service, f"{prefix}{at}x", Random(seed + at)))
            for at, service in enumerate(services)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self, service: Service, prefix: str, chance: Random) -> None:
        number = 0
        while not self._stopping.wait(self._apart):
            number += 1
            name, urls = f"{prefix}{number}", chance.sample(self._urls, self._together)
            # Without a response, a message may have been accepted or not. Only acknowledged ones count.
            with suppress(OSError, HTTPException):
                got = service.submit(*urls, id=name, force=chance.random() < 0.3)
                if got.status == 202:
                    self.accepted[name] = set(got.json["messages"][0]["entries"])
                else:
                    self.refused[got.status] += 1


class AnnouncedUrl(Struct, frozen=True):
    """What an event says."""

    message: str
    url: str
    fetch: str
    resolved: str
    state: str
    status: object


def event_problems(events: Iterable[AnnouncedUrl], accepted: Mapping[str, Iterable[str]]) -> list[str]:
    """Return URLs that have no event or several, and fetches with different results."""
    announced: Counter[tuple[str, str]] = Counter()
    results: defaultdict[tuple[str, str], set[tuple[str, object]]] = defaultdict(set)
    states: Counter[str] = Counter()
    for event in events:
        announced[event.message, event.url] += 1
        results[event.fetch, event.resolved].add((event.state, event.status))
        states[event.state] += 1
    print(f"{announced.total():,} events: {dict(states)}", flush=True)
    wrong = [
        f"{url} of {message} has {announced[message, url]} events"
        for message, urls in accepted.items()
        for url in urls
        if announced[message, url] != 1
    ]
    return wrong + [
        f"fetch {fetch} has two results: {found}" for (fetch, _), found in results.items() if len(found) > 1
    ]
