"""The contestants made of our own parts, each run in its own process.

    python -m benchmarks.fetch.ours KIND PORT PAGES HOSTS

``bare`` only downloads, ``strangers`` downloads from new hosts; ``fetcher`` has queues and robots.txt; ``archive`` also
writes WARC files; ``large`` requests bodies beyond the limit, 500 at once. Prints one line of JSON with the cost,
without start-up.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pycurl
import uvloop

from benchmarks.fetch.site import PAGES
from scoter.config import load
from scoter.core.reply import Fetched, Reply, Request
from scoter.core.url import canonical
from scoter.fetch.fetcher import Fetcher
from scoter.heap import collect_less, keep_memory
from scoter.store.warc import ArchiveInfo, WarcWriter

CONCURRENT = 50
LARGE_CONCURRENT = 500
MOST_ADDRESSES = 200

Asked: TypeAlias = tuple[str, bool, bool]
"""A URL, whether it needs a new connection, and whether that is closed afterwards."""


def cpu_seconds() -> float:
    """Return user and system time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Spent(NamedTuple):
    """The result and the cost of a run."""

    pages: int
    cpu: float


def bare(port: int, pages: int, hosts: int) -> Spent:
    """Download with libcurl alone: no queues, no robots.txt, no Python event loop.

    It makes as many concurrent transfers as the fetcher and reuses connections. It does what any downloader must: send
    a User-Agent, have a timeout, and keep the status, the head and the body, which it does not read.
    """
    addresses = min(hosts, MOST_ADDRESSES)
    where = [f"http://127.0.0.{1 + number % addresses}:{port}" for number in range(pages)]
    asked = [(f"{each}/{number % PAGES}.html", False, False) for number, each in enumerate(where)]
    return download(asked)


def strangers(port: int, pages: int, hosts: int) -> Spent:
    """Download like ``bare``, but each page from a new host: robots.txt first, then the page.

    That takes a connection and two requests, which no crawler can avoid.
    """
    asked: list[Asked] = []
    for number in range(pages):
        where = f"http://127.0.0.{1 + number % 10}:{port}"
        asked += (f"{where}/robots.txt", True, False), (f"{where}/{number % PAGES}.html", False, True)
    both, cpu = download(asked)
    return Spent(both // 2, cpu)


def download(asked: Sequence[Asked]) -> Spent:
    """Download URLs; each may need a new connection, and may be the last on it."""
    used = cpu_seconds()
    multi, done = pycurl.CurlMulti(), 0
    multi.setopt(pycurl.M_MAXCONNECTS, 2 * CONCURRENT)
    urls = iter(asked)
    is_plain = not any(fresh or last for _, fresh, last in asked)
    heads: dict[pycurl.Curl, list[bytes]] = {}
    bodies: dict[pycurl.Curl, list[bytes]] = {}

    def begin(curl: pycurl.Curl) -> bool:
        found = next(urls, None)
        if found is None:
            return False
        url, fresh, last = found
        heads[curl], bodies[curl] = [], []
        curl.setopt(pycurl.URL, url)
        if not is_plain:
            curl.setopt(pycurl.FRESH_CONNECT, fresh)
            curl.setopt(pycurl.FORBID_REUSE, last)
        curl.setopt(pycurl.HEADERFUNCTION, heads[curl].append)
        curl.setopt(pycurl.WRITEFUNCTION, bodies[curl].append)
        multi.add_handle(curl)
        return True

    def handle() -> pycurl.Curl:
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.USERAGENT, "bench")
        curl.setopt(pycurl.HTTPHEADER, ["Accept: text/html", "Accept-Encoding: gzip, deflate, br, zstd"])
        curl.setopt(pycurl.CONNECTTIMEOUT, 10)
        curl.setopt(pycurl.LOW_SPEED_LIMIT, 1)
        curl.setopt(pycurl.LOW_SPEED_TIME, 10)
        curl.setopt(pycurl.TIMEOUT, 300)
        return curl

    handles = [handle() for _ in range(CONCURRENT)]
    active = sum(begin(curl) for curl in handles)
    while active:
        multi.perform()
        while True:
            left, finished, failed = multi.info_read()
            if failed:
                raise SystemExit(f"a download failed: {failed[0][1:]}")
            for curl in finished:
                head, body = b"".join(heads[curl]), b"".join(bodies[curl])
                done += bool(head and body and curl.getinfo(pycurl.RESPONSE_CODE) == 200)
                multi.remove_handle(curl)
                active -= not begin(curl)
            if not left:
                break
        if active:
            multi.select(1.0)
    return Spent(done, cpu_seconds() - used)


def fetch(port: int, pages: int, hosts: int, keep: Callable[[Reply], object], *settings: str) -> Spent:
    """Fetch with full politeness, but no delay."""
    config = load(
        overrides=[
            *("agent.name=bench", f"fetch.connect_to={_addresses(hosts, port)}", f"fetch.threads={CONCURRENT}"),
            *("fetch.delay=0", "fetch.min_crawl_delay=0s", *settings),
        ]
    )
    fetched = 0

    def sink(request: Request, reply: Reply) -> None:
        nonlocal fetched
        fetched += isinstance(reply, Fetched)
        keep(reply)

    async def run() -> None:
        await Fetcher(config).run(source(), sink)

    # Created before the clock starts: a crawl's URLs are canonical before they are fetched.
    name = "large" if settings else ""
    requests = [Request(url=canonical(url)) for url in _urls(pages, hosts, name)]

    async def source() -> AsyncIterator[Request]:
        for request in requests:
            yield request

    used = cpu_seconds()
    uvloop.run(run())
    return Spent(fetched, cpu_seconds() - used)


def archive(port: int, pages: int, hosts: int) -> Spent:
    """Fetch and write WARC files."""
    with tempfile.TemporaryDirectory() as folder:
        about = ArchiveInfo(software="bench")
        with WarcWriter(Path(folder), "bench", about, size=2**30, age=timedelta(hours=1)) as writer:
            return fetch(port, pages, hosts, lambda reply: reply.exchange and writer.write(reply.exchange))


def large(port: int, pages: int, hosts: int) -> Spent:
    """Fetch bodies that are longer than the limit."""
    return fetch(
        port, pages, hosts, lambda reply: None, f"fetch.threads={LARGE_CONCURRENT}", "fetch.content_limit=1MiB"
    )


def _addresses(hosts: int, port: int) -> str:
    """Give each host its own address, as in the bare loop, or one of ten addresses if there are many hosts.

    libcurl searches all connections to an address for one to reuse. With all hosts at one address, which is not
    realistic, it would search all connections.
    """
    if hosts <= MOST_ADDRESSES:
        rules = [f"h{number}.test:80=127.0.0.{1 + number}:{port}" for number in range(hosts)]
    else:
        rules = [f"*{digit}.test:80=127.0.0.{1 + digit}:{port}" for digit in range(10)]
    return json.dumps(rules)


def _urls(pages: int, hosts: int, name: str) -> Iterator[str]:
    for number in range(pages):
        yield f"http://h{number % hosts}.test/{name or number % PAGES}.html"


def main() -> None:
    kind, port, pages, hosts = sys.argv[1], *map(int, sys.argv[2:5])
    contestants: dict[str, Callable[[int, int, int], Spent]] = {
        "bare": bare,
        "strangers": strangers,
        "fetcher": lambda port, pages, hosts: fetch(port, pages, hosts, lambda reply: None),
        "archive": archive,
        "large": large,
    }
    # As in every Scoter process that fetches and archives; here for the bare loop, too.
    keep_memory()
    collect_less()
    began = time.monotonic()
    done, cpu = contestants[kind](port, pages, hosts)
    wall = time.monotonic() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if done != pages:
        raise SystemExit(f"{kind}: {done} of {pages} pages fetched")
    print(json.dumps({"pages": done, "cpu": cpu, "wall": wall, "peak_mib": peak}))


if __name__ == "__main__":
    main()
