"""Redirects between the domains of different pipelines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.pages import serving
from tests.live.kafka.running import Cluster
from tests.live.service.running import settings

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]
ORIGINS = [f"http://site{number}.example/" for number in range(16)]
TARGET = "http://target.example/page"


class RedirectingWeb:
    """Every site redirects to ``middle.example`` and from there to the target, or on and on."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def page(self, url: str) -> bytes | str:
        self.asked[url] += 1
        host = url.split("/")[2]
        if host.startswith("loop"):
            number = int(host.removeprefix("loop").partition(".")[0])
            return f"http://loop{number + 1}.example/"
        if host.startswith("site"):
            return "http://middle.example/"
        return TARGET if host.startswith("middle") else b"<title>The target</title>"


def test_redirects_continue_at_the_pipeline_of_their_target(tmp_path: Path, prefix: str) -> None:
    web = RedirectingWeb()
    with serving(web.page) as port:
        options = settings(port, *cluster_settings(prefix, f"k{prefix}"), "live.hops=5")
        with Cluster(tmp_path, prefix, options) as live:
            for role in ("worker", "pipeline", "pipeline", "api"):
                live.start(role)
            got = live.api.submit(*ORIGINS, "http://loop0.example/", id="m")
            assert got.status == 202
            wanted = {("m", url) for url in got.json["messages"][0]["entries"]}
            live.wait_until_announced(wanted, 90)
            events = {event.url: event.record for event in live.events()}
            assert set(live.announced().values()) == {1}

            for origin in ORIGINS:
                record = events[origin]
                assert (record.url, record.resolved, record.state) == (origin, TARGET, "ok")
                assert [hop.url for hop in record.hops] == [origin, "http://middle.example/", TARGET]
                assert live.api.record(origin)["hops"][0]["url"] == origin
            assert live.api.record("http://middle.example/")["resolved"] == TARGET
            endless = events["http://loop0.example/"]
            assert (endless.state, endless.reason, len(endless.hops)) == ("failed", "redirects", 6)
    # However many pipelines have followed redirects to it, one owner has requested it.
    assert web.asked[TARGET] == 1
    assert {web.asked[f"http://loop{number}.example/"] for number in range(6)} == {1}
    assert web.asked["http://loop6.example/"] == 0
