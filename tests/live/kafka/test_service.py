"""A service of several processes on real servers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from tests.live.fetching.webs import impolite
from tests.live.kafka.conftest import cluster_settings, own_topics
from tests.live.kafka.running import Cluster, RunningRole, cluster, stream_of
from tests.live.service.running import pages, settings
from tests.servers.cluster import is_up

from scoter.config import load
from scoter.errors import MadeByNewer
from scoter.live.kafka.access import CassandraKeys
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames
from scoter.live.kafka.messages import FORMAT
from scoter.live.kafka.topic_reader import read_partition
from scoter.live.records import Priority
from scoter.simweb import SimServer, WebSpec, running

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]
WEB = WebSpec(hosts=60, pages=600, page_bytes=2_000, latency=0.02)
URLS = pages(WEB, 300)
DELAY = 0.2
ROLES = ("worker", "pipeline", "api", "api")


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WEB) as found:
        yield found


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, web: SimServer) -> Iterator[Cluster]:
    """A service for all tests that stop no role."""
    folder = tmp_path_factory.mktemp("live")
    if not is_up():  # as each test will say
        pytest.skip("Kafka and Cassandra do not run")
    with own_topics() as prefix, cluster(folder, web.port, prefix, ROLES, f"fetch.delay={DELAY}s") as found:
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
    everything = set(live.announced())
    first = stream_of(live.api, 0, 15)
    rest = stream_of(other, first[-1]["number"], len(everything) - 15)
    assert {(event["message"], event["url"]) for event in first + rest} == everything


def test_waiting_lookup_and_direct_fetch_work_through_any_api(live: Cluster) -> None:
    accepted(live, "waiting", URLS[40])
    assert live.api.record(URLS[40])["state"] == "ok"

    got = live.of("api")[1].ask("POST", "/v1/fetch", {"url": URLS[41]})
    assert (got.status, got.json["outcome"]) == (200, "fetched")


def test_rule_of_one_api_applies_in_all_processes(live: Cluster) -> None:
    domain = "blocked.example"
    assert live.api.ask("PUT", f"/v1/domains/{domain}", {"blocked": True}).status == 200
    other = live.of("api")[1]
    other.wait_for(lambda: other.submit(f"http://www.{domain}/").json["messages"][0].get("unusable"))


def test_unreadable_message_is_moved_and_delays_nobody(live: Cluster) -> None:
    kafka = load(overrides=cluster_settings(live.prefix)).kafka
    names = TopicNames(live.prefix)
    sender = KafkaSender(kafka, "test")
    for partition in range(kafka.partitions):
        sender.put(OutgoingMessage(names.intake(Priority.NORMAL), b"\x09 from the future", None, partition))
        sender.put(OutgoingMessage(names.requests, b"", None, partition))
    sender.close()

    live.wait_until_announced(accepted(live, "unreadable", *URLS[50:60]), 60)

    letters = live.api.wait_for(
        lambda: found if len(found := read_partition(kafka, names.dead, 0, 0, 100)) >= 2 * kafka.partitions else None
    )
    reasons = {json.loads(dict(each.headers)["letter"])["why"] for each in letters}
    assert reasons == {MadeByNewer("it", 9, FORMAT).message, "it is empty"}
    live.api.wait_for(lambda: f"scoter_dead_letters {len(letters)}" in live.api.get("/metrics").body.decode())


def with_key(live: Cluster, *scopes: str) -> tuple[str, str]:
    """Create an API key; return its id and token."""

    async def create() -> tuple[str, str]:
        async with CassandraSession(load(overrides=cluster_settings(live.prefix)).cassandra) as session:
            key, token = await CassandraKeys(session).create("person", scopes)
            return key.id, token

    return asyncio.run(create())


def ask_as(api: RunningRole, method: str, path: str, **headers: str) -> tuple[int, dict[str, Any], str]:
    """Return the status, the JSON and the cookie of a response."""
    connection = HTTPConnection("127.0.0.1", api.port, timeout=20)
    try:
        connection.request(method, path, headers={"Origin": f"http://127.0.0.1:{api.port}", **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), (answer.getheader("Set-Cookie") or "").partition(";")[0]
    finally:
        connection.close()


def test_session_of_one_api_works_on_the_other_and_so_does_its_end(live: Cluster) -> None:
    one, other = live.of("api")
    key, token = with_key(live, "read")
    one.wait_for(lambda: ask_as(one, "GET", "/v1/stats", Authorization=f"Bearer {token}")[0] == 200)
    status, _, cookie = ask_as(one, "POST", "/v1/session", Authorization=f"Bearer {token}")
    assert status == 201

    def name_at(api: RunningRole, cookie: str) -> str:
        found: str = ask_as(api, "GET", "/v1/session", Cookie=cookie)[1].get("name", "")
        return found

    other.wait_for(lambda: name_at(other, cookie) == "person")
    assert ask_as(other, "DELETE", "/v1/session", Cookie=cookie)[0] == 200
    one.wait_for(lambda: name_at(one, cookie) == "")

    # A revoked key ends its sessions everywhere.
    again = ask_as(one, "POST", "/v1/session", Authorization=f"Bearer {token}")[2]
    other.wait_for(lambda: name_at(other, again) == "person")
    done = command("--role", "api", "--dir", str(one.folder), "--revoke-key", key, prefix=live.prefix)
    assert done.returncode == 0, done.stderr
    for api in (one, other):
        api.wait_for(lambda api=api: ask_as(api, "GET", "/v1/stats", Cookie=again)[0] == 401)  # type: ignore[misc]


def test_every_api_shows_what_pipelines_are_busy_with(live: Cluster) -> None:
    domain = "busy.example"
    assert live.api.ask("PUT", f"/v1/domains/{domain}", {"delay": 600}).status == 200
    accepted(live, "busy", *(f"http://{domain}/{number}" for number in range(5)))
    for api in live.of("api"):
        (found,) = api.wait_for(
            lambda api=api: [  # type: ignore[misc]
                each for each in api.get("/v1/activity").json["domains"] if each["domain"] == domain
            ]
        )
        assert found["waiting"] + found["active"] > 0
        for role in ("pipeline", "worker"):
            line = f'scoter_processes{{role="{role}"}} 1'
            api.wait_for(lambda api=api, line=line: line in api.get("/metrics").body.decode())  # type: ignore[misc]
    # Finished URLs of all pipelines are counted by each api, and end up in its history and log.
    live.wait_until_announced(accepted(live, "counted", *URLS[140:150]), 60)
    for api in live.of("api"):
        assert api.wait_for(lambda api=api: api.get("/v1/stats").json["counts"].get("urls.ok", 0) >= 10)  # type: ignore[misc]
        assert api.get("/v1/history").status == 200
    done = report(live.of("api")[1].folder, "most-linked-sites", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    refused = report(live.of("pipeline")[0].folder, "most-linked-sites")
    assert (refused.returncode, "has no log of outcomes" in refused.stderr) == (2, True)


def report(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "scoter.cli.main", "report", str(folder), *words]
    return subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)


def test_outcomes_of_all_pipelines_are_in_the_log_of_an_api(tmp_path: Path, web: SimServer, prefix: str) -> None:
    with cluster(tmp_path, web.port, prefix, ("worker", "pipeline", "api")) as live:
        wanted = accepted(live, "logged", *URLS[100:112])
        live.wait_until_announced(wanted, 60)
        api = live.restart(live.api)  # what was not written before is written at the end
    run = [sys.executable, "-m", "scoter.cli.main", "sql", str(api.folder), "SELECT url FROM events", "--json"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert sorted(json.loads(line)["url"] for line in done.stdout.splitlines()) == sorted(url for _, url in wanted)


def test_partitions_of_a_killed_process_are_taken_over_within_ten_seconds(
    tmp_path: Path, web: SimServer, prefix: str
) -> None:
    """A killed role restarts by itself; a stopped one is replaced by others."""
    roles = ("worker", "worker", "pipeline", "pipeline", "api")
    asked_before = len(list(web.ledger.requests()))
    with cluster(tmp_path, web.port, prefix, roles, f"fetch.delay={DELAY}s", "live.silence=off") as live:
        live.wait_until_announced(accepted(live, "m0", *URLS[60:80]), 60)
        for number, role in enumerate(("worker", "pipeline"), start=1):
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


def test_stopped_and_restarted_roles_lose_nothing(tmp_path: Path, web: SimServer, prefix: str) -> None:
    with cluster(tmp_path, web.port, prefix, ("worker", "pipeline", "api"), f"fetch.delay={DELAY}s") as live:
        wanted = accepted(live, "m1", *URLS[150:170])
        for role in ("worker", "pipeline"):
            live.start(role)
            live.of(role)[0].process.send_signal(signal.SIGTERM)
            wanted |= accepted(live, f"m-{role}", *URLS[170:180], force=True)

        live.wait_until_announced(wanted, 90)
        assert set(live.announced().values()) == {1}
        for role in ("worker", "pipeline"):
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
