"""Conditional requests: a recrawl sends back the server's own validators, and nothing else."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import crawldb
from tests.long.batch_truth import settings

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.jobs.crawl import CrawlLimits, crawl
from scoter.batch.jobs.inject import inject
from scoter.config import load
from scoter.engine.duckdb import DuckDbEngine
from scoter.store.warc import WarcReader

PAGE = "http://site.example/"
CHECKS = ("If-Modified-Since", "If-None-Match")
# An obsolete format, so that a date that was parsed and written again would differ.
DATE = "Sunday, 06-Nov-94 08:49:37 GMT"


class OneSite:
    """A server with one page; it answers 304 if a request has all of its validators, byte for byte."""

    def __init__(self, validators: Mapping[str, str], *, always_unchanged: bool = False) -> None:
        self.validators = dict(validators)
        self.sent: list[dict[str, str]] = []
        self.always_unchanged = always_unchanged
        self.answers: list[int] = []

    def status(self, headers: Message) -> int:
        sent = {name: value for name in CHECKS if (value := headers[name]) is not None}
        wanted = dict(zip(CHECKS, map(self.validators.get, ("Last-Modified", "ETag")), strict=True))
        expected = {name: value for name, value in wanted.items() if value is not None}
        again = self.always_unchanged and bool(self.sent)
        self.sent.append(sent)
        self.answers.append(304 if again or (expected and sent == expected) else 200)
        return self.answers[-1]


@contextmanager
def serving(site: OneSite) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path == "/"
            status = site.status(self.headers) if is_page else 404
            body = b"<title>Page</title><p>unchanged</p>" if status == 200 else b""
            self.send_response(status)
            for name, value in site.validators.items() if is_page else ():
                self.send_header(name, value)
            self.send_header("Content-Type", "text/html")
            if status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *message: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def crawl_twice(folder: Path, port: int, seeds: list[str]) -> dict[str, dict[str, Any]]:
    """Fetch seeds, and again a month later; return the crawldb."""
    config = load(
        overrides=settings(port, "fetch.processes=1", "store.disk_floor=0B", "db.update_additions_allowed=false")
    )
    directory = CrawlDir.create(folder / "crawl", datetime.now(UTC))
    with DuckDbEngine(folder / "engine", 2**28, threads=1) as engine:
        inject(directory, engine, config, seeds, now=datetime.now(UTC))
        for days in (0, 31):
            crawl(directory, engine, config, rounds=CrawlLimits(most=1, top_n=None, add_days=days, dedup=False))
    return crawldb(directory)


@pytest.mark.parametrize(
    "validators",
    [
        {"Last-Modified": DATE},
        {"ETag": '"strong"'},
        {"ETag": 'W/"weak"'},
        {"Last-Modified": DATE, "ETag": '"both"'},
    ],
    ids=lambda found: " and ".join(found.values()),
)
def test_recrawl_sends_the_validators_of_the_server_verbatim(tmp_path: Path, validators: dict[str, str]) -> None:
    site = OneSite(validators)
    with serving(site) as port:
        rows = crawl_twice(tmp_path, port, [PAGE])

    assert site.answers == [200, 304]
    assert site.sent[0] == {}
    assert rows[PAGE]["status"] == "notmodified"
    assert {name: rows[PAGE]["metadata"][name] for name in validators} == validators
    first, second = sorted((tmp_path / "crawl").glob("segments/*/content/*.warc.gz"))
    with WarcReader(first) as archive:
        copy = next(each for each in archive if each.url == PAGE)
    with WarcReader(second) as archive:
        unchanged = next(each for each in archive if each.url == PAGE)
    assert (copy.status, unchanged.status, unchanged.digest) == (200, 304, copy.digest)


def test_page_without_validators_is_requested_unconditionally(tmp_path: Path) -> None:
    site = OneSite({})
    with serving(site) as port:
        rows = crawl_twice(tmp_path, port, [PAGE])

    assert (site.answers, site.sent) == ([200, 200], [{}, {}])
    assert rows[PAGE]["status"] == "notmodified"  # by its signature


def test_304_to_an_unconditional_request_is_a_failure(tmp_path: Path) -> None:
    site = OneSite({}, always_unchanged=True)
    with serving(site) as port:
        rows = crawl_twice(tmp_path, port, [PAGE])

    assert site.answers == [200, 304]
    assert (rows[PAGE]["status"], rows[PAGE]["retries"]) == ("unfetched", 1)


@pytest.fixture(params=["", "gzip on;"], ids=["plain", "gzip"])
def nginx(request: pytest.FixtureRequest) -> Iterator[tuple[int, Path]]:
    """nginx with its default settings on a folder of pages; gives its port and its log of statuses."""
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    # Not pytest's own folder: nginx's workers run as another user when the tests run as root.
    folder = Path(tempfile.mkdtemp(prefix="nginx-"))
    folder.chmod(0o755)
    (folder / "www").mkdir()
    for number in range(5):
        (folder / "www" / f"{number}.html").write_text(f"<title>{number}</title>" + "<p>seals and otters</p>" * 100)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    temporary = " ".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log stderr crit; events {{}}\n"
        f"http {{ types {{ text/html html; }} log_format status '$status $uri'; access_log {folder}/log status;\n"
        f"{temporary} {request.param} server {{ listen 127.0.0.1:{port}; root {folder}/www; }} }}\n"
    )
    process = subprocess.Popen(["nginx", "-p", str(folder), "-c", "nginx.conf"], stderr=subprocess.DEVNULL)
    try:
        _await_port(port)
        yield port, folder / "log"
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder)


def _await_port(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("nginx did not start")


@pytest.mark.slow
def test_recrawl_of_unchanged_pages_gets_only_304_from_nginx(tmp_path: Path, nginx: tuple[int, Path]) -> None:
    port, log = nginx
    seeds = [f"{PAGE}{number}.html" for number in range(5)]

    rows = crawl_twice(tmp_path, port, seeds)

    served = Counter(line.split()[0] for line in log.read_text().splitlines() if line.endswith(".html"))
    assert served == {"200": 5, "304": 5}
    assert {rows[url]["status"] for url in seeds} == {"notmodified"}
