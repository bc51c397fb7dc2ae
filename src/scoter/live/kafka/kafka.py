"""Connections to Kafka: options, errors, the sender of messages, and the topics."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from scoter.config.sections.cluster import CassandraSettings, KafkaClusterSettings
from scoter.config.sections.live import LiveSettings
from scoter.errors import ConfigError, StoreUnavailable, UsageError
from scoter.extras import install_command
from scoter.http.metrics import Histogram
from scoter.live.background import VitalThread
from scoter.live.kafka.faults import FAULTS, kafka_fault
from scoter.live.records import Priority

REPLY_PARTITIONS: Final = 16
_SECURITY: Final = {
    "plaintext": "PLAINTEXT",
    "tls": "SSL",
    "sasl-plaintext": "SASL_PLAINTEXT",
    "sasl-tls": "SASL_SSL",
}
_LINGER: Final = 2  # milliseconds that a message waits for others
_OVERHEAD: Final = 64 * 1024
_TEN_MINUTES: Final = 600_000
_ONE_DAY: Final = 86_400_000  # longer than a session lasts
_TWO_WEEKS: Final = 14 * 86_400_000
_POLL: Final = 0.5  # seconds; a report ends the wait
_log = logging.getLogger(__name__)


class TopicNames(Struct, frozen=True):
    """The names of a service's topics and groups."""

    prefix: str

    def intake(self, priority: Priority) -> str:
        return f"{self.prefix}.intake-{priority.name.lower()}"

    @property
    def intakes(self) -> list[str]:
        return [self.intake(priority) for priority in Priority]

    @property
    def requests(self) -> str:
        return f"{self.prefix}.requests"

    @property
    def replies(self) -> str:
        return f"{self.prefix}.replies"

    @property
    def delays(self) -> str:
        return f"{self.prefix}.delays"

    @property
    def events(self) -> str:
        return f"{self.prefix}.events"

    @property
    def rules(self) -> str:
        return f"{self.prefix}.rules"

    @property
    def sessions(self) -> str:
        return f"{self.prefix}.sessions"

    @property
    def reports(self) -> str:
        return f"{self.prefix}.reports"

    @property
    def dead(self) -> str:
        return f"{self.prefix}.dead"

    # Both groups have the names that their roles had at first. These stay: the positions of running services, and the
    # rights of their users, are stored under them.
    @property
    def pipeline_group(self) -> str:
        """The consumer group of pipelines."""
        return f"{self.prefix}.workers"

    @property
    def worker_group(self) -> str:
        """The consumer group of workers."""
        return f"{self.prefix}.fetchers"

    @property
    def webhooks(self) -> str:
        """The consumer group of api processes: one of them delivers callbacks."""
        return f"{self.prefix}.webhooks"


def require_packages() -> None:
    """Raise an error that names the extra if a package is not installed."""
    for package in ("confluent_kafka", "acsylla"):
        if find_spec(package) is None:
            raise ConfigError(
                'live.backend = "cluster" needs packages that are not installed',
                where="live.backend",
                hint=f"Run: {install_command('cluster')}",
            )


def password_of(settings: KafkaClusterSettings | CassandraSettings, section: str) -> str:
    """Return the password, from its file if one is named."""
    path = settings.password_file
    if path is None:
        return settings.password
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"cannot read the password: {reason}", where=f"{section}.password_file = {path}") from None


def client_options(settings: KafkaClusterSettings) -> dict[str, Any]:
    """Return the options of librdkafka that all clients share."""
    options: dict[str, Any] = {
        "bootstrap.servers": ",".join(settings.brokers),
        "security.protocol": _SECURITY[settings.security],
        "reconnect.backoff.max.ms": 1_000,
        "socket.connection.setup.timeout.ms": 5_000,
        "message.max.bytes": settings.body_limit + _OVERHEAD,
    }
    if settings.security.startswith("sasl"):
        options |= {
            "sasl.mechanism": settings.mechanism,
            "sasl.username": settings.username,
            "sasl.password": password_of(settings, "kafka"),
        }
    files = {
        "ssl.ca.location": settings.ca_file,
        "ssl.certificate.location": settings.certificate_file,
        "ssl.key.location": settings.key_file,
    }
    return options | {name: str(path) for name, path in files.items() if path is not None and _is_readable(path)}


def _is_readable(path: Path) -> bool:
    try:
        path.open("rb").close()
    except OSError as error:
        raise UsageError(f"cannot read the file: {error.strerror}", where=f"kafka: {path}") from None
    return True


def note_error(error: Any) -> None:
    """Log and count what a client reports (``error_cb``)."""
    FAULTS.note("kafka", kafka_fault(error), error.str())


class _Sink(logging.Handler):
    """Drops librdkafka's own log lines: ``note_error`` reports what matters."""

    def emit(self, record: logging.LogRecord) -> None:
        pass


def quiet_logger() -> logging.Logger:
    """Return the logger for librdkafka."""
    logger = logging.getLogger("scoter.librdkafka")
    if not logger.handlers:
        logger.addHandler(_Sink())
    logger.propagate = False
    return logger


def store_trouble(error: Any) -> StoreUnavailable:
    """Return the error for a failure of Kafka, without secrets."""
    if isinstance(error, StoreUnavailable):
        return error
    found = error.args[0] if isinstance(error, Exception) and error.args else error
    text = found.str() if hasattr(found, "str") else str(found)
    return StoreUnavailable(f"Kafka: {text}")


def is_too_large(error: Any) -> bool:
    """Return whether Kafka, or its client, has refused a message because of its size: it will never take it."""
    from confluent_kafka import KafkaError

    found = error.args[0] if isinstance(error, Exception) and error.args else error
    return hasattr(found, "code") and found.code() == KafkaError.MSG_SIZE_TOO_LARGE


def is_fatal(error: Any) -> bool:
    """Return whether a client of Kafka can do nothing more after this error."""
    found = error.args[0] if isinstance(error, Exception) and error.args else error
    return hasattr(found, "fatal") and bool(found.fatal())


def within_time(work: Callable[[], Any], seconds: float) -> Any:
    """Return the result of a call of librdkafka; raise ``TimeoutError`` if it hangs, as some do after a restart.

    The call has a thread of its own, which is left behind in that case.
    """
    done: Future[Any] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="librdkafka-call", daemon=True).start()
    return done.result(seconds)


def append_time(message: Any) -> float | None:
    """Return when the broker stored a message, in seconds by its clock; ``None`` if the topic has other times."""
    from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME

    kind, milliseconds = message.timestamp()
    return milliseconds / 1000 if kind == TIMESTAMP_LOG_APPEND_TIME else None


class OutgoingMessage(Struct, frozen=True):
    """A message to send."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int = -1
    headers: tuple[tuple[str, bytes], ...] = ()


class KafkaSender:
    """Sends messages, idempotently and to all in-sync replicas."""

    def __init__(self, settings: KafkaClusterSettings, name: str, **options: Any) -> None:
        import confluent_kafka

        timeout = round(settings.timeout.total_seconds() * 1000)
        self._options = {
            **client_options(settings),
            "client.id": name,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": _LINGER,
            "message.timeout.ms": timeout,
            "compression.type": "lz4",
            "error_cb": note_error,
            **options,
        }
        self._fails = confluent_kafka.KafkaException
        self._producer = self._make()
        self.seconds = Histogram("scoter_kafka_seconds", "Time until Kafka has confirmed messages.", "operation")
        self._is_closed = False
        self._thread = VitalThread(self._poll, f"{name}-poll")
        self._thread.start()

    def _make(self) -> Any:
        import confluent_kafka

        try:
            return confluent_kafka.Producer(self._options, logger=quiet_logger())
        except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
            raise ConfigError(store_trouble(error).message, where="kafka") from None

    async def send(self, messages: Sequence[OutgoingMessage]) -> list[tuple[int, int]]:
        """Send messages; return the partition and offset of each when Kafka has them all.

        Raise ``StoreUnavailable`` if it does not have them in time; then any of them may be there nevertheless.
        """
        if not messages:
            return []
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        done: asyncio.Future[list[tuple[int, int]]] = loop.create_future()
        places: list[tuple[int, int]] = [(-1, -1)] * len(messages)

        def settle(error: Any) -> None:
            loop.call_soon_threadsafe(_settle, done, places, error)

        batch = _SentBatch(len(messages), places, settle)
        for at, message in enumerate(messages):
            self.put(message, batch.reporter(at))
        sent = await done
        self.seconds.observe("send", time.perf_counter() - began)
        return sent

    def put(self, message: OutgoingMessage, report: Callable[[Any, Any], None] | None = None) -> None:
        """Queue a message; ``report`` is called in another thread with an error, or the message as delivered."""
        partition = {} if message.partition < 0 else {"partition": message.partition}
        try:
            self._producer.produce(
                message.topic,
                message.value,
                message.key,
                on_delivery=report,
                headers=list(message.headers) or None,
                **partition,
            )
        except (BufferError, self._fails) as error:
            if report is not None:
                report(error, None)

    def close(self, within: float = 5.0) -> None:
        """Send what is queued, and stop."""
        if not self._is_closed:
            self._producer.flush(within)
            self._is_closed = True
            self._thread.join()

    def _poll(self) -> None:
        while not self._is_closed:
            try:
                self._producer.poll(_POLL)
            except Exception as error:
                if is_fatal(error):
                    self._replace_producer(error)
                elif not self._is_closed:  # of somebody who waited for a report
                    _log.exception("cannot pass on a report of Kafka")

    def _replace_producer(self, error: Exception) -> None:
        """Take a new producer: the old one refuses all messages from now on."""
        _log.error("a producer of Kafka is broken and replaced: %s", store_trouble(error).message)
        old, self._producer = self._producer, self._make()
        with suppress(Exception):
            old.purge()
            old.flush(_POLL)  # reports what it has not sent


class _SentBatch:
    def __init__(self, left: int, places: list[tuple[int, int]], settle: Callable[[Any], None]) -> None:
        self._left = left
        self._places = places
        self._settle = settle
        self._error: Any = None

    def reporter(self, at: int) -> Callable[[Any, Any], None]:
        def report(error: Any, message: Any) -> None:
            if error is not None:
                self._error = error
            else:
                self._places[at] = (message.partition(), message.offset())
            self._left -= 1
            if not self._left:
                self._settle(self._error)

        return report


def _settle(done: asyncio.Future[list[tuple[int, int]]], places: list[tuple[int, int]], error: Any) -> None:
    if done.done():  # its caller was cancelled
        return
    if error is None:
        done.set_result(places)
    else:
        done.set_exception(store_trouble(error))


def topic_plan(settings: KafkaClusterSettings, live: LiveSettings) -> Mapping[str, tuple[int, dict[str, str]]]:
    """Return the partitions and options of every topic."""
    names, many = TopicNames(settings.prefix), settings.partitions
    large = {"max.message.bytes": str(settings.body_limit + _OVERHEAD)}
    kept = {"cleanup.policy": "delete", "retention.ms": "-1"}  # deleted by those who have processed them
    compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}
    events_for = str(round(live.events_for.total_seconds() * 1000))
    return {
        **dict.fromkeys(names.intakes, (many, kept)),
        names.requests: (many, kept),
        names.replies: (REPLY_PARTITIONS, {"retention.ms": str(_TEN_MINUTES), **large}),
        # The time of the broker: clocks of workers may differ.
        names.delays: (many, {**compacted, "message.timestamp.type": "LogAppendTime"}),
        names.events: (1, {"retention.ms": events_for, **large}),
        names.rules: (1, compacted),
        names.sessions: (1, {**compacted, "cleanup.policy": "compact,delete", "retention.ms": str(_ONE_DAY)}),
        names.reports: (1, {"retention.ms": str(_TEN_MINUTES)}),
        names.dead: (1, {"retention.ms": str(_TWO_WEEKS), **large}),
    }


def admin_client(settings: KafkaClusterSettings, name: str) -> Any:
    """Return a client for topics and groups."""
    from confluent_kafka.admin import AdminClient

    options: dict[str, Any] = {**client_options(settings), "client.id": name, "error_cb": note_error}
    return AdminClient(options, logger=quiet_logger())


def delete_before(admin: Any, offsets: Mapping[tuple[str, int], int], within: float = 10.0) -> None:
    """Delete the messages of partitions before these offsets; blocks."""
    from confluent_kafka import TopicPartition

    places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    for future in (admin.delete_records(places, request_timeout=within) if places else {}).values():
        future.result(timeout=within)


def create_topics(settings: KafkaClusterSettings, live: LiveSettings, *, within: float = 30.0) -> None:
    """Create the topics that are missing; blocks. Raise ``UsageError`` if one has another number of partitions."""
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    admin = admin_client(settings, "admin")
    plan = topic_plan(settings, live)
    try:
        found = admin.list_topics(timeout=min(within, settings.timeout.total_seconds())).topics
        missing = [
            NewTopic(name, partitions, settings.replication, config=options)
            for name, (partitions, options) in plan.items()
            if name not in found
        ]
        for future in (admin.create_topics(missing, operation_timeout=within) if missing else {}).values():
            try:
                future.result(timeout=within)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # another process was faster
                    raise
        until = time.monotonic() + within
        while not _are_ready(found := admin.list_topics(timeout=within).topics, plan):
            if time.monotonic() > until:
                raise StoreUnavailable("Kafka: topics were created, but have no leader yet")
            time.sleep(0.05)
    except KafkaException as error:
        raise store_trouble(error) from None
    for name, (partitions, _) in plan.items():
        there = len(found[name].partitions)
        if there != partitions:
            raise UsageError(
                f"the topic has {there} partitions, but kafka.partitions and this version expect {partitions}",
                where=name,
                hint="Set kafka.partitions to the number with which the service was created.",
            )


def _are_ready(found: Mapping[str, Any], wanted: Iterable[str]) -> bool:
    """Return whether all partitions of these topics have a leader."""
    return all(
        name in found and found[name].partitions and all(each.leader >= 0 for each in found[name].partitions.values())
        for name in wanted
    )
