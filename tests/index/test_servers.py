"""The writers of search servers when the server is busy, full, slow, broken, or refuses documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any, Protocol
from unittest import mock

import pytest
from tests.fetch.certificates import Authority
from tests.index.fake_servers import Answer, Asked, FakeServer, fake_server, told
from tests.servers.running import free_port

from scoter.config import load, plugin_settings
from scoter.core.document import Document, RejectedDocument
from scoter.errors import ConfigError, UserError
from scoter.index.writers.servers import ElasticsearchIndexWriter, OpensearchIndexWriter, SolrIndexWriter
from scoter.plugins import IndexRun, Setup

RUN = IndexRun(directory=Path(), number=1)
PASSWORD = "hunter2"
WRITERS: dict[str, Any] = {
    "opensearch": OpensearchIndexWriter,
    "elasticsearch": ElasticsearchIndexWriter,
    "solr": SolrIndexWriter,
}
Rejected = list[RejectedDocument]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with fake_server() as fake:
        yield fake


@pytest.fixture(params=list(WRITERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Client:
    """A writer, and the pauses that it made."""

    def __init__(self, kind: str, urls: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.pauses: list[float] = []
        given = {"url": urls[0] if kind == "solr" else list(urls), "username": "crawler", "password": PASSWORD}
        overrides = [
            f"plugin.indexwriter-{kind}.{name}={json.dumps(value)}" for name, value in {**given, **settings}.items()
        ]
        config = load(overrides=overrides)
        found = plugin_settings(config, f"indexwriter-{kind}", WRITERS[kind].Settings)
        self.writer = WRITERS[kind](Setup(config, found), sleep=self.pauses.append)

    def write(self, *numbers: int, **fields: Any) -> Rejected:
        return list(self.writer.write([document(number, **fields) for number in numbers]))


class Connect(Protocol):
    def __call__(self, kind: str, *urls: str, **settings: Any) -> Client: ...


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Open writers; all are closed at the end."""
    opened: list[Client] = []

    def made(kind: str, *urls: str, **settings: Any) -> Client:
        opened.append(Client(kind, urls, settings))
        opened[-1].writer.open(RUN)
        return opened[-1]

    yield made
    for client in opened:
        client.writer.close()


def document(number: int, **fields: Any) -> Document:
    return Document(id=f"http://a.org/{number}").with_fields({"title": [f"Title {number}"], **fields})


def ids(*numbers: int) -> set[str]:
    return {f"http://a.org/{number}" for number in numbers}


def first(number: int, answer: Answer) -> Any:
    """Return a fault that answers the first so many updates."""
    left = [answer] * number

    def fault(asked: Asked) -> Answer | None:
        is_update = "_bulk" in asked.path or (asked.path.endswith("/update") and len(asked.body) > 2)
        return left.pop() if left and is_update else None

    return fault


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_busy_server_is_asked_again_with_growing_pauses(
    connect: Connect, server: FakeServer, kind: str, status: int
) -> None:
    client = connect(kind, server.url)
    server.fault = first(4, told(status, "busy"))

    assert client.write(1, 2) == []

    assert client.pauses == [1, 2, 4, 8]
    assert server.held.keys() == ids(1, 2)


def test_server_says_how_long_to_wait(connect: Connect, server: FakeServer, kind: str) -> None:
    client = connect(kind, server.url)
    server.fault = first(3, told(503, Retry_After="7"))

    client.write(1)
    assert client.pauses == [7, 7, 7]

    server.fault = first(3, told(503, Retry_After="86400"))
    client.write(1)
    assert client.pauses[3:] == [60, 60, 60]

    server.fault = first(1, told(503, Retry_After="Wed, 18 Nov 2026 10:00:00 GMT"))
    client.write(1)
    assert client.pauses[6:] == [1]


def test_server_that_stays_busy_is_an_error(connect: Connect, server: FakeServer, kind: str) -> None:
    client = connect(kind, server.url, retries=3)
    server.fault = first(99, told(429, "circuit breaker"))

    with pytest.raises(UserError, match="circuit breaker") as raised:
        client.write(1)

    assert client.pauses == [1, 2, 4]
    assert "continues where it stopped" in str(raised.value)


def test_server_that_cannot_be_reached_is_an_error_at_once(connect: Connect, kind: str) -> None:
    with pytest.raises(UserError, match="does not answer: Connection refused"):
        connect(kind, f"http://127.0.0.1:{free_port()}")
    with pytest.raises(UserError, match="does not answer"):
        connect(kind, "http://no-such-host.invalid")


def test_server_that_goes_away_is_waited_for(connect: Connect, kind: str) -> None:
    with fake_server() as server:
        client = connect(kind, server.url, retries=2)
        client.write(1)
        server.fault = lambda asked: Answer(closes=True)
        client.writer.delete(["http://b.org/"]) if kind == "solr" else client.writer.commit()

    with pytest.raises(UserError, match="cannot be used"):
        client.write(2)
    assert client.pauses == [1, 2]


def test_connection_that_the_server_closed_is_replaced_at_once(connect: Connect, server: FakeServer, kind: str) -> None:
    client = connect(kind, server.url)
    server.fault = lambda asked: Answer(closes=True) if b"commit" in asked.body or "_refresh" in asked.path else None
    client.writer.commit()

    assert client.write(1) == []

    assert client.pauses == []
    assert server.held.keys() == ids(1)


def test_another_node_is_used_if_one_does_not_answer(connect: Connect, server: FakeServer) -> None:
    client = connect("opensearch", f"http://127.0.0.1:{free_port()}", server.url)

    assert client.write(1) == []
    assert client.pauses == []
    assert server.held.keys() == ids(1)


def test_slow_server_is_an_error(connect: Connect, server: FakeServer, kind: str) -> None:
    end = Event()
    client = connect(kind, server.url, timeout="1s", retries=0)
    server.wait = end.wait  # type: ignore[assignment]

    with pytest.raises(UserError, match="cannot be used: timed out"):
        client.write(1)
    end.set()


def test_wrong_password_is_an_error(connect: Connect, server: FakeServer, kind: str) -> None:
    server.fault = lambda asked: told(401, "security_exception: missing credentials")

    with pytest.raises(UserError, match="does not accept the user name and password") as raised:
        connect(kind, server.url)

    assert f"[plugin.indexwriter-{kind}]" in str(raised.value)
    assert PASSWORD not in str(raised.value)
    assert server.asked[0].headers["Authorization"] == "Basic Y3Jhd2xlcjpodW50ZXIy"


def test_server_that_needs_a_password_says_so(connect: Connect, server: FakeServer, kind: str) -> None:
    server.fault = lambda asked: Answer(401)

    with pytest.raises(UserError, match="requires a user name and password"):
        connect(kind, server.url, username="")
    assert "Authorization" not in server.asked[0].headers


def test_api_key_is_sent_to_elasticsearch(connect: Connect, server: FakeServer) -> None:
    connect("elasticsearch", server.url, username="", api_key="c2VjcmV0")

    assert server.asked[0].headers["Authorization"] == "ApiKey c2VjcmV0"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (told(403, "no permissions for [indices:admin/create]"), "forbids it .HTTP 403: no permissions"),
        (Answer(301, headers={"Location": "https://example.org/"}), "redirects"),
        (told(400, "Invalid index name [Pages], must be lowercase"), "must be lowercase"),
        (Answer(500, b"<html>"), "HTTP 500"),
    ],
)
def test_server_that_refuses_the_first_request_is_an_error(
    connect: Connect, server: FakeServer, kind: str, answer: Answer, message: str
) -> None:
    # OpenSearch has no body in its answer to HEAD; the next request tells why.
    server.fault = lambda asked: Answer(404) if asked.method == "HEAD" and answer.status in (400, 403) else answer

    with pytest.raises(UserError, match=message):
        connect(kind, server.url, retries=0)


def test_missing_collection_of_solr_is_an_error(connect: Connect, server: FakeServer) -> None:
    server.fault = lambda asked: Answer(404, b"<html>Can not find</html>")

    with pytest.raises(UserError, match="no such Solr collection"):
        connect("solr", f"{server.url}/solr/pages")


def test_something_else_on_the_port_is_an_error(connect: Connect, server: FakeServer) -> None:
    client = connect("opensearch", server.url)
    server.fault = first(1, Answer(body=b"<html>Welcome</html>"))

    with pytest.raises(UserError, match="not that of a search server"):
        client.write(1)


def test_endless_response_is_an_error(connect: Connect, server: FakeServer, kind: str) -> None:
    client = connect(kind, server.url, retries=0)
    server.fault = first(1, Answer(body=b" " * 200_000))

    with (
        mock.patch("scoter.index.writers.connection._LARGEST_REPLY", 100_000),
        pytest.raises(UserError, match="too large"),
    ):
        client.write(1)


def test_refused_documents_are_reported_and_the_rest_written(connect: Connect, server: FakeServer, kind: str) -> None:
    bad = ids(3, 7)
    error = "failed to parse field [tstamp]"
    nested = {"type": "mapper_parsing_exception", "reason": error, "caused_by": {"reason": "For input string"}}
    server.judge = lambda operation, key: (400, error if kind == "solr" else nested) if key in bad else (200, None)

    rejected = connect(kind, server.url, bulk_documents=4).write(*range(10))

    assert {each.id for each in rejected} == bad
    assert all(error in each.reason for each in rejected)
    assert server.held.keys() == ids(*range(10)) - bad


def test_documents_that_a_server_has_no_room_for_are_sent_again(connect: Connect, server: FakeServer) -> None:
    client = connect("opensearch", server.url)
    full = {"type": "opensearch_rejected_execution_exception", "reason": "queue capacity"}
    tries: list[str] = []

    def judge(operation: str, key: str) -> tuple[int, Any]:
        tries.append(key)
        return (429, full) if key in ids(2, 4) and tries.count(key) < 3 else (201, None)

    server.judge = judge

    assert client.write(*range(6)) == []
    assert client.pauses == [1, 2]
    assert server.held.keys() == ids(*range(6))
    assert len(tries) == 6 + 2 + 2  # only those two again


@pytest.mark.parametrize("status", [429, 403])
def test_full_server_is_an_error_not_a_rejection(connect: Connect, server: FakeServer, status: int) -> None:
    reason = "index [scoter] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark]"
    server.judge = lambda operation, key: (status, {"type": "cluster_block_exception", "reason": reason})

    with pytest.raises(UserError, match="flood-stage watermark"):
        connect("opensearch", server.url, retries=2).write(1, 2)


def test_full_solr_is_an_error_not_a_rejection(connect: Connect, server: FakeServer) -> None:
    server.judge = lambda operation, key: (500, "No space left on device")

    with pytest.raises(UserError, match="No space left"):
        connect("solr", server.url).write(*range(8))


def test_document_that_breaks_solr_is_reported(connect: Connect, server: FakeServer) -> None:
    server.judge = lambda operation, key: (500, "NullPointerException") if key in ids(5) else (200, None)

    rejected = connect("solr", server.url).write(*range(8))

    assert [each.id for each in rejected] == [*ids(5)]
    assert server.held.keys() == ids(*range(8)) - ids(5)


def test_request_that_is_too_large_is_halved(connect: Connect, server: FakeServer, kind: str) -> None:
    client = connect(kind, server.url)
    server.fault = lambda asked: told(413, "too large") if len(asked.body) > 3_000 else None

    rejected = client.write(*range(8), content=["x" * 1_000]) + client.write(9, content=["x" * 5_000])

    assert [each.id for each in rejected] == [*ids(9)]
    assert "too large" in rejected[0].reason
    assert server.held.keys() == ids(*range(8))


def test_requests_are_bounded_by_size_and_number(connect: Connect, server: FakeServer, kind: str) -> None:
    client = connect(kind, server.url, bulk_size="64KiB", bulk_documents=10)
    server.asked.clear()

    client.write(*range(25))
    assert len(server.updates) == 3

    server.asked.clear()
    client.write(*range(8), content=["x" * 20_000])
    assert [len(each.body) < 65_536 for each in server.updates] == [True, True, True]


def test_deletion_that_is_refused_is_an_error(connect: Connect, server: FakeServer) -> None:
    client = connect("opensearch", server.url)
    client.write(1)
    server.judge = lambda operation, key: (400, {"reason": "no"})

    with pytest.raises(UserError, match=r"cannot delete http://a\.org/1: no"):
        client.writer.delete(["http://a.org/1"])


def test_times_and_lists_are_written_as_servers_expect(connect: Connect, server: FakeServer, kind: str) -> None:
    time = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)

    connect(kind, server.url).write(1, tstamp=[time], date=[time, time], type=["text/html", "text"], size=[3])

    assert server.held["http://a.org/1"] == {
        "id": "http://a.org/1",
        "title": "Title 1",
        "tstamp": "2026-11-15T12:30:00.000Z",
        "date": ["2026-11-15T12:30:00.000Z"] * 2,
        "type": ["text/html", "text"],
        "size": 3,
    }


@pytest.mark.parametrize(
    "url", ["localhost:9200", "ftp://a.org/", "http://", "http://a.org:99999/", "http://a.org/?x=1", "http://ä b/", ""]
)
def test_bad_address_is_refused(connect: Connect, kind: str, url: str) -> None:
    with pytest.raises(ConfigError, match=r"address of a server|without \?"):
        connect(kind, url)


def test_password_in_an_address_is_refused_and_not_shown(connect: Connect, kind: str) -> None:
    for url in (f"http://crawler:{PASSWORD}@a.org/", f"ftp://crawler:{PASSWORD}@a.org/"):
        with pytest.raises(ConfigError) as raised:
            connect(kind, url)
        assert PASSWORD not in str(raised.value)


def test_certificates_are_checked(connect: Connect, tmp_path: Path, kind: str) -> None:
    authority = Authority(tmp_path)
    with fake_server(authority.sign("good", "localhost")) as server:
        url = f"https://localhost:{server.port}"
        with pytest.raises(UserError, match="certificate is not valid"):
            connect(kind, url)

        assert connect(kind, url, ca_file=str(authority.files("ca")[0])).write(1) == []
        with pytest.raises(ConfigError, match="ca_file"):
            connect(kind, url, ca_file=str(tmp_path / "none.pem"))
