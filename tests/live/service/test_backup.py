"""A backup of a running service is a complete service."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.service.running import announced, pages, service

from scoter.simweb import SimServer, WebSpec, running

pytestmark = pytest.mark.slow

SPEC = WebSpec(hosts=30, pages=100, page_bytes=2_000, latency=1.0)
PAGES = pages(SPEC, 20)


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(SPEC) as server:
        yield server


def scoter(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scoter.cli.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_restored_backup_finishes_the_messages_accepted_before_it(web: SimServer, tmp_path: Path) -> None:
    with service(tmp_path / "live", web.port) as live:
        live.wait_until_ready()
        live.submit(*PAGES, id="before")
        made = scoter("backup", live.folder, tmp_path / "copy")
        again = scoter("backup", live.folder, tmp_path / "copy")
        secret = (live.folder / "webhook.secret").read_bytes()
        live.process.kill()

    with service(tmp_path / "copy", web.port) as restored:
        records = [restored.record(url) for url in PAGES]

        assert (made.returncode, again.returncode) == (0, 2)
        assert "already exists" in again.stderr
        assert {record["state"] for record in records} == {"ok"}
        assert announced(restored, "before") == Counter(PAGES)
        assert (tmp_path / "copy" / "webhook.secret").read_bytes() == secret
        assert (tmp_path / "copy" / "webhook.secret").stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o700
