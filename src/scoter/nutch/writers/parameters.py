"""The parameters of Nutch's index writers, and the settings that they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

Settings = dict[str, Any]


class WriterParameters(dict[str, str]):
    """Parameters that remember which of them were read; ``notes`` are those that were translated in part, and why."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        super().__init__({name: value.strip() for name, value in parameters.items()})
        self.used: set[str] = set()
        self.notes: list[tuple[str, str]] = []

    def get(self, key: str, default: Any = "") -> Any:
        self.used.add(key)
        return super().get(key) or default


class WriterKind(Struct, frozen=True):
    """A writer of Nutch: ours, the id of its plug-in, and the function that translates its parameters.

    ``ignored`` are parameters that Scoter does not need, ``defaults`` those that need no mention if they have this
    value, and ``reasons`` says why others have no counterpart.
    """

    type: str
    plugin: str
    settings: Callable[[WriterParameters], Settings]
    ignored: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {}
    reasons: Mapping[str, str] = {}


def _solr(given: WriterParameters) -> Settings:
    addresses = listed(given.get("url", ""))
    if not addresses or not addresses[0].startswith(("http://", "https://")):
        raise ValueError("url must be the address of Solr, not of ZooKeeper; set it by hand")
    if len(addresses) > 1:
        given.notes.append(("url", "only the first address is used"))
    collection = given.get("collection", "")
    url = addresses[0].rstrip("/") + (f"/{collection}" if collection else "")
    settings: Settings = {"url": url, **_login(given)}
    if given.get("commitSize", ""):
        settings["bulk_documents"] = _number(given["commitSize"])
    return settings


def _search(given: WriterParameters) -> Settings:
    hosts, scheme, port = listed(given.get("host", "")), given.get("scheme", "http"), given.get("port", "9200")
    settings: Settings = {"url": [f"{scheme}://{host}:{port}" for host in hosts]} if hosts else {}
    numbers = {
        "bulk_documents": "max.bulk.docs",
        "bulk_size": "max.bulk.size",
        "retries": "exponential.backoff.retries",
    }
    settings |= {key: _number(given[name]) for key, name in numbers.items() if given.get(name, "")}
    if given.get("index", ""):
        settings["index"] = given["index"]
    return {**settings, **_login(given)}


def _csv(given: WriterParameters) -> Settings:
    settings: Settings = {"fields": listed(given.get("fields", ""))} if given.get("fields", "") else {}
    settings |= {key: given[key] for key in ("charset", "separator", "valuesep", "quotechar") if given.get(key, "")}
    settings |= {key: _number(given[key]) for key in ("maxfieldlength", "maxfieldvalues") if given.get(key, "")}
    if given.get("header", ""):
        settings["header"] = given["header"].lower() == "true"
    if given.get("outpath", ""):
        settings["folder"] = given["outpath"]
    for key in ("separator", "quotechar"):
        if len(settings.get(key, ",")) != 1:
            raise ValueError(f"{key} must be one character; set it by hand")
    return settings


def _kafka(given: WriterParameters) -> Settings:
    hosts, port = listed(given.get("host", "")), given.get("port", "9092")
    settings: Settings = {"servers": [f"{host}:{port}" for host in hosts]} if hosts else {}
    return settings | ({"topic": given["topic"]} if given.get("topic", "") else {})


def _rabbitmq(given: WriterParameters) -> Settings:
    try:
        address = urlsplit(given.get("server.uri", "amqp://localhost:5672/"))
        port = f":{address.port}" if address.port else ""
    except ValueError:
        raise ValueError("server.uri is not an address; set url by hand") from None
    settings: Settings = {"url": f"{address.scheme}://{address.hostname or 'localhost'}{port}{address.path}"}
    if address.username:
        settings |= {"username": unquote(address.username), "password": unquote(address.password or "")}
    names = {"exchange": "exchange.name", "queue": "queue.name", "routing_key": "routingkey"}
    settings |= {key: given[name] for key, name in names.items() if given.get(name, "")}
    if given.get("binding", "").lower() == "true":
        settings["bind"] = True
    if given.get("headers.static", ""):
        settings["headers"] = listed(given["headers.static"])
    return settings


def _login(given: WriterParameters) -> Settings:
    login = {"username": given.get("username", ""), "password": given.get("password", "")}
    return login if given.get("auth", "").lower() == "true" else {}


_SEARCH: Final[Mapping[str, Any]] = {
    "settings": _search,
    "defaults": {"exponential.backoff.millis": "100", "bulk.close.timeout": "600"},
    "reasons": {
        "exponential.backoff.millis": "the first pause is one second, or what the server asks for",
        "bulk.close.timeout": "each request has a time limit: timeout",
        **dict.fromkeys(
            ("trust.store.path", "trust.store.password", "trust.store.type"),
            "convert the certificates to PEM and set ca_file",
        ),
        **dict.fromkeys(
            ("key.store.path", "key.store.password", "key.store.type"), "client certificates are not supported"
        ),
        "options": "has no effect in Nutch either",
        "cluster": "the address is enough",
    },
}
WRITER_KINDS: Final[Mapping[str, WriterKind]] = {
    "SolrIndexWriter": WriterKind("solr", "indexer-solr", _solr, ignored=("type", "weight.field")),
    "ElasticIndexWriter": WriterKind("elasticsearch", "indexer-elastic", **_SEARCH),
    "OpenSearch1xIndexWriter": WriterKind("opensearch", "indexer-opensearch-1x", **_SEARCH),
    "CSVIndexWriter": WriterKind(
        "csv",
        "indexer-csv",
        _csv,
        defaults={"escapechar": '"'},
        reasons={"escapechar": "a quotation mark within quotes is doubled"},
    ),
    "KafkaIndexWriter": WriterKind(
        "kafka",
        "indexer-kafka",
        _kafka,
        ignored=("max.doc.count",),
        defaults={
            "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
            "value.serializer": "org.apache.kafka.connect.json.JsonSerializer",
        },
        reasons=dict.fromkeys(("key.serializer", "value.serializer"), "keys are texts and messages JSON"),
    ),
    "RabbitIndexWriter": WriterKind(
        "rabbitmq",
        "indexer-rabbit",
        _rabbitmq,
        defaults={
            "exchange.options": "type=direct,durable=true",
            "queue.options": "durable=true,exclusive=false,auto-delete=false",
            "commit.mode": "single",
        },
        reasons={
            "exchange.options": "an exchange that Scoter creates is direct and durable",
            "queue.options": "a queue that Scoter creates is durable",
            "commit.mode": "each message holds one document",
            "commit.size": "each message holds one document",
            "headers.dynamic": "headers are constant",
        },
    ),
    "DummyIndexWriter": WriterKind(
        "dummy",
        "indexer-dummy",
        lambda given: {},
        ignored=("delete",),
        reasons={"path": "there is a file for each run, in documents-txt in the crawl directory; see folder"},
    ),
}


def listed(text: str) -> list[str]:
    """Return the items of a list with commas."""
    return [item.strip() for item in text.split(",") if item.strip()]


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text
