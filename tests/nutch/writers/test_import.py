"""Importing Nutch's index-writers.xml and exchanges.xml."""

from __future__ import annotations

import tempfile
import tomllib
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.document import Document
from scoter.core.expr import compile_expr
from scoter.errors import UsageError
from scoter.index.routes import ROUTE_COLUMNS, WriterPlan, plan_writers
from scoter.nutch.writers.routes import route_expression
from scoter.nutch.writers.writers import ImportedWriters, NutchFile, import_writers

DATA = Path(__file__).parent / "data"
WRITERS = NutchFile((DATA / "index-writers.xml").read_bytes(), "index-writers.xml")
EXCHANGES = NutchFile((DATA / "exchanges.xml").read_bytes(), "exchanges.xml")
NOW = datetime(2026, 11, 15, tzinfo=UTC)


def plan_of(imported: ImportedWriters) -> WriterPlan:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index-writers.toml"
        file.write_text(imported.toml_text, "utf-8")
        return plan_writers(imported.active, file)


def writer(kind: str = "solr.SolrIndexWriter", mapping: str = "", **parameters: str) -> ImportedWriters:
    params = "".join(
        f"<param name={quoteattr(name.replace('_', '.'))} value={quoteattr(value)}/>"
        for name, value in parameters.items()
    )
    xml = (
        f'<writers><writer id="one" class="org.apache.nutch.indexwriter.{kind}">'
        f"<parameters>{params}</parameters><mapping>{mapping}</mapping></writer></writers>"
    )
    return import_writers(NutchFile(xml.encode(), "index-writers.xml"), None, None)


def settings_of(imported: ImportedWriters) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(imported.toml_text)["writer"]["one"]
    return table


def test_writers_that_nutch_ships_are_translated() -> None:
    found = {entry.name: entry for entry in plan_of(import_writers(WRITERS, None, None)).writers}

    assert {name: (entry.type, entry.settings) for name, entry in found.items()} == {
        "indexer_solr_1": (
            "solr",
            {
                "url": "http://solr.example.org:8983/solr/pages",
                "bulk_documents": 1000,
                "username": "crawler",
                "password": "hunter2",
            },
        ),
        "indexer_rabbit_1": (
            "rabbitmq",
            {
                "url": "amqp://queue.example.org:5672/crawls",
                "username": "crawler",
                "password": "hunt@er2",
                "exchange": "pages",
                "queue": "nutch.queue",
                "routing_key": "documents",
                "bind": True,
                "headers": ["source=crawl", "kind=web"],
            },
        ),
        "indexer_dummy_1": ("dummy", {}),
        "indexer_csv_1": (
            "csv",
            {
                "fields": ["id", "title", "content"],
                "charset": "UTF-8",
                "separator": ";",
                "valuesep": "|",
                "quotechar": '"',
                "maxfieldlength": 4096,
                "maxfieldvalues": 12,
                "header": False,
                "folder": "csvindexwriter",
            },
        ),
        "indexer_elastic_1": (
            "elasticsearch",
            {
                "url": ["https://es1.example.org:9200", "https://es2.example.org:9200"],
                "index": "nutch",
                "bulk_documents": 250,
                "bulk_size": "2500500B",
                "retries": 10,
            },
        ),
        "indexer_opensearch_1": (
            "opensearch",
            {"url": ["https://localhost:9200"], "index": "nutch", "username": "admin", "password": "hunter2"},
        ),
        "indexer_kafka_1": ("kafka", {"servers": ["kafka.example.org:9092"], "topic": "pages"}),
    }


def test_mapping_does_what_nutch_does() -> None:
    found = {entry.name: entry for entry in plan_of(import_writers(WRITERS, None, None)).writers}
    document = Document(id="a", boost=2.0).with_fields(
        {"title": ["Seals"], "content": ["Text"], "metatag.description": ["About"], "segment": ["1"], "boost": [2.0]}
    )

    assert found["indexer_solr_1"].mapping.apply(document).fields == {
        "title": ("Seals",),
        "content": ("Text",),
        "search": ("Text", "Seals"),
        "description": ("About",),
        "boost": (2.0,),
        "rank": (2.0,),
    }


def test_what_has_no_counterpart_is_listed_without_secrets() -> None:
    imported = import_writers(WRITERS, None, None)

    assert [(row.nutch, row.nutch_value, row.reason) for row in imported.untranslated] == [
        (
            "indexer_solr_1: url",
            "http://solr.example.org:8983/solr/,http://other.example.org:8983/solr/",
            "only the first address is used",
        ),
        ("indexer_rabbit_1: commit.mode", "multiple", "each message holds one document"),
        ("indexer_rabbit_1: commit.size", "250", "each message holds one document"),
        ("indexer_rabbit_1: headers.dynamic", "host", "headers are constant"),
        (
            "indexer_dummy_1: path",
            "./dummy-index.txt",
            "there is a file for each run, in documents-txt in the crawl directory; see folder",
        ),
        ("indexer_elastic_1: bulk.close.timeout", "900", "each request has a time limit: timeout"),
        (
            "indexer_opensearch_1: bulk_documents",
            "many",
            "not valid for bulk_documents, which accepts a whole number from 1, such as 250",
        ),
        (
            "indexer_opensearch_1: trust.store.path",
            "/etc/trust.jks",
            "convert the certificates to PEM and set ca_file",
        ),
        ("indexer_opensearch_1: trust.store.password", "(hidden)", "convert the certificates to PEM and set ca_file"),
        (
            "indexer_cloud_search_1",
            "org.apache.nutch.indexwriter.cloudsearch.CloudSearchIndexWriter",
            "there is no such index writer",
        ),
        ("ours", "com.example.OurIndexWriter", "there is no such index writer"),
    ]
    assert all(f"# {row.nutch} = {row.nutch_value}: " in imported.toml_text for row in imported.untranslated)
    assert not any("hunter2" in str(row) for row in (*imported.translated, *imported.untranslated))


def test_only_writers_of_active_plugins_are_active() -> None:
    imported = import_writers(WRITERS, None, frozenset(("indexer-solr", "indexer-csv")))

    assert imported.active == ("indexer_solr_1", "indexer_csv_1")
    assert "inactive, because plugin.includes is without indexer-kafka" in imported.toml_text


def test_exchanges_become_routes() -> None:
    plugins = frozenset(("indexer-solr", "indexer-csv", "exchange-jexl"))
    imported = import_writers(WRITERS, EXCHANGES, plugins)
    plan = plan_of(imported)

    def goes_to(host: str) -> set[str]:
        return set(plan.writers_of(Document(id="a").with_fields(host=[host]), NOW))

    assert goes_to("example.org") == {"indexer_solr_1"}
    assert goes_to("other.org") == {"indexer_csv_1"}
    left = {(row.nutch, row.nutch_value): row.reason for row in imported.untranslated}
    assert left["exchange_jexl_1", "indexer_cloud_search_1"] == "not an active writer"
    assert left["exchange_jexl_2", "doc.getField('type').getValues().contains('application/pdf')"] == (
        "getField has no counterpart; only doc.getFieldValue('field') has"
    )
    assert left["ours", "com.example.OurExchange"] == "a custom class; write the rule as a [[route]]"
    assert "# exchange_jexl_2: doc.getField('type')" in imported.toml_text


def test_exchanges_of_an_inactive_plugin_are_listed() -> None:
    imported = import_writers(WRITERS, EXCHANGES, frozenset(("indexer-solr",)))

    assert plan_of(imported).routes == ()
    assert "without exchange-jexl" in imported.toml_text


@pytest.mark.parametrize(
    ("jexl", "expr"),
    [
        ("doc.getFieldValue('host')=='example.org'", "host == 'example.org'"),
        ('doc.getFieldValue("lang") eq "en"', "lang == 'en'"),
        ("!(doc.getFieldValue('lang') == 'en')", "! ( lang == 'en' )"),
        ("doc.getFieldValue('tag') != null", 'doc["tag"] != null'),
        ("doc.getFieldValue('title') =~ '.*seal.*'", "title =~ '^(?:.*seal.*)$'"),
        ("doc.getFieldValue('title') !~ 'seal'", "not (title =~ '^(?:seal)$')"),
        ("doc.getFieldValue('title').matches('a|b')", "(title =~ '^(?:a|b)$')"),
        ("doc.getFieldValue('title').toLowerCase().contains('it\\'s')", "contains(lower(title), 'it\\'s')"),
        ("doc.getFieldValue('url').startsWith('https:') and true", "startswith(url, 'https:') and true"),
        ("doc.getFieldValue('url').endsWith('.pdf') || false", "endswith(url, '.pdf') || false"),
        ("doc.getFieldValue('host').equals('a.org')", "(host == 'a.org')"),
        ("doc.getFieldValue('contentLength') > 1000", "contentLength > 1000"),
        ("doc.getFieldValue('boost') ge 0.5", "boost >= 0.5"),
        ("doc.getFieldValue('title').length() < 5", "length(title) < 5"),
    ],
)
def test_jexl_is_translated(jexl: str, expr: str) -> None:
    assert route_expression(jexl) == expr


@pytest.mark.parametrize(
    ("jexl", "reason"),
    [
        ("", "cannot be translated"),
        ("doc", "ends too early"),
        ("doc.weight > 3", "weight has no counterpart"),
        ("doc.getFieldValue(name) == 'a'", "needs the name of a field"),
        ("doc.getFieldValue('a').hashCode() == 3", "the method hashCode"),
        ("size(doc.getFieldValue('a')) > 1", "size has no counterpart"),
        ("new('java.lang.Runtime').exit(0)", "new has no counterpart"),
        ("doc.getFieldValue('a') =~ pattern", "a pattern must be a string"),
        ("doc.getFieldValue('a') == `x`", "` has no counterpart"),
        ("'a'.isEmpty()", "methods have no counterpart"),
        ("doc.getFieldValue('a') == ", "cannot be translated"),
        ("doc.getFieldValue('boost') == 'high'", "cannot be translated"),
        ("doc.getFieldValue('title') =~ '('", "cannot be translated"),
        ("x" * 20_000, "longer than"),
    ],
)
def test_jexl_without_counterpart_says_why(jexl: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        route_expression(jexl)


@given(st.text(alphabet="doc.getFilVau('\")=~!&|<> \\[]x0\n", max_size=80) | st.text(max_size=40))
def test_any_jexl_is_translated_or_refused(jexl: str) -> None:
    with suppress(ValueError):
        compile_expr(route_expression(jexl), ROUTE_COLUMNS)


def test_login_is_kept_only_if_nutch_used_it() -> None:
    login = {"url": "http://a.org/solr", "username": "me", "password": "x"}

    assert "username" not in settings_of(writer(auth="false", **login))
    assert settings_of(writer(auth="true", **login))["username"] == "me"


def test_password_in_an_address_is_not_listed() -> None:
    imported = writer(url="http://me:hunter2@a.org/solr, http://me:hunter2@b.org/solr")

    assert [row.nutch_value for row in imported.untranslated] == [
        "http://(hidden)@a.org/solr, http://(hidden)@b.org/solr"
    ]
    assert "hunter2" not in str(imported.translated)


@pytest.mark.parametrize(
    ("kind", "parameters", "reason"),
    [
        ("solr.SolrIndexWriter", {"type": "cloud", "url": "zk1:2181,zk2:2181"}, "not of ZooKeeper"),
        ("csv.CSVIndexWriter", {"separator": "||"}, "separator must be one character"),
        ("rabbit.RabbitIndexWriter", {"server_uri": "amqp://a:99999/"}, "not an address"),
        ("elastic.ElasticIndexWriter", {"max_bulk_size": "10"}, "not valid for bulk_size"),
        ("kafka.KafkaIndexWriter", {"value_serializer": "com.example.Avro"}, "messages JSON"),
    ],
)
def test_parameters_that_do_not_fit_are_listed(kind: str, parameters: dict[str, str], reason: str) -> None:
    imported = writer(kind, **parameters)

    assert any(reason in row.reason for row in imported.untranslated)
    plan_of(imported)


def test_writers_need_an_id_of_their_own() -> None:
    one = '<writer id="a" class="org.apache.nutch.indexwriter.dummy.DummyIndexWriter"/>'
    nameless = one.replace('id="a"', "")
    imported = import_writers(NutchFile(f"<writers>{one}{one}{nameless}</writers>".encode(), "w.xml"), None, None)

    assert imported.active == ("a",)
    assert [row.reason for row in imported.untranslated] == ["needs an id of its own"] * 2


@pytest.mark.parametrize(
    ("xml", "told"),
    [
        ("<configuration/>", "w.xml:1: starts with <configuration> instead of <writers>"),
        ("<writers>", "w.xml:1:10: not well-formed XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><writers/>', "document type declarations are not allowed"),
        ("<writers>" + "<a>" * 50, "nested too deeply"),
        ("<writers>" + "<a/>" * 30_000 + "</writers>", "more than 20,000 elements"),
        ("<writers>" + " " * 2**22 + "</writers>", "larger than 4 MiB"),
    ],
)
def test_other_files_are_refused(xml: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        import_writers(NutchFile(xml.encode(), "w.xml"), None, None)

    assert told in str(caught.value)
    assert "index-writers.xml" in caught.value.hint


TEXT = st.text(max_size=12) | st.sampled_from(["indexer one", "a.b", "http://a.org/", "true", "12", "a,b", "[x]\n"])


@given(name=TEXT, parameters=st.dictionaries(st.sampled_from(["url", "host", "port", "collection", "index"]), TEXT))
def test_any_writer_gives_a_file_that_loads(name: str, parameters: dict[str, str]) -> None:
    params = "".join(f"<param name='{key}' value={quoteattr(value)}/>" for key, value in parameters.items())
    for kind in ("solr.SolrIndexWriter", "elastic.ElasticIndexWriter", "kafka.KafkaIndexWriter"):
        xml = f"<writers><writer id={quoteattr(name)} class='org.apache.nutch.indexwriter.{kind}'>"
        xml += f"<parameters>{params}</parameters></writer></writers>"
        try:
            imported = import_writers(NutchFile(xml.encode("utf-8", "surrogatepass"), "w\n.xml"), None, None)
        except UsageError:
            return  # a character that XML cannot contain
        plan_of(imported)
