"""Migration of a service to a cluster and back."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.running import cluster
from tests.live.service.running import Service, announced, pages, service, settings

from scoter.live.sqlite.database import DatabaseReader
from scoter.simweb import WebSpec, running

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(280)]
WEB = WebSpec(hosts=40, pages=400, page_bytes=2_000)
URLS = pages(WEB, 120)


def migrate(folder: Path, to: str, port: int, prefix: str) -> dict[str, Any]:
    options = settings(port, *cluster_settings(prefix, f"k{prefix}"))
    run = [sys.executable, "-m", "scoter.cli.main", "live", "migrate", str(folder), "--to", to, "--json", *options]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_service_moves_to_a_cluster_and_back(tmp_path: Path, prefix: str) -> None:
    folder = tmp_path / "live"
    with running(WEB) as web:
        with service(folder, web.port) as live:
            live.submit(*URLS[:20], id="done")
            for url in URLS[:20]:
                live.record(url)
            assert live.ask("PUT", "/v1/domains/blocked.example", {"blocked": True}).status == 200
            # While it runs, its journal stays where it is.
            first = migrate(folder, "cluster", web.port, prefix)
            assert (first["rules"], first["urls"]) == (1, None)
            assert first["records"] >= 20
            # What is accepted now waits: its domain gets a request per hour.
            assert live.ask("PUT", "/v1/domains/slow.example", {"delay": 3600}).status == 200
            assert live.submit(*(f"http://slow.example/{n}" for n in range(5)), id="open").status == 202
        second = migrate(folder, "cluster", web.port, prefix)
        assert second["rules"] == 2
        assert second["urls"] >= 4

        more = (f"cassandra.keyspace=k{prefix}",)
        with cluster(tmp_path / "roles", web.port, prefix, ("api",), *more) as live_cluster:
            for url in URLS[:20]:
                assert live_cluster.api.record(url)["state"] == "ok"
            refused = live_cluster.api.submit("http://www.blocked.example/").json["messages"][0]
            assert refused["unusable"]
            assert live_cluster.api.submit(URLS[30], URLS[31], id="new").status == 202

        back = tmp_path / "back"
        third = migrate(back, "embedded", web.port, prefix)
        assert (third["rules"], third["urls"]) == (2, second["urls"] + 2)
        assert third["records"] >= 20
        with service(back, web.port) as live:
            for url in URLS[:20] + URLS[30:32]:
                assert live.record(url)["state"] == "ok"
            assert set(announced(live, "new")) == set(URLS[30:32])
        assert migrate(back, "embedded", web.port, prefix)["urls"] == 0


class _Load:
    """Submits messages and looks URLs up until the block ends; ``accepted`` has what the service has acknowledged."""

    def __init__(self, live: Service, name: str) -> None:
        self._live = live
        self._name = name
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.accepted: dict[str, str] = {}
        self.answers: set[int] = set()

    def __enter__(self) -> _Load:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        for number in itertools.count():
            if self._stopping.wait(0.1):
                return
            url, message = URLS[number % len(URLS)], f"{self._name}-{number}"
            got = self._live.submit(url, id=message)
            self.answers |= {got.status, self._live.get(f"/v1/urls?url={quote(url, safe='')}").status}
            if got.status == 202:
                self.accepted[message] = url


def test_service_answers_while_it_is_migrated_and_loses_no_message(tmp_path: Path, prefix: str) -> None:
    folder, back = tmp_path / "live", tmp_path / "back"
    more = (f"cassandra.keyspace=k{prefix}",)
    with running(WEB) as web:
        with service(folder, web.port) as live:
            assert live.ask("PUT", "/v1/domains/blocked.example", {"blocked": True}).status == 200
            with _Load(live, f"{prefix}-a") as load:
                assert migrate(folder, "cluster", web.port, prefix)["urls"] is None
        assert migrate(folder, "cluster", web.port, prefix)["urls"] is not None
        first, done = load.accepted, in_database(folder)
        assert first
        assert load.answers <= {200, 202, 404}

        with cluster(tmp_path / "roles", web.port, prefix, ("worker", "pipeline", "api"), *more) as moved:
            with _Load(moved.api, f"{prefix}-b") as load:
                assert migrate(back, "embedded", web.port, prefix)["urls"] is None
            moved.wait_until_announced({each for each in first.items() if each not in done}, 90)
            for role in ("pipeline", "worker"):
                assert moved.of(role)[0].stop(60) == 0
            assert moved.api.submit(URLS[0], id=f"{prefix}-last", force=True).status == 202
            done |= set(moved.announced())
        assert load.answers <= {200, 202, 404}

        assert migrate(back, "embedded", web.port, prefix)["urls"] >= 1
        wanted = {*first.items(), *load.accepted.items(), (f"{prefix}-last", URLS[0])}
        with service(back, web.port) as live:
            live.wait_for(lambda: wanted <= done | in_database(back))
            assert [each["domain"] for each in live.get("/v1/domains").json["domains"]] == ["blocked.example"]
            for url in {*first.values(), *load.accepted.values()}:
                assert live.record(url)["state"] == "ok"


def in_database(folder: Path) -> set[tuple[str, str]]:
    """Return the messages and URLs that an embedded service has announced."""
    reader = DatabaseReader(folder / "service.sqlite")
    try:
        return {(message, url) for message, url in reader.all("SELECT message, url FROM events")}
    finally:
        reader.close()
