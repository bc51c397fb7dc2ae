"""The directory on the first host: through it every host can be reached from one front page."""

from __future__ import annotations

from collections.abc import Iterator

from .atlas import Atlas
from .facts import Link, Resource
from .pages import note
from .sites import BRANCHES, SHUT_LINKED, Site

_PER_PAGE = 40
ENTRANCE = "/directory/0.html"
FAULTS_PATH = "/directory/faults.html"


def find(atlas: Atlas, site: Site, path: str) -> Resource | None:
    """The directory page at a path."""
    if site.index != 0 or not path.startswith("/directory/"):
        return None
    if path == FAULTS_PATH:
        return _page(atlas, site, path, range(atlas.spec.hosts, len(atlas.names))) if atlas.faults else None
    digits = path.removeprefix("/directory/").removesuffix(".html")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 8):
        return None
    number = int(digits)
    if number >= _count(atlas) or path != _path(number):
        return None
    return _numbered(atlas, site, number)


def resources(atlas: Atlas, site: Site) -> Iterator[Resource]:
    """Every page of the directory."""
    if site.index != 0:
        return
    for number in range(_count(atlas)):
        yield _numbered(atlas, site, number)
    if atlas.faults:
        yield _page(atlas, site, FAULTS_PATH, range(atlas.spec.hosts, len(atlas.names)))


def _count(atlas: Atlas) -> int:
    return -(-atlas.spec.hosts // _PER_PAGE)


def _path(number: int) -> str:
    return f"/directory/{number}.html"


def _numbered(atlas: Atlas, site: Site, number: int) -> Resource:
    first = BRANCHES * number + 1
    links = [
        Link(f"{site.origin}{_path(child)}", f"Directory, page {child}")
        for child in range(first, min(first + BRANCHES, _count(atlas)))
    ]
    if number == 0 and atlas.faults:
        links.append(Link(f"{site.origin}{FAULTS_PATH}", "Hosts with faults"))
    listed = range(number * _PER_PAGE, min((number + 1) * _PER_PAGE, atlas.spec.hosts))
    return _page(atlas, site, _path(number), listed, links)


def _page(atlas: Atlas, site: Site, path: str, listed: range, links: list[Link] | None = None) -> Resource:
    links = links or []
    for index in listed:
        other = atlas.site(index)
        shown = min(SHUT_LINKED, other.size) if other.shut else 1
        links.extend(Link(atlas.url(index, number), f"{other.name} {number}") for number in range(shown))
    return note(atlas, site, path, links=tuple(links), shows="directory")
