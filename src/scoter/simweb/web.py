"""The synthetic web as a pure description: the response of every URL, without a server."""

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
    """A whole web, determined by its specification.

    >>> web = SimWeb(WebSpec(hosts=3, pages=9))
    >>> web.answer(web.hosts()[0], "/").status
    200
    >>> web.answer("elsewhere.test", "/").status
    404
    """

    def __init__(self, spec: WebSpec | None = None) -> None:
        self.spec = spec or WebSpec()
        self.sites = SimSites(self.spec)
        # A host has few special resources; caching them saves work on each request.
        self._specials = lru_cache(maxsize=256)(self._make_specials)
        self._fronts = lru_cache(maxsize=256)(self._make_front)

    def __repr__(self) -> str:
        return f"SimWeb({self.spec!r})"

    def hosts(self) -> tuple[str, ...]:
        """Return the names of all hosts, those without faults first."""
        return self.sites.names

    def seeds(self) -> tuple[str, ...]:
        """Return the front pages from which all expected URLs can be reached."""
        first = (self.sites.site(index) for index in range(min(self.spec.hosts, _SEED_HOSTS)))
        return tuple(f"{site.origin}/" for site in first if not site.shut)

    def find(self, host: str, path: str) -> Resource | None:
        """Return the resource at a host's path (including the query), or ``None``."""
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
        """Yield every resource of a host."""
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
        """Yield URLs in links and redirects of this web that must not be fetched: private addresses, files."""
        for index in range(self.spec.hosts, len(self.sites.names)):
            yield from refused_urls(self.sites.site(index))

    def answer(self, host: str, path: str, now: float = 0.0, attempt: int = 0) -> SimResponse:
        """Return the response to a GET at ``now`` seconds of simulated time.

        ``attempt`` counts earlier requests for the same URL, because some URLs recover.
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
