"""A whole service and a site that is sometimes unavailable."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.live.odd_web import Said, odd_web, page
from tests.live.service.running import service

pytestmark = pytest.mark.slow

BUSY = Said(b"", 503)
LATER = Said(b"", 503, (("Retry-After", "3600"),))


def test_busy_site_is_retried_and_its_last_good_record_survives_a_restart(tmp_path: Path) -> None:
    asked: Counter[tuple[str, str]] = Counter()

    def answer(host: str, path: str) -> Said:
        asked[host, path] += 1
        number = asked[host, path]
        match host, path:
            case "once.example", "/":
                return BUSY if number == 1 else page("<title>Once</title>")
            case "later.example", "/":
                return page("<title>Before</title>") if number == 1 else LATER
            case _:
                return Said(b"", 404)

    with odd_web(answer) as web:
        with service(tmp_path / "live", web.port) as live:
            live.wait_until_ready()
            live.submit("http://once.example/", "http://later.example/")
            once, good = (live.record(f"http://{name}.example/") for name in ("once", "later"))
            live.submit("http://later.example/", force=True)
            live.wait_for(lambda: "stale" in live.record("http://later.example/"))
            stale = live.record("http://later.example/")
        with service(tmp_path / "live", web.port) as live:
            live.wait_until_ready()
            live.submit("http://later.example/", "http://later.example/other")
            again = live.record("http://later.example/")
            other = live.record("http://later.example/other")

    assert (once["state"], once["metadata"]["title"], asked["once.example", "/"]) == ("ok", "Once", 2)
    assert (stale["state"], stale["metadata"], stale["fetched_at"]) == ("ok", good["metadata"], good["fetched_at"])
    assert (stale["stale"]["reason"], stale["stale"]["status"]) == ("busy", 503)
    assert again == stale
    assert asked["later.example", "/"] == 2
    # The site asked us to wait for an hour, and is on hold after the restart too.
    assert (other["state"], other["reason"], asked["later.example", "/other"]) == ("failed", "busy", 0)
    hold = datetime.fromisoformat(other["retry_at"]) - datetime.fromisoformat(other["fetched_at"])
    assert timedelta(minutes=30) < hold <= timedelta(hours=1)
