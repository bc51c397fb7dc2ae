"""The built-in URL normalisers."""

from __future__ import annotations

from pathlib import Path

import pytest

from scoter.builtin import normalizers
from scoter.config import Config, load
from scoter.core.chain import normalize
from scoter.errors import ConfigError, RuleError
from scoter.plugins import Setup, UrlNormalizer, chain

_XML = "<regex-normalize><regex><pattern>{}</pattern><substitution>{}</substitution></regex></regex-normalize>"


def _config(tmp_path: Path, **files: str) -> Config:
    overrides = []
    for key, text in files.items():
        file = tmp_path / key
        file.write_text(text, encoding="utf-8")
        overrides.append(f"urlnormalizer.{key}={file}")
    return load(overrides=overrides)


def test_normalisers_read_the_files_in_their_settings(tmp_path: Path) -> None:
    config = _config(
        tmp_path,
        slash_file="a.example +\n",
        host_file="*.example.org example.org\n",
        protocols_file="a.example https\n",
    )
    links: list[tuple[str, UrlNormalizer]] = [
        ("host", normalizers.HostUrlNormalizer(Setup(config))),
        ("slash", normalizers.SlashUrlNormalizer(Setup(config))),
        ("protocol", normalizers.ProtocolUrlNormalizer(Setup(config))),
        ("querystring", normalizers.QuerystringUrlNormalizer(Setup(config))),
        ("basic", normalizers.BasicUrlNormalizer(Setup(config))),
        ("pass", normalizers.PassUrlNormalizer(Setup(config))),
    ]

    assert str(normalize("http://a.example/b?d&c", links, "default")) == "https://a.example/b/?c&d"
    assert str(normalize("http://x.example.org", links, "default")) == "http://example.org/"


def test_protocol_rules_can_be_in_the_configuration() -> None:
    config = load(overrides=['urlnormalizer.protocols_rules=["*.a.example https"]'])
    made = normalizers.ProtocolUrlNormalizer(Setup(config))

    assert made.normalize("http://a.example/", "default") == "https://a.example/"


def test_invalid_rule_in_the_configuration_is_reported_with_its_place() -> None:
    config = load(overrides=['urlnormalizer.protocols_rules=["a.example https", "b.example"]'])

    with pytest.raises(RuleError, match=r"^urlnormalizer\.protocols_rules:2: "):
        normalizers.ProtocolUrlNormalizer(Setup(config))


def test_regex_normaliser_has_rules_by_scope(tmp_path: Path) -> None:
    config = _config(tmp_path, regex_file=_XML.format("a", "b"), regex_file_inject=_XML.format("(.)a", "$1c"))
    made = normalizers.RegexUrlNormalizer(Setup(config))

    assert made.normalize("xa", "default") == "xb"
    assert made.normalize("xa", "outlink") == "xb"
    assert made.normalize("xa", "inject") == "xc"


def test_slow_patterns_and_timeouts_are_reported(tmp_path: Path) -> None:
    config = _config(tmp_path, regex_file_fetcher=_XML.format(r"(a+)+\1!", ""))
    made = normalizers.RegexUrlNormalizer(Setup(config))

    assert len(made.warnings) == 1
    assert "regex_file_fetcher:1: " in made.warnings[0]
    assert made.normalize("a" * 4_000, "fetcher") is None
    assert "gave up" in made.explain("a" * 4_000, "fetcher")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.example/b;jsessionid=01AF?c=1", "http://a.example/b?c=1"),
        ("http://a.example/?sid=1&b=2", "http://a.example/?b=2"),
        ("http://a.example/?b=2&PHPSESSID=1", "http://a.example/?b=2"),
        ("http://a.example/?utm_source=x&utm_medium=y", "http://a.example/"),
        ("http://a.example/?inside=1&&c&", "http://a.example/?inside=1&c"),
        ("http://a.example/b/index.html?c", "http://a.example/b/?c"),
        ("http://a.example/myindex.html", "http://a.example/myindex.html"),
        ("http://a.example//b///c?d=http://x//y", "http://a.example/b/c?d=http://x//y"),
    ],
)
def test_shipped_regex_normaliser_rules(text: str, expected: str) -> None:
    made = normalizers.RegexUrlNormalizer(Setup(Config()))

    assert made.normalize(text, "default") == expected
    assert made.normalize(expected, "default") == expected
    assert made.warnings == ()


def test_basic_trims_the_trailing_dot_if_configured() -> None:
    told = load(overrides=["urlnormalizer.basic_host_trim_trailing_dot=true"])

    assert normalizers.BasicUrlNormalizer(Setup(told)).normalize("http://a.example.", "default") == "http://a.example/"
    assert normalizers.BasicUrlNormalizer(Setup(Config())).normalize("nonsense", "default") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.example//b///c/?d=http://x//y", "http://a.example/b/c/?d=http://x//y"),
        ("http://a.example//", "http://a.example/"),
        ("file:////share//a", "file:////share//a"),
        ("http://a.example/b;jsessionid=01AF?c=1", "http://a.example/b?c=1"),
        ("http://a.example/b;JSESSIONID=01AF/c", "http://a.example/b/c"),
        ("http://a.example/?PHPSESSID=1", "http://a.example/"),
        ("http://a.example/?b=2&sessionid=1&c=3", "http://a.example/?b=2&c=3"),
        ("http://a.example/?sid=0123456789abcdef&b=2", "http://a.example/?b=2"),
        ("http://a.example/article?sid=1234", "http://a.example/article?sid=1234"),
        ("http://a.example/?inside=0123456789abcdef&b=&", "http://a.example/?inside=0123456789abcdef&b=&"),
    ],
)
def test_default_normalisers_collapse_slashes_and_remove_session_ids(text: str, expected: str) -> None:
    normalizers_by_default = chain("urlnormalizer", Config())

    found = normalize(text, normalizers_by_default, "default")

    assert str(found) == expected
    assert str(normalize(expected, normalizers_by_default, "default")) == expected


def test_session_ids_are_kept_if_configured() -> None:
    told = load(overrides=["urlnormalizer.basic_remove_session_ids=false"])
    url = "http://a.example/?PHPSESSID=1"

    assert normalizers.BasicUrlNormalizer(Setup(told)).normalize(url, "default") == url


def test_ajax_reverses_its_change_for_the_index() -> None:
    made = normalizers.AjaxUrlNormalizer(Setup(Config()))

    assert made.normalize("http://a.example/#!b", "outlink") == "http://a.example/?_escaped_fragment_=b"
    assert made.normalize("http://a.example/?_escaped_fragment_=b", "indexer") == "http://a.example/#!b"
    assert (
        made.normalize("http://a.example/?_escaped_fragment_=b", "fetcher") == "http://a.example/?_escaped_fragment_=b"
    )


@pytest.mark.parametrize(
    "plugin", [normalizers.SlashUrlNormalizer, normalizers.HostUrlNormalizer, normalizers.ProtocolUrlNormalizer]
)
def test_normaliser_without_its_file_names_the_setting(
    plugin: type[normalizers.SlashUrlNormalizer],
) -> None:
    with pytest.raises(ConfigError, match=r"^urlnormalizer\.\w+_file: is empty"):
        plugin(Setup(Config()))
