"""The indexes under test: how each is configured, and what documents it holds.

Local ones need nothing. The others are real servers (``tests/servers``), which run only with ``make test-indexes``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import uuid4

import pyarrow.parquet as pq
from tests.servers.running import PASSWORD, USER, RunningServer

from scoter.config import load
from scoter.core.document import Document
from scoter.index.delivery import DocumentDelivery
from scoter.index.routes import plan_writers
from scoter.index.text_index import TextIndex
from scoter.plugins import IndexRun

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
SERVERS = {
    "opensearch": "opensearch",
    "elasticsearch": "opensearch",
    "solr": "solr",
    "kafka": "kafka",
    "rabbitmq": "rabbitmq",
}
"""The writers of servers, and the server that each is tested with."""
Held = dict[str, dict[str, list[str]]]
"""Documents by id: the title and the content of each, as lists of texts."""
SHOWN = ("title", "content")


class IndexBackend:
    """An index that a test may fill."""

    def __init__(self, writer: str, settings: Mapping[str, Any], read: Callable[[], Held], **traits: Any) -> None:
        self.writer = writer
        self.settings = settings
        self.read = read
        self.has_fields: bool = traits.get("has_fields", True)
        self.is_atomic: bool = traits.get("is_atomic", False)
        """Whether nothing of a run that does not commit is kept."""


def local(name: str, folder: Path) -> IndexBackend:
    """Return an index in a crawl directory."""
    match name:
        case "tantivy":
            return IndexBackend(name, {}, partial(_tantivy, folder / "index"), is_atomic=True)
        case "csv":
            settings = {"fields": ["id", *SHOWN], "maxfieldlength": 2**24, "exact": True}
            return IndexBackend(name, settings, partial(_files, folder, "csv", _csv_rows), is_atomic=True)
        case "jsonl":
            return IndexBackend(name, {}, partial(_files, folder, "jsonl", _jsonl_rows), is_atomic=True)
        case "parquet":
            return IndexBackend(name, {}, partial(_files, folder, "parquet", _parquet_rows), is_atomic=True)
        case _:
            read = partial(_files, folder, "txt", _dummy_rows)
            return IndexBackend(name, {}, read, has_fields=False, is_atomic=True)


def document(number: int, title: str = "", **fields: Any) -> Document:
    texts = {"title": [title or f"Title {number}"], "content": [f"Text of page {number}"]}
    return Document(id=f"http://a.org/{number}", fields={"url": (f"http://a.org/{number}",)}).with_fields(
        {**texts, **fields}
    )


class Runs:
    """Runs of the delivery into one index."""

    def __init__(self, backend: IndexBackend, folder: Path, **settings: Any) -> None:
        self.backend = backend
        self.settings = {**backend.settings, **settings}
        self.folder = folder
        self.number = 0

    def __call__(
        self,
        documents: Iterable[Document] = (),
        delete: Iterable[str] = (),
        *,
        repeat: bool = False,
        rebuild: bool = False,
        commit: bool = True,
    ) -> dict[str, str]:
        """Deliver documents and deletions in a new run or the last one again; return what was rejected."""
        self.number += not repeat
        run = IndexRun(directory=self.folder, number=self.number, rebuild=rebuild)
        table = f"plugin.indexwriter-{self.backend.writer}"
        config = load(overrides=[f"{table}.{name}={json.dumps(value)}" for name, value in self.settings.items()])
        with DocumentDelivery(plan_writers((self.backend.writer,), None), config, run, NOW) as delivery:
            for each in delete:
                delivery.delete(each)
            for found in documents:
                delivery.add(found)
            if commit:
                delivery.commit()
            return delivery.rejected

    def holds(self, *documents: Document) -> bool:
        """Return whether the index has exactly these documents."""
        return self.held() == self.expected(documents)

    def held(self) -> Held:
        return self.backend.read()

    def expected(self, documents: Iterable[Document]) -> Held:
        if not self.backend.has_fields:
            return {each.id: {} for each in documents}
        return {each.id: {name: list(each.fields[name]) for name in SHOWN if name in each.fields} for each in documents}


def served(writer: str, server: RunningServer) -> IndexBackend:
    """Return a new index on a server."""
    match writer:
        case "solr":
            return solr(server.port)
        case "kafka":
            return kafka(server.port)
        case "rabbitmq":
            return rabbitmq(server.port)
        case _:
            return opensearch(writer, server.port)


def opensearch(writer: str, port: int) -> IndexBackend:
    """Return a new index of OpenSearch, written as if it were one of ``writer``."""
    index, address = f"pages-{uuid4().hex}", f"http://127.0.0.1:{port}"
    return IndexBackend(writer, {"url": [address], "index": index}, partial(_opensearch, f"{address}/{index}"))


def solr(port: int, core: str = "pages") -> IndexBackend:
    """Return an empty core of Solr."""
    address = f"http://127.0.0.1:{port}/solr/{core}"
    asked(f"{address}/update?commit=true", {"delete": {"query": "*:*"}})
    return IndexBackend("solr", {"url": address}, partial(_solr, address))


def kafka(port: int) -> IndexBackend:
    """Return a new topic of Kafka, folded into the documents that its messages leave."""
    topic = f"pages-{uuid4().hex}"
    settings = {"servers": [f"127.0.0.1:{port}"], "topic": topic}
    return IndexBackend("kafka", settings, lambda: _folded(kafka_messages(port, topic)))


def rabbitmq(port: int) -> IndexBackend:
    """Return a new queue of RabbitMQ, folded into the documents that its messages leave."""
    queue, messages = f"pages-{uuid4().hex}", list[Any]()

    def read() -> Held:
        messages.extend(rabbitmq_messages(port, queue))
        return _folded(messages)

    settings = {"url": f"amqp://127.0.0.1:{port}/", "queue": queue, "username": USER, "password": PASSWORD}
    return IndexBackend("rabbitmq", settings, read)


def kafka_messages(port: int, topic: str) -> list[Any]:
    """Return the messages of a topic from its start."""
    import confluent_kafka

    consumer = confluent_kafka.Consumer({"bootstrap.servers": f"127.0.0.1:{port}", "group.id": uuid4().hex})
    partition = confluent_kafka.TopicPartition(topic, 0, 0)
    found: list[Any] = []
    try:
        _, end = consumer.get_watermark_offsets(partition, timeout=30)
        consumer.assign([partition])
        while len(found) < end:
            found += [each for each in consumer.consume(min(1_000, end - len(found)), timeout=30) if not each.error()]
    finally:
        consumer.close()
    return [json.loads(each.value()) for each in found]


def rabbitmq_connection(port: int) -> Any:
    """Return an open connection."""
    import pika

    login = pika.PlainCredentials(USER, PASSWORD)
    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, credentials=login))


def rabbitmq_messages(port: int, queue: str) -> list[Any]:
    """Take the messages of a queue, which must be persistent."""
    found = []
    connection = rabbitmq_connection(port)
    channel = connection.channel()
    while True:
        method, properties, body = channel.basic_get(queue, auto_ack=True)
        if method is None:
            break
        assert properties.delivery_mode == 2
        found.append(json.loads(body))
    connection.close()
    return found


def _folded(messages: Iterable[Any]) -> Held:
    held: Held = {}
    for each in messages:
        if each["action"] == "delete":
            held.pop(each["id"], None)
        else:
            held.update(_held([each["document"]]))
    return held


def _held(rows: Iterable[Mapping[str, Any]]) -> Held:
    return {row["id"]: {name: _texts(row[name]) for name in SHOWN if row.get(name)} for row in rows}


def _texts(value: Any) -> list[str]:
    return list(value) if isinstance(value, list) else [value]


def _tantivy(folder: Path) -> Held:
    import tantivy

    if not (folder / "scoter.json").exists():
        return {}
    index = TextIndex.open(folder)
    searcher = index.index.searcher()
    hits = searcher.search(tantivy.Query.all_query(), max(1, searcher.num_docs)).hits
    found = [searcher.doc(address) for _, address in hits]
    rows = [
        {"id": each.get_first("id"), "title": index.shown_of(each).title, "content": index.text_of(each)}
        for each in found
    ]
    assert len({row["id"] for row in rows}) == len(rows)
    return _held(rows)


def _files(folder: Path, kind: str, read: Callable[[Path], Sequence[Mapping[str, Any]]]) -> Held:
    """Return what the files of all runs leave: in each run, deletions come first."""
    files = list((folder / f"documents-{kind}").glob("[!.]*"))
    held: Held = {}
    for file in sorted(files, key=lambda file: (file.stem.partition("-")[2], file.stem)):
        if file.stem.startswith("deleted"):
            for line in file.read_text("utf-8").splitlines():
                held.pop(line, None)
        else:
            held.update(_held(read(file)))
    return held


def _csv_rows(file: Path) -> list[dict[str, str]]:
    csv.field_size_limit(2**25)
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def _jsonl_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def _parquet_rows(file: Path) -> Any:
    return pq.read_table(file).to_pylist()


def _dummy_rows(file: Path) -> list[dict[str, str]]:
    return [{"id": line.removeprefix("add\t")} for line in file.read_text("utf-8").splitlines()]


def _opensearch(address: str) -> Held:
    found = asked(f"{address}/_search?size=10000")
    return _held(hit["_source"] for hit in found["hits"]["hits"])


def _solr(address: str) -> Held:
    return _held(asked(f"{address}/select?q=*:*&rows=10000")["response"]["docs"])


def asked(address: str, body: Any = None, method: str | None = None) -> Any:
    """Send JSON to a server and return its answer."""
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, data, {"Content-Type": "application/json"}, method=method), timeout=60) as reply:
        return json.load(reply)
