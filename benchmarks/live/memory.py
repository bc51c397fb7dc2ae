"""Memory of each process and remaining queues after many URLs of many domains."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.live.messages import at_rest
from benchmarks.live.service import Service, serving
from benchmarks.live.site import url_of
from benchmarks.live.target import Target, at_most

PER_DOMAIN = 4
MOST = 400.0  # MB
QUEUES, REMEMBERED = 1_000, 11_000  # share of domains, some time after the last request
_PER_MESSAGE = 20
_PER_REQUEST = 25  # messages
_BACKLOG = 20_000  # most URLs waiting at once, so that fetching takes the time and not the journal
_REST_WITHIN = 600.0
_EVICTED_WITHIN = 15.0


def submit(service: Service, urls: int, domains: int) -> Iterator[int]:
    """Submit URLs as fast as they are processed; yield their number."""
    step = _PER_MESSAGE * _PER_REQUEST
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    for first in range(0, urls, step):
        while service.backlog() > _BACKLOG:
            time.sleep(0.2)
        numbers = range(first, min(first + step, urls))
        messages = [
            {"urls": [url_of(number, domains) for number in numbers[at : at + _PER_MESSAGE]], "priority": "bulk"}
            for at in range(0, len(numbers), _PER_MESSAGE)
        ]
        connection.request("POST", "/v1/messages", json.dumps(messages), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 202:
            raise SystemExit(f"messages were not accepted: {answer.status} {body[:300]!r}")
        yield len(numbers)
    connection.close()


def evicted(service: Service) -> tuple[float, float]:
    """Wait until idle queues are removed or a timeout; return how many are left in fetchers and in the core."""
    until = time.monotonic() + _EVICTED_WITHIN
    while True:
        gauges = service.statistics()["gauges"]
        queues = sum(count for name, count in gauges.items() if name.startswith("fetcher_queues."))
        if queues == 0 or time.monotonic() > until:
            return queues, gauges["fetch_domains"]
        time.sleep(0.5)


def measure(folder: Path, web: int, urls: int) -> list[Target]:
    """Process URLs with a service, and return the figures."""
    domains = max(1, urls // PER_DOMAIN)
    print(f"Memory: {urls:,} URLs over {domains:,} domains")
    with serving(folder, web, live__processes=1) as service:
        began = time.monotonic()
        sent = sum(submit(service, urls, domains))
        is_calm = at_rest(service, _REST_WITHIN)
        took = time.monotonic() - began
        queues, remembered = evicted(service)
        found = sorted(service.used().values())
        counts = service.statistics()["counts"]
    ends = {name: int(count) for name, count in counts.items() if name.startswith(("urls.", "fetch_errors."))}
    print(f"  {sent:,} URLs in {took:.0f} s ({sent / took:.0f} a second): {ends}")
    print(f"  {'MB':<24}{'now':>8}{'at most':>10}")
    for used in found:
        print(f"  {used.name:<24}{used.memory:>8.0f}{used.most_memory:>10.0f}")
    return [
        Target("URLs done, page stored", f"{ends['urls.ok']:,}", f"{urls:,}", is_calm and ends["urls.ok"] == urls),
        *(at_most(f"{used.name}: most memory it ever had", used.most_memory, MOST, "MB") for used in found),
        at_most("queues left in the fetcher", queues, QUEUES, "queues"),
        at_most("domains the core remembers", remembered, REMEMBERED, "domains"),
    ]
