"""Small sites that look like traps but are not, and real traps, each with its pages made on request."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice, product
from urllib.parse import parse_qs, quote, urlsplit
from zlib import crc32

WORDS = (
    *("amber", "basin", "cedar", "delta", "ember", "fjord", "grove", "heron", "islet", "jetty", "kelp", "lagoon"),
    *(
        "meadow",
        "north",
        "otter",
        "pebble",
        "quarry",
        "reed",
        "shore",
        "thicket",
        "upland",
        "valley",
        "willow",
        "yarrow",
    ),
)
_MENU = "Home Shop Contact Imprint Basket Checkout Delivery Returns Newsletter Follow us "


@dataclass(frozen=True)
class Site:
    """A site: the page at a target, and how many pages it has, or ``None`` if it is a trap."""

    page: Callable[[str], str | None]
    pages: int | None = None


def html(title: str, text: str, links: list[str]) -> str:
    items = "".join(f'<li><a href="{each}">more</a></li>' for each in links)
    return f"<!doctype html><title>{title}</title><nav>{_MENU}</nav><p>{text}</p><ul>{items}</ul>"


def _index(targets: list[str]) -> str:
    return html("All pages", "Everything that there is here", targets)


def _numbered(start: str, count: int, make: Callable[[int], str]) -> Site:
    """Return a site whose first page lists all others, which have numbers."""

    def page(target: str) -> str | None:
        if target == "/":
            return _index([f"{start}{number}" for number in range(count)])
        number = target.removeprefix(start)
        return make(int(number)) if number.isdecimal() and int(number) < count else None

    return Site(page, count + 1)


def _near(start: str, number: int, count: int) -> list[str]:
    return [f"{start}{each % count}" for each in (number - 1, number + 1, number * 7 + 3, number * 5 + 11)]


def _product(number: int) -> str:
    name = f"{WORDS[number % 24]} {WORDS[number // 24 % 24]} lamp".title()
    text = f"{_MENU * 12} {name}. Handmade, dimmable, with two years of warranty. {19 + number % 7}.90 euros. In stock."
    return html(f"{name} | Lamps", text, _near("/product/", number, 150))


def _screw(number: int) -> str:
    size = f"M{3 + number % 8}x{10 + number // 8 * 5}"
    price = f"{number * 1.17 + 3.61:.2f} euros, article {number * 37 + 61_000}"
    text = f"{_MENU} Screw {size}, zinc plated, pack of {100 + number * 3}. {price}."
    return html(f"Screw {size}", text, _near("/screw-", number, 95))


def _prices(number: int) -> str:
    drawn = random.Random(number)
    rows = " ".join(
        f"{each} {drawn.uniform(1, 300):.2f}" for each in ("Wheat", "Barley", "Oats", "Rye", "Maize", "Rape")
    )
    text = f"Prices of week {number} in euros per tonne. {rows}"
    return html("Grain prices", text, [f"/prices?week={each}" for each in (number - 1, number + 1) if 0 <= each < 100])


def _shell(number: int) -> str:
    return html("Portal", "Please enable JavaScript to use this application.", ["/", "/about", "/login"])


def _titled_shell(number: int) -> str:
    title = f"{WORDS[number % 24]} {WORDS[number // 24]} – Portal".title()
    return html(title, "Please enable JavaScript to use this application.", _near("/entry/", number, 100))


def _post(number: int) -> str:
    drawn = random.Random(number)
    text = ". ".join(" ".join(drawn.choices(WORDS[:14], k=9)) for _ in range(12))
    return html(f"Post {number}", text, [f"/post/{each % 90}" for each in (number - 1, number + 1)])


def _release(number: int) -> str:
    major, minor = divmod(number, 10)
    own = f"/docs/{major}.{minor}"
    return html(f"Install {major}.{minor}", "To install this release, run the installer.", [f"{own}/use", f"{own}/faq"])


def _releases() -> Site:
    def page(target: str) -> str | None:
        names = [f"/docs/{number // 10}.{number % 10}/" for number in range(40)]
        if target == "/":
            return _index([f"{name}install" for name in names])
        folder = target.rpartition("/")[0] + "/"
        if folder not in names:
            return None
        if target.endswith("/install"):
            return _release(names.index(folder))
        return html("Manual", f"How to {target.rpartition('/')[2]} this program.", [f"{folder}install"])

    return Site(page, 121)


def _slug_shells() -> Site:
    names = [f"/{one}-{two}" for one, two in islice(product(WORDS, WORDS), 80)]

    def page(target: str) -> str | None:
        return _index(names) if target == "/" else _shell(0) if target in names else None

    return Site(page, 81)


def _tags() -> Site:
    excerpts = [f"{' '.join(random.Random(number).choices(WORDS, k=12))} …" for number in range(60)]

    def page(target: str) -> str | None:
        if target == "/":
            return html("Tags", "All tags of this blog", [f"/tag/{word}/page/1" for word in WORDS])
        match target.split("/")[1:]:
            case ["tag", word, "page", number] if word in WORDS and number in ("1", "2", "3"):
                place = 7 * WORDS.index(word) + int(number)
                listed = " ".join(excerpts[each % 60] for each in range(place, place + 5))
                links = [f"/tag/{each}/page/1" for each in WORDS] + [f"/tag/{word}/page/{n}" for n in (1, 2, 3)]
                return html(f"Posts about {word}", listed, links)
        return None

    return Site(page, 1 + 3 * len(WORDS))


def _calendar(*, sidebar: bool = False, footer: bool = False) -> Site:
    def page(target: str) -> str | None:
        if target == "/":
            return html("Club", "Our events", ["/calendar/2026/05/17"])
        try:
            own = date(*map(int, target.removeprefix("/calendar/").split("/")))
        except (TypeError, ValueError):
            return None
        near = [own - timedelta(days=1), own + timedelta(days=1)]
        if sidebar:
            near = [own.replace(day=1) + timedelta(days=number) for number in range(-1, 33)]
        ms = random.Random(own.toordinal()).random()
        said = f" Generated in {ms:.4f} seconds." if footer else ""
        text = f"{own:%A, %d %B %Y}. No events on this day.{said}"
        return html(f"{own:%d.%m.%Y}", text, [f"/calendar/{each:%Y/%m/%d}" for each in near])

    return Site(page)


def _facets() -> Site:
    values = {
        "colour": "red green blue grey black white",
        "size": "xs s m l xl",
        "brand": "ada bea cid dov",
        "sort": "up down new",
    }
    drawn = random.Random(7)
    goods = [
        {name: drawn.choice(each.split()) for name, each in values.items()}
        | {"name": f"{WORDS[n % 24]} shirt {WORDS[n // 24]}"}
        for n in range(30)
    ]

    def page(target: str) -> str | None:
        url = urlsplit(target)
        if url.path not in ("/", "/search"):
            return None
        asked = {name: found[0] for name, found in parse_qs(url.query).items()}
        fits = [
            each["name"]
            for each in goods
            if all(each[name] == value for name, value in asked.items() if name != "sort")
        ]
        said = f"Filters: {' '.join(asked.values())}. " + (
            "; ".join(fits[:8]) or "Nothing was found. Try other filters."
        )
        links = []
        for name, found in values.items():
            for value in found.split():
                more = {**asked, name: value}
                links.append("/search?" + "&".join(f"{each}={more[each]}" for each in sorted(more)))
        return html("Search", said, links)

    return Site(page)


def _tables() -> Site:
    rows = [f"{one} {two}" for one, two in zip(WORDS, reversed(WORDS), strict=True)]

    def page(target: str) -> str | None:
        url = urlsplit(target)
        if url.path not in ("/", "/list"):
            return None
        asked = {name: found[0] for name, found in parse_qs(url.query).items()}
        order = sorted(
            rows, key=lambda row: crc32(f"{row}{asked.get('sort')}".encode()), reverse="desc" in asked.values()
        )
        options = {
            "sort": ("name", "price", "date"),
            "order": ("asc", "desc"),
            "view": ("grid", "list"),
            "size": ("10", "20", "50"),
        }
        links = []
        for name, values in options.items():
            for value in values:
                more = {**asked, name: value, "from": str(int(asked.get("from", 0)) + 1)}
                links.append("/list?" + "&".join(f"{each}={more[each]}" for each in sorted(more)))
        return html("List", ", ".join(order), links)

    return Site(page)


def _paths() -> Site:
    def page(target: str) -> str | None:
        place = sum(map(ord, target)) % 24
        return html(
            "Not found",
            "This page cannot be found. Try our menu.",
            [f"{WORDS[(place + n) % 24]}/{WORDS[(place * n) % 24]}/" for n in (3, 5)],
        )

    return Site(page)


def _queries() -> Site:
    def page(target: str) -> str | None:
        url = urlsplit(target)
        if url.path not in ("/", "/view"):
            return None
        before = f"{url.query}&" if url.query else ""
        links = [f"/view?{before}item={n}" for n in (1, 2)] + [f"/view?back={quote(target[-300:], safe='')}"]
        return html("View", "One lantern, ten euros.", links)

    return Site(page)


def _pages() -> Site:
    def page(target: str) -> str | None:
        number = int(target.partition("=")[2] or 0)
        text = (
            f"{' '.join(random.Random(number).choices(WORDS, k=30))}" if number < 20 else "There are no more entries."
        )
        return html("News", f"Page {number}. {text}", [f"/news?page={number + n}" for n in (1, 2, 3, 4, 5)])

    return Site(page)


REAL: Mapping[str, Site] = {
    "lamps": _numbered("/product/", 150, _product),
    "screws": _numbered("/screw-", 95, _screw),
    "prices": _numbered("/prices?week=", 100, _prices),
    "shells": _numbered("/view/", 95, _shell),
    "titled-shells": _numbered("/entry/", 100, _titled_shell),
    "slug-shells": _slug_shells(),
    "posts": _numbered("/post/", 90, _post),
    "releases": _releases(),
    "tags": _tags(),
}
"""Sites with pages that are alike, all of which must be fetched."""

TRAPS: Mapping[str, Site] = {
    "days": _calendar(),
    "days-with-month": _calendar(sidebar=True),
    "days-with-footer": _calendar(footer=True),
    "facets": _facets(),
    "tables": _tables(),
    "paths": _paths(),
    "queries": _queries(),
    "pages": _pages(),
}
"""Sites without end, of which only few pages may be fetched."""
