"""Places where a careless crawler loses itself: a calendar without visible end, and session ids in URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from .atlas import Atlas
from .dice import mix
from .facts import Link, Resource
from .markup import Document
from .pages import note
from .sites import Site

CALENDAR_STAGE = 3
SESSION_STAGE = 4
_FIRST_YEAR = 2026
#: A year's own page and its twelve months.
_YEAR = 13
_CALENDAR = re.compile(r"/calendar/(?:([0-9]{4,6})/(?:([0-9]{2})/)?)?")
SHOP = "/shop/"
_ITEM = "/shop/item.html"


def find(atlas: Atlas, site: Site, path: str) -> Resource | None:
    """The calendar or shop page at a path."""
    if path.startswith("/calendar/") and site.index == atlas.stage(CALENDAR_STAGE).index:
        number = _calendar_number(path)
        return _day(atlas, site, number) if 0 <= number < atlas.spec.trap_size else None
    if path.startswith(SHOP) and site.index == atlas.stage(SESSION_STAGE).index and atlas.spec.sessions:
        if path == SHOP:
            return _shop(atlas, site)
        bare, _, session = path.partition("?sid=")
        known = bare == _ITEM and session in _sessions(atlas)
        return _item(atlas, site, session) if known else None
    return None


def resources(atlas: Atlas, site: Site) -> Iterator[Resource]:
    """Every calendar and shop page of a host."""
    if site.index == atlas.stage(CALENDAR_STAGE).index:
        for number in range(atlas.spec.trap_size):
            yield _day(atlas, site, number)
    if site.index == atlas.stage(SESSION_STAGE).index and atlas.spec.sessions:
        yield _shop(atlas, site)
        for session in _sessions(atlas):
            yield _item(atlas, site, session)


def entries(atlas: Atlas, site: Site) -> list[Link]:
    """The links by which a front page leads into the traps."""
    links = []
    if site.index == atlas.stage(CALENDAR_STAGE).index and atlas.spec.trap_size:
        links.append(Link(f"{site.origin}/calendar/", "Calendar"))
    if site.index == atlas.stage(SESSION_STAGE).index and atlas.spec.sessions:
        links.append(Link(f"{site.origin}{SHOP}", "Shop"))
    return links


def calendar_path(number: int) -> str:
    """The path of the calendar page with this number: the entrance, then each year before its months.

    >>> calendar_path(0), calendar_path(1), calendar_path(2), calendar_path(14)
    ('/calendar/', '/calendar/2026/', '/calendar/2026/01/', '/calendar/2027/')
    """
    if number == 0:
        return "/calendar/"
    year, month = divmod(number - 1, _YEAR)
    folder = f"/calendar/{_FIRST_YEAR + year}/"
    return f"{folder}{month:02}/" if month else folder


def _calendar_number(path: str) -> int:
    found = _CALENDAR.fullmatch(path)
    if found is None:
        return -1
    if found[1] is None:
        return 0
    month = int(found[2] or 0)
    number = (int(found[1]) - _FIRST_YEAR) * _YEAR + month + 1
    return number if number > 0 and calendar_path(number) == path else -1


def _day(atlas: Atlas, site: Site, number: int) -> Resource:
    month = (number - 1) % _YEAR if number else -1
    if number == 0:
        linked = [1]
    elif month == 0:
        linked = [*range(number + 1, number + _YEAR), number + _YEAR, max(number - _YEAR, 0)]
    else:
        # The month after December is January, on the other side of the next year's own page.
        following = number + 2 if month == _YEAR - 1 else number + 1
        linked = [following, number - month]
    links = tuple(
        Link(f"{site.origin}{calendar_path(other)}", calendar_path(other).strip("/"))
        for other in linked
        if other < atlas.spec.trap_size
    )
    return note(atlas, site, calendar_path(number), links=links, shows="calendar")


def _sessions(atlas: Atlas) -> dict[str, None]:
    return _session_ids(atlas.spec.seed, atlas.spec.sessions)


@lru_cache(maxsize=8)
def _session_ids(seed: int, count: int) -> dict[str, None]:
    # A dict keeps the order and finds an id at once.
    return {f"{mix(seed, number, 0x5E55):016x}": None for number in range(count)}


def _shop(atlas: Atlas, site: Site) -> Resource:
    links = tuple(Link(f"{site.origin}{_ITEM}?sid={session}", "A lantern") for session in _sessions(atlas))
    return note(atlas, site, SHOP, links=links, shows="shop")


def _item(atlas: Atlas, site: Site, session: str) -> Resource:
    document = Document(url=f"{site.origin}{_ITEM}", title="A lantern")
    home = (Link(f"{site.origin}{SHOP}", "Back to the shop"),)
    item = note(atlas, site, f"{_ITEM}?sid={session}", links=home, key="item", document=document, shows="session-id")
    return replace(item, duplicate="session")
