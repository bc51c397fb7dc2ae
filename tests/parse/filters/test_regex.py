from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.parse.filters.pages import URL, content, page, setup, written

from scoter.config import load, plugin_settings
from scoter.core.page import Page
from scoter.core.url import canonical
from scoter.errors import ConfigError, RuleError, UsageError
from scoter.parse.filters.regex import MOST_RULES, RegexFilter, RegexSettings, parse_field_rules

BODY = b'<title>Seals</title><b itemprop="price">12.50</b><b itemprop="price">9</b><b itemprop="price">9</b>'


def _filter(tmp_path: Path, rules: str) -> RegexFilter:
    return RegexFilter(setup(settings=RegexSettings(written(tmp_path / "fields.txt", rules))))


def _found(tmp_path: Path, rules: str, read: Page | None = None, body: bytes = BODY) -> dict[str, str]:
    shown = page(title="Seals", text="Two seals\nfor 12 EUR", encoding="utf-8") if read is None else read
    return dict(_filter(tmp_path, rules).refine(content(body), shown).metadata)


def test_a_rule_of_three_columns_tells_whether_its_pattern_is_found_as_in_nutch(tmp_path: Path) -> None:
    rules = (
        "# prices\npriced\thtml\titemprop=.price\nsold text (sold|gone)\nseals title ^Seals$\nsite URL //a[.]example/\n"
    )

    assert _found(tmp_path, rules) == {"priced": "true", "sold": "false", "seals": "true", "site": "true"}


def test_fourth_column_stores_each_distinct_match(tmp_path: Path) -> None:
    price, euro = 'price html itemprop="price">([0-9.]+) EUR:$1', "euro text ([0-9]+)\\s(?<unit>EUR) ${unit}/$1"
    rules = f"{price}\n{euro}\nnone text (x)y $1\n"

    assert _found(tmp_path, rules) == {"price": "EUR:12.50\tEUR:9", "euro": "EUR/12"}


def test_the_first_rule_of_a_field_that_finds_something_fills_it(tmp_path: Path) -> None:
    rules = "n text walruses\nn text (two)\\sseals $1\nn text (?i)(two)\\sseals $1\nn title (S) $1\n"

    assert _found(tmp_path, rules) == {"n": "Two"}


def test_markup_is_read_in_the_pages_own_encoding(tmp_path: Path) -> None:
    body = '<meta charset="windows-1251"><p class="имя">Тюлень</p>'.encode("windows-1251")

    found = _found(tmp_path, 'name html class="имя">([^<]+) $1\n', page(encoding="windows-1251"), body)

    assert found == {"name": "Тюлень"}


def test_the_markup_around_a_sub_document_is_not_its_own(tmp_path: Path) -> None:
    entry = Page(url=canonical("http://a.example/entry"), encoding="utf-8")

    assert _found(tmp_path, "priced html price\nhere html (price) $1\n", entry) == {"priced": "false"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("price text", "'price text' is not a rule"),
        ("price text a b $1", "'price text a b $1' is not a rule"),
        ("pri/ce text a", "'pri/ce' is not a valid field name"),
        ("price body a", "'body' is not a source"),
        ("price text (a", "the pattern '(a' "),
        ("price text (a) $2", "'$2' names a group that the pattern does not have: $2"),
    ],
)
def test_error_for_a_bad_line_names_its_file(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(RuleError) as caught:
        _filter(tmp_path, f"# fields\n\n{line}\n")

    assert str(caught.value).startswith(f"{tmp_path / 'fields.txt'}:3: {told}")


def test_rules_without_end_are_refused() -> None:
    with pytest.raises(RuleError) as caught:
        parse_field_rules(["field text a"] * (MOST_RULES + 1), "fields.txt")

    assert caught.value.line == MOST_RULES + 1


def test_unreadable_or_unset_file_is_reported(tmp_path: Path) -> None:
    missing = tmp_path / "missing.txt"
    (tmp_path / "latin.txt").write_bytes(b"# a\nfield text caf\xe9\n")

    with pytest.raises(UsageError, match=r"plugin\.parsefilter-regex\.file: .*missing\.txt cannot be read"):
        RegexFilter(setup(settings=RegexSettings(missing)))
    with pytest.raises(RuleError, match=r"latin\.txt:2: is not UTF-8"):
        RegexFilter(setup(settings=RegexSettings(tmp_path / "latin.txt")))


def test_backtracking_pattern_warns_and_is_aborted_alone(tmp_path: Path) -> None:
    rules = "slow text (a|aa)+\\1b\nfast text a\n"
    plugin = _filter(tmp_path, rules)

    # On a busy machine, the time limit may leave nothing for the second rule.
    found = (plugin.refine(content(), page(text="a" * 50_000)).metadata for _ in range(10))

    assert {"fast": "true"} in found
    assert [warning.partition(": ")[0] for warning in plugin.warnings] == [f"{tmp_path / 'fields.txt'}:1"]


def test_rules_are_aborted_after_their_time_limit(tmp_path: Path) -> None:
    file = written(tmp_path / "fields.txt", "a text ([0-9]+) $1\nb text x\n")
    clock = count(0, 0.2)  # each look at the clock is 0.2 s later
    plugin = RegexFilter(setup(settings=RegexSettings(file)), clock=lambda: next(clock))

    found = plugin.refine(content(), page(text=" ".join(map(str, range(1_000)))))

    assert found.metadata == {"a": "0\t1"}


@given(st.binary(max_size=200), st.text(st.characters(codec=None), max_size=50))
def test_any_page_is_filtered_without_error(body: bytes, text: str) -> None:
    rules = parse_field_rules(
        ["m html (.)[^<]*? $1", "t text (\\w*)(?=.) $1", "u text .{3}", "v title ^$"], "fields.txt"
    )
    plugin = RegexFilter.__new__(RegexFilter)
    plugin._rules, plugin._default, plugin._clock, plugin._longest = rules, "windows-1252", lambda: 0.0, 4_096

    found = plugin.refine(content(body), page(text=text, title=text, encoding="utf-8"))

    assert {"u", "v"} <= found.metadata.keys()
    for value in found.metadata.values():
        value.encode()


def test_the_rules_are_named_in_the_configuration(tmp_path: Path) -> None:
    rules = written(tmp_path / "fields.txt", "seal text seal")
    config = load(written(tmp_path / "scoter.toml", '[plugin.parsefilter-regex]\nfile = "fields.txt"\n'))

    assert plugin_settings(config, "parsefilter-regex", RegexSettings).file == rules
    with pytest.raises(ConfigError, match=r"plugin\.parsefilter-regex\.file must be set"):
        plugin_settings(load(), "parsefilter-regex", RegexSettings)


def test_the_url_of_a_page_is_what_it_is_looked_for_in(tmp_path: Path) -> None:
    assert _found(tmp_path, "dir url /([^/]+)/page $1") == {"dir": URL.path.split("/")[1]}
