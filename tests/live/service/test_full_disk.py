"""A service with a full disk refuses messages, waits, and resumes when there is space."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.disks import disk_of
from tests.live.service.running import Service, announced, pages, service

from scoter.simweb import SimServer, WebSpec, running
from scoter.store.warc import WarcReader

pytestmark = pytest.mark.slow

# Responses take a while, so that fetches are in progress when the disk is full.
SPEC = WebSpec(hosts=40, pages=200, page_bytes=20_000, latency=1.0)
PAGES = pages(SPEC, 60)
# An entry gets only one try: a full disk must not use it up.
# Leases last much longer than the five seconds for which a write waits for another program.
IMPATIENT = ("live.tries=1", "live.lease=15")


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(SPEC) as server:
        yield server


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of(16, tmp_path / "disk") as folder:
        yield folder


def fill(path: Path) -> None:
    """Fill the disk."""
    with path.open("ab", buffering=0) as file:
        for size in (2**20, 2**14, 2**10):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue


def test_full_disk_refuses_messages_and_accepted_ones_wait(web: SimServer, small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with service(small_disk / "live", web.port, *IMPATIENT) as live:
        live.wait_until_ready()
        assert live.submit(*PAGES[:20], id="before").status == 202
        fill(ballast)
        refused, taken = 0, []
        for number, url in enumerate(PAGES[20:50] * 10):
            got = live.submit(url, id=f"m{number}")
            if got.status == 202:
                taken.append(url)
                continue
            assert (got.status, got.json["type"]) == (503, "urn:scoter:problem:unavailable")
            assert got.json["retry_after"] > 0
            refused += 1
            if refused == 5:
                break
        assert refused == 5
        assert live.wait_for(lambda: live.get("/readyz").status == 503)
        why = live.get("/readyz").json["detail"]
        since = uptime(live)
        assert live.wait_for(lambda: uptime(live) > since + 3.0)

        ballast.unlink()
        records = [live.record(url) for url in (*PAGES[:20], *taken)]
        live.wait_until_ready()
        assert live.submit(PAGES[55]).status == 202
        live.record(PAGES[55])
        assert live.stop() == 0

        assert "Nothing can be stored" in why
        assert {record["state"] for record in records} == {"ok"}
        assert announced(live, "before") == Counter(PAGES[:20])
        archives = sorted((live.folder / "content").glob("*.warc.gz"))
        assert archives
        assert not list((live.folder / "content").glob("*.open"))
        for path in archives:
            with WarcReader(path) as reader:
                assert sum(1 for _ in reader) > 0


def uptime(live: Service) -> float:
    return float(live.get("/v1/stats").json["uptime"])


def test_locked_database_refuses_messages_without_failing(web: SimServer, tmp_path: Path) -> None:
    with service(tmp_path / "live", web.port, *IMPATIENT) as live:
        live.wait_until_ready()
        live.submit(*PAGES[:20], id="before")
        other = sqlite3.connect(live.folder / "service.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        refused = live.submit(PAGES[20], id="meanwhile")
        known = live.get(f"/v1/urls?url={PAGES[20]}")
        assert live.wait_for(lambda: live.get("/readyz").status == 503)
        other.execute("ROLLBACK")
        other.close()
        records = [live.record(url) for url in PAGES[:20]]
        live.wait_until_ready()

        assert (refused.status, refused.json["type"]) == (503, "urn:scoter:problem:unavailable")
        assert known.status == 404
        assert {record["state"] for record in records} == {"ok"}
        assert announced(live, "before") == Counter(PAGES[:20])
        assert live.submit(PAGES[20], id="meanwhile").status == 202
