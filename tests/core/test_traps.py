"""The signs of a crawler trap in URLs and texts."""

from __future__ import annotations

import pytest

from scoter.core import traps
from scoter.core.traps import TextVariety, is_calendar_page, is_far_ahead, url_pattern
from scoter.core.url import canonical

_MONTHS = ("Styczeń", "Luty", "Marzec", "Kwiecień", "Maj", "Czerwiec", "Lipiec", "Sierpień", "Wrzesień", "Grudzień")


def _monotonous(pages: dict[str, str]) -> list[str]:
    variety = TextVariety()
    for url, text in pages.items():
        variety.add(canonical(url), text)
    return sorted(variety.monotonous())


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


def test_host_with_the_same_text_under_many_patterns_is_monotonous() -> None:
    pages = {f"http://a.example/{chr(97 + n)}word/": "Sign in to continue" for n in range(20)}

    assert _monotonous(pages) == ["a.example"]


def test_few_equal_pages_and_pages_without_text_are_no_evidence() -> None:
    assert _monotonous({f"http://a.example/{n}": "Not found" for n in range(11)}) == []
    assert _monotonous({f"http://a.example/{n}": "" for n in range(40)}) == []


def test_number_of_observed_patterns_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traps, "MOST_PATTERNS", 50)
    pages = {f"http://a.example/{chr(97 + n % 26) * (n // 26 + 1)}": "Text" for n in range(500)}
    variety = TextVariety()

    for url, text in pages.items():
        variety.add(canonical(url), text)

    assert len(variety.samples) <= 50
    assert "a.example" in set(variety.monotonous())
