"""A static site of many hosts behind nginx, made of realistic pages that link to each other."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.nginx import Certificate, free_port
from benchmarks.nginx import serving as nginx
from benchmarks.pages import page

ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.print$\nAllow: /private/press/\n"
EXTERNAL_LINKS = 0.25
_TEMPLATES = 300  # pages made from one template differ in title, canonical URL and links
_ANCHOR = re.compile(r'(<a [^>]*?href=")[^"]*(")')
_ALTERNATE = re.compile(r'<link rel="alternate"[^>]*>\n')


class Site(NamedTuple):
    """How many hosts and pages, how large a page is, how many links it has, and how it is reached."""

    page_bytes: int
    links: int
    hosts: int = 60
    pages_per_host: int = 100
    scheme: str = "http"
    has_names: bool = False

    @property
    def pages(self) -> int:
        return self.hosts * self.pages_per_host

    def seeds(self, port: int) -> list[str]:
        return [f"{self.origin(host, port)}/0.html" for host in range(self.hosts)]

    def origin(self, host: int, port: int) -> str:
        return f"{self.scheme}://{self.host(host)}:{port}"

    def host(self, number: int) -> str:
        """Return the name of a host, or its address, so that no contestant has to resolve names."""
        return f"h{number}.test" if self.has_names else address(number)


SMALL = Site(page_bytes=25_000, links=50)
LARGE = Site(page_bytes=128_000, links=150, pages_per_host=25)


def address(host: int) -> str:
    """Return the loopback address of a host."""
    return f"127.0.1.{host + 1}"


def write(root: Path, port: int, site: Site) -> None:
    """Write every page below ``root/pages``; each is reachable from the first page of its host."""
    for host in range(site.hosts):
        folder = root / "pages" / site.host(host)
        folder.mkdir(parents=True)
        (folder / "robots.txt").write_text(ROBOTS)
        for number in range(site.pages_per_host):
            (folder / f"{number}.html").write_text(_page(site, port, host, number))


def _page(site: Site, port: int, host: int, number: int) -> str:
    chance = random.Random(host * site.pages_per_host + number)
    own = site.origin(host, port)
    following = iter([(number + 1) % site.pages_per_host])  # a ring through all pages of the host

    def target(found: re.Match[str]) -> str:
        where = next(following, None)
        if where is not None:
            href = f"/{where}.html"
        elif chance.random() < EXTERNAL_LINKS:
            other = site.origin(chance.randrange(site.hosts), port)
            href = f"{other}/{chance.randrange(site.pages_per_host)}.html"
        else:
            href = f"/{chance.randrange(site.pages_per_host)}.html"
        return found[1] + href + found[2]

    template = (host * site.pages_per_host + number) % _TEMPLATES
    text = _template(site, template).replace(f"https://a.example/{template}", f"{own}/{number}")
    return _ANCHOR.sub(target, text.replace("<title>", f"<title>{number} of {host}: ", 1))


@cache
def _template(site: Site, number: int) -> str:
    return _ALTERNATE.sub("", page(site.page_bytes, site.links, number).decode())


@contextmanager
def serving(root: Path, site: Site, tls: Certificate | None = None, rules: str = "") -> Iterator[int]:
    """Serve the site and yield its port; ``rules`` are additional nginx directives."""
    port = free_port()
    write(root, port, site)
    with nginx(root, port, "pages/$host", rules, tls):
        yield port
