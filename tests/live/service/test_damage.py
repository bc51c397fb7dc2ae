"""A service whose database is damaged says so and accepts nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.service.running import Service, pages, service, settings

from scoter.simweb import SimServer, WebSpec, running

pytestmark = pytest.mark.slow

SPEC = WebSpec(hosts=40, pages=200, page_bytes=2_000)
PAGES = pages(SPEC, 60)
PAGE = 4096


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(SPEC) as server:
        yield server


def metric(live: Service, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", live.get("/metrics").body.decode(), re.MULTILINE)
    assert found is not None
    return float(found[1])


def used_folder(folder: Path, web: SimServer) -> None:
    """Run a service that stores some records."""
    with service(folder, web.port) as live:
        live.wait_until_ready()
        live.submit(*PAGES[:20])
        live.submit(*PAGES[20:40])
        live.submit(*PAGES[40:])
        for url in PAGES:
            live.record(url)
        assert live.stop() == 0


def test_pages_overwritten_in_the_middle_make_the_service_unready_and_stop_intake(
    web: SimServer, tmp_path: Path
) -> None:
    folder = tmp_path / "live"
    used_folder(folder, web)
    database = folder / "service.sqlite"
    size = database.stat().st_size // PAGE
    with database.open("r+b") as file:
        file.seek(size * 6 // 10 * PAGE)
        file.write(b"\xa5" * (size * 2 // 10 * PAGE))

    with (tmp_path / "log").open("w+") as log, service(folder, web.port, log=log) as live:
        live.wait_for(lambda: "damaged" in live.get("/readyz").body.decode())
        ready = live.get("/readyz")
        refused = live.submit("http://www.grebe0.test/new")
        for url in PAGES:
            live.get(f"/v1/urls?url={url}")
        live.wait_for(lambda: metric(live, "scoter_read_failures_total"))
        damaged = metric(live, "scoter_store_damaged")
        statistics = live.get("/v1/stats")
        alive = live.get("/healthz")
        live.stop()
        log.seek(0)
        said = log.read()

    assert (ready.status, refused.status) == (503, 503)
    assert refused.json["type"] == "urn:scoter:problem:unavailable"
    assert "damaged" in refused.json["detail"]
    assert (damaged, statistics.status, alive.status) == (1, 200, 200)
    assert said.count("CRITICAL") <= 2  # the core and the lookup process, once each
    assert "restore a backup" in said


def test_emptied_database_is_not_replaced_by_a_new_one(web: SimServer, tmp_path: Path) -> None:
    folder = tmp_path / "live"
    used_folder(folder, web)
    (folder / "service.sqlite").write_bytes(b"")

    started = subprocess.run(
        [sys.executable, "-m", "scoter.cli.main", "serve", "--dir", str(folder), "--port", "0", *settings(web.port)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert started.returncode == 2
    assert "is empty, but there was a database" in started.stderr
    assert "Restore it from a backup" in started.stderr
