"""The regex normaliser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.core.normalizers.regex import parse
from scoter.errors import RuleError

_FILE = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- rules -->
<regex-normalize>
  <regex>
    <pattern>(?i)([?&amp;])sid=[^&amp;]*</pattern>
    <substitution>$1</substitution>
  </regex>
  <regex>
    <pattern>[?&amp;]+$</pattern>
    <substitution/>
  </regex>
  <regex><pattern><![CDATA[/ü+/]]></pattern><substitution>/u/</substitution></regex>
  <regex><pattern>(?&lt;!:)/{2,}</pattern><substitution>/</substitution></regex>
</regex-normalize>
""".splitlines()


def test_rules_are_applied_one_after_another() -> None:
    rules = parse(_FILE, "rules.xml")

    assert rules.normalize("http://a.example/b?SID=1") == "http://a.example/b"
    assert rules.normalize("http://a.example/b?x&sid=1&y") == "http://a.example/b?x&&y"
    assert rules.normalize("http://a.example//b///c") == "http://a.example/b/c"
    assert rules.normalize("http://a.example/üü/") == "http://a.example/u/"
    assert [rule.line for rule in rules.rules] == [5, 9, 12, 13]
    assert [rule.line for rule in rules.slow] == [13]


def test_rule_that_times_out_drops_the_url_and_is_named() -> None:
    rules = parse([r"<regex-normalize><regex><pattern>(a+)+\1!</pattern></regex></regex-normalize>"], "rules.xml")
    hostile = "http://a.example/" + "a" * 4_000

    assert rules.normalize(hostile) is None
    assert (
        rules.explain(hostile)
        == r"line 1: (a+)+\1! (gave up: the pattern is too slow on this URL, or makes it too long)"
    )


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["<regex-normalize>", "<regex>"], 2, "not well-formed XML"),
        ([], 1, "not well-formed XML"),
        (["<rules/>"], 1, "not allowed"),
        (["<regex-normalize>", "<pattern>a</pattern>", "</regex-normalize>"], 2, "not allowed"),
        (["<regex-normalize>", "a", "</regex-normalize>"], 3, "text outside"),
        (["<regex-normalize>", "<regex><substitution/></regex>", "</regex-normalize>"], 2, "without a <pattern>"),
        (["<regex-normalize><regex>", "<pattern>(</pattern>", "</regex></regex-normalize>"], 2, "unmatched ("),
        (
            [
                "<regex-normalize><regex>",
                "<pattern>a</pattern>",
                "<substitution>$1</substitution></regex></regex-normalize>",
            ],
            2,
            "does not have",
        ),
        (
            ["<regex-normalize><regex>", "<pattern>a</pattern>", "<pattern>b</pattern></regex></regex-normalize>"],
            3,
            "second <pattern>",
        ),
        (['<!DOCTYPE a [<!ENTITY b "c">]>', "<regex-normalize/>"], 1, "document type"),
        (["<regex-normalize>&b;</regex-normalize>"], 1, "not well-formed XML"),
    ],
)
def test_invalid_file_is_reported_with_its_line(lines: list[str], line: int, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        parse(lines, "rules.xml")

    assert message in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("rules.xml", line)


def test_entity_definitions_are_rejected() -> None:
    bomb = ["<!DOCTYPE a ["]
    bomb += [f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(20)]

    with pytest.raises(RuleError, match="document type"):
        parse([*bomb, "]><regex-normalize>&e20;</regex-normalize>"], "rules.xml")


@given(st.text())
def test_any_text_is_normalised_without_an_error(text: str) -> None:
    rules = parse(_FILE, "rules.xml")

    assert isinstance(rules.normalize(text), str)
