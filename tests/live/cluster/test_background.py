"""Threads and tasks that fail: they go on, or their process ends and the supervisor starts another one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from tests.live.cluster.stores import until
from tests.live.cluster.test_outcomes import announced, send, worker

from scoter.config import Config
from scoter.live.cluster.background import VitalTasks, VitalThread, call_in_loop
from scoter.live.cluster.deliveries import CALLBACK, delivery_of
from scoter.live.cluster.kafka import KafkaSender, OutgoingMessage, TopicNames, create_topics
from scoter.live.cluster.tail import TopicTail
from scoter.live.threaded_calls import BatchThread, ThreadedCall

FAILING = """
import asyncio, sys, time
from scoter.live.cluster.background import VitalTasks, VitalThread

def fail():
    raise RuntimeError("of the thread")

async def fail_later():
    raise RuntimeError("of the task")

async def main():
    if sys.argv[1] == "thread":
        VitalThread(fail, "reader").start()
    else:
        VitalTasks().spawn(fail_later())
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["thread", "task"])
def test_process_ends_if_a_vital_thread_or_task_fails(kind: str) -> None:
    ended = subprocess.run([sys.executable, "-c", FAILING, kind], capture_output=True, text=True, timeout=50)

    assert ended.returncode == 70
    assert f"RuntimeError: of the {kind}" in ended.stderr
    assert "this process ends" in ended.stderr


async def test_cancelled_task_ends_nothing() -> None:
    tasks = VitalTasks()
    task = tasks.spawn(asyncio.sleep(60))
    await tasks.close()

    assert task.cancelled()
    assert len(tasks) == 0


async def test_call_in_the_event_loop_returns_or_raises() -> None:
    loop, found = asyncio.get_running_loop(), []

    def ask() -> None:
        found.append(call_in_loop(loop, lambda: threading.current_thread().name, 30))
        try:
            call_in_loop(loop, lambda: 1 // 0, 30)
        except ZeroDivisionError:
            found.append("raised")
        began = time.monotonic()
        loop.call_soon_threadsafe(time.sleep, 0.3)
        try:
            call_in_loop(loop, lambda: None, 0.03)
        except TimeoutError:
            found.append("late" if time.monotonic() - began < 10 else "hangs")

    thread = VitalThread(ask, "asking")
    thread.start()
    await until(lambda: not thread.is_alive())

    assert found == [threading.current_thread().name, "raised", "late"]


class _Doubling(BatchThread):
    """Doubles numbers; fails as a whole if it gets a zero."""

    def __init__(self) -> None:
        super().__init__("doubling", most_waiting=10, together=5)
        self._thread.start()

    async def double(self, number: int) -> int:
        found: int = await self._call(number)
        return found

    def _carry_out(self, batch: Sequence[ThreadedCall]) -> None:
        for call in batch:
            call.result = call.work * (2 // call.work and 2)

    def _finish(self) -> None:
        pass


async def test_failing_batch_fails_its_calls_and_no_others() -> None:
    doubling = _Doubling()

    with pytest.raises(ZeroDivisionError):
        await doubling.double(0)

    assert await doubling.double(2) == 4
    doubling.close()


def test_callback_that_is_no_text_is_skipped() -> None:
    from scoter.live.cluster.consumer import ReceivedMessage
    from scoter.live.cluster.messages import FORMAT

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
    async with worker(ready, "first") as first:
        entries = await first.opened(20)
        assert all(await first.record(entries))

    monkeypatch.undo()
    assert failures == 0
    assert sorted(await announced(ready)) == sorted(names)
