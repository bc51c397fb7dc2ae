"""The servers of a live service that runs on several machines: Kafka and Cassandra."""

from datetime import timedelta
from pathlib import Path
from typing import Literal

from scoter.config.settings import Section, setting
from scoter.config.units import Size

# No `from __future__ import annotations`: the annotations are read at run time.


class KafkaClusterSettings(Section, frozen=True):
    """Kafka, for a live service with `live.backend = "cluster"`."""

    brokers: tuple[str, ...] = setting(
        ("localhost:9092",),
        "Addresses of brokers, from which the others are found.",
        pattern=r"[^\s,:/]+:[0-9]+|\[[0-9a-fA-F:]+\]:[0-9]+",
        form="host:port",
        example='["kafka-1:9092", "kafka-2:9092"]',
    )
    prefix: str = setting(
        "scoter",
        "What the names of topics and consumer groups begin with; services with different prefixes share nothing.",
        pattern=r"[A-Za-z0-9_-]{1,100}",
        form="letters, digits, - and _",
    )
    partitions: int = setting(
        64,
        "Partitions of the topics for messages and requests; it must not change once the topics exist.",
        at_least=1,
        at_most=4096,
    )
    replication: int = setting(
        3, "Replicas of each partition, if the service creates the topics.", at_least=1, at_most=15
    )
    security: Literal["plaintext", "tls", "sasl-plaintext", "sasl-tls"] = setting(
        "plaintext", "Encryption and authentication of connections to brokers."
    )
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = setting(
        "SCRAM-SHA-512", "How a user name and password are checked, with sasl-plaintext and sasl-tls."
    )
    username: str = setting("", "User name at the brokers.")
    password: str = setting("", "Password; better set it with an environment variable or a file.", secret=True)
    password_file: Path | None = setting(None, "File with the password, read at the start.")
    ca_file: Path | None = setting(None, "Certificate authorities to trust, in PEM format.")
    certificate_file: Path | None = setting(None, "Certificate of this client, in PEM format.")
    key_file: Path | None = setting(None, "Private key of this client, in PEM format.")
    body_limit: Size = setting(
        Size(4 * 2**20),
        "Maximum size of a message; larger responses go through kafka.bodies, or are truncated.",
        at_least=64 * 1024,
        at_most=64 * 2**20,
    )
    bodies: str = setting(
        "",
        "Folder in an object store for responses that do not fit into a message: workers write them, pipelines read "
        "and remove them; empty to truncate such bodies.",
        example='"s3://bucket/bodies"',
    )
    fetch_lease: timedelta = setting(
        timedelta(seconds=2),
        "How long a worker may request from its domains without a confirmation of Kafka, and how long the next "
        "owner of a domain waits at first.",
        at_least=timedelta(milliseconds=200),
        at_most=timedelta(minutes=1),
    )
    timeout: timedelta = setting(
        timedelta(seconds=10),
        "How long to wait for Kafka before messages are refused.",
        at_least=timedelta(milliseconds=100),
        at_most=timedelta(minutes=5),
    )


class CassandraSettings(Section, frozen=True):
    """Cassandra, for a live service with `live.backend = "cluster"`."""

    hosts: tuple[str, ...] = setting(
        ("localhost",), "Addresses of nodes, from which the others are found.", example='["cassandra-1", "cassandra-2"]'
    )
    port: int = setting(9042, "Port of the native protocol.", at_least=1, at_most=65535)
    keyspace: str = setting(
        "scoter",
        "Keyspace of the service's tables; created if it does not exist.",
        pattern=r"[a-z][a-z0-9_]{0,47}",
        form="lower-case letters, digits and _",
    )
    datacenter: str = setting("", "Data centre of this service; empty for the only one.")
    replication: int = setting(3, "Replicas of each row, if the service creates the keyspace.", at_least=1, at_most=15)
    consistency: Literal["one", "quorum", "local-quorum"] = setting(
        "local-quorum", "Replicas that must confirm a read or a write; below a quorum, guarantees are weaker."
    )
    tls: bool = setting(False, "Encrypt connections.")
    username: str = setting("", "User name; empty means no authentication.")
    password: str = setting("", "Password; better set it with an environment variable or a file.", secret=True)
    password_file: Path | None = setting(None, "File with the password, read at the start.")
    ca_file: Path | None = setting(None, "Certificate authorities to trust, in PEM format.")
    certificate_file: Path | None = setting(None, "Certificate of this client, in PEM format.")
    key_file: Path | None = setting(None, "Private key of this client, in PEM format.")
    timeout: timedelta = setting(
        timedelta(seconds=5),
        "Time limit of a request.",
        at_least=timedelta(milliseconds=100),
        at_most=timedelta(minutes=1),
    )
    cached: int = setting(10_000, "Records that an api process keeps in memory for a second.", at_least=0)
