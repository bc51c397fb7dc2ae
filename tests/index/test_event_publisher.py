"""The publisher for RabbitMQ: what it sends, and servers that refuse, block or cannot be reached."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from threading import Event

import pytest
from tests.servers.running import free_port

from scoter.config import Config, load
from scoter.errors import ConfigError
from scoter.index.writers.amqp import AmqpFailure
from scoter.index.writers.events import MOST_WAITING, RabbitmqPublisher
from scoter.plugins import Setup, chain

MOMENT = datetime(2026, 11, 5, 7, 8, 9, tzinfo=UTC)


class QueueTwin:
    """Takes messages like a server, and can be told to fail, to refuse or to block."""

    def __init__(self, *, failure: Exception | None = None, refuses: bool = False) -> None:
        self.batches: list[list[bytes]] = []
        self.is_closed = False
        self.may_go_on = Event()
        self.may_go_on.set()
        self._failure = failure
        self._refuses = refuses

    def publish(self, messages: Sequence[bytes]) -> Mapping[int, str]:
        self.may_go_on.wait(10)
        self.batches.append(list(messages))
        if self._failure is not None:
            raise self._failure
        return {0: "the queue is full"} if self._refuses else {}

    def close(self) -> None:
        self.is_closed = True

    @property
    def messages(self) -> list[dict[str, object]]:
        return [json.loads(each) for batch in self.batches for each in batch]


def publisher(twin: QueueTwin) -> RabbitmqPublisher:
    return RabbitmqPublisher(Setup(Config()), sender=twin, now=lambda: MOMENT)


def test_events_are_sent_in_order_with_time_name_and_facts() -> None:
    twin = QueueTwin()
    told = publisher(twin)

    told.publish("start", {})
    told.publish("report", {"pages": 3, "event": "forged"})
    told.publish("end", {"pages": 5})
    told.close()

    time = "2026-11-05T07:08:09.000+00:00"
    assert twin.messages == [
        {"time": time, "event": "start"},
        {"time": time, "event": "report", "pages": 3},
        {"time": time, "event": "end", "pages": 5},
    ]
    assert twin.is_closed
    assert told.lost == 0


def test_slow_server_neither_blocks_nor_fills_memory(caplog: pytest.LogCaptureFixture) -> None:
    twin = QueueTwin()
    twin.may_go_on.clear()
    told = publisher(twin)

    for number in range(3 * MOST_WAITING):
        told.publish("report", {"number": number})
    lost = told.lost
    twin.may_go_on.set()
    told.close()

    assert 0 < lost < 3 * MOST_WAITING
    assert len(twin.messages) + lost == 3 * MOST_WAITING
    assert [each.getMessage() for each in caplog.records] == [
        "cannot send events to RabbitMQ: too many events are waiting"
    ]


@pytest.mark.parametrize(
    ("twin", "reason"),
    [
        (QueueTwin(failure=AmqpFailure("Connection refused")), "Connection refused"),
        (QueueTwin(refuses=True), "the queue is full"),
    ],
)
def test_failure_is_logged_once_and_later_events_are_tried(
    twin: QueueTwin, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = publisher(twin)

    told.publish("start", {})
    told.publish("end", {})
    told.close()

    assert len(twin.messages) == 2
    assert told.lost == (2 if reason == "Connection refused" else len(twin.batches))
    assert [each.getMessage() for each in caplog.records] == [f"cannot send events to RabbitMQ: {reason}"]


def test_server_that_cannot_be_reached_costs_only_events(caplog: pytest.LogCaptureFixture) -> None:
    address = f'plugin.publisher-rabbitmq.url="amqp://127.0.0.1:{free_port()}/"'
    config = load(overrides=["publisher.publishers=rabbitmq", address, "plugin.publisher-rabbitmq.timeout=1s"])
    ((_, told),) = chain("publisher", config)

    with caplog.at_level(logging.WARNING):
        told.publish("start", {})
        told.close()

    assert told.lost == 1
    assert len([each for each in caplog.records if each.name.startswith("scoter")]) == 1


def test_wrong_address_is_an_error_that_names_the_publisher() -> None:
    config = load(overrides=["publisher.publishers=rabbitmq", "plugin.publisher-rabbitmq.url=localhost"])

    with pytest.raises(ConfigError, match=r"plugin\.publisher-rabbitmq\.url: is not an address"):
        chain("publisher", config)


def test_missing_package_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scoter.index.writers.connection.find_spec", lambda name: None)

    with pytest.raises(ConfigError, match=r"publisher\.publishers: the publisher rabbitmq needs a package") as raised:
        chain("publisher", load(overrides=["publisher.publishers=rabbitmq"]))

    assert "[rabbitmq]'" in str(raised.value)
