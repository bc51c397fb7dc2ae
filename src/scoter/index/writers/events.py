"""The publisher for RabbitMQ, which sends the events of a fetch to a queue.

A thread of its own talks to the server, so that a slow or missing server never delays a fetch: events wait in a queue
of bounded length, and those that do not fit or cannot be sent are counted and dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from queue import Full, Queue
from threading import Thread
from typing import Annotated, Any, Final, Protocol

import msgspec

from scoter.config import Setting
from scoter.errors import UserError
from scoter.index.writers.amqp import AmqpFailure, AmqpPublisher, RabbitmqSettings
from scoter.index.writers.connection import require, silent
from scoter.plugins import Setup

MOST_WAITING: Final = 1_000
_BATCH: Final = 100
_OWNER: Final = "publisher-rabbitmq"
_log = logging.getLogger(__name__)


class RabbitmqEventSettings(RabbitmqSettings, frozen=True):
    """The server, how to log in, and where events go."""

    queue: Annotated[
        str, Setting("Queue, which is created durable if it does not exist; empty means that the exchange knows.")
    ] = "scoter-events"
    timeout: Annotated[timedelta, Setting("Maximum time until an event is stored.", at_least=timedelta(seconds=1))] = (
        timedelta(seconds=10)
    )


class MessageSender(Protocol):
    """Sends messages; ``AmqpPublisher`` is one."""

    def publish(self, messages: Sequence[bytes]) -> Mapping[int, str]: ...
    def close(self) -> None: ...


class RabbitmqPublisher:
    """Sends each event to a RabbitMQ queue as JSON with its time, its name and its facts."""

    Settings = RabbitmqEventSettings

    def __init__(
        self,
        setup: Setup,
        *,
        sender: MessageSender | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        settings: RabbitmqEventSettings = setup.settings or RabbitmqEventSettings()
        if sender is None:
            require("pika", "publisher rabbitmq", "publisher.publishers", "rabbitmq")
            silent("pika")
            sender = AmqpPublisher.of(settings, _OWNER)
        self._sender = sender
        self._seconds = settings.timeout.total_seconds()
        self._now = now
        self._waiting: Queue[bytes | None] = Queue(MOST_WAITING)
        self._thread: Thread | None = None
        self.lost = 0

    def __repr__(self) -> str:
        return f"RabbitmqPublisher({self._waiting.qsize()} events waiting, {self.lost} lost)"

    def publish(self, event: str, facts: Mapping[str, Any]) -> None:
        head = {"time": self._now().isoformat(timespec="milliseconds"), "event": event}
        message = msgspec.json.encode({**head, **facts, **head}, enc_hook=str)
        if self._thread is None:  # not in the constructor: a fork would lose the thread
            self._thread = Thread(target=self._run, name="rabbitmq-events", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait(message)
        except Full:
            self._lose(1, "too many events are waiting")

    def close(self) -> None:
        """Send what is waiting, for as long as one message may take, and close the connection."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        try:
            self._waiting.put(None, timeout=self._seconds)
        except Full:
            self._lose(self._waiting.qsize(), "too many events are waiting")
        thread.join(self._seconds)

    def _run(self) -> None:
        is_open = True
        while is_open:
            found = [self._waiting.get()]
            while len(found) < _BATCH and not self._waiting.empty():  # nobody else takes from this queue
                found.append(self._waiting.get())
            messages = [each for each in found if each is not None]
            is_open = len(messages) == len(found)
            if messages:
                self._send(messages)
        self._sender.close()

    def _send(self, messages: Sequence[bytes]) -> None:
        try:
            refused = self._sender.publish(messages)
        except (AmqpFailure, UserError) as failure:
            self._lose(len(messages), str(failure))
            return
        if refused:
            self._lose(len(refused), next(iter(refused.values())))

    def _lose(self, count: int, reason: str) -> None:
        if self.lost == 0:
            _log.warning("cannot send events to RabbitMQ: %s", reason)
        self.lost += count
