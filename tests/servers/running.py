"""Real servers for the tests of index writers: OpenSearch, Solr, Kafka and RabbitMQ, each on free ports of loopback.

``make test-indexes`` copies them to ``build/servers`` first (see ``pom.xml``). They run with small heaps and without
most of the optimising compiler, because a test needs them for seconds. Data and logs are in a temporary folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from msgspec import Struct

HERE = Path(__file__).parent
FILES = HERE.parents[1] / "build" / "servers"
USER, PASSWORD = "crawler", "correct horse"
_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_PATIENCE = 240.0
_UNPRIVILEGED = 65534  # OpenSearch does not run as root


class RunningServer(Struct, frozen=True):
    """A server: its port, and that for users with a password if it is another one."""

    port: int
    login_port: int
    pid: int
    environment: Mapping[str, str] = {}

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop the server's processes: connections stay open, and nothing is answered."""
        os.killpg(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(self.pid, signal.SIGCONT)


@contextmanager
def opensearch() -> Iterator[RunningServer]:
    """Run OpenSearch."""
    with _folder() as folder, ExitStack() as stack:
        port, other = free_port(), free_port()
        with ZipFile(next((FILES / "opensearch").glob("*.zip"))) as archive:
            archive.extractall(folder)
        home = next(folder.glob("opensearch-*"))
        (home / "config" / "opensearch.yml").write_text(
            f"http.port: {port}\ntransport.port: {other}\ndiscovery.type: single-node\nnode.store.allow_mmap: false\n"
            f"path.data: {folder}/data\npath.logs: {folder}/logs\n"
            # A disk that is nearly full is no reason to refuse a test.
            "cluster.routing.allocation.disk.threshold_enabled: false\n"
        )
        run_as: dict[str, Any] = {}
        if os.getuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, _UNPRIVILEGED, _UNPRIVILEGED)
            run_as = {"user": _UNPRIVILEGED, "group": _UNPRIVILEGED, "extra_groups": []}
        # Not its own script, which starts Java three times.
        command = [*_JAVA, "-Xms320m", "-Xmx320m", "-Djava.security.manager=allow", "-Dlog4j2.disable.jmx=true"]
        command += [f"-Dopensearch.path.home={home}", f"-Dopensearch.path.conf={home}/config"]
        command += [f"-Djava.io.tmpdir={folder}", "-cp", f"{home}/lib/*", "org.opensearch.bootstrap.OpenSearch"]
        process = stack.enter_context(_running(command, folder, cwd=home, **run_as))
        _wait(process, folder, lambda: _answers(port, "/_cluster/health?wait_for_status=yellow"))
        yield RunningServer(port, port, process.pid)


@contextmanager
def solr() -> Iterator[RunningServer]:
    """Run Solr with the cores ``pages`` and ``closed``; ``closed`` needs a password."""
    with _folder() as folder, ExitStack() as stack:
        port = free_port()
        (folder / "solr.xml").write_text("<solr/>")
        for core in ("pages", "closed"):
            (folder / core / "conf").mkdir(parents=True)
            (folder / core / "core.properties").write_text(f"name={core}\n")
            for name in ("solrconfig.xml", "schema.xml"):
                shutil.copy(HERE / "solr" / name, folder / core / "conf")
        (folder / "security.json").write_text(_solr_security())
        libraries = f"{FILES / 'solr'}/*"
        command = [*_JAVA, "-Xmx256m", "-cp", libraries, str(HERE / "solr" / "StartSolr.java"), str(folder), str(port)]
        process = stack.enter_context(_running(command, folder, stdin=subprocess.PIPE))
        _wait(process, folder, (folder / "started").exists)
        yield RunningServer(port, port, process.pid)


@contextmanager
def kafka() -> Iterator[RunningServer]:
    """Run a Kafka broker."""
    with _folder() as folder, ExitStack() as stack:
        port, login_port, controller = free_port(), free_port(), free_port()
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{login_port},"
            f"CONTROLLER://127.0.0.1:{controller}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
                f'{module} required username="a" password="b" user_{USER}="{PASSWORD}";'
            ),
            "log.dirs": folder / "data",
            "num.partitions": 1,
            "message.max.bytes": 16 * 2**20,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
        }
        file = folder / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        java = [*_JAVA, "-Xmx256m", "-cp", f"{FILES / 'kafka'}/*"]
        identity = "c2NvdGVyLXRlc3RzLTAwMQ"
        formatted = [*java, "kafka.tools.StorageTool", "format", "-t", identity, "-c", str(file)]
        subprocess.run(formatted, check=True, capture_output=True, timeout=_PATIENCE)
        process = stack.enter_context(_running([*java, "kafka.Kafka", str(file)], folder))
        _wait(process, folder, lambda: listens(port) and listens(login_port))
        yield RunningServer(port, login_port, process.pid)


@contextmanager
def rabbitmq() -> Iterator[RunningServer]:
    """Run RabbitMQ, whose only user is ``USER``."""
    with _folder() as folder, ExitStack() as stack:
        port, names = free_port(), free_port()
        (folder / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{port}\ndefault_user = {USER}\ndefault_pass = {PASSWORD}\n"
            # RabbitMQ stops taking messages below this; the disks of test machines are often nearly full.
            "disk_free_limit.absolute = 1MB\n"
        )
        (folder / "enabled_plugins").write_text("[].")
        environment = {
            **os.environ,
            "HOME": str(folder),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_LOG_BASE": str(folder / "logs"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_NODENAME": f"scoter-{port}@localhost",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "ERL_EPMD_PORT": str(names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        # Erlang would leave its name server running; this one ends with the test.
        epmd = stack.enter_context(_running(["epmd"], folder, env=environment))
        _wait(epmd, folder, lambda: listens(names))
        script = next(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server"))
        process = stack.enter_context(_running([str(script)], folder, env=environment))
        _wait(process, folder, lambda: listens(port))
        yield RunningServer(port, port, process.pid, environment)


def rabbitmqctl(server: RunningServer, *arguments: str) -> None:
    """Run a command of RabbitMQ's administration."""
    script = next(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmqctl"))
    subprocess.run([str(script), *arguments], env=server.environment, check=True, capture_output=True, timeout=60)


def free_port() -> int:
    """Return a port of loopback that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def _folder() -> Iterator[Path]:
    # Not pytest's: OpenSearch runs as another user, who may not enter those.
    folder = Path(tempfile.mkdtemp(prefix="scoter-server-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _running(command: Sequence[str], folder: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server; end it, and whatever it started, at the end."""
    with (folder / "server.log").open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, **options)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        if process.stdin is not None:
            process.stdin.close()
        process.wait()


def _wait(process: subprocess.Popen[bytes], folder: Path, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            log = (folder / "server.log").read_text(errors="replace")
            raise RuntimeError(f"{process.args!r} did not start:\n{log[-4000:]}")
        time.sleep(0.1)


def listens(port: int) -> bool:
    """Return whether somebody listens on a port of loopback."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _answers(port: int, path: str) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _solr_security() -> str:
    salt = b"scoter-tests"
    digest = sha256(sha256(salt + PASSWORD.encode()).digest()).digest()
    stored = f"{b64encode(digest).decode()} {b64encode(salt).decode()}"
    return f"""{{
  "authentication": {{"class": "solr.BasicAuthPlugin", "blockUnknown": false, "credentials": {{"{USER}": "{stored}"}}}},
  "authorization": {{
    "class": "solr.RuleBasedAuthorizationPlugin",
    "user-role": {{"{USER}": "writer"}},
    "permissions": [{{"name": "update", "collection": "closed", "role": "writer"}}, {{"name": "all", "role": null}}]
  }}
}}"""
