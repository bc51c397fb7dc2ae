from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.config import load
from scoter.errors import UsageError
from scoter.nutch.settings.translation import Imported, import_nutch
from scoter.plugins import installed

SITE = Path(__file__).parents[1] / "data" / "nutch-site.xml"


def _imported(**properties: str) -> Imported:
    items = "".join(
        f"<property><name>{name.replace('_', '.')}</name><value>{value}</value></property>"
        for name, value in properties.items()
    )
    return import_nutch(f"<configuration>{items}</configuration>", "site.xml")


def test_real_site_file_becomes_a_loadable_configuration(tmp_path: Path) -> None:
    imported = import_nutch(SITE.read_bytes(), "nutch-site.xml")
    file = tmp_path / "scoter.toml"
    file.write_text(imported.toml_text)

    config = load(file)

    assert config.agent.name == "examplebot"
    assert config.agent.description == 'The "example" crawler & friends'
    assert config.fetch.delay.total_seconds() == 1.5
    assert config.fetch.queue_mode == "domain"
    assert config.fetch.time_limit is not None
    assert config.fetch.time_limit.total_seconds() == 180 * 60
    assert config.fetch.content_limit is None
    assert config.fetch.bandwidth_target == 250_000
    assert config.http.robots_503_defer_visits_delay.total_seconds() == 300
    assert config.http.timeout.total_seconds() == 30
    assert config.generate.mark_age.days == 7
    assert config.generate.partition_mode == "domain"
    assert config.db.schedule == "adaptive"
    assert config.db.signature == "text-profile"
    assert config.db.max_outlinks_per_page is None
    assert config.link.analyze_damping_factor == 0.85
    assert config.parse.main_text
    assert config.parse.parsers == ("html", "text", "feed", "xml", "pdf", "office", "zip", "image")
    assert config.urlfilter.filters == ("domain", "regex", "validator")
    assert config.urlfilter.exemptions == ("ignoreexempt",)
    assert config.urlfilter.regex_file == tmp_path / "my-regex-urlfilter.txt"
    assert config.urlnormalizer.normalizers == ("pass", "regex", "basic")
    assert config.fetch.protocols == ("http",)
    assert config.scoring.filters == ("depth", "opic")
    assert config.index.filters == ("basic", "anchor", "more", "language")
    assert config.index.writers == ("solr",)
    assert config.index.static == ("source:my crawl", "kind:web")


def test_properties_without_counterpart_are_listed_with_reasons() -> None:
    imported = import_nutch(SITE.read_bytes(), "nutch-site.xml")

    left = {(row.nutch, row.nutch_value): row.reason for row in imported.untranslated}
    assert left == {
        ("plugin.includes", "my-own-plugin"): "unknown plug-in",
        ("mapreduce.task.timeout", "1800000"): "belongs to Hadoop, which Scoter does not use",
        ("solr.server.url", "http://solr.example:8983/"): ("belongs to an index writer; configure it in [plugin.NAME]"),
        ("index.jexl.filter", 'doc.lang == "en"'): "a JEXL expression; rewrite it as index.filter_expr",
        ("our.own.property", "1"): "unknown Nutch property",
        ("http.robots.redirect.max", "lots"): "not a number",
        ("http.proxy.port", "99999"): (
            'not valid for http.proxy_port, which accepts a whole number from 1 to 65535, or "auto", such as 10'
        ),
        ("hostdb.percentiles", "50,half"): "not a list of numbers",
        ("file.content.limit", "${not.set}"): "refers to ${not.set}, which this file does not set",
    }
    for name, _ in left:
        assert f"# {name} = " in imported.toml_text


@pytest.mark.parametrize(
    ("nutch", "value", "setting", "written"),
    [
        ("http.timeout", "300000", "http.timeout", '"5m"'),
        ("fetcher.server.delay", "0.1", "fetch.delay", '"100ms"'),
        ("fetcher.timelimit.mins", "-1", "fetch.time_limit", '"off"'),
        ("http.content.limit", "-7", "fetch.content_limit", '"off"'),
        ("fetcher.queue.mode", "byIP", "fetch.queue_mode", '"ip"'),
        ("generate.restrict.status", "db_unfetched", "generate.restrict_status", '"unfetched"'),
        ("generate.restrict.status", "", "generate.restrict_status", '"any"'),
        ("http.proxy.type", "SOCKS", "http.proxy_type", '"socks"'),
        ("fetcher.parse", " TRUE ", "fetch.parse", "true"),
        ("link.analyze.damping.factor", "0.85f", "link.analyze_damping_factor", "0.85"),
        ("http.robots.agents", "a, b\n c", "http.robots_agents", '["a", "b", "c"]'),
        ("http.robot.rules.whitelist", "a.example", "http.robot_rules_allowlist", '["a.example"]'),
        (
            "urlnormalizer.order",
            "org.apache.nutch.net.urlnormalizer.regex.RegexURLNormalizer com.example.Mine",
            "urlnormalizer.normalizers",
            '["regex"]',
        ),
        ("moreIndexingFilter.mapMimeTypes.field", "format", "index.more_map_mime_types_field", '"format"'),
        ("index.metadata.separator", ";", "index.metadata_separator", '";"'),
        ("subcollection.case.insensitive", "true", "index.subcollection_case_insensitive", "true"),
        ("urlnormalizer.regex.file.outlink", "o.xml", "urlnormalizer.regex_file_outlink", '"o.xml"'),
    ],
)
def test_value_is_translated_with_its_unit(nutch: str, value: str, setting: str, written: str) -> None:
    imported = _imported(**{nutch: value})

    assert [(row.setting, row.value) for row in imported.translated] == [(setting, written)]


@pytest.mark.parametrize(
    ("includes", "chain"),
    [
        ("urlfilter-(regex|validator)", ("regex", "validator")),
        ("urlfilter-regex|urlfilter-suffix|parse-html", ("regex", "suffix")),
        ("urlfilter-(?:d(omain|omaindenylist)|fast)", ("domain", "domaindenylist", "fast")),
        ("urlfilter-.*", ("regex", "automaton", "domaindenylist", "domain", "fast", "prefix", "suffix", "validator")),
    ],
)
def test_included_plugins_become_chains(includes: str, chain: tuple[str, ...]) -> None:
    rows = {row.setting: row.value for row in _imported(**{"plugin.includes": includes}).translated}

    assert sorted(rows["urlfilter.filters"].strip("[]").replace('"', "").split(", ")) == sorted(chain)


def test_automaton_rules_are_kept() -> None:
    imported = _imported(**{"plugin.includes": "urlfilter-automaton", "urlfilter.automaton.file": "rules.txt"})

    assert {row.setting: row.value for row in imported.translated} == {
        "urlfilter.filters": '["automaton"]',
        "urlfilter.automaton_file": '"rules.txt"',
    }


@pytest.mark.parametrize(
    "name",
    [
        "file.content.ignored",
        "ftp.server.timeout",
        "ftp.follow.talk",
        "any23.extractors",
        "any23.content_types",
        "index.static.fieldsep",
        "index.geoip.usage",
        "index.geoip.userid",
        "index.geoip.licensekey",
        "index.arbitrary.function.count",
        "screenshot.location",
        "mime.types.file",
    ],
)
def test_properties_of_the_default_file_are_recognised(name: str) -> None:
    (left,) = _imported(**{name: "1"}).untranslated

    assert left.reason != "unknown Nutch property"
    assert "not implemented" not in left.reason


def test_separators_of_constant_fields_are_used() -> None:
    imported = _imported(
        **{
            "index.static": "source=my crawl|other, kind=web;; ",
            "index.static.fieldsep": ";",
            "index.static.keysep": "=",
            "index.static.valuesep": "|",
        }
    )

    assert {row.setting: row.value for row in imported.translated} == {
        "index.static": '["source=my crawl|other, kind=web"]',
        "index.static_keysep": '"="',
        "index.static_valuesep": '"|"',
    }


@pytest.mark.parametrize("point", ["index-", "indexer-", "exchange-"])
def test_every_indexing_plugin_of_nutch_is_translated_or_listed(point: str) -> None:
    rows = _imported(**{"plugin.includes": f"{point}.*"})
    installed_names = {plugin.name for plugin in installed()}

    assert all("not implemented" not in row.reason for row in rows.untranslated)
    for row in rows.translated:
        assert set(json.loads(row.value)) <= installed_names


def test_scoring_filters_are_translated() -> None:
    imported = _imported(**{"plugin.includes": "scoring-(opic|depth|link|metadata|orphan|similarity)|urlmeta"})

    assert [(row.setting, row.value) for row in imported.translated] == [
        ("scoring.filters", '["opic", "depth", "link", "metadata", "orphan", "similarity", "urlmeta"]'),
        ("index.filters", '["urlmeta"]'),
    ]
    assert not imported.untranslated


def test_excluded_plugins_are_not_in_the_chains() -> None:
    imported = _imported(**{"plugin.includes": "urlfilter-(regex|fast)", "plugin.excludes": "urlfilter-f.*"})

    assert [row.value for row in imported.translated] == ['["regex"]']


@pytest.mark.parametrize("includes", ["(" * 5_000, "(a|b)" * 2_000, "((a+)+)+$", "a|" * 4_000, "x" * 50_000])
def test_complex_plugin_expression_is_listed_in_bounded_time(includes: str) -> None:
    imported = _imported(**{"plugin.includes": includes})

    assert not imported.translated
    assert 1 <= len(imported.untranslated) <= 600


def test_references_are_expanded_unless_circular_or_too_many() -> None:
    imported = _imported(
        **{
            "fetcher.server.delay": "${my.delay}",
            "my.delay": "${their.delay}",
            "their.delay": "2",
            "fetcher.min.crawl.delay": "${fetcher.server.delay}",
            "http.agent.name": "${http.agent.name}",
            "http.agent.email": "${x}${x}",
            "x": "${y}" * 2_000,
            "y": "z" * 60_000,
        }
    )

    done = {row.setting: row.value for row in imported.translated}
    left = {row.nutch: row.reason for row in imported.untranslated}
    assert done == {"fetch.delay": '"2s"', "fetch.min_crawl_delay": ""}
    assert left["http.agent.name"] == "its references are circular or too many"
    assert left["http.agent.email"] == "too long after expanding its references"


def test_last_property_with_a_name_wins() -> None:
    xml = (
        "<configuration><property><name>http.redirect.max</name><value>1</value></property>"
        "<property><name>http.redirect.max</name><value>2</value><final>true</final></property></configuration>"
    )

    assert [row.value for row in import_nutch(xml, "site.xml").translated] == ["2"]


def test_password_is_written_but_not_listed() -> None:
    imported = _imported(**{"http.proxy.password": "hush"})

    assert 'proxy_password = "hush"' in imported.toml_text
    assert [row.nutch_value for row in imported.translated] == ["(hidden)"]


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><configuration>&b;</configuration>'


@pytest.mark.parametrize(
    ("xml", "told"),
    [
        (BOMB, "site.xml:1: document type declarations are not allowed"),
        ("<html/>", "site.xml:1: starts with <html> instead of <configuration>"),
        ("<configuration>\n<property></configuration>", "site.xml:2:13: not well-formed XML: mismatched tag"),
        ("", "site.xml:1:1: not well-formed XML: no element found"),
        ("fetch.delay = 5", "site.xml:1:1: not well-formed XML: syntax error"),
        ("<configuration>&lol;</configuration>", "site.xml:1:16: not well-formed XML: undefined entity"),
        ("<configuration>" + "<a>" * 50, "site.xml:1: nested too deeply"),
        ("<configuration>" + " " * 2**22, "site.xml: larger than 4 MiB"),
        (b"<?xml version='1.0' encoding='martian'?><configuration/>", "site.xml: cannot read as XML"),
        ("<configuration>\ud800</configuration>", "site.xml: cannot read as XML"),
        ("<configuration>" + "<property><name>a</name></property>" * 10_001, "site.xml:1: more than 10,000 properties"),
    ],
)
def test_other_files_are_rejected(xml: str | bytes, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        import_nutch(xml, "site.xml")

    assert str(caught.value).startswith(told)
    assert caught.value.hint == "Pass a file such as Nutch's conf/nutch-site.xml."


def test_site_file_in_another_encoding_is_read() -> None:
    xml = (
        "<?xml version='1.0' encoding='ISO-8859-1'?><configuration><property><name>http.agent.description</name>"
        "<value>café</value></property></configuration>"
    )

    [row] = import_nutch(xml.encode("latin-1"), "site.xml").translated

    assert row.value == '"café"'


NAMES = ["http.agent.name", "fetcher.server.delay", "urlfilter.order", "plugin.includes", "db.signature.class"]


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=10), st.text(max_size=40), max_size=5))
def test_translation_of_any_site_file_loads(properties: dict[str, str]) -> None:
    import tempfile
    from xml.sax.saxutils import escape

    items = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    )
    try:
        imported = import_nutch(f"<configuration>{items}</configuration>", "site\n.xml")
    except UsageError:
        return  # a character that XML cannot contain

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scoter.toml"
        file.write_text(imported.toml_text, encoding="utf-8")
        load(file)


@pytest.mark.parametrize(("given", "longest", "what"), [("30", 30, "skip"), ("7", 7, "skip"), ("-1", None, "wait")])
def test_import_skips_hosts_with_a_long_crawl_delay_as_nutch_does(
    given: str, longest: int | None, what: str, tmp_path: Path
) -> None:
    file = tmp_path / "scoter.toml"
    file.write_text(_imported(**{"fetcher.max.crawl.delay": given}).toml_text)

    fetch = load(file).fetch

    assert fetch.max_crawl_delay == (None if longest is None else timedelta(seconds=longest))
    assert fetch.long_crawl_delay == what


def test_import_without_a_longest_crawl_delay_skips_as_nutch_does_by_default(tmp_path: Path) -> None:
    file = tmp_path / "scoter.toml"
    file.write_text(_imported(**{"http.agent.name": "bot"}).toml_text)

    assert load(file).fetch.long_crawl_delay == "skip"
