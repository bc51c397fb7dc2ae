"""The signs of a crawler trap in URLs and texts."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from scoter.core import traps
from scoter.core.traps import PageVariety, is_calendar_page, is_far_ahead, links_hash, url_pattern, words_hash
from scoter.core.url import canonical

_MONTHS = ("Styczeń", "Luty", "Marzec", "Kwiecień", "Maj", "Czerwiec", "Lipiec", "Sierpień", "Wrzesień", "Grudzień")


def _variety(pages: dict[str, str], *, leads_on: bool = True) -> PageVariety:
    """Observe pages, each of which links to others of its kind, unless they all link to the same."""
    variety = PageVariety()
    for number, (url, text) in enumerate(pages.items()):
        variety.add(canonical(url), words_hash(canonical(url), "", text), number if leads_on else 0)
    return variety


def _monotonous(pages: dict[str, str], *, leads_on: bool = True) -> list[str]:
    return sorted(_variety(pages, leads_on=leads_on).monotonous())


@pytest.mark.parametrize(
    ("url", "pattern"),
    [
        ("http://a.example/", "a.example/"),
        ("http://a.example/2031/05/17/", "a.example/0/0/0/"),
        ("http://a.example/x/0123456789abcdef0123/y", "a.example/x/0/y"),
        ("http://a.example/list?sort=up&page=3", "a.example/list?page&sort"),
        ("http://a.example/list?f1=a&f2=b", "a.example/list?f0"),
    ],
)
def test_urls_of_one_kind_have_one_pattern(url: str, pattern: str) -> None:
    assert url_pattern(canonical(url)) == pattern


@pytest.mark.parametrize(
    ("target", "is_ahead"),
    [
        ("/2031/05/", True),
        ("/calendar/2028/", True),
        ("/events/day/2031", True),
        ("/?date=2031-05-17", True),
        ("/list?month=2040", True),
        ("/calendar/2027/12/", False),
        ("/calendar/1931/12/", False),
        ("/article/2031/", False),
        ("/item-2031.html", False),
        ("/2031/99/", False),
        ("/calendar/9999/", False),
        ("/calendar/203105/", False),
    ],
)
def test_date_beyond_the_next_year_is_far_ahead(target: str, is_ahead: bool) -> None:
    assert is_far_ahead(canonical(f"http://a.example{target}"), 2026) is is_ahead


def test_pages_that_differ_only_in_numbers_and_dates_are_monotonous() -> None:
    days = {f"http://a.example/day/{n}": f"Monday, {n} March {1900 + n}. No events. Next day" for n in range(30)}

    assert _monotonous(days) == ["a.example/day/0"]


@pytest.mark.parametrize(
    ("target", "is_calendar"),
    [
        ("/calendar/day/2026/11/09", True),
        ("/2026/5/", True),
        ("/kalender-2026-05-17", True),
        ("/calendar/?month=2026-12", True),
        ("/list?view=day&date=2026-12-01T10:00", True),
        ("/2026/11/09/how-to-brew-tea", False),
        ("/calendar/", False),
        ("/2026/", False),
        ("/item/2026/117", False),
        ("/list?id=2026", False),
    ],
)
def test_page_of_a_day_or_month_is_a_calendar_page(target: str, is_calendar: bool) -> None:
    assert is_calendar_page(canonical(f"http://a.example{target}")) is is_calendar


def test_few_equal_pages_of_a_calendar_are_enough() -> None:
    days = {f"http://a.example/2026/05/{n:02}": f"{n} May 2026. No events. Next day" for n in range(10, 16)}
    different = {f"http://a.example/2026/05/{n:02}": f"{chr(97 + n)}word " * n for n in range(10, 16)}

    assert _monotonous(days) == ["a.example/0/0/0"]
    assert _monotonous(different) == []


def test_month_names_of_other_languages_do_not_make_pages_different() -> None:
    months = {f"http://a.example/{n}": f"{_MONTHS[n % 10]} {n}: brak wydarzeń. Następny miesiąc" for n in range(40)}

    assert _monotonous(months) == ["a.example/0"]


def test_short_pages_with_much_boilerplate_are_not_monotonous() -> None:
    menu = "Home Shop Contact Imprint Basket Checkout " * 30
    shop = {f"http://a.example/item/{n}": f"{menu} Lamp {chr(97 + n % 26)}{chr(97 + n // 26)}x" for n in range(60)}

    assert _monotonous(shop) == []


def test_calendar_beside_real_pages_is_found_and_the_pages_are_not() -> None:
    pages = {f"http://a.example/day?d={n}": f"Day {n}: no events" for n in range(30)}
    pages |= {f"http://a.example/text/{n}": f"{chr(97 + n)}word " * (n + 9) for n in range(26)}

    assert _monotonous(pages) == ["a.example/day?d"]


def test_branch_with_the_same_text_under_many_patterns_is_monotonous() -> None:
    pages = {f"http://a.example/loop/{chr(97 + n)}word/": "This page cannot be found" for n in range(20)}

    assert _monotonous(pages) == ["a.example/loop/*"]


def test_pages_with_the_same_text_that_lead_nowhere_are_not_monotonous() -> None:
    shells = {f"http://a.example/{chr(97 + n)}word/{n}": "Please enable JavaScript" for n in range(20)}
    numbered = {f"http://a.example/view/{n}": "Please enable JavaScript" for n in range(40)}

    assert _monotonous(shells | numbered, leads_on=False) == []


def test_few_equal_pages_are_no_evidence() -> None:
    assert _monotonous({f"http://a.example/{n}": "Not found" for n in range(11)}) == []


@pytest.mark.parametrize(
    ("target", "one", "other", "is_same"),
    [
        # only dates, times and numbers of the URL differ
        ("/day/17", "Monday, 3 March 2031 (Mar) at 10:30", "Friday, 1st May 2048 (May) at 9am", True),
        ("/day/17", "17.05.2031, 2031-05-18: none", "18.05.2031, 2031-05-19: none", True),
        # a few numbers: how long it took, how many visitors
        ("/day/17", "No events. Took 0.613 s, visitor 81726", "No events. Took 0.788 s, visitor 12345", True),
        # many numbers
        ("/prices/17", "Wheat 71.20 Rye 88.15 Oats 64.90", "Wheat 73.10 Rye 82.90 Oats 61.15", False),
        # the same words in another order
        ("/post/17", "seals swim and herons fly", "herons swim and seals fly", False),
        ("/search?a=1&sort=up", "one seal two herons", "two herons one seal", True),
        # what was asked
        ("/search?a=red&b=big", "Red big: nothing found", "Big red: nothing found", True),
        ("/search?a=red", "red: nothing found", "nothing found", False),
    ],
)
def test_words_hash_is_the_same_if_pages_say_the_same(target: str, one: str, other: str, is_same: bool) -> None:
    url = canonical(f"http://a.example{target}")

    assert (words_hash(url, "", one) == words_hash(url, "", other)) is is_same


def test_title_tells_pages_apart() -> None:
    url = canonical("http://a.example/view/1")

    assert words_hash(url, "Blue lamp", "Loading") != words_hash(url, "Red lamp", "Loading")


@pytest.mark.parametrize(
    ("target", "leads_to", "does_not"),
    [
        ("/day/2031/05/17", "/day/2031/05/18", "/day/2031/05"),
        ("/list?page=2", "/list?page=3", "/other?page=3"),
        ("/loop/a/", "/loop/a/b/", "/loop/"),
        ("/loop/a/c", "/loop/a/b/d", "/about"),
        ("/docs/3.1/install", "/docs/3.2/install", "/docs/3.1/use"),
        ("/item-7.html", "/item-8.html", "/login?return=/item-7.html"),
    ],
)
def test_only_links_to_pages_of_the_same_kind_count(target: str, leads_to: str, does_not: str) -> None:
    url, host = canonical(f"http://a.example{target}"), "http://a.example"

    assert links_hash(url, [host + does_not, url.text, "http://b.example/"]) is None
    assert links_hash(url, [host + leads_to, host + does_not]) is not None


def test_pages_that_all_link_to_each_other_link_to_the_same() -> None:
    urls = [f"http://a.example/view/{n}" for n in range(5)]
    hashes = {links_hash(canonical(url), [each for each in urls if each != url]) for url in urls}

    assert len(hashes) == 1


def test_number_of_observed_kinds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traps, "MOST_KINDS", 50)
    variety = _variety({f"http://a.example/{chr(97 + n % 26) * (n // 26 + 1)}": "Text" for n in range(500)})

    assert len(variety.samples) <= 50
    assert "a.example/*" in set(variety.monotonous())


PIECES = (
    *(
        "a",
        "Jan",
        "die",
        "mär ",
        "fév",
        "mi",
        "mit ",
        "3",
        "2010–2020",
        "5€",
        "12:30",
        "10²",
        "7½",
        "3月",
        "月",
        "4_x",
        "h264",
    ),
    *(
        " ",
        "\xa0",
        "\u2003",
        "\u2028",
        "\x1c",
        "\n",
        "(",
        "_",
        "-",
        ".",
        "12.",
        "1,",
        "İ",
        "\u212a",
        "ΟΔΟΣ",
        "Grey Seals, SEALS",
        "ß",
        "\0",
        "²",
        "\ud800",
        "😀",
    ),
)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a compiler")
def test_words_are_split_in_c_where_there_is_a_compiler() -> None:
    assert traps.split_words is not None


@pytest.mark.skipif(traps.split_words is None, reason="built without a compiler")
@settings(max_examples=examples(500))
@given(st.sampled_from(PIECES), st.lists(st.sampled_from(PIECES), max_size=15).map("".join) | st.text(max_size=40))
def test_words_are_split_equally_in_c_and_in_python(title: str, text: str) -> None:
    assert traps.split_words is not None

    in_c = traps.split_words(title, text, traps._DATE_FIELDS)

    assert in_c in (None, traps._split_in_python(title, text))


@pytest.mark.skipif(traps.split_words is None, reason="built without a compiler")
def test_ordinary_texts_are_split_in_c() -> None:
    text = "On 3 March 2031, at 10:30, tickets cost 5€ (children 2.50€); 2010–2020: „das Übliche“."

    assert traps.split_words is not None
    assert traps.split_words("", text, traps._DATE_FIELDS) is not None


@pytest.mark.parametrize("url", ["http://a.example/list", "http://a.example/list?a=seals&b=1"])
@pytest.mark.parametrize("text", ["", "1 2 3", "price 1.99 for 17,50 or 12.30 or 99.95", "Grey seals, 10 of them"])
def test_hash_does_not_depend_on_the_build(url: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = words_hash(canonical(url), "", text)
    monkeypatch.setattr(traps, "split_words", None)

    assert words_hash(canonical(url), "", text) == found
