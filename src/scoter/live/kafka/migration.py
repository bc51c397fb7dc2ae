"""Moves the data of a live service between its own directory and a cluster, in either direction.

Records, rules and keys are copied, even while the source runs: a copy of a record never replaces a newer one, so a
second run copies what has changed meanwhile. The journal is moved, which requires that nobody processes it: each of
its URLs is stored at the target before it is removed from the source, so an interrupted move may repeat some of them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from scoter.config import Config
from scoter.errors import StoreUnavailable, UsageError
from scoter.http.api_keys import ApiKey
from scoter.live.api.records import DomainRule
from scoter.live.clock import from_micros, utc_now
from scoter.live.kafka.access import CassandraKeys
from scoter.live.kafka.cassandra import CassandraSession
from scoter.live.kafka.intake import intake_message
from scoter.live.kafka.kafka import KafkaSender, TopicNames, admin_client
from scoter.live.kafka.messages import AcceptedUrl, UnreadableMessage, accepted_urls
from scoter.live.kafka.metadata import CassandraMetadata, read_all
from scoter.live.kafka.offsets import PartitionOffsets
from scoter.live.kafka.rules import KafkaRules
from scoter.live.kafka.topic_reader import plain_consumer, read_partition
from scoter.live.ports import StoredRecord
from scoter.live.records import Message, Priority
from scoter.live.sqlite.access import SqliteRules
from scoter.live.sqlite.database import DatabaseReader, ServiceDb
from scoter.live.sqlite.journal import SqliteJournal, close_entry
from scoter.live.sqlite.metadata import SqliteMetadata

_CHUNK: Final = 500
_MOST: Final = 100_000_000
_MICROSECOND: Final = timedelta(microseconds=1)
_RECORDS: Final = "SELECT url, value, fetched, expires, stale, key FROM urls WHERE key > ? ORDER BY key LIMIT ?"
_OVERFLOW: Final = "SELECT url, value, fetched, expires, stale FROM overflow"
_ENTRIES: Final = (
    "SELECT e.id, m.id, e.url, e.priority, m.force, m.callback, e.accepted FROM entries e"
    " JOIN messages m ON m.number = e.message WHERE e.id > ? ORDER BY e.id LIMIT ?"
)


class MigrationResult(Struct, frozen=True, kw_only=True):
    """How much was copied or moved; ``urls`` is ``None`` if the journal was in use and was left alone."""

    records: int
    rules: int
    keys: int
    urls: int | None


class ClusterAccess:
    """The stores of a cluster, opened for a migration."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.names = TopicNames(config.kafka.prefix)
        self.session = CassandraSession(config.cassandra)
        self.sender = KafkaSender(config.kafka, "migration")
        self.rules = KafkaRules(config.kafka, "migration", self.sender)
        self.keys = CassandraKeys(self.session)
        self.metadata = CassandraMetadata(self.session)

    async def __aenter__(self) -> ClusterAccess:
        await self.session.open()
        await self.rules.start()
        await self.keys.read()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.rules.close()
        await self.session.close()
        await asyncio.to_thread(self.sender.close)


async def to_cluster(reader: DatabaseReader, journal: ServiceDb | None, cluster: ClusterAccess) -> MigrationResult:
    """Copy the data of an embedded service to a cluster; ``journal`` is its database if no service uses it."""
    records = 0
    for chunk in _records(reader):
        await cluster.metadata.put(chunk)
        records += len(chunk)
    rules = [msgspec.json.decode(value, type=DomainRule) for (value,) in reader.all("SELECT value FROM rules")]
    for rule in rules:
        await cluster.rules.put(rule)
    keys = [
        (msgspec.json.decode(value, type=ApiKey), used)
        for value, used in reader.all("SELECT value, used FROM keys ORDER BY rowid")
    ]
    for key, used in keys:
        await cluster.keys.restore(key if used is None else _used(key, used))
    urls = None if journal is None else await _move_entries(journal, cluster)
    return MigrationResult(records=records, rules=len(rules), keys=len(keys), urls=urls)


async def to_embedded(cluster: ClusterAccess, db: ServiceDb) -> MigrationResult:
    """Copy the data of a cluster to the database of an embedded service, which must not run."""
    metadata, records = SqliteMetadata(db), 0
    async for chunk in _cluster_records(cluster.session):
        await metadata.put(chunk)
        records += len(chunk)
    rules = cluster.rules.all()
    for rule in rules:
        await SqliteRules(db).put(rule)
    keys = cluster.keys.all()

    def store_keys(connection: sqlite3.Connection) -> None:
        connection.executemany(
            "INSERT OR REPLACE INTO keys (id, value) VALUES (?, ?)",
            [(key.id, msgspec.json.encode(key)) for key in keys],
        )

    await db.write(store_keys)
    urls = await _move_back(cluster, db)
    return MigrationResult(records=records, rules=len(rules), keys=len(keys), urls=urls)


def _used(key: ApiKey, used: int) -> ApiKey:
    return msgspec.structs.replace(key, last_used=from_micros(used))


def _records(reader: DatabaseReader) -> Iterator[list[StoredRecord]]:
    last = -(2**63) - 1
    while rows := reader.all(_RECORDS, (max(last, -(2**63)), _CHUNK)):
        last = rows[-1][5]
        yield [_stored(row) for row in rows]
    if left := reader.all(_OVERFLOW):
        yield [_stored(row) for row in left]


def _stored(row: Sequence[Any]) -> StoredRecord:
    return StoredRecord(
        url=row[0],
        value=row[1],
        fetched_at=from_micros(row[2]),
        expires_at=from_micros(row[3]),
        stale_for=row[4] * _MICROSECOND,
    )


async def _cluster_records(session: CassandraSession) -> AsyncIterator[list[StoredRecord]]:
    chunk: list[StoredRecord] = []
    async for each in read_all(session):
        chunk.append(each)
        if len(chunk) >= _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


async def _move_entries(db: ServiceDb, cluster: ClusterAccess) -> int:
    """Move the open URLs of a journal to the topics of the intake."""
    partitions, moved, last = cluster.config.kafka.partitions, 0, 0
    while rows := db.reader.all(_ENTRIES, (last, _CHUNK)):
        last = rows[-1][0]
        urls = [
            AcceptedUrl(message, url, Priority(priority), bool(force), callback, from_micros(accepted))
            for _, message, url, priority, force, callback, accepted in rows
        ]
        await cluster.sender.send([intake_message(cluster.names, partitions, each) for each in urls])
        numbers = [row[0] for row in rows]

        def close(connection: sqlite3.Connection, numbers: Sequence[int] = numbers) -> None:
            for number in numbers:
                close_entry(connection, number, None, utc_now())

        await db.write(close)
        moved += len(rows)
    return moved


async def _move_back(cluster: ClusterAccess, db: ServiceDb) -> int | None:
    """Move the unfinished messages of the intake to a journal; ``None`` if pipelines are running."""
    kafka, names = cluster.config.kafka, cluster.names
    if await asyncio.to_thread(_has_members, cluster):
        return None
    consumer = plain_consumer(kafka, "migration", names.pipeline_group)
    try:
        messages: dict[str, list[AcceptedUrl]] = {}
        ends: list[Any] = []
        for topic in names.intakes:
            for partition in range(kafka.partitions):
                urls, end = await _unfinished(cluster, consumer, topic, partition)
                ends += [end] if end is not None else []
                for each in urls:
                    messages.setdefault(each.message, []).append(each)
        for name, urls in messages.items():
            first = urls[0]
            message = Message(
                id=name,
                priority=first.priority,
                force=first.force,
                callback=first.callback,
                received=first.accepted,
            )
            await SqliteJournal(db).accept([(message, [each.origin or each.url for each in urls])])
        if ends:
            await asyncio.to_thread(lambda: consumer.commit(offsets=ends, asynchronous=False))
        return sum(map(len, messages.values()))
    finally:
        await asyncio.to_thread(consumer.close)


async def _unfinished(
    cluster: ClusterAccess, consumer: Any, topic: str, partition: int
) -> tuple[list[AcceptedUrl], Any | None]:
    """Return the URLs of a partition that are not done, and its position after them."""
    import confluent_kafka

    kafka = cluster.config.kafka
    place = confluent_kafka.TopicPartition(topic, partition)
    (committed,) = await asyncio.to_thread(consumer.committed, [place], kafka.timeout.total_seconds())
    offsets = PartitionOffsets(max(committed.offset, 0), committed.metadata or "")
    found = await asyncio.to_thread(read_partition, kafka, topic, partition, offsets.position, _MOST)
    if not found:
        return [], None
    urls = []
    for each in found:
        if offsets.receive(each.offset):
            try:
                urls.append(accepted_urls.decode(each.value))
            except UnreadableMessage as error:
                where = f"{topic}, partition {partition}, offset {each.offset}"
                raise UsageError(
                    f"a message cannot be read: {error}",
                    where=where,
                    hint="Start a pipeline, which moves it to the dead-letter topic, or use a newer Scoter.",
                ) from None
    return urls, confluent_kafka.TopicPartition(topic, partition, found[-1].offset + 1)


def _has_members(cluster: ClusterAccess) -> bool:
    from confluent_kafka import KafkaException

    admin = admin_client(cluster.config.kafka, "migration")
    try:
        (future,) = admin.describe_consumer_groups([cluster.names.pipeline_group]).values()
        return bool(future.result(timeout=cluster.config.kafka.timeout.total_seconds()).members)
    except KafkaException:  # the group does not exist
        return False


def open_unused(path: Path) -> ServiceDb | None:
    """Open the database of a service for writing; ``None`` if a service runs."""
    try:
        return ServiceDb(path)
    except (UsageError, StoreUnavailable):
        return None
