"""Migration of a service to a cluster and back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.live.cluster.conftest import cluster_settings
from tests.live.cluster.running import cluster
from tests.web.service.running import announced, pages, service, settings

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
