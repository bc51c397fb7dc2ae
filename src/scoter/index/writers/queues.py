"""Index writers for message queues: Kafka and RabbitMQ.

Every message is JSON: ``{"action": "write", "document": {…}}`` or ``{"action": "delete", "id": …}``. In Kafka its key
is the id, so that all messages about a document stay in order. A run that is killed is repeated, so a message may be
delivered again; since it replaces the same document, that does no harm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Final

import msgspec
from msgspec import Struct

from scoter.config import Setting
from scoter.core.document import Document, RejectedDocument
from scoter.errors import ConfigError, UserError
from scoter.index.writers.amqp import AmqpFailure, AmqpPublisher, RabbitmqSettings
from scoter.index.writers.connection import REPEAT, Pauses, reason_of, require, silent
from scoter.index.writers.files import json_fields
from scoter.plugins import IndexRun, Setup

_LARGEST_MESSAGE: Final = 16 * 2**20
_ATTEMPT: Final = 2.0
_LONGEST_START: Final = 10.0
_SECRETS: Final = ("password", "secret", ".pem")


class KafkaSettings(Struct, frozen=True):
    """The brokers, the topic, and how to log in."""

    servers: Annotated[tuple[str, ...], Setting("Brokers to connect to first.")] = ("localhost:9092",)
    topic: Annotated[str, Setting("Topic of the documents.")] = "scoter-documents"
    username: Annotated[str, Setting("User name for SASL; empty means no authentication.")] = ""
    password: Annotated[str, Setting("Password; better set it with an environment variable.", secret=True)] = ""
    options: Annotated[
        tuple[str, ...], Setting("Options of librdkafka, as name=value.", example='["security.protocol=SASL_SSL"]')
    ] = ()
    secret_options: Annotated[
        tuple[str, ...],
        Setting("Options that are secret.", example='["ssl.key.password=changeit"]', secret=True),
    ] = ()
    timeout: Annotated[timedelta, Setting("Maximum time until a message is stored.", at_least=timedelta(seconds=1))] = (
        timedelta(minutes=2)
    )


class KafkaIndexWriter:
    """Sends documents to a Kafka topic."""

    Settings = KafkaSettings

    def __init__(self, setup: Setup) -> None:
        require("confluent_kafka", "index writer kafka", "index.writers", "kafka")
        self._settings: KafkaSettings = setup.settings
        self._options = _options(self._settings)
        self._producer: Any = None
        self._rejected: list[RejectedDocument] = []
        self._too_large: list[tuple[str, bytes]] = []
        self._sends_singly = False
        self._failure = ""
        self._event = ""

    def open(self, run: IndexRun) -> None:
        import confluent_kafka

        try:
            self._producer = confluent_kafka.Producer(
                {**self._options, "error_cb": self._told}, logger=silent("scoter.kafka")
            )
        except (confluent_kafka.KafkaException, ValueError, TypeError) as failure:
            reason = _without_secrets(_kafka_reason(failure), self._settings)
            raise ConfigError(reason, where="plugin.indexwriter-kafka.options") from None
        self._wait_for_topic()

    def write(self, documents: Sequence[Document]) -> Sequence[RejectedDocument]:
        for document in documents:
            self._send(document.id, _written(document))
        return self._taken()

    def delete(self, ids: Sequence[str]) -> None:
        for each in ids:
            self._send(each, _deleted(each))

    def commit(self) -> Sequence[RejectedDocument]:
        self._flush()
        return self._taken()

    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(_ATTEMPT)
            self._producer = None

    def _flush(self) -> None:
        left = self._producer.flush(self._settings.timeout.total_seconds() + _ATTEMPT)
        self._check()
        if left:
            raise self._unusable("messages were not stored in time")

    def _wait_for_topic(self) -> None:
        """Ask for the topic, which may create it, until a broker answers."""
        import confluent_kafka

        deadline = time.monotonic() + min(self._settings.timeout.total_seconds(), _LONGEST_START)
        while True:
            try:
                found = self._producer.list_topics(self._settings.topic, timeout=_ATTEMPT)
                error = found.topics[self._settings.topic].error
            except confluent_kafka.KafkaException as failure:
                error = failure.args[0]
            if error is None:
                return
            self._producer.poll(0)  # to learn more about the failure
            self._check()
            # A topic that is being created is unknown or has no leader for a moment.
            if time.monotonic() > deadline or error.code() in _final_errors():
                raise self._unusable(self._event or error.str())
            self._producer.poll(0.2)

    def _send(self, key: str, data: bytes) -> None:
        import confluent_kafka

        while True:
            try:
                self._producer.produce(self._settings.topic, data, key, on_delivery=self._delivered)
                break
            except BufferError:  # full: wait until messages are stored, or too old, which is a failure
                self._producer.poll(1.0)
                self._check()
            except confluent_kafka.KafkaException as failure:
                self._delivered(failure.args[0], None, key)
                break
        self._producer.poll(0)
        self._check()

    def _delivered(self, error: Any, message: Any, key: str = "") -> None:
        import confluent_kafka

        if error is None:
            return
        if error.code() == confluent_kafka.KafkaError.MSG_SIZE_TOO_LARGE:
            if message is None or self._sends_singly:
                self._rejected.append(RejectedDocument(key or message.key().decode(), error.str()))
            else:
                self._too_large.append((message.key().decode(), message.value()))
        elif error.code() != confluent_kafka.KafkaError._PURGE_QUEUE:
            self._failure = self._failure or error.str()

    def _told(self, error: Any) -> None:
        """Note an event of the connection: a failure to log in is final, others may pass."""
        import confluent_kafka

        self._event = reason_of(error.str())
        if error.fatal() or error.code() == confluent_kafka.KafkaError._AUTHENTICATION:
            self._failure = self._failure or self._event

    def _taken(self) -> Sequence[RejectedDocument]:
        self._check()
        if self._too_large:
            # A broker refuses a batch of messages for the sake of one: send them one by one.
            self._flush()
            self._sends_singly = True
            for key, data in self._too_large:
                self._send(key, data)
                self._flush()
            self._too_large, self._sends_singly = [], False
        found, self._rejected = self._rejected, []
        return found

    def _check(self) -> None:
        if self._failure:
            raise self._unusable(self._failure)

    def _unusable(self, reason: str) -> UserError:
        where = ", ".join(self._settings.servers)
        return UserError(f"Kafka cannot be used: {reason_of(reason)}", where=where, hint=REPEAT)


def _options(settings: KafkaSettings) -> dict[str, Any]:
    """Return the options of a producer that stores every message once and in order, within bounded memory."""
    options: dict[str, Any] = {
        "bootstrap.servers": ",".join(settings.servers),
        "enable.idempotence": True,
        "compression.type": "zstd",
        "linger.ms": 50,
        "message.max.bytes": _LARGEST_MESSAGE,
        "queue.buffering.max.kbytes": 64 * 1024,
        "delivery.timeout.ms": int(settings.timeout.total_seconds() * 1000),
    }
    if settings.username:
        options |= {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}
        options |= {"sasl.username": settings.username, "sasl.password": settings.password}
    for text in settings.options:
        name, _ = _option(text, "options")
        if any(word in name for word in _SECRETS):
            hint = "Move it to secret_options, or set password."
            raise ConfigError(f"{name} is a secret", where="plugin.indexwriter-kafka.options", hint=hint)
    return (
        options
        | dict(_option(text, "options") for text in settings.options)
        | dict(_option(text, "secret_options") for text in settings.secret_options)
    )


def _option(text: str, setting: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError("an option is not of the form name=value", where=f"plugin.indexwriter-kafka.{setting}")
    return name.strip(), value.strip()


def _final_errors() -> Iterable[int]:
    from confluent_kafka import KafkaError

    return KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.TOPIC_EXCEPTION, KafkaError._AUTHENTICATION


def _without_secrets(text: str, settings: KafkaSettings) -> str:
    """Return a message of the library without values that it may repeat."""
    values = (_option(option, "secret_options")[1] for option in settings.secret_options)
    for secret in filter(None, (settings.password, *values)):
        text = text.replace(secret, "(hidden)")
    return text


def _kafka_reason(failure: BaseException) -> str:
    inner = failure.args[0] if failure.args else failure
    return reason_of(inner.str() if hasattr(inner, "str") else inner)


class RabbitmqIndexWriter:
    """Sends documents to a RabbitMQ queue, and waits until the server has stored them."""

    Settings = RabbitmqSettings

    def __init__(self, setup: Setup, *, sleep: Callable[[float], None] = time.sleep) -> None:
        require("pika", "index writer rabbitmq", "index.writers", "rabbitmq")
        self._settings: RabbitmqSettings = setup.settings
        self._sleep = sleep
        self._publisher = AmqpPublisher.of(self._settings, "indexwriter-rabbitmq")
        self._parameters = self._publisher.parameters

    def open(self, run: IndexRun) -> None:
        silent("pika")
        try:
            self._publisher.open()
        except AmqpFailure as failure:
            raise self._unusable(failure) from failure

    def write(self, documents: Sequence[Document]) -> Sequence[RejectedDocument]:
        problems = self._publish([_written(document) for document in documents])
        return [RejectedDocument(documents[number].id, reason) for number, reason in problems.items()]

    def delete(self, ids: Sequence[str]) -> None:
        for reason in self._publish([_deleted(each) for each in ids]).values():
            raise UserError(f"RabbitMQ cannot be used: {reason}", where=self._where, hint=REPEAT)

    def commit(self) -> Sequence[RejectedDocument]:
        return ()  # every message was confirmed when it was sent

    def close(self) -> None:
        self._publisher.close()

    def _publish(self, messages: Sequence[bytes]) -> Mapping[int, str]:
        pauses = Pauses(self._settings.retries, self._sleep)
        while True:
            try:
                return self._publisher.publish(messages)
            except AmqpFailure as failure:
                # The server closes a connection that was idle for too long, and when it stops.
                if failure.is_final or not pauses.wait():
                    raise self._unusable(failure) from failure

    @property
    def _where(self) -> str:
        return f"{self._parameters.host}:{self._parameters.port}"

    def _unusable(self, failure: AmqpFailure) -> UserError:
        hint = "See [plugin.indexwriter-rabbitmq]." if failure.is_final else REPEAT
        return UserError(f"RabbitMQ cannot be used: {failure}", where=self._where, hint=hint)


def _written(document: Document) -> bytes:
    return msgspec.json.encode({"action": "write", "document": json_fields(document)})


def _deleted(document_id: str) -> bytes:
    return msgspec.json.encode({"action": "delete", "id": document_id})
