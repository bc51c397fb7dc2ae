"""Measure the topic of events, which has one partition: how many events a second it takes, and what reading costs.

    python -m benchmarks.cluster_events [--events 200000]

Needs a running broker: ``make cluster-up``. Another process writes events of 1.5 KB in transactions of 500, with the
options of a worker, as fast as it can. This process reads them as an api does. The broker, the writer and the reader
share the cores of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import time
from datetime import UTC, datetime

from tests.live.kafka.conftest import cluster_settings, own_topics

from scoter.config import Config, load
from scoter.core.metadata import PageMetadata
from scoter.live.kafka.events import KafkaEvents
from scoter.live.kafka.kafka import TopicNames, client_options, create_topics
from scoter.live.kafka.messages import event_values
from scoter.live.records import Event, State, UrlRecord

TOGETHER = 500
SIZE = 1_500
_WORDS = [f"word{number}" for number in range(3_000)]


def events(count: int) -> list[bytes]:
    """Return different events as messages."""
    chance = random.Random(1)

    def event(number: int, text: str) -> bytes:
        url, now = f"https://site{number % 97}.example/path/to/page-{number}", datetime.now(UTC)
        record = UrlRecord(
            url=url,
            resolved=url,
            state=State.OK,
            fetch=f"{number:032x}",
            fetched_at=now,
            expires_at=now,
            metadata=PageMetadata(title=f"Page {number}", description=text),
        )
        return event_values.encode(Event(number=0, message=f"message-{number}", url=url, at=now, record=record))

    missing = SIZE - len(event(count, ""))
    return [event(number, " ".join(chance.choices(_WORDS, k=missing))[:missing]) for number in range(count)]


def write(config: Config, count: int, out: multiprocessing.Queue[tuple[float, float, float]]) -> None:
    """Write events in transactions; report their mean size, the seconds, and the CPU seconds."""
    from confluent_kafka import Producer

    values, topic = events(2_000), TopicNames(config.kafka.prefix).events
    producer = Producer(
        {**client_options(config.kafka), "transactional.id": "bench", "linger.ms": 1, "compression.type": "lz4"}
    )
    producer.init_transactions(30)
    began, cpu = time.monotonic(), time.process_time()
    for start in range(0, count, TOGETHER):
        producer.begin_transaction()
        for number in range(start, min(start + TOGETHER, count)):
            producer.produce(topic, values[number % len(values)], partition=0)
        producer.commit_transaction(30)
    out.put((sum(map(len, values)) / len(values), time.monotonic() - began, time.process_time() - cpu))


async def read(config: Config, count: int) -> None:
    """Read what another process writes, and print the figures."""
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    got = 0

    def receive(new: object) -> None:
        nonlocal got
        got += len(new)  # type: ignore[arg-type]

    reader = KafkaEvents(config.kafka, "bench", receive)
    await reader.start()
    processes = multiprocessing.get_context("spawn")
    out: multiprocessing.Queue[tuple[float, float, float]] = processes.Queue()
    writer = processes.Process(target=write, args=(config, count, out))
    writer.start()
    while not got:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0.01)
    began, cpu, before = time.monotonic(), time.process_time(), got
    while got < count:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    seconds, spent, read_events = time.monotonic() - began, time.process_time() - cpu, count - before
    size, wrote, wrote_cpu = await asyncio.to_thread(out.get)
    await asyncio.to_thread(writer.join)
    await reader.close()
    print(f"{count:,} events of {size:,.0f} bytes, {TOGETHER} per transaction")
    print(f"written: {count / wrote:,.0f} events/s, {wrote_cpu / count * 1e6:.1f} us of CPU time each")
    print(f"read: {read_events / seconds:,.0f} events/s, {spent / read_events * 1e6:.1f} us of CPU time each")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=200_000)
    asked = parser.parse_args()
    with own_topics() as prefix:
        asyncio.run(read(load(overrides=["agent.name=bench", *cluster_settings(prefix)]), asked.events))


if __name__ == "__main__":
    main()
