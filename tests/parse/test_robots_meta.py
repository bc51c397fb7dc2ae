"""Robots directives in meta elements and X-Robots-Tag."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoter.parse.robots_meta import Directives, directives

US = ("examplebot",)
JUNE = datetime(2030, 6, 25, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("noindex", Directives(noindex=True)),
        ("NOINDEX , nofollow", Directives(noindex=True, nofollow=True)),
        ("none", Directives(noindex=True, nofollow=True)),
        ("noindex\nnofollow", Directives(noindex=True, nofollow=True)),
        ("otherbot: noindex, nofollow", Directives()),
        ("ExampleBot: noindex", Directives(noindex=True)),
        ("otherbot: noindex, examplebot: nofollow", Directives(nofollow=True)),
        ("otherbot: noindex\nnofollow", Directives(nofollow=True)),
        ("*: noindex", Directives(noindex=True)),
        ("unavailable_after: 25 Jun 2030 15:00:00 GMT, noindex", Directives(noindex=True, unavailable_after=JUNE)),
        ("nosnippet", Directives(nosnippet=True)),
        ("max-snippet:0", Directives(nosnippet=True)),
        ("max-snippet: 0, nofollow", Directives(nosnippet=True, nofollow=True)),
        ("max-snippet:-1", Directives()),
        ("max-snippet:05", Directives()),
        ("otherbot: max-snippet:0", Directives()),
        ("examplebot: unavailable_after: 25 Jun 2030 15:00:00 GMT", Directives(unavailable_after=JUNE)),
        ("otherbot: unavailable_after: Tuesday, 25-Jun-30 15:00:00 GMT, noindex", Directives()),
        (
            "unavailable_after: Tuesday, 25-Jun-30 15:00:00 GMT, otherbot: noindex, examplebot: nofollow",
            Directives(nofollow=True, unavailable_after=JUNE),
        ),
        ("max-snippet:10, noarchive", Directives(noarchive=True)),
        ("noindexing", Directives()),
        ("", Directives()),
    ],
)
def test_field_applies_to_the_named_robot(header: str, found: Directives) -> None:
    assert directives([], header, US) == found


@pytest.mark.parametrize(
    "content", ["noindex,nofollow", "noindex nofollow", "noindex; nofollow", " NoIndex ,, NoFollow"]
)
def test_words_may_have_any_separator(content: str) -> None:
    assert directives([content]) == Directives(noindex=True, nofollow=True)


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("25 Jun 2030 15:00:00 GMT", JUNE),
        ("Tue, 25 Jun 2030 15:00:00 GMT", JUNE),
        ("Tuesday, 25-Jun-30 15:00:00 UTC", JUNE),
        ("25-Jun-2030 10:00:00 EST", JUNE),
        ("25 June 2030 08:00 PDT", JUNE),
        ("25 Jun 30 17:00:00 +0200", JUNE),
        ("2030-06-25T15:00:00Z", JUNE),
        ("2030-06-25T17:00:00.123+02:00", JUNE),
        ("2030-06-25 15:00", JUNE),
        ("2030-06-25", JUNE - timedelta(hours=15)),
        ("25 Jun 99 15:00:00 GMT", JUNE.replace(year=1999)),
        ("2030-06-31", None),
        ("31 Foo 2030", None),
        ("0000-01-01T00:00:00+23:59", None),
        ("25 Jun 2030 15:00:00 +9999", None),
        ("soon", None),
    ],
)
def test_unavailable_after_accepts_common_date_formats(date: str, moment: datetime | None) -> None:
    in_page = directives([f"noarchive, unavailable_after: {date}"])
    in_header = directives([], f"noarchive, unavailable_after: {date}, nofollow", US)

    assert in_page == Directives(noarchive=True, unavailable_after=moment)
    assert in_header == Directives(noarchive=True, nofollow=True, unavailable_after=moment)


def test_earlier_of_two_dates_applies() -> None:
    found = directives(["unavailable_after: 2031-01-01"], "unavailable_after: 25 Jun 2030 15:00:00 GMT")

    assert found.unavailable_after == JUNE


WORDS = [
    "unavailable_after",
    ":",
    " ",
    "25",
    "Jun",
    "2030",
    "-",
    "99",
    "T",
    "15:00",
    "+",
    "max-snippet",
    "0",
    ",",
    "\0",
]


@given(st.text(), st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map("".join)))
def test_directives_accept_any_text(content: str, header: str) -> None:
    directives([content], header, US)


@pytest.mark.parametrize(
    "field",
    [
        "noindex; nofollow",
        "noindex;nofollow",
        "otherbot: all; examplebot: noindex; nofollow",
        "unavailable_after: Jun 25, 2025 10:00:00 PST, noindex, nofollow",
        "unavailable_after: 25/06/2025, 10:00, none",
    ],
)
def test_semicolons_and_unknown_dates_do_not_hide_directives(field: str) -> None:
    found = directives([], field, agents=["examplebot"])

    assert (found.noindex, found.nofollow) == (True, True)
