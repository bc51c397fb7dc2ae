"""The synthetic web as a pure description: what every URL of it answers, and nothing that runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from scoter.simweb.extra_pages import DIRECTORY, extra_pages, find_extra_page, trap_links
from scoter.simweb.facts import Resource, SimLink
from scoter.simweb.faults import faults, refused_urls
from scoter.simweb.pages import number_of, page
from scoter.simweb.responses import SimResponse, not_found, response_of
from scoter.simweb.robotsfile import robots_files
from scoter.simweb.sites import SimSite, SimSites
from scoter.simweb.spec import WebSpec
from scoter.simweb.special_resources import SpecialResource, front_page_link, special_resources

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
        self.sites = SimSites(self.spec)
        # A host's special resources are few; keeping them for some hosts saves work on each request.
        self._specials = lru_cache(maxsize=256)(self._make_specials)
        self._fronts = lru_cache(maxsize=256)(self._make_front)

    def __repr__(self) -> str:
        return f"SimWeb({self.spec!r})"

    def hosts(self) -> tuple[str, ...]:
        """The names of all hosts, the plain ones first."""
        return self.sites.names

    def seeds(self) -> tuple[str, ...]:
        """Front pages from which everything expected can be reached."""
        first = (self.sites.site(index) for index in range(min(self.spec.hosts, _SEED_HOSTS)))
        return tuple(f"{site.origin}/" for site in first if not site.shut)

    def find(self, host: str, path: str) -> Resource | None:
        """The resource at a host's path (with its query), or None where nothing is."""
        site = self.sites.find(host)
        if site is None:
            return None
        if path == "/":
            return self._fronts(site.index)
        number = number_of(path)
        if 0 <= number < site.size and site.path(number) == path:
            return page(self.sites, site, number)
        special = self._specials(site.index).get(path)
        if special is not None:
            return special.resource
        if site.fault:
            return None
        return find_extra_page(self.sites, site, path)

    def resources(self, host: str) -> Iterator[Resource]:
        """Every resource of a host; what its pages link to on other hosts is listed there."""
        site = self.sites.find(host)
        if site is None:
            return
        yield self._fronts(site.index)
        for number in range(1, site.size):
            yield page(self.sites, site, number)
        for special in self._specials(site.index).values():
            yield special.resource
        if not site.fault:
            yield from extra_pages(self.sites, site)

    def refused(self) -> Iterator[str]:
        """URLs that pages or redirects of this web name and nobody may fetch: private addresses, files."""
        for index in range(self.spec.hosts, len(self.sites.names)):
            yield from refused_urls(self.sites.site(index))

    def answer(self, host: str, path: str, now: float = 0.0, attempt: int = 0) -> SimResponse:
        """What is to be sent for a GET at ``now`` seconds of simulated time.

        ``attempt`` counts the earlier requests for the same URL: some answers recover.
        """
        resource = self.find(host, path)
        if resource is None:
            return not_found(host, path)
        return response_of(resource, now, attempt)

    def _make_front(self, index: int) -> Resource:
        site = self.sites.site(index)
        links = [front_page_link(special) for special in self._specials(index).values() if special.linked]
        if not site.fault:
            links.extend(trap_links(self.sites, site))
        if index == 0:
            links.append(SimLink(f"{site.origin}{DIRECTORY}", "All hosts"))
        return page(self.sites, site, 0, tuple(links))

    def _make_specials(self, index: int) -> dict[str, SpecialResource]:
        site: SimSite = self.sites.site(index)
        shown = faults(self.sites, site) if site.fault else special_resources(self.sites, site)
        found = {special.resource.path: special for special in shown}
        for resource in robots_files(self.sites, site):
            found[resource.path] = SpecialResource(resource, linked=False)
        return found
