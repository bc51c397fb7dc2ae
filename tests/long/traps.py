"""Crawl a synthetic web and a site full of traps with default settings; nearly all requests must go to real pages.

    python -m tests.long.traps --rounds 15

The synthetic web has a calendar and session identifiers in URLs. The other site adds an endless calendar of months and
days in both directions, a search whose filters can be combined for ever, links that make paths longer and longer,
doubled slashes, and a new session identifier in every link. Every host also has real pages; at least 95 % of the
requests for pages must be for them, and no article of that site may be missing. Traps cost about 70 requests before
they are recognised, so the share depends on the number of real pages.

Then it crawls the sites of ``tests/batch/trap_sites.py`` in the same way and states both errors: the share of the pages
of harmless sites that were held back (none may be), and the traps that were not recognised (none may be).
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.batch.trap_sites import REAL, TRAPS, Site

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.fetchlists.traps import trap_names
from scoter.batch.jobs.crawl import CrawlLimits, CrawlResult, crawl
from scoter.batch.jobs.inject import inject
from scoter.config import load
from scoter.engine.duckdb import DuckDbEngine
from scoter.simweb import SimServer, WebSpec, running

SHARE = 0.95
ARTICLES = 400
HOST = "trap.example"
MEMORY = 2**28
_TRAP_OF_SIMWEB = re.compile(r"/calendar/[0-9]|/shop/item")
_session = count()
_SITES = {f"{name}.example": site for name, site in {**REAL, **TRAPS}.items()}
TOP_N = 400


class TrapSite(ThreadingHTTPServer):
    """A site with real articles and five traps, and a count of the requests to each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _TrapHandler)
        self.requested: list[str] = []


class _TrapHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: TrapSite

    def do_GET(self) -> None:
        host = self.headers["Host"] or HOST
        found = None if self.path == "/robots.txt" else _SITES.get(host, Site(page)).page(self.path)
        if self.path != "/robots.txt":
            self.server.requested.append(self.path if host == HOST else f"{host}{self.path}")
        body = b"" if found is None else found.encode()
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


def page(target: str) -> str | None:
    """Return the page at a path of the site."""
    url = urlsplit(re.sub(r";jsessionid=\w+", "", target).replace("//", "/"))
    path, query = url.path, dict(parse_qsl(url.query))
    match path.strip("/").split("/"):
        case [""]:
            return _html("Welcome", ["/articles/0", "/calendar/", "/search", "/loop/", "/shop/"])
        case ["articles", number] if number.isdigit() and int(number) < ARTICLES:
            own = int(number)
            more = [f"/articles/{each}" for each in range(3 * own + 1, 3 * own + 4) if each < ARTICLES]
            return _html(_prose(own), more)
        case ["calendar"]:
            return _month(date.fromisoformat(f"{query['month']}-01") if "month" in query else datetime.now(UTC).date())
        case ["calendar", "day", year, month, day]:
            return _day(date(int(year), int(month), int(day)))
        case ["search"]:
            place = int(query.get("page", 0)) + 1
            filters = [f"colour={each}&size={place % 7}" for each in ("red", "green", "blue", "grey", "black")]
            return _html("Nothing was found. Try other filters.", [f"/search?{each}&page={place}" for each in filters])
        case ["loop", *_]:
            return _html("This page cannot be found.", ["loop/", "other/loop/", "more//loop//", f"{path}/loop/loop/"])
        case ["shop", *_]:
            links = [f"/shop/;jsessionid={next(_session):032x}", f"/shop/?PHPSESSID={next(_session):032x}"]
            return _html("One lantern, ten euros.", links)
    return None


def _month(first: date) -> str:
    start = first.replace(day=1)
    days = [start + timedelta(days=number) for number in range(28)]
    nearby = [start - timedelta(days=1), start + timedelta(days=31)]
    links = [f"/calendar/day/{each:%Y/%m/%d}" for each in days] + [f"/calendar/?month={each:%Y-%m}" for each in nearby]
    return _html(f"{start:%B %Y}. Mon Tue Wed Thu Fri Sat Sun. There are no events in this month.", links)


def _day(own: date) -> str:
    nearby = [own - timedelta(days=1), own + timedelta(days=1)]
    links = [f"/calendar/day/{each:%Y/%m/%d}" for each in nearby]
    return _html(f"{own:%A, %d %B %Y}. There are no events on this day.", links)


def _prose(number: int) -> str:
    drawn = random.Random(number)
    return " ".join("".join(drawn.choices("aeioulnrst", k=drawn.randint(3, 9))) for _ in range(drawn.randint(80, 300)))


def _html(text: str, links: list[str]) -> str:
    items = "".join(f'<li><a href="{each}">more</a></li>' for each in links)
    return f"<!doctype html><title>Page</title><nav>Home Articles Calendar Shop</nav><p>{text}</p><ul>{items}</ul>"


@contextmanager
def trap_site() -> Iterator[TrapSite]:
    """Serve the site."""
    with TrapSite() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        try:
            yield site
        finally:
            site.shutdown()


def run(
    folder: Path, site: TrapSite, rounds: int, seeds: list[str], port: int | None = None, top_n: int | None = None
) -> CrawlResult:
    """Crawl with the default rules; hosts other than ``HOST`` are at ``port`` if given."""
    ports = f'["{HOST}:80=127.0.0.1:{site.server_port}", "*:80=127.0.0.1:{port or site.server_port}"]'
    own = ["agent.name=trapbot", f"fetch.connect_to={ports}", "fetch.delay=0", "fetch.adaptive_delay=false"]
    config = load(overrides=own)
    directory = CrawlDir.create(folder, datetime.now(UTC))
    with DuckDbEngine(folder / "tmp", MEMORY, threads=2) as engine:
        inject(directory, engine, config, seeds, now=datetime.now(UTC))
        return crawl(directory, engine, config, rounds=CrawlLimits(most=rounds, top_n=top_n, dedup=False))


def trap_counts(web: SimServer, site: TrapSite) -> Counter[str]:
    """Return the number of requests by the kind of page."""
    found = Counter("article" if re.match("/articles/|/$", each) else each.split("/")[1][:8] for each in site.requested)
    for entry in web.ledger.requests():
        if entry.path != "/robots.txt":
            found["simweb trap" if _TRAP_OF_SIMWEB.match(entry.path) else "simweb page"] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--pages", type=int, nargs="+", default=[1_200, 2_400])
    given = parser.parse_args()
    return max(*(check(pages, given.rounds) for pages in given.pages), check_sites(given.rounds))


def check(pages: int, rounds: int) -> int:
    """Crawl a synthetic web of some pages and the site; print the requests and return the exit code."""
    spec = WebSpec(hosts=12, pages=pages, page_bytes=2_000, trap_size=5_000, sessions=200)
    with tempfile.TemporaryDirectory() as folder, running(spec) as web, trap_site() as site:
        seeds = [*web.web.seeds(), f"http://{HOST}/"]
        done = run(Path(folder) / "crawl", site, rounds, seeds, web.port)
        found = trap_counts(web, site)
    missing = ARTICLES - len({each for each in site.requested if each.startswith("/articles/")})
    share = (found["article"] + found["simweb page"]) / found.total()
    print(f"{len(done.rounds)} rounds, {found.total():,} requests, {share:.1%} of them for real pages; {dict(found)}")
    for each in done.traps[:10]:
        print(f"  {each.host}: {each.reason}, {each.urls:,} URLs held back")
    if missing:
        print(f"{missing} articles are missing", file=sys.stderr)
    return 0 if share >= SHARE and not missing else 1


def check_sites(rounds: int) -> int:
    """Crawl harmless sites that look like traps, and traps; print both errors and return the exit code."""
    with tempfile.TemporaryDirectory() as folder, trap_site() as site:
        run(Path(folder) / "crawl", site, rounds, [f"http://{host}/" for host in _SITES], top_n=TOP_N)
        recognised = {name.partition("/")[0] for name in trap_names(CrawlDir.open(Path(folder) / "crawl"))}
        requested = {tuple(each.split("/", 1)) for each in site.requested}
    got = Counter(host for host, target in requested if _SITES[host].page(f"/{target}") is not None)
    wanted = {name: site.pages or 0 for name, site in REAL.items()}
    held = {name: pages - got[f"{name}.example"] for name, pages in wanted.items()}
    spent = {name: got[f"{name}.example"] for name in TRAPS}
    missed = {f"{name}.example" for name in TRAPS} - recognised
    total = sum(wanted.values())
    print(f"{sum(held.values())} of {total:,} pages of {len(REAL)} harmless sites held back: {held}")
    print(f"{len(missed)} of {len(TRAPS)} traps not recognised; pages fetched from each: {spent}")
    return int(any(held.values()) or bool(missed))


if __name__ == "__main__":
    sys.exit(main())
