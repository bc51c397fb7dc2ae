"""What stands beside the numbered pages: dead ends, redirects, and members' pages behind nofollow links.

Each belongs to one numbered page, which alone links to it; thus a truth about it needs no search of the graph.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from .atlas import Atlas
from .dice import mix, throws
from .facts import AnswerClass, Link, Resource
from .pages import note, trusty
from .robots import verdict
from .sites import Site

REDIRECTS = (301, 302, 303, 307, 308)
PERMANENT = frozenset({301, 308})


def find(atlas: Atlas, site: Site, path: str) -> Resource | None:
    """The wayside resource at a path."""
    folder, _, rest = path[1:].partition("/")
    digits = rest.removesuffix(".html")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 12):
        return None
    resource = _make(atlas, site, folder, int(digits))
    return resource if resource is not None and resource.path == path else None


def resources(atlas: Atlas, site: Site) -> Iterator[Resource]:
    """Every wayside resource of a host."""
    for folder, start, step in (("old", 7, 25), ("go", 11, 20), ("members", 9, 40)):
        for number in range(start, site.size, step):
            resource = _make(atlas, site, folder, number)
            if resource is not None:
                yield resource


def _make(atlas: Atlas, site: Site, folder: str, number: int) -> Resource | None:
    if not 0 < number < site.size or not trusty(site, number):
        return None
    match folder:
        case "old" if number % 25 == 7:
            return dead(site, f"/old/{number}.html", removed=number % 2 == 0)
        case "go" if number % 20 == 11:
            first, second, how, _ = throws(4, atlas.spec.seed, site.index, number, 0x60)
            status = REDIRECTS[mix(how) % len(REDIRECTS)]
            return moved(site, f"/go/{number}", status, atlas.drawn(site, first, second))
        case "members" if number % 40 == 9:
            path = f"/members/{number}.html"
            home = (Link(f"{site.origin}/", "home"),)
            return replace(note(atlas, site, path, links=home, shows="nofollow-only"), expected=False)
        case _:
            return None


def dead(site: Site, path: str, *, removed: bool) -> Resource:
    """A path where nothing is, or where nothing is any more."""
    return Resource(
        host=site.name,
        path=path,
        answer=AnswerClass.REMOVED if removed else AnswerClass.NOT_FOUND,
        status=410 if removed else 404,
        content_type="text/html; charset=utf-8",
        body=lambda version: b"<!DOCTYPE html>\n<title>Nothing here</title>\n<p>There is nothing here.</p>\n",
        verdict=verdict(site.habits.robots, path),
        expected=not site.shut,
        shows="removed" if removed else "not-found",
    )


def moved(
    site: Site, path: str, status: int, target: str, *, location: str = "", shows: str = "", expected: bool = True
) -> Resource:
    """A redirect; ``location`` is how the answer spells its target, if not in full."""
    return Resource(
        host=site.name,
        path=path,
        answer=AnswerClass.MOVED if status in PERMANENT else AnswerClass.MOVED_FOR_NOW,
        status=status,
        content_type="text/plain; charset=utf-8",
        body=lambda version: f"It is at {target or location} now.\n".encode(),
        location=location or target,
        target=target,
        verdict=verdict(site.habits.robots, path),
        expected=expected and not site.shut,
        shows=shows or f"redirect-{status}",
    )
