"""The synthetic web as a pure description: what every URL of it answers, and nothing that runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from . import directory, traps, wayside
from .answer import Answer, answer_of, nothing_here
from .atlas import Atlas
from .exhibits import Exhibit, entry, exhibits
from .facts import Link, Resource
from .faulty import faults, refused_urls
from .pages import number_of, page
from .robotsfile import robots_files
from .sites import Site
from .spec import WebSpec

_SEED_HOSTS = 10


class SimWeb:
    """A whole web, deterministic by its spec: ask it for any host and path.

    >>> web = SimWeb(WebSpec(hosts=3, pages=9))
    >>> web.answer(web.hosts()[0], "/").status
    200
    >>> web.answer("elsewhere.test", "/").status
    404
    """

    def __init__(self, spec: WebSpec | None = None) -> None:
        self.spec = spec or WebSpec()
        self.atlas = Atlas(self.spec)
        # A host's special resources are few; keeping them for some hosts saves work on each request.
        self._specials = lru_cache(maxsize=256)(self._make_specials)
        self._fronts = lru_cache(maxsize=256)(self._make_front)

    def __repr__(self) -> str:
        return f"SimWeb({self.spec!r})"

    def hosts(self) -> tuple[str, ...]:
        """The names of all hosts, the plain ones first."""
        return self.atlas.names

    def seeds(self) -> tuple[str, ...]:
        """Front pages from which everything expected can be reached."""
        first = (self.atlas.site(index) for index in range(min(self.spec.hosts, _SEED_HOSTS)))
        return tuple(f"{site.origin}/" for site in first if not site.shut)

    def find(self, host: str, path: str) -> Resource | None:
        """The resource at a host's path (with its query), or None where nothing is."""
        site = self.atlas.find(host)
        if site is None:
            return None
        if path == "/":
            return self._fronts(site.index)
        number = number_of(path)
        if 0 <= number < site.size and site.path(number) == path:
            return page(self.atlas, site, number)
        special = self._specials(site.index).get(path)
        if special is not None:
            return special.resource
        if site.fault:
            return None
        for find in (wayside.find, directory.find, traps.find):
            resource = find(self.atlas, site, path)
            if resource is not None:
                return resource
        return None

    def resources(self, host: str) -> Iterator[Resource]:
        """Every resource of a host; what its pages link to on other hosts is listed there."""
        site = self.atlas.find(host)
        if site is None:
            return
        yield self._fronts(site.index)
        for number in range(1, site.size):
            yield page(self.atlas, site, number)
        for exhibit in self._specials(site.index).values():
            yield exhibit.resource
        if not site.fault:
            for resources in (wayside.resources, directory.resources, traps.resources):
                yield from resources(self.atlas, site)

    def refused(self) -> Iterator[str]:
        """URLs that pages or redirects of this web name and nobody may fetch: private addresses, files."""
        for index in range(self.spec.hosts, len(self.atlas.names)):
            yield from refused_urls(self.atlas.site(index))

    def answer(self, host: str, path: str, now: float = 0.0, attempt: int = 0) -> Answer:
        """What is to be sent for a GET at ``now`` seconds of simulated time.

        ``attempt`` counts the earlier requests for the same URL: some answers recover.
        """
        resource = self.find(host, path)
        if resource is None:
            return nothing_here(host, path)
        return answer_of(resource, now, attempt)

    def _make_front(self, index: int) -> Resource:
        site = self.atlas.site(index)
        links = [entry(exhibit) for exhibit in self._specials(index).values() if exhibit.linked]
        if not site.fault:
            links.extend(traps.entries(self.atlas, site))
        if index == 0:
            links.append(Link(f"{site.origin}{directory.ENTRANCE}", "All hosts"))
        return page(self.atlas, site, 0, tuple(links))

    def _make_specials(self, index: int) -> dict[str, Exhibit]:
        site: Site = self.atlas.site(index)
        shown = faults(self.atlas, site) if site.fault else exhibits(self.atlas, site)
        found = {exhibit.resource.path: exhibit for exhibit in shown}
        for resource in robots_files(self.atlas, site):
            found[resource.path] = Exhibit(resource, linked=False)
        return found
