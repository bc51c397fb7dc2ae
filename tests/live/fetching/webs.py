"""A synthetic web, workers for it, and a check of politeness."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.waiting import until

from scoter.config import Config, load
from scoter.core.domain import registered_domain
from scoter.core.reply import Request
from scoter.core.url import canonical
from scoter.live.fetching.dispatcher import WorkerDispatcher
from scoter.live.ports import HopReply
from scoter.live.records import Priority
from scoter.simweb import LoggedRequest, SimWeb, WebSpec
from scoter.simweb.robots import RobotsKind

# The web notes a start when it has read a head and an end when it has written: on a busy machine both come late.
TOLERANCE = 0.05


def config_for(port: int, *settings: str) -> Config:
    """Return settings that connect every host to a local port."""
    return load(
        overrides=[
            "agent.name=live-test",
            f'fetch.connect_to=["*:*=127.0.0.1:{port}"]',
            'fetch.allow_ports=["1-65535"]',
            "fetch.delay=0",
            "fetch.adaptive_delay=false",
            "fetch.threads=100",
            "http.timeout=5s",
            *settings,
        ]
    )


def urls_of(spec: WebSpec, per_domain: int) -> list[str]:
    """Return some URLs of each domain without a crawl delay, interleaved."""
    web = SimWeb(spec)
    odd = {registered_domain(site.name) for site in web.sites.all() if site.profile.robots is RobotsKind.DELAY}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for site in web.sites.all():
        domain = registered_domain(site.name)
        if domain not in odd and not site.shut:
            room = per_domain - len(found[domain])
            found[domain] += [resource.url for resource in web.resources(site.name)][: max(room, 0)]
    return [urls[at] for at in range(per_domain) for urls in found.values() if at < len(urls)]


async def fetch(fetchers: WorkerDispatcher, url: str, priority: Priority = Priority.NORMAL, **fields: Any) -> HopReply:
    return await fetchers.fetch(Request(url=canonical(url), **fields), priority)


async def fetch_all(fetchers: WorkerDispatcher, urls: Iterable[str]) -> list[HopReply]:
    return await asyncio.gather(*(fetch(fetchers, url) for url in urls))


def impolite(
    entries: Iterable[LoggedRequest], delay: float, threads: int = 1, key: Callable[[str], str] = registered_domain
) -> list[str]:
    """Return the violations of politeness, domain by domain, or by another key of a host."""
    domains: defaultdict[str, list[LoggedRequest]] = defaultdict(list)
    for entry in entries:
        domains[key(entry.host)].append(entry)
    problems: list[str] = []
    for domain, asked in domains.items():
        ends: list[float] = []
        for entry in sorted(asked, key=lambda each: each.start):
            under_way = sum(end > entry.start + TOLERANCE for end in ends)
            if under_way >= threads:
                problems.append(f"{domain} had {under_way + 1} requests at once")
            elif threads == 1 and ends and entry.start - max(ends) < delay - TOLERANCE:
                problems.append(f"{domain} was asked after {entry.start - max(ends):.3f} s: {entry.path}")
            ends = [*ends[-10:], entry.end if entry.end is not None else entry.start]
    return problems


def fetchers_for(port: int, folder: Path, processes: int, *settings: str, **options: Any) -> WorkerDispatcher:
    return WorkerDispatcher(config_for(port, f"live.processes={processes}", *settings), folder, **options)


async def all_joined(fetchers: WorkerDispatcher, count: int, apart_from: Sequence[int] = ()) -> None:
    """Wait until ``count`` workers are ready, not counting those in ``apart_from``."""
    async with asyncio.timeout(20):
        await until(lambda: len(set(fetchers.pids()) - set(apart_from)) >= count)
