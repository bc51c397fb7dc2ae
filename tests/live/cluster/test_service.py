"""A service of several processes on real servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.cluster.conftest import cluster_settings
from tests.live.cluster.running import Cluster, cluster, stream_of
from tests.live.workers.webs import impolite
from tests.web.service.running import pages, settings

from scoter.config import load
from scoter.live.cluster.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.cluster.tail import read_partition
from scoter.live.records import Priority
from scoter.simweb import SimServer, WebSpec, running

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]
WEB = WebSpec(hosts=60, pages=600, page_bytes=2_000, latency=0.02)
URLS = pages(WEB, 300)
DELAY = 0.2


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WEB) as found:
        yield found


@pytest.fixture
def live(tmp_path: Path, web: SimServer, prefix: str) -> Iterator[Cluster]:
    roles = ("fetcher", "worker", "api", "api")
    with cluster(tmp_path, web.port, prefix, roles, f"fetch.delay={DELAY}s") as found:
        yield found


def accepted(live: Cluster, name: str, *urls: str, **more: object) -> set[tuple[str, str]]:
    name = f"{live.prefix}-{name}"  # all tests share a keyspace
    got = live.api.submit(*urls, id=name, **more)
    assert got.status == 202, got.body
    return {(name, url) for url in got.json["messages"][0]["entries"]}


def test_messages_are_recorded_once_and_found_through_every_api(live: Cluster) -> None:
    wanted = accepted(live, "m1", *URLS[:20]) | accepted(live, "m2", *URLS[10:30])
    live.wait_until_announced(wanted, 60)
    assert live.api.submit(*URLS[:20], id=f"{live.prefix}-m1").json["messages"][0]["status"] == "known"

    other = live.of("api")[1]
    for _, url in wanted:
        assert other.record(url)["state"] == "ok"
    found = other.ask("POST", "/v1/urls/lookup", {"urls": [url for _, url in wanted]}).json["results"]
    assert {record["state"] for record in found} == {"ok"}
    assert set(live.announced().values()) == {1}

    # A stream continues on any api process, wherever it stopped.
    first = stream_of(live.api, 0, 15)
    rest = stream_of(other, first[-1]["number"], len(wanted) - 15)
    assert {(event["message"], event["url"]) for event in first + rest} == wanted


def test_waiting_lookup_and_direct_fetch_work_through_any_api(live: Cluster) -> None:
    accepted(live, "m1", URLS[40])
    assert live.api.record(URLS[40])["state"] == "ok"

    got = live.of("api")[1].ask("POST", "/v1/fetch", {"url": URLS[41]})
    assert (got.status, got.json["outcome"]) == (200, "fetched")


def test_rule_of_one_api_applies_in_all_processes(live: Cluster) -> None:
    domain = "blocked.example"
    assert live.api.ask("PUT", f"/v1/domains/{domain}", {"blocked": True}).status == 200
    other = live.of("api")[1]
    other.wait_for(lambda: other.submit(f"http://www.{domain}/").json["messages"][0].get("unusable"))


def test_unreadable_message_is_moved_and_delays_nobody(live: Cluster, prefix: str) -> None:
    kafka = load(overrides=cluster_settings(prefix)).kafka
    names = TopicNames(prefix)
    sender = KafkaSender(kafka, "test")
    for partition in range(kafka.partitions):
        sender.put(OutgoingMessage(names.intake(Priority.NORMAL), b"\x09 from the future", None, partition))
        sender.put(OutgoingMessage(names.requests, b"", None, partition))
    sender.close()

    live.wait_until_announced(accepted(live, "m1", *URLS[50:60]), 60)

    letters = live.api.wait_for(
        lambda: found if len(found := read_partition(kafka, names.dead, 0, 0, 100)) >= 2 * kafka.partitions else None
    )
    reasons = {json.loads(dict(each.headers)["letter"])["why"] for each in letters}
    assert reasons == {"it has format 9, written by a newer Scoter; this one knows 1", "it is empty"}
    live.api.wait_for(lambda: f"scoter_dead_letters {len(letters)}" in live.api.get("/metrics").body.decode())


def test_partitions_of_a_killed_process_are_taken_over_within_ten_seconds(
    tmp_path: Path, web: SimServer, prefix: str
) -> None:
    """A killed role restarts by itself; a stopped one is replaced by others."""
    roles = ("fetcher", "fetcher", "worker", "worker", "api")
    asked_before = len(list(web.ledger.requests()))
    with cluster(tmp_path, web.port, prefix, roles, f"fetch.delay={DELAY}s", "live.silence=off") as live:
        live.wait_until_announced(accepted(live, "m0", *URLS[60:80]), 60)
        for number, role in enumerate(("fetcher", "worker"), start=1):
            pid = live.of(role)[0].worker_pid
            assert pid is not None
            os.kill(pid, signal.SIGSTOP)
            began = time.monotonic()
            wanted = accepted(live, f"m{number}", *URLS[80 + 20 * number : 100 + 20 * number], force=True)
            live.wait_until_announced(wanted, 60)
            took = time.monotonic() - began
            os.kill(pid, signal.SIGCONT)
            assert took < 20, f"{role}: {took:.1f} s"
        live.wait_until_announced(accepted(live, "m9", *URLS[60:80], force=True), 60)
        assert set(live.announced().values()) == {1}
    assert impolite(list(web.ledger.requests())[asked_before:], DELAY) == []


def test_stopped_and_restarted_roles_lose_nothing(live: Cluster) -> None:
    wanted = accepted(live, "m1", *URLS[150:170])
    for role in ("fetcher", "worker"):
        live.start(role)
        live.of(role)[0].process.send_signal(signal.SIGTERM)
        wanted |= accepted(live, f"m-{role}", *URLS[170:180], force=True)

    live.wait_until_announced(wanted, 90)
    assert set(live.announced().values()) == {1}
    for role in ("fetcher", "worker"):
        assert live.of(role)[0].process.wait(60) == 0


def command(*words: str, prefix: str) -> subprocess.CompletedProcess[str]:
    options = settings(1, *cluster_settings(prefix))
    run = [sys.executable, "-m", "scoter.cli.main", "serve", *words, *options]
    return subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)


def test_keys_are_managed_in_cassandra(tmp_path: Path, prefix: str) -> None:
    made = command("--role", "api", "--dir", str(tmp_path), "--new-key", "bot", prefix=prefix)
    token = made.stdout.strip()
    assert token.startswith("scoter_")
    listed = command("--role", "api", "--dir", str(tmp_path), "--list-keys", prefix=prefix)
    assert token.split("_")[1] in listed.stdout
    gone = command("--role", "api", "--dir", str(tmp_path), "--revoke-key", token.split("_")[1], prefix=prefix)
    assert gone.returncode == 0
