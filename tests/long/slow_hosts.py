"""Measure how long a crawl with a few very slow hosts takes, and check that leaving them to later rounds loses nothing.

    python -m tests.long.slow_hosts --delay 0.2 --pages 30

A twentieth of the hosts ask for 30 times the usual delay; they are found in different rounds. The crawl runs as usual,
and with rounds that wait for all of their hosts. Both must fetch the same pages, no host may be asked before its delay
is over, and the usual crawl may take at most 1.3 times as long as the busiest host needs for its delays alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from scoter.store.tables import Table

HOSTS = 60
SLOW = 3
TIMES_SLOWER = 30
MOST = 1.3


class Site(BaseHTTPRequestHandler):
    """Hosts h0, h1, …: each has some pages; a page links to the next two, and to the front page of another host."""

    protocol_version = "HTTP/1.1"
    pages = 30
    slow_delay = 6.0
    asked: ClassVar[dict[str, list[float]]] = {}
    lock = threading.Lock()

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        number = int(host.partition(".")[0].removeprefix("h"))
        with self.lock:
            self.asked.setdefault(host, []).append(time.monotonic())
        if self.path == "/robots.txt":
            text = (
                f"User-agent: *\nCrawl-delay: {self.slow_delay}\nDisallow:\n"
                if number < SLOW
                else "User-agent: *\nDisallow:\n"
            )
            self._answer(200, "text/plain", text)
            return
        page = int(self.path.strip("/") or 0)
        if page >= self.pages:
            self._answer(404, "text/plain", "")
            return
        # A slow host is the start of a round of its own: h0 in the first, h1 two rounds later, h2 four rounds later.
        links = [f"/{each}" for each in _children(number, page) if each < self.pages]
        links += [f"http://h{each}.example/" for each in _others(number, page)]
        words = " ".join(md5(f"{host} {page} {each}".encode(), usedforsecurity=False).hexdigest() for each in range(40))
        text = "".join(f'<p><a href="{link}">page {link}</a></p>' for link in links)
        self._answer(200, "text/html", f"<title>{host} {page}</title><p>{words}</p>{text}")

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _children(host: int, page: int) -> tuple[int, ...]:
    # All pages of a slow host are linked from its front page; those of the others are found round by round.
    return (
        tuple(range(1, 1000))
        if host < SLOW and page == 0
        else ()
        if host < SLOW
        else (page * 3 + 1, page * 3 + 2, page * 3 + 3)
    )


def _others(host: int, page: int) -> tuple[int, ...]:
    """Return the hosts that a page links to: the slow ones are linked from pages of different depths."""
    return {(SLOW, 1): (1,), (SLOW, 4): (2,)}.get((host, page), ())


@contextmanager
def serving() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()


def crawl(folder: Path, port: int, delay: float, *more: str) -> subprocess.Popen[bytes]:
    """Start a crawl of all hosts from one seed each, except the slow hosts that are found later."""
    seeds = folder.with_suffix(".txt")
    seeds.write_text("".join(f"http://h{number}.example/\n" for number in range(HOSTS) if number not in range(1, SLOW)))
    settings = [
        "agent.name=slowbot",
        f'fetch.connect_to=["*:80=127.0.0.1:{port}"]',
        f"fetch.delay={delay}s",
        "fetch.adaptive_delay=false",
        "fetch.processes=2",
        *more,
    ]
    options = [part for each in settings for part in ("-D", each)]
    words = ["crawl", str(folder), str(seeds), "--until-done", "--scope", "any", "--quiet"]
    return subprocess.Popen([sys.executable, "-m", "scoter.cli.main", *words, *options], env={**os.environ})


def fetched(folder: Path) -> dict[str, str]:
    with Table.open(folder / "crawldb") as table:
        return {row["url"]: row["status"] for batch in table.scan(["url", "status"]) for row in batch.to_pylist()}


def run(folder: Path, delay: float, *more: str) -> tuple[float, dict[str, list[float]], dict[str, str]]:
    """Crawl, and return the seconds it took, the times of the requests by host, and the statuses."""
    Site.asked.clear()
    with serving() as port:
        began = time.monotonic()
        if crawl(folder, port, delay, *more).wait():
            raise SystemExit("the crawl failed")
        return time.monotonic() - began, {host: list(times) for host, times in Site.asked.items()}, fetched(folder)


def early(asked: dict[str, list[float]], delay: float) -> list[str]:
    """Return the hosts that were asked before their delay was over."""
    found = []
    for host, times in asked.items():
        wanted = delay * (TIMES_SLOWER if int(host.partition(".")[0].removeprefix("h")) < SLOW else 1)
        # The first request, for robots.txt, is not paced; any request may reach the server a little late.
        gaps = [second - first for first, second in pairwise(times[1:])]
        if gaps and min(gaps) < wanted * 0.97 - 0.02:
            found.append(f"{host}: {min(gaps):.2f} s instead of {wanted:.2f}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--delay", type=float, default=0.2, help="seconds between requests to most hosts")
    parser.add_argument("--pages", type=int, default=30, help="pages of a host")
    given = parser.parse_args()
    Site.pages, Site.slow_delay = given.pages, given.delay * TIMES_SLOWER
    with tempfile.TemporaryDirectory() as name:
        took, asked, left = run(Path(name) / "usual", given.delay)
        waited, _, all_waited = run(Path(name) / "waiting", given.delay, "fetch.leave_slow_hosts=false")
    least = max(
        (len(times) - 1) * (Site.slow_delay if int(host.partition(".")[0][1:]) < SLOW else given.delay)
        for host, times in asked.items()
    )
    print(f"{len(left)} URLs on {HOSTS} hosts; the busiest host needs {least:.0f} s for its delays alone")
    print(f"leaving slow hosts to the next round: {took:.0f} s, {took / least:.2f} times as long (at most {MOST})")
    print(f"waiting for all hosts in every round: {waited:.0f} s, {waited / least:.2f} times as long")
    problems = early(asked, given.delay)
    if left != all_waited:
        differing = sorted(url for url in left.keys() | all_waited.keys() if left.get(url) != all_waited.get(url))
        problems.append(f"{len(differing)} URLs differ, for example {differing[0]}")
    if took > MOST * least:
        problems.append(f"it took {took / least:.2f} times as long")
    for problem in problems:
        print(f"FAILED: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
