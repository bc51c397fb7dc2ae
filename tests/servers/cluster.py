"""Kafka and Cassandra for the tests of the cluster, as processes that outlive this one.

    python -m tests.servers.cluster up|down|status

``make cluster-up`` copies the servers to ``build/servers`` first (see ``pom.xml``). Data, logs and process ids are in
``build/cluster``; servers that run already are left alone. They listen on loopback, with small heaps. The ports are
those of the environment variables SCOTER_TEST_KAFKA and SCOTER_TEST_CASSANDRA, by default 19092 and 19042. At the next
port, Kafka wants TLS and a password. Cassandra always wants a password, and offers TLS.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.servers.certificates import STORE_PASSWORD, make_certificates
from tests.servers.running import FILES, HERE, free_port, listens

FOLDER = HERE.parents[1] / "build" / "cluster"
KAFKA_PORT = int(os.environ.get("SCOTER_TEST_KAFKA", "19092"))
CASSANDRA_PORT = int(os.environ.get("SCOTER_TEST_CASSANDRA", "19042"))
SECURE_KAFKA_PORT = KAFKA_PORT + 1
CASSANDRA_USER = "cassandra"  # with this password too: what a new Cassandra has
_PATIENCE = 240.0
# The strong compiler would cost more CPU time than it saves in a test; -Xshare speeds up the start.
_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_IDENTITY = "c2NvdGVyLWNsdXN0ZXItMQ"
# What Cassandra needs of the JDK's internals (its own jvm17-server.options).
_EXPORTED = (
    "java.base/jdk.internal.misc",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.sql/java.sql",
    "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport.tcp",
    "jdk.unsupported/sun.misc",
)
_OPENED = (
    "java.base/java.lang.module",
    "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref",
    "java.base/java.io",
    "java.base/jdk.internal.reflect",
    "java.base/jdk.internal.math",
    "java.base/jdk.internal.module",
    "java.base/java.lang",
    "java.base/jdk.internal.util.jar",
    "java.base/sun.nio.ch",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.math",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "jdk.management/com.sun.management.internal",
)


class ClusterServer:
    """A server with a folder of its own. It runs until it is stopped, whatever happens to this process."""

    def __init__(
        self,
        name: str,
        port: int,
        prepare: Callable[[Path, int], Sequence[str]],
        folder: Path,
        answers: Callable[[int], bool],
    ) -> None:
        """``prepare`` writes the server's settings and returns its command; ``answers`` tells whether it is ready."""
        self._answers = answers
        self.name = name
        self.port = port
        self._prepare = prepare
        self._folder = folder / name
        self._pid_file = self._folder / "pid"

    @property
    def pid(self) -> int | None:
        """The process id, if the server runs."""
        with suppress(OSError, ValueError):
            pid = int(self._pid_file.read_text())
            if str(self._folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        return None

    def start(self) -> None:
        """Start it, unless it runs; return when it answers."""
        if self.pid is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            command = self._prepare(self._folder, self.port)
            with (self._folder / "server.log").open("ab") as out:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
                )
            self._pid_file.write_text(str(process.pid))
            self._process = process
        deadline = time.monotonic() + _PATIENCE
        while not self._answers(self.port):
            # While Java starts, it replaces itself once, and its command line is empty for a moment.
            own = getattr(self, "_process", None)
            has_ended = self.pid is None if own is None else own.poll() is not None
            if has_ended or time.monotonic() > deadline:
                log = (self._folder / "server.log").read_text(errors="replace")
                raise RuntimeError(f"{self.name} did not start:\n{log[-4000:]}")
            time.sleep(0.2)

    def send(self, sign: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if (pid := self.pid) is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, sign)

    def kill(self) -> None:
        """Kill it, and wait until it is gone; its data stays."""
        self.send(signal.SIGKILL)
        while (pid := self.pid) is not None:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            time.sleep(0.05)

    def remove(self) -> None:
        """Kill it and remove its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def kafka(folder: Path = FOLDER, port: int = KAFKA_PORT) -> ClusterServer:
    """Return the Kafka broker of a folder."""
    return ClusterServer("kafka", port, _prepare_kafka, folder, _kafka_answers)


def cassandra(folder: Path = FOLDER, port: int = CASSANDRA_PORT) -> ClusterServer:
    """Return the Cassandra node of a folder."""
    return ClusterServer("cassandra", port, _prepare_cassandra, folder, _cassandra_answers)


def certificates(server: str, folder: Path = FOLDER) -> Path:
    """Return the folder of a server's certificates (see ``make_certificates``)."""
    return folder / server / "certificates"


def _kafka_answers(port: int) -> bool:
    """Return whether the broker answers: it listens before it has recovered its logs."""
    if not listens(port):
        return False
    import confluent_kafka
    from confluent_kafka.admin import AdminClient

    logger = logging.getLogger("scoter.tests.kafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    try:
        AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}, logger=logger).list_topics(timeout=2)
    except confluent_kafka.KafkaException:
        return False
    return True


def _cassandra_answers(port: int) -> bool:
    """Return whether one can log in: a new node listens before it has its first user."""
    if not listens(port):
        return False
    import acsylla
    from acsylla.errors import CassException

    async def log_in() -> None:
        login = {"username": CASSANDRA_USER, "password": CASSANDRA_USER, "log_level": "critical"}
        session = await acsylla.create_cluster(["127.0.0.1"], port=port, connect_timeout=5.0, **login).create_session()
        await session.close()

    try:
        asyncio.run(log_in())
    except CassException:
        return False
    return True


def is_up() -> bool:
    """Return whether both servers of ``make cluster-up`` answer."""
    return listens(KAFKA_PORT) and listens(CASSANDRA_PORT)


def _prepare_kafka(folder: Path, port: int) -> Sequence[str]:
    file = folder / "server.properties"
    java = [
        *_JAVA,
        "-Xmx384m",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        f"-Dscoter.folder={folder}",
        "-cp",
        f"{FILES / 'kafka'}/*",
    ]
    if not file.exists():
        controller = free_port()
        make_certificates(folder / "certificates")
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        settings: Mapping[str, Any] = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{port + 1},"
            f"CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{module} required;",
            # So that a changed password is noticed soon.
            "listener.name.sasl_ssl.scram-sha-512.connections.max.reauth.ms": 4000,
            "listener.name.sasl_ssl.ssl.keystore.type": "PEM",
            "listener.name.sasl_ssl.ssl.keystore.location": folder / "certificates" / "server.pem",
            "log.dirs": folder / "data",
            "num.recovery.threads.per.data.dir": 2,
            "auto.create.topics.enable": "false",
            "message.max.bytes": 16 * 2**20,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 4,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 4,
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
            "group.initial.rebalance.delay.ms": 0,
            "group.consumer.min.session.timeout.ms": 1000,
            "group.consumer.session.timeout.ms": 3000,
            "group.consumer.min.heartbeat.interval.ms": 200,
            "group.consumer.heartbeat.interval.ms": 500,
        }
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        formatted = [*java, "kafka.tools.StorageTool", "format", "-t", _IDENTITY, "-c", str(file)]
        subprocess.run(formatted, check=True, capture_output=True, timeout=_PATIENCE)
    return [*java, "kafka.Kafka", str(file)]


def _prepare_cassandra(folder: Path, port: int) -> Sequence[str]:
    file = folder / "cassandra.yaml"
    if not file.exists():
        storage = free_port()
        make_certificates(folder / "certificates")
        (folder / "logback.xml").write_text(
            '<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>'
            "<pattern>%-5level %d %msg%n</pattern></encoder></appender>"
            '<root level="WARN"><appender-ref ref="out"/></root></configuration>'
        )
        settings = {
            "cluster_name": "scoter",
            "num_tokens": 1,
            "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
            "commitlog_sync": "periodic",
            "commitlog_sync_period": "1000ms",
            "commitlog_segment_size": "8MiB",
            "endpoint_snitch": "SimpleSnitch",
            "listen_address": "127.0.0.1",
            "storage_port": storage,
            "rpc_address": "127.0.0.1",
            "native_transport_port": port,
            "start_native_transport": "true",
            "data_file_directories": f"[{folder}/data]",
            "commitlog_directory": f"{folder}/commitlog",
            "saved_caches_directory": f"{folder}/caches",
            "hints_directory": f"{folder}/hints",
            "cdc_raw_directory": f"{folder}/cdc",
            "memtable_heap_space": "64MiB",
            "file_cache_size": "32MiB",
            "concurrent_compactors": 1,
            "auto_snapshot": "false",
            "authenticator": "PasswordAuthenticator",
            "client_encryption_options": "\n  enabled: true\n  optional: true\n"
            f"  keystore: {folder}/certificates/server.p12\n  keystore_password: {STORE_PASSWORD}\n"
            "  store_type: PKCS12",
            "seed_provider": "\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n"
            f'    parameters:\n      - seeds: "127.0.0.1:{storage}"',
        }
        file.write_text("".join(f"{name}: {value}\n" for name, value in settings.items()))
    libraries = FILES / "cassandra"
    jamm = next(libraries.glob("jamm-*.jar"))
    return [
        *_JAVA,
        "-Xms512m",
        "-Xmx768m",
        f"-javaagent:{jamm}",
        *(f"--add-exports={each}=ALL-UNNAMED" for each in _EXPORTED),
        *(f"--add-opens={each}=ALL-UNNAMED" for each in _OPENED),
        "-Djdk.attach.allowAttachSelf=true",
        "-Dcassandra-foreground=yes",
        f"-Dcassandra.config=file://{file}",
        f"-Dcassandra.storagedir={folder}",
        f"-Dlogback.configurationFile=file://{folder}/logback.xml",
        "-Dcassandra.ring_delay_ms=100",
        "-Dcassandra.skip_wait_for_gossip_to_settle=0",
        "-Dcassandra.superuser_setup_delay_ms=0",
        "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4",  # logging in must not cost more than the tests
        f"-Djava.io.tmpdir={folder}",
        "-cp",
        f"{libraries}/*",
        "org.apache.cassandra.service.CassandraDaemon",
    ]


def main() -> int:
    commands: dict[str, Callable[[], None]] = {"up": _up, "down": _down, "status": lambda: None}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    commands[sys.argv[1]]()
    for server in (kafka(), cassandra()):
        pid = server.pid
        print(f"{server.name}: {'not running' if pid is None else f'127.0.0.1:{server.port}, pid {pid}'}")
    return 0


def _up() -> None:
    for server in (kafka(), cassandra()):
        server.start()


def _down() -> None:
    for server in (kafka(), cassandra()):
        server.remove()


if __name__ == "__main__":
    sys.exit(main())
