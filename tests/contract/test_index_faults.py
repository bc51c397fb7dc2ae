"""What index writers do when a real server refuses documents or logins, is full, or does not answer."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.contract import index_backends as backends
from tests.contract.index_backends import SERVERS, IndexBackend, Runs, document, rabbitmq_connection
from tests.servers.running import PASSWORD, USER, RunningServer, rabbitmqctl

from scoter.core.document import Document
from scoter.errors import UserError

# pika leaves a socket to the garbage collector if the server does not answer when a connection is closed.
pytestmark = [
    pytest.mark.indexes,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WRONG = "tr0ub4dor"


@pytest.fixture(autouse=True)
def _collect_garbage() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(params=list(SERVERS))
def server(request: pytest.FixtureRequest) -> RunningServer:
    return request.getfixturevalue(SERVERS[request.param])  # type: ignore[no-any-return]


@pytest.fixture
def backend(request: pytest.FixtureRequest, server: RunningServer) -> IndexBackend:
    return backends.served(request.node.callspec.params["server"], server)


def test_server_that_stops_answering_is_an_error_and_the_next_run_recovers(
    backend: IndexBackend, server: RunningServer, tmp_path: Path
) -> None:
    limits: dict[str, Any] = {"timeout": "1s"} if backend.writer == "kafka" else {"timeout": "1s", "retries": 0}
    run, hasty = Runs(backend, tmp_path), Runs(backend, tmp_path, **limits)
    run([document(0)])

    with pytest.raises(UserError, match=r"cannot be used|does not answer"), ExitStack() as stack:
        hasty(_with_start(lambda: stack.enter_context(server.frozen()), map(document, range(10))))
    run(map(document, range(10)))

    assert run.holds(*map(document, range(10)))


def _with_start(start: Any, documents: Iterable[Document]) -> Iterator[Document]:
    start()
    yield from documents


@pytest.mark.parametrize("server", ["opensearch", "elasticsearch", "solr"], indirect=True)
def test_documents_that_a_search_server_refuses_are_reported(backend: IndexBackend, tmp_path: Path) -> None:
    run = Runs(backend, tmp_path)
    run([document(0, contentLength=[5])])
    found = [document(number, contentLength=["long" if number in (3, 8) else number]) for number in range(10)]

    rejected = run(found)

    assert rejected.keys() == {found[3].id, found[8].id}
    assert all("long" in reason for reason in rejected.values())
    assert run.holds(*(each for number, each in enumerate(found) if number not in (3, 8)))

    assert run([document(3), document(8)]) == {}
    assert run.holds(*map(document, range(10)))


@pytest.mark.parametrize("server", ["kafka"], indirect=True)
def test_messages_that_are_too_large_for_a_topic_are_reported(
    backend: IndexBackend, server: RunningServer, tmp_path: Path
) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    limited = NewTopic(backend.settings["topic"], 1, 1, config={"max.message.bytes": "100000"})
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{server.port}"})
    admin.create_topics([limited])[backend.settings["topic"]].result(30)
    noise = "".join(random.Random(1).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=400_000))
    run = Runs(backend, tmp_path)

    rejected = run([document(1), document(2, content=[noise]), document(3)])

    assert rejected == {document(2).id: "kafka: Broker: Message size too large"}
    assert run.holds(document(1), document(3))


@pytest.mark.parametrize("server", ["rabbitmq"], indirect=True)
def test_messages_that_a_full_queue_refuses_are_reported(
    backend: IndexBackend, server: RunningServer, tmp_path: Path
) -> None:
    connection = rabbitmq_connection(server.port)
    limits = {"x-max-length": 2, "x-overflow": "reject-publish"}
    connection.channel().queue_declare(backend.settings["queue"], durable=True, arguments=limits)
    connection.close()
    run = Runs(backend, tmp_path)
    run([document(1), document(2)])

    rejected = run([document(3), document(4)])
    with pytest.raises(UserError, match="may be full"):
        run(delete=["http://a.org/1"])

    assert rejected == dict.fromkeys(
        [document(3).id, document(4).id], "rabbitmq: the queue does not accept the message; it may be full"
    )
    assert run.holds(document(1), document(2))  # which empties the queue
    assert run([document(3)]) == {}


@pytest.mark.parametrize("server", ["rabbitmq"], indirect=True)
def test_rabbitmq_that_is_short_of_disk_is_an_error(
    backend: IndexBackend, server: RunningServer, tmp_path: Path
) -> None:
    run = Runs(backend, tmp_path)
    run([document(0)])
    rabbitmqctl(server, "set_disk_free_limit", "100000GB")
    try:
        with pytest.raises(UserError, match="cannot be used"):
            Runs(backend, tmp_path, timeout="1s", retries=0)([document(1)])
    finally:
        rabbitmqctl(server, "set_disk_free_limit", "1MB")

    assert run([document(1)]) == {}


@pytest.mark.parametrize("server", ["opensearch", "elasticsearch"], indirect=True)
def test_opensearch_that_is_short_of_disk_is_an_error(backend: IndexBackend, tmp_path: Path) -> None:
    run = Runs(backend, tmp_path, retries=0)
    run([document(0)])
    settings = f"{backend.settings['url'][0]}/{backend.settings['index']}/_settings"
    backends.asked(settings, {"index.blocks.read_only_allow_delete": True}, "PUT")

    with pytest.raises(UserError, match="disk usage exceeded flood-stage watermark"):
        run([document(1), document(2)])
    backends.asked(settings, {"index.blocks.read_only_allow_delete": None}, "PUT")

    assert run([document(1), document(2)]) == {}
    assert run.holds(*map(document, range(3)))


@pytest.mark.parametrize("server", ["solr", "kafka", "rabbitmq"], indirect=True)
def test_wrong_password_is_an_error_that_does_not_show_it(
    backend: IndexBackend, server: RunningServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings: dict[str, Any] = {"username": USER, "password": PASSWORD}
    if backend.writer == "solr":
        settings["url"] = f"http://127.0.0.1:{server.port}/solr/closed"
    if backend.writer == "kafka":
        settings["servers"] = [f"127.0.0.1:{server.login_port}"]
        settings["options"] = ["security.protocol=SASL_PLAINTEXT"]

    with pytest.raises(UserError, match=r"does not accept the user name|Authentication failed") as raised:
        Runs(backend, tmp_path, **{**settings, "password": WRONG})([document(1)])

    assert WRONG not in str(raised.value)
    assert capfd.readouterr() == ("", "")
    assert Runs(backend, tmp_path, **settings)([document(1)]) == {}


@pytest.mark.parametrize("server", ["rabbitmq"], indirect=True)
def test_messages_go_through_an_exchange(backend: IndexBackend, server: RunningServer, tmp_path: Path) -> None:
    exchange = {"exchange": f"exchange-{uuid4().hex}", "routing_key": "pages", "headers": ["source=crawl"]}

    with pytest.raises(UserError, match="no exchange"):
        Runs(backend, tmp_path, **exchange)([document(1)])
    run = Runs(backend, tmp_path, **exchange, bind=True)
    run([document(1)])
    with pytest.raises(UserError, match="no queue gets the messages"):
        Runs(backend, tmp_path, **{**exchange, "routing_key": "unknown"})([document(2)])

    assert run.holds(document(1))


@pytest.mark.parametrize("server", ["opensearch"], indirect=True)
def test_bad_name_of_an_index_is_an_error(backend: IndexBackend, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="must be lowercase"):
        Runs(backend, tmp_path, index="Pages")([document(1)])


@pytest.mark.parametrize("server", ["solr"], indirect=True)
def test_unknown_collection_of_solr_is_an_error(backend: IndexBackend, server: RunningServer, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such Solr collection"):
        Runs(backend, tmp_path, url=f"http://127.0.0.1:{server.port}/solr/nothing")([document(1)])
