"""The built-in URL filters and the exemption, and how rule files are read."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from scoter.builtin import filters
from scoter.builtin.rulefiles import read_rules
from scoter.config import Config, load
from scoter.core.chain import keeps
from scoter.core.filters import affixes, domain, fast, regex
from scoter.core.normalizers import by_host
from scoter.core.normalizers import regex as regex_normalizer
from scoter.core.url import canonical
from scoter.errors import ConfigError, RuleError, UsageError
from scoter.plugins import Setup, chain

ALL = [each for _, each in inspect.getmembers(filters, inspect.isclass) if each.__name__.endswith("UrlFilter")]


def _setup(tmp_path: Path, setting: str, text: str) -> Setup:
    file = tmp_path / "rules.txt"
    file.write_text(text, encoding="utf-8")
    return Setup(load(overrides=[f"{setting}={file}"]))


PARSERS: dict[str, Callable[[list[str], str], object]] = {
    "regex": regex.parse,
    "automaton": partial(regex.parse, syntax=regex.automaton_pattern),
    "prefix": affixes.parse_prefixes,
    "suffix": affixes.parse_suffixes,
    "domain": domain.parse_domains,
    "scope": domain.parse_scope,
    "fast": fast.parse,
    "exemption": regex.parse,
    "regex-normalize": regex_normalizer.parse,
    "slash": by_host.parse_slashes,
    "host": by_host.parse_hosts,
    "protocol": by_host.parse_protocols,
}


def test_every_example_in_the_docs_can_be_parsed() -> None:
    text = (Path(__file__).parents[2] / "docs" / "url-rules.md").read_text(encoding="utf-8")

    examples = re.findall(r"^```(?:text|xml) (\S+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)

    assert [name for name, _ in examples] == list(PARSERS)
    for name, example in examples:
        PARSERS[name](example.splitlines(), f"docs/url-rules.md ({name})")


def test_every_filter_explains_its_decision() -> None:
    assert len(ALL) == 9
    assert all(callable(getattr(each, "explain", None)) for each in ALL)


@pytest.mark.parametrize(
    ("plugin", "setting", "rules", "kept", "dropped"),
    [
        (filters.RegexUrlFilter, "regex_file", "-gif$\n+.\n", "http://a.example/", "http://a.example/gif"),
        (filters.AutomatonUrlFilter, "automaton_file", "-@gif\n+@\n", "http://a.example/gif/", "http://a.example/gif"),
        (filters.PrefixUrlFilter, "prefix_file", "http:\n", "http://a.example/", "ftp://a.example/"),
        (filters.SuffixUrlFilter, "suffix_file", "+\n.gif\n", "http://a.example/", "http://a.example/x.gif"),
        (filters.DomainUrlFilter, "domain_file", "a.example\n", "http://a.example/", "http://b.example/"),
        (
            filters.DomainDenylistUrlFilter,
            "domaindenylist_file",
            "b.example\n",
            "http://a.example/",
            "http://b.example/",
        ),
        (filters.ScopeUrlFilter, "scope_file", "domain a.example\n", "http://x.a.example/", "http://b.example/"),
        (filters.ScopeUrlFilter, "scope_file", "host a.example\n", "http://a.example/", "http://x.a.example/"),
        (filters.FastUrlFilter, "fast_file", "Host b.example\nDenyPath .*\n", "http://a.example/", "http://b.example/"),
    ],
)
def test_filter_reads_the_file_in_its_setting(
    tmp_path: Path, plugin: type[filters.RegexUrlFilter], setting: str, rules: str, kept: str, dropped: str
) -> None:
    made = plugin(_setup(tmp_path, f"urlfilter.{setting}", rules))

    assert made.keeps(canonical(kept))
    assert not made.keeps(canonical(dropped))
    assert made.explain(canonical(dropped))
    assert made.warnings == ()


def test_validator_takes_schemes_from_its_settings() -> None:
    usual = filters.ValidatorUrlFilter(Setup(Config()))
    strict = filters.ValidatorUrlFilter(Setup(Config(), filters.ValidatorSettings(schemes=("https",))))

    assert usual.keeps(canonical("http://example.org/"))
    assert not strict.keeps(canonical("http://example.org/"))


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/a/b/a/c/", True),
        ("/a/b/a/c/a", False),
        ("/a/a/a/", False),
        ("/news/2011/11/11/11/", True),
        ("/a/b/c/?a/a/a/", True),
        ("/" + "a/b/" * 16_000, False),
    ],
)
def test_default_filters_drop_paths_that_repeat_a_segment_three_times(path: str, kept: bool) -> None:
    url = canonical(f"http://example.org{path}")
    chain_of_filters = chain("urlfilter", Config())

    assert keeps(url, chain_of_filters) is kept


def test_validator_takes_the_number_of_repeats_from_its_settings() -> None:
    lenient = filters.ValidatorUrlFilter(Setup(Config(), filters.ValidatorSettings(most_repeats=3)))

    assert lenient.keeps(canonical("http://example.org/a/a/a/"))
    assert not lenient.keeps(canonical("http://example.org/a/a/a/a/"))


def test_fast_filter_takes_length_limits_from_configuration(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.touch()
    config = load(overrides=[f"urlfilter.fast_file={file}", "urlfilter.fast_url_query_max_length=3"])

    made = filters.FastUrlFilter(Setup(config))

    assert made.keeps(canonical("http://a.example/?123"))
    assert not made.keeps(canonical("http://a.example/?1234"))


def test_backtracking_pattern_causes_warning_with_file_and_line(tmp_path: Path) -> None:
    made = filters.RegexUrlFilter(_setup(tmp_path, "urlfilter.regex_file", "# loops\n-(/[^/]+)\\1\\1/\n+.\n"))

    message = "the pattern (/[^/]+)\\1\\1/ needs backtracking; URLs on which it takes more than 50 ms are dropped"
    assert made.warnings == (f"{tmp_path / 'rules.txt'}:2: {message}",)
    assert not made.keeps(canonical("http://a.example/x/x/x/"))


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("(file|ftp):.*", "ftp://a.example/", ["http://a.example/?ftp:"]),
        ("http://a.example/.*\\.(gif|GIF)", "http://a.example/x.gif", ["http://a.example/x.gif?", "http://b/x.gif"]),
        (".*[?*!@=].*", "http://a.example/?", ["http://a.example/a"]),
        ("http://a.example/[^/.]*", "http://a.example/b", ["http://a.example/b/c", "http://a.example/b.c"]),
        ('@"a.b"@', "http://x.example/a.b?", ["http://x.example/aXb?"]),
        ("http://a.example/$", "http://a.example/$", ["http://a.example/"]),
        ("http://a.example/(ab){2}c?", "http://a.example/abab", ["http://a.example/ab"]),
        (".*\\&a=1", "http://a.example/?b&a=1", ["http://a.example/?a=1"]),
    ],
)
def test_automaton_patterns_match_the_whole_url(tmp_path: Path, pattern: str, matched: str, others: list[str]) -> None:
    made = filters.AutomatonUrlFilter(_setup(tmp_path, "urlfilter.automaton_file", f"-{pattern}\n+@\n"))

    assert not made.keeps(canonical(matched))
    assert made.explain(canonical(matched)) == f"line 1: -{pattern}"
    assert [url for url in others if not made.keeps(canonical(url))] == []


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("a&b", "operator &"),
        ("~a", "operator ~"),
        ("<1-5>", "operator <"),
        ("a**", "parentheses"),
        ("a{2000}", "linear"),
    ],
)
def test_automaton_filter_rejects_what_it_cannot_match(tmp_path: Path, pattern: str, told: str) -> None:
    with pytest.raises(RuleError, match=rf"rules\.txt:2: .*{told}"):
        filters.AutomatonUrlFilter(_setup(tmp_path, "urlfilter.automaton_file", f"+a\n-{pattern}\n"))


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://www.example.org/a/b?c=d", True),
        ("https://www.example.org/archive?year=2024", True),
        ("ftp://example.org/a", False),
        ("http://example.org/a;jsessionid=0123", False),
        ("http://example.org/a?x=1&PHPSESSID=0123", False),
        ("http://example.org/aside=1?inside=2", True),
        ("http://example.org/index.php/index.php/index.php/a", False),
        ("http://example.org/" + "a/" * 30, False),
        ("http://example.org/calendar?year=2942", False),
        ("http://example.org/photo.JPG", False),
        ("http://example.org/a/film.mp4?size=2", False),
        ("http://example.org/backup.tar.gz", False),
        ("http://example.org/style.css?v=3", False),
        ("http://example.org/a.pdf", True),
        ("http://example.org/show?picture=a.jpg", True),
        ("http://example.png.org/", True),
    ],
)
def test_shipped_regex_rules(url: str, kept: bool) -> None:
    made = filters.RegexUrlFilter(Setup(Config()))

    assert made.keeps(canonical(url)) is kept, made.explain(canonical(url))
    assert made.warnings == ()


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://example.org/", True),
        ("http://example.org/a.html", True),
        ("http://example.org/a.pdf", True),
        ("http://example.org/feed.xml", True),
        ("http://example.zip/", True),
        ("http://example.org/a.JPG?width=3", False),
        ("http://example.org/a.tar.gz", False),
        ("http://example.org/a?picture=b.jpg", True),
        ("http://example.org/style.css", False),
    ],
)
def test_shipped_suffix_rules(url: str, kept: bool) -> None:
    made = filters.SuffixUrlFilter(Setup(Config()))

    assert made.keeps(canonical(url)) is kept


@pytest.mark.parametrize(
    "plugin",
    [
        filters.AutomatonUrlFilter,
        filters.PrefixUrlFilter,
        filters.DomainUrlFilter,
        filters.DomainDenylistUrlFilter,
        filters.FastUrlFilter,
    ],
)
def test_filter_without_its_file_names_the_setting(plugin: type[filters.PrefixUrlFilter]) -> None:
    with pytest.raises(ConfigError, match=r"^urlfilter\.\w+_file: is empty"):
        plugin(Setup(Config()))


def test_unreadable_file_is_an_error_with_its_setting(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.txt"):
        with pytest.raises(UsageError, match=r"^urlfilter\.regex_file: .*cannot be read"):
            read_rules(path, "urlfilter.regex_file")


def test_file_that_is_not_utf_8_is_an_error_with_line(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_bytes(b"+a\n+b\n+\xe9\n")

    with pytest.raises(RuleError, match=r"rules\.txt:3: is not UTF-8"):
        read_rules(file, "urlfilter.regex_file")


def test_file_beyond_size_limit_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("+a\n+b\n", encoding="utf-8")

    assert read_rules(file, "urlfilter.regex_file", largest=6).lines == ("+a", "+b", "")
    with pytest.raises(UsageError, match="larger than 5 B"):
        read_rules(file, "urlfilter.regex_file", largest=5)


def test_byte_order_mark_and_windows_line_ends_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "rules.txt"
    file.write_bytes(b"\xef\xbb\xbf+a$\r\n-.\x0cb\r\n")

    assert read_rules(file, "urlfilter.regex_file").lines == ("+a$", "-.\x0cb", "")


def test_exemption_lets_a_link_leave_by_its_target(tmp_path: Path) -> None:
    setup = _setup(tmp_path, "db.ignore_external_exemptions_file", "-//ads[.]\n+[.]png$\n+(a)\\1\n")
    made = filters.IgnoreExemptUrlExemption(setup)
    page, picture = canonical("http://a.example/"), canonical("http://b.example/x.png")

    assert made.exempts(page, picture)
    assert not made.exempts(picture, page)
    assert not made.exempts(page, canonical("http://ads.example/x.png"))
    assert made.explain(picture) == "line 2: +[.]png$"
    assert len(made.warnings) == 1


def test_exemption_without_its_file_names_the_setting() -> None:
    with pytest.raises(ConfigError, match=r"^db\.ignore_external_exemptions_file: is empty"):
        filters.IgnoreExemptUrlExemption(Setup(Config()))
