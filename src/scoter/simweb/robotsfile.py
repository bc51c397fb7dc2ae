"""The robots.txt of each host as a resource, and the targets of redirected ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from scoter.simweb.facts import AnswerClass, Body, Resource, WireBehaviour
from scoter.simweb.robots import MOVED_AWAY_PATH, MOVED_HERE_PATH, RobotsKind, rules, shared_rules
from scoter.simweb.sites import SimSite, SimSites

_PATH = "/robots.txt"


def robots_files(sites: SimSites, site: SimSite) -> Iterator[Resource]:
    """Yield a host's robots.txt, if it has one, and any shared rules that it serves."""
    kind = site.profile.robots
    if site.index == 0:
        yield _shared(site, MOVED_AWAY_PATH)
    match kind:
        case RobotsKind.ABSENT:
            return
        case RobotsKind.FORBIDDEN:
            yield _failing(site, 403)
        case RobotsKind.SERVER_ERROR:
            yield _failing(site, 500)
        case RobotsKind.BUSY:
            yield _failing(site, 429, headers=(("Retry-After", "1"),))
        case RobotsKind.HANG_UP:
            yield _failing(site, 200, wire=WireBehaviour.HANG_UP)
        case RobotsKind.MOVED_HERE:
            yield _shared(site, MOVED_HERE_PATH)
            yield _moved(site, MOVED_HERE_PATH, f"{site.origin}{MOVED_HERE_PATH}")
        case RobotsKind.MOVED_AWAY:
            target = f"{sites.site(0).origin}{MOVED_AWAY_PATH}"
            yield _moved(site, target, target)
        case _:
            sitemap = f"{site.origin}/sitemap.xml" if kind is RobotsKind.OPEN else ""
            yield _file(site, _PATH, partial(_rules, kind, sitemap))


def _shared(site: SimSite, path: str) -> Resource:
    return replace(_file(site, path, lambda version: shared_rules()), shows="robots-rules")


def _rules(kind: RobotsKind, sitemap: str, version: int) -> bytes:
    return rules(kind, sitemap)


def _file(site: SimSite, path: str, body: Body) -> Resource:
    return Resource(
        host=site.name,
        path=path,
        answer=AnswerClass.ROBOTS,
        content_type="text/plain; charset=utf-8",
        body=body,
        expected=False,
        shows=f"robots-{site.profile.robots}",
    )


def _failing(
    site: SimSite, status: int, headers: tuple[tuple[str, str], ...] = (), wire: WireBehaviour = WireBehaviour.LENGTH
) -> Resource:
    return Resource(
        host=site.name,
        path=_PATH,
        answer=AnswerClass.ROBOTS,
        status=status,
        content_type="text/plain; charset=utf-8",
        body=lambda version: b"Not today.\n",
        headers=headers,
        wire=wire,
        expected=False,
        shows=f"robots-{site.profile.robots}",
    )


def _moved(site: SimSite, location: str, target: str) -> Resource:
    return Resource(
        host=site.name,
        path=_PATH,
        answer=AnswerClass.ROBOTS,
        status=301,
        content_type="text/plain; charset=utf-8",
        body=lambda version: b"Elsewhere.\n",
        location=location,
        target=target,
        expected=False,
        shows=f"robots-{site.profile.robots}",
    )
