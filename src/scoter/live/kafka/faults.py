"""What goes wrong with the servers of a cluster: one clear log line for each fault, and counts for metrics.

A client repeats its errors several times per second, in other words each time. Here a fault of a server has a kind; it
is logged when it begins and once per minute while it lasts, and counted each time.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

_LOG_EVERY: Final = 60.0  # seconds
_MOST_LOGGED: Final = 1_000  # faults that are logged in a minute
_MOMENT: Final = 2.0  # seconds in which a client may also learn why it reaches no server
_log = logging.getLogger(__name__)


class FaultKind(StrEnum):
    """The kinds of faults."""

    CREDENTIALS = "credentials"  # a server refuses the user name or password
    PERMISSION = "permission"  # the user may not do this
    TLS = "tls"  # no encrypted connection
    UNREACHABLE = "unreachable"
    FAILED = "failed"  # another error of a server
    UNREADABLE = "unreadable"  # a message or a row that this version cannot read
    TOO_LARGE = "too-large"  # a message that Kafka does not take
    CLOCK = "clock"  # the clock of this machine is wrong


_ADVICE: Final = {
    ("kafka", FaultKind.CREDENTIALS): "Kafka refuses the user name or password (kafka.username, kafka.password)",
    ("kafka", FaultKind.PERMISSION): "Kafka does not allow this user (kafka.username) what a role needs",
    ("kafka", FaultKind.TLS): "no TLS connection to Kafka (kafka.security, kafka.ca_file, kafka.certificate_file)",
    ("kafka", FaultKind.UNREACHABLE): "cannot reach Kafka (kafka.brokers)",
    ("cassandra", FaultKind.CREDENTIALS): (
        "Cassandra refuses the user name or password (cassandra.username, cassandra.password)"
    ),
    ("cassandra", FaultKind.PERMISSION): "Cassandra does not allow this user (cassandra.username) what a role needs",
    ("cassandra", FaultKind.TLS): "no TLS connection to Cassandra (cassandra.tls, cassandra.ca_file)",
    ("cassandra", FaultKind.UNREACHABLE): "cannot reach Cassandra (cassandra.hosts)",
}
# While one of these lasts, a client also reports that it reaches no server: that is no news.
_CAUSES: Final = (FaultKind.CREDENTIALS, FaultKind.TLS)


KNOWN_FAULTS: Final = (
    *(f"{server}-{kind}" for server in ("kafka", "cassandra") for kind in FaultKind if kind is not FaultKind.CLOCK),
    f"machine-{FaultKind.CLOCK}",
)


class ClusterFaults:
    """The faults of this process. Its methods may be called by any thread."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._logged: dict[tuple[str, str], float] = {}
        self._unreachable: dict[str, tuple[float, float]] = {}  # since when, and when last

    def note(self, server: str, kind: FaultKind, detail: str, *, about: str = "") -> None:
        """Count a fault, and log it unless it was logged in the last minute; ``about`` tells faults of a kind apart."""
        now = self._timer()
        with self._lock:
            self._counts[f"{server}-{kind}"] += 1
            if kind is FaultKind.UNREACHABLE and not self._lasts(server, now):
                return
            key = (server, about or kind.value)
            if now - self._logged.get(key, -_LOG_EVERY) < _LOG_EVERY:
                return
            if len(self._logged) >= _MOST_LOGGED:
                self._logged = {each: at for each, at in self._logged.items() if now - at < _LOG_EVERY}
                if len(self._logged) >= _MOST_LOGGED:
                    return
            self._logged[key] = now
        advice = _ADVICE.get((server, kind), "")
        _log.error("%s", f"{advice}: {detail}" if advice and detail else advice or detail)

    def count(self, server: str, kind: FaultKind, by: int = 1) -> None:
        """Count faults that are logged elsewhere."""
        with self._lock:
            self._counts[f"{server}-{kind}"] += by

    def counts(self) -> Mapping[str, float]:
        """Return the number of faults by server and kind."""
        with self._lock:
            return dict(self._counts)

    def _lasts(self, server: str, now: float) -> bool:
        """Return whether a server has been unreachable for a moment, and no better reason is known."""
        since, last = self._unreachable.get(server, (now, now))
        since = since if now - last < _LOG_EVERY else now
        self._unreachable[server] = (since, now)
        is_explained = any(self._is_recent(server, cause, now) for cause in _CAUSES)
        return now - since >= _MOMENT and not is_explained

    def _is_recent(self, server: str, kind: FaultKind, now: float) -> bool:
        return now - self._logged.get((server, kind.value), -_LOG_EVERY) < _LOG_EVERY


FAULTS: Final = ClusterFaults()
"""The faults of this process: its clients of a server share their connections and their password."""


def kafka_fault(error: Any) -> FaultKind:
    """Return the kind of an error of Kafka's client."""
    from confluent_kafka import KafkaError

    match error.code():
        case KafkaError._AUTHENTICATION | KafkaError.SASL_AUTHENTICATION_FAILED:
            return FaultKind.CREDENTIALS
        case (
            KafkaError.TOPIC_AUTHORIZATION_FAILED
            | KafkaError.GROUP_AUTHORIZATION_FAILED
            | KafkaError.CLUSTER_AUTHORIZATION_FAILED
            | KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        ):
            return FaultKind.PERMISSION
        case KafkaError._SSL:
            return FaultKind.TLS
        case KafkaError._TRANSPORT if "SSL_HANDSHAKE" in error.str():
            return FaultKind.TLS
        case KafkaError._TRANSPORT | KafkaError._ALL_BROKERS_DOWN | KafkaError._RESOLVE | KafkaError._TIMED_OUT:
            return FaultKind.UNREACHABLE
        case KafkaError.MSG_SIZE_TOO_LARGE:
            return FaultKind.TOO_LARGE
        case _:
            return FaultKind.FAILED


def cassandra_fault(error: Exception) -> FaultKind:
    """Return the kind of an error of Cassandra's client."""
    from acsylla import errors

    if isinstance(error, errors.CassErrorServerBadCredentials):
        return FaultKind.CREDENTIALS
    if isinstance(error, errors.CassErrorServerUnauthorized):
        return FaultKind.PERMISSION
    if isinstance(error, errors.CassErrorSourceSsl):
        return FaultKind.TLS
    if isinstance(error, TimeoutError | errors.CassErrorLibNoHostsAvailable | errors.CassErrorLibUnableToConnect):
        return FaultKind.UNREACHABLE
    return FaultKind.FAILED
