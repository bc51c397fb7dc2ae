"""Pages besides the numbered ones: dead links, redirects, members' pages, the host directory and two crawler traps.

Dead links, redirects and members' pages each belong to one numbered page, the only one that links to them. So the truth
about them needs no search of the link graph. The directory on the first host makes every host reachable from one front
page. The traps are an endless-looking calendar and session ids in URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from scoter.simweb.facts import AnswerClass, Resource, SimLink
from scoter.simweb.formats import PageMarkup
from scoter.simweb.pages import is_followed, short_page, site_resource
from scoter.simweb.rng import mix, random_ints
from scoter.simweb.sites import BRANCHES, SHUT_LINKED, SimSite, SimSites

REDIRECTS = (301, 302, 303, 307, 308)
PERMANENT = frozenset({301, 308})

DIRECTORY = "/directory/0.html"
_FAULT_DIRECTORY = "/directory/faults.html"
_HOSTS_PER_PAGE = 40

#: Numbers under which the trap hosts are chosen; see ``SimSites.host_for``.
_CALENDAR_HOST = 3
_SESSION_HOST = 4
_FIRST_YEAR = 2026
#: A year's own page and its twelve months.
_YEAR = 13
_CALENDAR = re.compile(r"/calendar/(?:([0-9]{4,6})/(?:([0-9]{2})/)?)?")
_SHOP = "/shop/"
_ITEM = "/shop/item.html"


def find_extra_page(sites: SimSites, site: SimSite, path: str) -> Resource | None:
    """Return the extra page at a path, if there is one."""
    folder, _, rest = path[1:].partition("/")
    match folder:
        case "old" | "go" | "members":
            number = _number(rest)
            resource = None if number is None else _side_page(sites, site, folder, number)
            return resource if resource is not None and resource.path == path else None
        case "directory" if site.index == 0:
            return _find_directory_page(sites, site, path)
        case "calendar" if _has_calendar(sites, site):
            number = _calendar_number(path)
            return _calendar_page(sites, site, number) if 0 <= number < sites.spec.trap_size else None
        case "shop" if _has_shop(sites, site):
            if path == _SHOP:
                return _shop(sites, site)
            bare, _, session = path.partition("?sid=")
            known = bare == _ITEM and session in _session_ids(sites.spec.seed, sites.spec.sessions)
            return _item(sites, site, session) if known else None
        case _:
            return None


def extra_pages(sites: SimSites, site: SimSite) -> Iterator[Resource]:
    """Yield every extra page of a host."""
    for folder, start, step in (("old", 7, 25), ("go", 11, 20), ("members", 9, 40)):
        for number in range(start, site.size, step):
            resource = _side_page(sites, site, folder, number)
            if resource is not None:
                yield resource
    if site.index == 0:
        for number in range(_directory_pages(sites)):
            yield _directory_page(sites, site, number)
        if sites.faults:
            yield _fault_directory(sites, site)
    if _has_calendar(sites, site):
        for number in range(sites.spec.trap_size):
            yield _calendar_page(sites, site, number)
    if _has_shop(sites, site):
        yield _shop(sites, site)
        for session in _session_ids(sites.spec.seed, sites.spec.sessions):
            yield _item(sites, site, session)


def trap_links(sites: SimSites, site: SimSite) -> list[SimLink]:
    """Return the links from a front page into the traps."""
    links = []
    if _has_calendar(sites, site) and sites.spec.trap_size:
        links.append(SimLink(f"{site.origin}/calendar/", "Calendar"))
    if _has_shop(sites, site):
        links.append(SimLink(f"{site.origin}{_SHOP}", "Shop"))
    return links


def dead(site: SimSite, path: str, *, removed: bool) -> Resource:
    """Return a resource that was never there, or has been removed."""
    return site_resource(
        site,
        path,
        answer=AnswerClass.REMOVED if removed else AnswerClass.NOT_FOUND,
        status=410 if removed else 404,
        content_type="text/html; charset=utf-8",
        body=lambda version: b"<!DOCTYPE html>\n<title>Nothing here</title>\n<p>There is nothing here.</p>\n",
        shows="removed" if removed else "not-found",
    )


def moved(
    site: SimSite, path: str, status: int, target: str, *, location: str = "", shows: str = "", expected: bool = True
) -> Resource:
    """Return a redirect; ``location`` is how the header spells its target, if not in full."""
    return site_resource(
        site,
        path,
        answer=AnswerClass.MOVED if status in PERMANENT else AnswerClass.MOVED_FOR_NOW,
        status=status,
        content_type="text/plain; charset=utf-8",
        body=lambda version: f"It is at {target or location} now.\n".encode(),
        location=location or target,
        target=target,
        expected=expected and not site.shut,
        shows=shows or f"redirect-{status}",
    )


def _number(name: str) -> int | None:
    digits = name.removesuffix(".html")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 12 else None


def _side_page(sites: SimSites, site: SimSite, folder: str, number: int) -> Resource | None:
    if not 0 < number < site.size or not is_followed(site, number):
        return None
    match folder:
        case "old" if number % 25 == 7:
            return dead(site, f"/old/{number}.html", removed=number % 2 == 0)
        case "go" if number % 20 == 11:
            first, second, how, _ = random_ints(4, sites.spec.seed, site.index, number, 0x60)
            status = REDIRECTS[mix(how) % len(REDIRECTS)]
            return moved(site, f"/go/{number}", status, sites.drawn(site, first, second))
        case "members" if number % 40 == 9:
            path = f"/members/{number}.html"
            home = (SimLink(f"{site.origin}/", "home"),)
            return replace(short_page(sites, site, path, links=home, shows="nofollow-only"), expected=False)
        case _:
            return None


def _find_directory_page(sites: SimSites, site: SimSite, path: str) -> Resource | None:
    if path == _FAULT_DIRECTORY:
        return _fault_directory(sites, site) if sites.faults else None
    number = _number(path.removeprefix("/directory/"))
    if number is None or number >= _directory_pages(sites) or path != _directory_path(number):
        return None
    return _directory_page(sites, site, number)


def _directory_pages(sites: SimSites) -> int:
    return -(-sites.spec.hosts // _HOSTS_PER_PAGE)


def _directory_path(number: int) -> str:
    return f"/directory/{number}.html"


def _directory_page(sites: SimSites, site: SimSite, number: int) -> Resource:
    first = BRANCHES * number + 1
    links = [
        SimLink(f"{site.origin}{_directory_path(child)}", f"Directory, page {child}")
        for child in range(first, min(first + BRANCHES, _directory_pages(sites)))
    ]
    if number == 0 and sites.faults:
        links.append(SimLink(f"{site.origin}{_FAULT_DIRECTORY}", "Hosts with faults"))
    listed = range(number * _HOSTS_PER_PAGE, min((number + 1) * _HOSTS_PER_PAGE, sites.spec.hosts))
    return _host_list(sites, site, _directory_path(number), listed, links)


def _fault_directory(sites: SimSites, site: SimSite) -> Resource:
    return _host_list(sites, site, _FAULT_DIRECTORY, range(sites.spec.hosts, len(sites.names)), [])


def _host_list(sites: SimSites, site: SimSite, path: str, listed: range, links: list[SimLink]) -> Resource:
    for index in listed:
        other = sites.site(index)
        shown = min(SHUT_LINKED, other.size) if other.shut else 1
        links.extend(SimLink(sites.url(index, number), f"{other.name} {number}") for number in range(shown))
    return short_page(sites, site, path, links=tuple(links), shows="directory")


def calendar_path(number: int) -> str:
    """Return the path of a calendar page: number 0 is the entry page, then each year precedes its months.

    >>> calendar_path(0), calendar_path(1), calendar_path(2), calendar_path(14)
    ('/calendar/', '/calendar/2026/', '/calendar/2026/01/', '/calendar/2027/')
    """
    if number == 0:
        return "/calendar/"
    year, month = divmod(number - 1, _YEAR)
    folder = f"/calendar/{_FIRST_YEAR + year}/"
    return f"{folder}{month:02}/" if month else folder


def _has_calendar(sites: SimSites, site: SimSite) -> bool:
    return site.index == sites.host_for(_CALENDAR_HOST).index


def _calendar_number(path: str) -> int:
    found = _CALENDAR.fullmatch(path)
    if found is None:
        return -1
    if found[1] is None:
        return 0
    number = (int(found[1]) - _FIRST_YEAR) * _YEAR + int(found[2] or 0) + 1
    return number if number > 0 and calendar_path(number) == path else -1


def _calendar_page(sites: SimSites, site: SimSite, number: int) -> Resource:
    month = (number - 1) % _YEAR if number else -1
    if number == 0:
        linked = [1]
    elif month == 0:
        linked = [*range(number + 1, number + _YEAR), number + _YEAR, max(number - _YEAR, 0)]
    else:
        # After December comes January, on the other side of the next year's own page.
        following = number + 2 if month == _YEAR - 1 else number + 1
        linked = [following, number - month]
    links = tuple(
        SimLink(f"{site.origin}{calendar_path(other)}", calendar_path(other).strip("/"))
        for other in linked
        if other < sites.spec.trap_size
    )
    return short_page(sites, site, calendar_path(number), links=links, shows="calendar")


def _has_shop(sites: SimSites, site: SimSite) -> bool:
    return sites.spec.sessions > 0 and site.index == sites.host_for(_SESSION_HOST).index


@lru_cache(maxsize=8)
def _session_ids(seed: int, count: int) -> dict[str, None]:
    # A dict keeps the order and finds an id quickly.
    return {f"{mix(seed, number, 0x5E55):016x}": None for number in range(count)}


def _shop(sites: SimSites, site: SimSite) -> Resource:
    sessions = _session_ids(sites.spec.seed, sites.spec.sessions)
    links = tuple(SimLink(f"{site.origin}{_ITEM}?sid={session}", "A lantern") for session in sessions)
    return short_page(sites, site, _SHOP, links=links, shows="shop")


def _item(sites: SimSites, site: SimSite, session: str) -> Resource:
    markup = PageMarkup(url=f"{site.origin}{_ITEM}", title="A lantern")
    home = (SimLink(f"{site.origin}{_SHOP}", "Back to the shop"),)
    path = f"{_ITEM}?sid={session}"
    item = short_page(sites, site, path, links=home, key="item", document=markup, shows="session-id")
    return replace(item, duplicate="session")
