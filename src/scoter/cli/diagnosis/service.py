"""Checks of the directory of a live service, and of the servers of one on several machines."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Final

from scoter.cli.diagnosis.findings import Findings
from scoter.cli.diagnosis.installation import check_access, check_disk
from scoter.config import Config
from scoter.errors import UsageError
from scoter.live.service.plan import ServiceFolder
from scoter.live.sqlite.database import DatabaseReader

_RESTORE: Final = "Restore a backup: docs/operations.md, Backups."
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def is_service(directory: Path) -> bool:
    """Return whether a directory is that of a live service, or of one of its roles."""
    folder = ServiceFolder(directory)
    return any(each.exists() for each in (folder.database, folder.content, folder.log, folder.secret_path))


def check_service(findings: Findings, directory: Path, config: Config, *, is_thorough: bool) -> None:
    """Check the directory of a service; ``is_thorough`` also reads the whole database."""
    folder = ServiceFolder(directory.absolute())
    findings.ok("directory", f"{folder.root} of a live service")
    check_disk(findings, folder.root, config.store.disk_floor)
    check_access(findings, folder.root)
    secret = folder.secret_path
    if secret.exists() and secret.stat().st_mode & _OTHERS:
        findings.fault("callback secret", f"others may read {secret}", f"chmod 600 {secret}")
    with findings.faults_of("database", _RESTORE):
        if folder.database.exists():
            DatabaseReader(folder.database).close()
            if is_thorough:
                _check_pages(folder.database)
            findings.ok("database", "it can be read" + (", all of it" if is_thorough else ""))
        elif any(trace.exists() for trace in folder.traces) and config.live.backend != "cluster":
            findings.fault("database", f"{folder.database} is missing", _RESTORE)


def _check_pages(database: Path) -> None:
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise UsageError(f"the database cannot be read: {error}", where=str(database), hint=_RESTORE) from None
    if found != "ok":
        raise UsageError(f"the database is damaged: {found}", where=str(database), hint=_RESTORE)


def check_servers(findings: Findings, config: Config) -> None:
    """Check Kafka and Cassandra, with the settings of the service."""
    from scoter.live.kafka.kafka import require_packages

    before = len(findings.all)
    with findings.faults_of("packages"):
        require_packages()
    if len(findings.all) == before:
        _check_kafka(findings, config)
        _check_cassandra(findings, config)


def _check_kafka(findings: Findings, config: Config) -> None:
    from confluent_kafka import KafkaException

    from scoter.live.kafka.kafka import TopicNames, admin_client, store_trouble, topic_plan

    kafka = config.kafka
    names = ", ".join(kafka.brokers)
    remedy = "Check kafka.brokers, the network, and the user name, password and certificates of [kafka]."
    with findings.faults_of("Kafka", remedy):
        try:
            cluster = admin_client(kafka, "doctor").list_topics(timeout=kafka.timeout.total_seconds())
        except KafkaException as error:
            raise UsageError(store_trouble(error).message, where=names) from None
        plan = topic_plan(kafka, config.live)
        wrong = [
            f"{topic} has {len(cluster.topics[topic].partitions)} partitions instead of {partitions}"
            for topic, (partitions, _) in plan.items()
            if topic in cluster.topics and len(cluster.topics[topic].partitions) != partitions
        ]
        if wrong:
            fix = "Set kafka.partitions to what the topics have, or choose another kafka.prefix."
            findings.fault("Kafka", "; ".join(wrong), fix)
        elif len(cluster.brokers) < kafka.replication:
            found = f"{len(cluster.brokers)} brokers, but kafka.replication = {kafka.replication}"
            findings.fault("Kafka", found, "Start more brokers, or lower kafka.replication before the first start.")
        else:
            known = sum(topic in cluster.topics for topic in plan)
            topics = f"{known} of {len(plan)} topics of {TopicNames(kafka.prefix).prefix} exist"
            findings.ok("Kafka", f"{len(cluster.brokers)} brokers; {topics}")


def _check_cassandra(findings: Findings, config: Config) -> None:
    from scoter.live.kafka.cassandra import CassandraSession
    from scoter.live.kafka.clocks import TOLERATED, ClusterClock

    cassandra = config.cassandra
    remedy = "Check cassandra.hosts, the network, and the user name, password and certificates of [cassandra]."

    async def skew() -> float:
        async with CassandraSession(cassandra) as session:
            clock = ClusterClock(session)
            await clock.measure()
            return clock.skew.total_seconds()

    with findings.faults_of("Cassandra", remedy):
        ahead = asyncio.run(skew())
        if abs(ahead) > TOLERATED.total_seconds():
            found = f"its clock differs from that of this machine by {abs(ahead):.0f} s"
            findings.fault("Cassandra", found, "Set both clocks with NTP.")
        else:
            findings.ok("Cassandra", f"{', '.join(cassandra.hosts)}; keyspace {cassandra.keyspace}")
