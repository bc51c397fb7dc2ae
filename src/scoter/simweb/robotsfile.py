"""The robots.txt of each host as a resource, and the targets of redirected ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

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


def _file(site: SimSite, path: str, body: Body, **fields: Any) -> Resource:
    return Resource(
        host=site.name,
        path=path,
        answer=AnswerClass.ROBOTS,
        content_type="text/plain; charset=utf-8",
        body=body,
        expected=False,
        shows=f"robots-{site.profile.robots}",
        **fields,
    )


def _failing(site: SimSite, status: int, **fields: Any) -> Resource:
    return _file(site, _PATH, lambda version: b"Not today.\n", status=status, **fields)


def _moved(site: SimSite, location: str, target: str) -> Resource:
    return _file(site, _PATH, lambda version: b"Elsewhere.\n", status=301, location=location, target=target)
