"""Index writers for OpenSearch and Elasticsearch, which share the bulk interface, and for Solr.

Documents are sent in requests of bounded size. A document that the server refuses is reported, and the rest are
written. Documents that it has no room for at the moment are sent again after a pause.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from scoter.config import Setting
from scoter.core.document import Document, RejectedDocument
from scoter.errors import UserError
from scoter.index.writers.connection import ServerConnection, ServerReply, ServerSettings, reason_of
from scoter.index.writers.files import json_fields
from scoter.plugins import IndexRun, Setup

_TOO_LARGE: Final = 413
_FULL: Final = frozenset((429, 503))
_BLOCKED: Final = "cluster_block_exception"
_EXISTS: Final = "resource_already_exists_exception"
_LONGEST_ID: Final = 512
_NEWLINE_JSON: Final = "application/x-ndjson"
_BULK: Final = "/_bulk?filter_path=errors,items.*.status,items.*.error"
_ENCODER: Final = msgspec.json.Encoder()


class Operation(Struct, frozen=True):
    """A document to write or an id to delete, as the server gets it."""

    id: str
    data: bytes


class _Writer:
    """What the writers of search servers share: the connection, and requests of bounded size."""

    def __init__(self, setup: Setup, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings: Any = setup.settings
        self._sleep = sleep
        self._connection: ServerConnection | None = None

    @property
    def plugin(self) -> str:
        """The full name of the plug-in."""
        return f"indexwriter-{type(self).__name__.removesuffix('IndexWriter').lower()}"

    @property
    def connection(self) -> ServerConnection:
        """The connection, which is open between ``open`` and ``close``."""
        if self._connection is None:
            self._connection = ServerConnection(
                self.plugin,
                self._addresses(),
                self.settings,
                authorization=self._authorization(),
                sleep=self._sleep,
            )
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _addresses(self) -> Sequence[str]:
        raise NotImplementedError

    def _authorization(self) -> str:
        return ""

    def _requests(self, operations: Iterable[Operation]) -> Iterator[list[Operation]]:
        """Group operations into requests of bounded size."""
        most, largest = self.settings.bulk_documents, int(self.settings.bulk_size)
        part: list[Operation] = []
        size = 0
        for each in operations:
            if part and (size + len(each.data) > largest or len(part) == most):
                yield part
                part, size = [], 0
            part.append(each)
            size += len(each.data)
        if part:
            yield part


class OpensearchSettings(ServerSettings, frozen=True):
    """The server, the index, and how to log in."""

    url: Annotated[
        tuple[str, ...], Setting("Addresses of the server's nodes.", example='["https://search.example.org:9200"]')
    ] = ("http://localhost:9200",)
    index: Annotated[str, Setting("Name of the index; it is created if it does not exist.")] = "scoter"


class OpensearchIndexWriter(_Writer):
    """Writes documents to OpenSearch."""

    Settings: type[Struct] = OpensearchSettings

    def open(self, run: IndexRun) -> None:
        reply = self.connection.probe("HEAD", self._index)
        if reply.status == 404:
            # Fields get their types from the first document: texts, numbers, and times by their form.
            reply = self.connection.request("PUT", self._index)
            if isinstance(reply.error, Mapping) and reply.error.get("type") == _EXISTS:
                return
        if not reply.ok:
            raise self._refused(reply)

    def write(self, documents: Sequence[Document]) -> Sequence[RejectedDocument]:
        operations = (
            Operation(each.id, _lines({"index": {"_id": document_id(each.id)}}, server_fields(each)))
            for each in documents
        )
        return [rejected for part in self._requests(operations) for rejected in self._bulk(part)]

    def delete(self, ids: Sequence[str]) -> None:
        operations = (Operation(each, _lines({"delete": {"_id": document_id(each)}})) for each in ids)
        for part in self._requests(operations):
            for failed in self._bulk(part):
                raise self.connection.unusable(f"cannot delete {failed.id}: {failed.reason}")

    def commit(self) -> Sequence[RejectedDocument]:
        # Every bulk request is durable when it is answered; a refresh makes documents visible.
        reply = self.connection.request("POST", f"{self._index}/_refresh")
        if not reply.ok:
            raise self._refused(reply)
        return ()

    def _addresses(self) -> Sequence[str]:
        return self.settings.url  # type: ignore[no-any-return]

    @property
    def _index(self) -> str:
        return f"/{quote(self.settings.index, safe='')}"

    def _refused(self, reply: ServerReply) -> UserError:
        hint = f"See index in [plugin.{self.plugin}]." if reply.status in (400, 404) else ""
        return UserError(f"the server refused a request ({reply.reason})", where=self.connection.where, hint=hint)

    def _bulk(self, operations: Sequence[Operation]) -> list[RejectedDocument]:
        rejected: list[RejectedDocument] = []
        pauses = self.connection.pauses()
        while operations:
            reply = self.connection.request(
                "POST", self._index + _BULK, b"".join(each.data for each in operations), _NEWLINE_JSON
            )
            if reply.status == _TOO_LARGE:
                if len(operations) == 1:
                    return [*rejected, RejectedDocument(operations[0].id, reply.reason)]
                middle = len(operations) // 2
                return rejected + self._bulk(operations[:middle]) + self._bulk(operations[middle:])
            results = self._results(reply, operations)
            waiting = [(each, result) for each, result in results if result.get("status") in _FULL]
            for each, result in results:
                error = result.get("error")
                if isinstance(error, Mapping) and error.get("type") == _BLOCKED and result.get("status") not in _FULL:
                    raise self.connection.unusable(reason_of(error))
                if error and result.get("status") not in _FULL:
                    rejected.append(RejectedDocument(each.id, reason_of(error)))
            if waiting and not pauses.wait():
                _, result = waiting[0]
                raise self.connection.unusable(reason_of(result.get("error") or f"HTTP {result['status']}"))
            operations = [each for each, _ in waiting]
        return rejected

    def _results(
        self, reply: ServerReply, operations: Sequence[Operation]
    ) -> list[tuple[Operation, Mapping[str, Any]]]:
        """Return what the server says about each operation."""
        if not reply.ok:
            raise self._refused(reply)
        told = reply.json()
        try:
            results = [next(iter(item.values())) for item in told["items"]]
            if len(results) == len(operations) and all(isinstance(each.get("status"), int) for each in results):
                return list(zip(operations, results, strict=True))
        except (TypeError, KeyError, AttributeError, StopIteration):
            pass
        raise UserError(
            "the response is not that of a search server",
            where=self.connection.where,
            hint=f"See plugin.{self.plugin}.url.",
        )


class ElasticsearchSettings(OpensearchSettings, frozen=True):
    """The server, the index, and how to log in."""

    api_key: Annotated[str, Setting("API key, encoded, instead of user name and password.", secret=True)] = ""


class ElasticsearchIndexWriter(OpensearchIndexWriter):
    """Writes documents to Elasticsearch."""

    Settings = ElasticsearchSettings

    def _authorization(self) -> str:
        return f"ApiKey {self.settings.api_key}" if self.settings.api_key else ""


class SolrSettings(ServerSettings, frozen=True, kw_only=True):
    """The collection, and how to log in."""

    url: Annotated[str, Setting("Address of the collection or core.", example='"http://localhost:8983/solr/pages"')]


class SolrIndexWriter(_Writer):
    """Writes documents to Solr."""

    Settings = SolrSettings

    def open(self, run: IndexRun) -> None:
        reply = self.connection.probe("POST", "/update", b"[]")
        if not reply.ok:
            raise self._refused(reply)

    def write(self, documents: Sequence[Document]) -> Sequence[RejectedDocument]:
        operations = (Operation(each.id, _ENCODER.encode(server_fields(each))) for each in documents)
        rejected: list[RejectedDocument] = []
        for part in self._requests(operations):
            refused = self._added(part)
            broken = [reply for _, reply in refused if reply.status >= 500]
            if len(part) > 1 and len(broken) == len(part):
                raise self.connection.unusable(broken[0].reason)
            rejected += [RejectedDocument(each.id, reply.reason) for each, reply in refused]
        return rejected

    def delete(self, ids: Sequence[str]) -> None:
        # However many ids there are: the list is small.
        reply = self.connection.request("POST", "/update", _ENCODER.encode({"delete": list(ids)}))
        if not reply.ok:
            raise self._refused(reply)

    def commit(self) -> Sequence[RejectedDocument]:
        reply = self.connection.request("POST", "/update", b'{"commit": {}}')
        if not reply.ok:
            raise self._refused(reply)
        return ()

    def _addresses(self) -> Sequence[str]:
        return (self.settings.url,)

    def _added(self, operations: Sequence[Operation]) -> list[tuple[Operation, ServerReply]]:
        """Add documents; if Solr refuses a request, find the documents that are to blame by halving it."""
        body = b"[%b]" % b",".join(each.data for each in operations)
        reply = self.connection.request("POST", "/update", body)
        if reply.ok:
            return []
        if reply.status == 404:
            raise self._refused(reply)
        if len(operations) == 1:
            return [(operations[0], reply)]
        middle = len(operations) // 2
        return self._added(operations[:middle]) + self._added(operations[middle:])

    def _refused(self, reply: ServerReply) -> UserError:
        where = self.connection.where
        if reply.status == 404:
            hint = f"Create it, or change plugin.{self.plugin}.url."
            return UserError("there is no such Solr collection", where=where, hint=hint)
        return UserError(f"the server refused a request ({reply.reason})", where=where)


def document_id(url: str) -> str:
    """Return the id of a document in OpenSearch and Elasticsearch, which allow 512 bytes.

    >>> document_id("http://a.org/"), len(document_id("http://a.org/" + "x" * 600))
    ('http://a.org/', 512)
    """
    if len(url.encode()) <= _LONGEST_ID:
        return url
    digest = hashlib.sha256(url.encode()).hexdigest()
    start = url.encode()[: _LONGEST_ID - len(digest) - 1].decode(errors="ignore")
    return f"{start}#{digest}"


def server_fields(document: Document) -> Mapping[str, Any]:
    """Return a document as search servers get it: times with a Z and milliseconds, which every server parses."""
    return {name: _json_value(value) for name, value in json_fields(document).items()}


def _json_value(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case list():
            return [_json_value(each) for each in value]
        case _:
            return value


def _lines(*parts: Any) -> bytes:
    return b"".join(_ENCODER.encode(part) + b"\n" for part in parts)
