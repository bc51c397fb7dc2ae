"""A challenge or a wall instead of a page, in a crawl: recorded and archived, but neither parsed nor signed."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.batch.crawls import crawldb
from tests.fetch.test_challenges import ANUBIS, LOGIN

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.hosts.notable import NotableHost
from scoter.batch.jobs.crawl import CrawlLimits, CrawlResult, crawl
from scoter.batch.jobs.explain import explain, summarize
from scoter.batch.jobs.inject import inject
from scoter.batch.jobs.sql import sql
from scoter.batch.reports.questions import CRAWL_REPORTS
from scoter.config import Config, load
from scoter.engine.duckdb import DuckDbEngine
from scoter.store.warc import WarcReader

HOST = "http://a.example"
PAGES = {
    "/": "<title>Home</title><p>Welcome to these pages</p><a href='/wiki'>wiki</a><a href='/members/report-7'>7</a>",
    "/wiki": ANUBIS,
    "/members/report-7": LOGIN,
}
MEMORY = 2**28


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[CrawlDir, Config, CrawlResult]:
    """A crawl of a site whose other pages are a challenge and a login wall."""
    folder: Path = tmp_path_factory.mktemp("challenges")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        ports = f'["*:80=127.0.0.1:{site.server_port}"]'
        own = [f"fetch.connect_to={ports}", "fetch.delay=0", "fetch.processes=1", "store.disk_floor=0B"]
        config = load(overrides=["agent.name=testbot", *own])
        directory = CrawlDir.create(folder / "crawl", datetime.now(UTC))
        with DuckDbEngine(folder / "tmp", MEMORY, threads=2) as engine:
            inject(directory, engine, config, [f"{HOST}/"], now=datetime.now(UTC))
            done = crawl(directory, engine, config, rounds=CrawlLimits(most=2))
        site.shutdown()
    return directory, config, done


def test_challenge_is_retried_later_and_has_neither_text_nor_signature(
    crawled: tuple[CrawlDir, Config, CrawlResult],
) -> None:
    directory, _, _ = crawled
    known = crawldb(directory)

    assert known[f"{HOST}/"]["status"] == "fetched"
    for target in ("/wiki", "/members/report-7"):
        row = known[f"{HOST}{target}"]
        assert (row["status"], row["retries"], row["signature"]) == ("unfetched", 1, None)
        assert row["fetch_time"] > datetime.now(UTC) + timedelta(hours=20)
    with sql(directory, memory_limit=MEMORY) as session:
        assert [row["url"] for row in session.query("select url from pages").rows] == [f"{HOST}/"]
        reasons = {(row["reason"], row["detail"]) for row in session.query("select reason, detail from fetches").rows}
    assert reasons == {(None, None), ("challenge", "Anubis challenge"), ("wall", "login wall")}


def test_reply_of_a_challenge_is_archived(crawled: tuple[CrawlDir, Config, CrawlResult]) -> None:
    directory, _, _ = crawled
    with sql(directory, memory_limit=MEMORY) as session:
        (row,) = session.query("select segment, warc_file, warc_offset from fetches where reason = 'challenge'").rows
    file = directory.segment(row["segment"]).content / row["warc_file"]

    with closing(WarcReader(file)) as reader:
        assert b"anubis_challenge" in reader.at(row["warc_offset"]).body


def test_summary_report_and_explain_name_challenges(crawled: tuple[CrawlDir, Config, CrawlResult]) -> None:
    directory, config, done = crawled

    assert done.hosts == (NotableHost("most challenges", "a.example", 2.0),)
    with sql(directory, memory_limit=MEMORY) as session:
        rows = list(session.query(CRAWL_REPORTS["challenges"].sql, {"limit": 9}).rows)
    assert [(row["host"], row["kind"], row["urls"]) for row in rows] == [
        ("a.example", "Anubis challenge", 1),
        ("a.example", "login wall", 1),
    ]
    now = datetime.now(UTC)
    verdict = summarize(explain(directory, config, f"{HOST}/wiki", now=now), now)
    assert "challenge, Anubis challenge, HTTP 200" in verdict
