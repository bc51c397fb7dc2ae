"""Passwords, certificates and versions that do not fit: one clear line, a count, and all is well once it is fixed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.live.kafka.conftest import cluster_settings
from tests.live.kafka.running import started
from tests.live.service.running import settings
from tests.servers.cluster import SECURE_KAFKA_PORT, certificates

from scoter.config import Config, load
from scoter.errors import StoreUnavailable, UsageError
from scoter.live.kafka.cassandra import VERSION, CassandraSession, TableSchema
from scoter.live.kafka.faults import FAULTS
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames, admin_client, create_topics
from scoter.live.kafka.topic_reader import read_partition

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]
USER = "crawler-" + os.environ.get("PYTEST_XDIST_WORKER", "main")  # tests run side by side
PASSWORD = "correct horse"


def set_kafka_password(password: str) -> None:
    """Set the password of the user at the listener with TLS."""
    from confluent_kafka.admin import (  # type: ignore[attr-defined]
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    admin = admin_client(load(overrides=cluster_settings("any")).kafka, "tests")
    change = UserScramCredentialUpsertion(USER, info, password.encode())
    for done in admin.alter_user_scram_credentials([change]).values():
        done.result(20)


def secure_kafka(password: str = PASSWORD, authority: str = "ca.pem") -> list[str]:
    return [
        f'kafka.brokers=["127.0.0.1:{SECURE_KAFKA_PORT}"]',
        "kafka.security=sasl-tls",
        f"kafka.username={USER}",
        f"kafka.password={password}",
        f"kafka.ca_file={certificates('kafka') / authority}",
        "kafka.timeout=3s",
    ]


def patient(prefix: str) -> Config:
    """Return settings for a keyspace of its own; changes of tables take long on a busy machine."""
    return load(overrides=[*cluster_settings(prefix, f"k{prefix}"), "cassandra.timeout=30s"])


def counted(kind: str) -> float:
    return FAULTS.counts().get(kind, 0.0)


@pytest.fixture(autouse=True)
def _password() -> None:
    set_kafka_password(PASSWORD)


async def test_topics_and_messages_over_tls_with_a_password(prefix: str) -> None:
    config = load(overrides=[*cluster_settings(prefix), *secure_kafka()])
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    sender = KafkaSender(config.kafka, "test")
    try:
        await sender.send([OutgoingMessage(TopicNames(prefix).requests, b"hello", None, 0)])
    finally:
        sender.close()

    found = await asyncio.to_thread(read_partition, config.kafka, TopicNames(prefix).requests, 0, 0, 10)

    assert [each.value for each in found] == [b"hello"]


def cassandra(*more: str) -> Config:
    return load(overrides=[*cluster_settings("any"), "cassandra.timeout=10s", *more])


async def test_tls_to_cassandra_is_verified() -> None:
    folder = certificates("cassandra")
    trusted = cassandra("cassandra.tls=true", f"cassandra.ca_file={folder / 'ca.pem'}").cassandra
    async with CassandraSession(trusted) as session:
        assert await session.run("SELECT value FROM facts WHERE name = 'version'") == [(VERSION,)]

    before = counted("cassandra-tls")
    other = cassandra("cassandra.tls=true", f"cassandra.ca_file={folder / 'other.pem'}").cassandra
    with pytest.raises(StoreUnavailable, match="Cassandra"):
        await CassandraSession(other).open()
    assert counted("cassandra-tls") > before


async def test_wrong_password_of_cassandra_is_named(caplog: pytest.LogCaptureFixture) -> None:
    before = counted("cassandra-credentials")
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await CassandraSession(cassandra("cassandra.password=wrong").cassandra).open()

    assert counted("cassandra-credentials") == before + 3
    lines = [each.message for each in caplog.records if "refuses the user name or password" in each.message]
    assert len(lines) <= 1  # another test may have logged it in the last minute
    assert "wrong" not in "".join(lines)


@contextmanager
def waiting_role(role: str, folder: Path, options: list[str]) -> Iterator[Callable[[], str]]:
    """Run a role that may never be ready; yield what returns its log so far."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SCOTER")}
    command = [sys.executable, "-m", "scoter.cli.main", "serve", "--role", role, "--dir", str(folder)]
    log = folder.with_suffix(".log")
    with log.open("w") as out, subprocess.Popen([*command, *options], stderr=out, env=environment) as process:
        try:
            yield log.read_text
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            finally:
                process.kill()


def wait_until(found: Callable[[], bool], within: float = 90.0) -> None:
    until = time.monotonic() + within
    while not found():
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (secure_kafka("wrong"), r"Kafka refuses the user name or password \(kafka\.username, kafka\.password\)"),
        (secure_kafka(authority="other.pem"), r"no TLS connection to Kafka \(kafka\.security, kafka\.ca_file"),
    ],
    ids=["password", "certificate"],
)
def test_refused_worker_says_why_in_one_line(tmp_path: Path, prefix: str, changes: list[str], line: str) -> None:
    options = settings(1, *cluster_settings(prefix), *changes)
    with waiting_role("worker", tmp_path / "worker", options) as log:
        wait_until(lambda: re.search(line, log()) is not None)
        time.sleep(5)  # it goes on trying, and says nothing new
        said = [each for each in log().splitlines() if each.strip()]
    assert len(re.findall(line, "\n".join(said))) == 1
    others = [each for each in said if not re.search(line, each)]
    assert others == ["--role worker fetches; the pipeline is --role pipeline."]


def test_pipeline_with_a_wrong_password_of_cassandra_says_why_in_one_line(tmp_path: Path, prefix: str) -> None:
    options = settings(1, *cluster_settings(prefix), "cassandra.password=wrong")
    line = r"Cassandra refuses the user name or password \(cassandra\.username, cassandra\.password\)"
    with waiting_role("pipeline", tmp_path / "pipeline", options) as log:
        wait_until(lambda: re.search(line, log()) is not None)
        time.sleep(3)
        said = [each for each in log().splitlines() if each.strip()]
    assert len(said) == 1


def test_changed_password_is_counted_and_the_service_works_again(tmp_path: Path, prefix: str) -> None:
    options = settings(1, *cluster_settings(prefix), *secure_kafka())
    log = tmp_path / "api.log"
    with log.open("w") as out, started("api", tmp_path / "api", options, out) as api:
        set_kafka_password("another one")
        wait_until(lambda: bool(re.search(r'kind="kafka-credentials"} [1-9]', api.get("/metrics").body.decode())))
        assert api.get("/healthz").status == 200

        set_kafka_password(PASSWORD)
        wait_until(lambda: api.submit("http://example.org/").status == 202)
    assert len(re.findall("Kafka refuses the user name or password", log.read_text())) == 1
    assert PASSWORD not in log.read_text()


@pytest.mark.parametrize(("version", "why"), [(VERSION + 1, "newer version of Scoter"), (0, "cannot upgrade")])
def test_role_refuses_tables_of_another_version(tmp_path: Path, prefix: str, version: int, why: str) -> None:
    options = settings(1, *cluster_settings(prefix, f"k{prefix}"))
    keyspace = patient(prefix).cassandra

    async def set_version() -> None:
        async with CassandraSession(keyspace) as session:
            await session.run("INSERT INTO facts (name, value) VALUES ('version', ?)", version)

    asyncio.run(set_version())
    command = [sys.executable, "-m", "scoter.cli.main", "serve", "--role", "pipeline", "--dir", str(tmp_path), *options]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr


async def test_older_tables_are_upgraded_and_stay_usable(prefix: str) -> None:
    keyspace = patient(prefix).cassandra
    newer = TableSchema(version=VERSION + 1, upgrades={VERSION: ("ALTER TABLE robots ADD IF NOT EXISTS note text",)})
    async with CassandraSession(keyspace) as old:
        await old.run("INSERT INTO robots (origin, expires) VALUES ('https://a.example', 1.0)")
        for _ in range(2):  # every process upgrades, or finds it done
            async with CassandraSession(keyspace, newer) as new:
                assert await new.run("SELECT origin, note FROM robots") == [("https://a.example", None)]
        # A process of the older version that still runs goes on, and one that starts refuses.
        assert await old.run("SELECT expires FROM robots") == [(1.0,)]
        with pytest.raises(UsageError, match="newer version of Scoter"):
            await CassandraSession(keyspace).open()
        await old.run(f"DROP KEYSPACE k{prefix}")
