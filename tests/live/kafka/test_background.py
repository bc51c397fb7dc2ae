"""Threads that use Kafka go on after its errors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.live.kafka.test_outcomes import announced, pipeline, send
from tests.waiting import until

from scoter.config import Config
from scoter.live.kafka.deliveries import CALLBACK, delivery_of
from scoter.live.kafka.kafka import KafkaSender, OutgoingMessage, TopicNames, create_topics
from scoter.live.kafka.topic_reader import TopicTail


def test_callback_that_is_no_text_is_skipped() -> None:
    from scoter.live.kafka.consumer import ReceivedMessage
    from scoter.live.kafka.messages import FORMAT

    message = ReceivedMessage(("events", 0), 7, bytes((FORMAT,)), None, ((CALLBACK, b"\xff"),))

    assert delivery_of(message) is None


def _error(code: int, *, is_fatal: bool = False) -> Exception:
    from confluent_kafka import KafkaError, KafkaException

    return KafkaException(KafkaError(code, "as told by the test", is_fatal))


@pytest.fixture
async def ready(config: Config) -> Config:
    await asyncio.to_thread(create_topics, config.kafka, config.live)
    return config


@pytest.mark.cluster
async def test_sender_goes_on_after_a_failing_report_and_a_fatal_error(
    ready: Config, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import confluent_kafka

    class BreakingProducer(confluent_kafka.Producer):
        is_broken = False

        def poll(self, *arguments: Any) -> Any:
            if self.is_broken:
                self.is_broken = False
                raise _error(confluent_kafka.KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, is_fatal=True)
            return super().poll(*arguments)

    monkeypatch.setattr(confluent_kafka, "Producer", BreakingProducer)
    sender = KafkaSender(ready.kafka, "sender")
    message = OutgoingMessage(TopicNames(ready.kafka.prefix).dead, b"x", None, 0)

    def report(error: Any, delivered: Any) -> None:
        raise KeyError("of who waits")

    sender.put(message, report)
    assert await sender.send([message]) == [(0, 1)]
    first = sender._producer
    first.is_broken = True
    await until(lambda: sender._producer is not first)
    assert await sender.send([message]) == [(0, 2)]
    await asyncio.to_thread(sender.close)

    assert [each.message for each in caplog.records if "Kafka" in each.message] == [
        "cannot pass on a report of Kafka",
        "a producer of Kafka is broken and replaced: Kafka: as told by the test",
    ]


@pytest.mark.cluster
async def test_tail_goes_on_after_errors(ready: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    import confluent_kafka

    failures = [RuntimeError("odd"), _error(confluent_kafka.KafkaError._TRANSPORT)]

    class FailingConsumer(confluent_kafka.Consumer):
        def position(self, *arguments: Any) -> Any:
            if failures:
                raise _error(confluent_kafka.KafkaError._STATE)
            return super().position(*arguments)

        def poll(self, *arguments: Any) -> Any:
            if failures and found:
                raise failures.pop()
            return super().poll(*arguments)

    monkeypatch.setattr(confluent_kafka, "Consumer", FailingConsumer)
    found: list[bytes | None] = []
    topic = TopicNames(ready.kafka.prefix).dead
    tail = TopicTail(ready.kafka, topic, 0, lambda new: found.extend(each.value for each in new), name="test")
    await tail.start()
    sender = KafkaSender(ready.kafka, "sender")
    for number in range(3):
        await sender.send([OutgoingMessage(topic, b"%d" % number, None, 0)])
    await until(lambda: len(found) == 3 and not failures)
    await asyncio.to_thread(sender.close)
    await tail.close()

    assert found == [b"0", b"1", b"2"]


@pytest.mark.cluster
async def test_messages_that_came_before_an_error_are_not_lost(ready: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    import confluent_kafka

    failures = 3

    class FailingConsumer(confluent_kafka.Consumer):
        """A consumer that fails after it has returned the first message of a batch."""

        def consume(self, *arguments: Any, **options: Any) -> Any:
            nonlocal failures
            if failures:
                failures -= 1
                raise _error(confluent_kafka.KafkaError._TRANSPORT)
            return super().consume(*arguments, **options)

    monkeypatch.setattr(confluent_kafka, "Consumer", FailingConsumer)
    names = [f"n{number}" for number in range(20)]
    await send(ready, *names)
    async with pipeline(ready, "first") as first:
        entries = await first.opened(20)
        assert all(await first.record(entries))

    monkeypatch.undo()
    assert failures == 0
    assert sorted(await announced(ready, len(names))) == sorted(names)
