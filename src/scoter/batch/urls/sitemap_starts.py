"""Where the search for sitemaps starts: sites and sitemaps that are given, or the sites of a crawldb or hostdb."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir.export import iter_rows
from scoter.batch.urls.seeds import SeedLine, SeedProblem, SeedSource, parse_seed, read_seeds
from scoter.core.url import Url, canonical
from scoter.engine import Engine, TableSource
from scoter.errors import UrlError
from scoter.plugins.recorded import ibis

ROBOTS = "/robots.txt"
_SCHEMA = pa.schema([("origin", pa.utf8())])
_ORIGIN = "^https?://[^/?#]+"


class SitemapStart(Struct, frozen=True):
    """A site (``url`` is its robots.txt) or a sitemap to start from."""

    url: Url
    is_site: bool


def start_of(text: str) -> SitemapStart:
    """Return the start that a URL names: a site for its root or robots.txt, otherwise a sitemap.

    >>> start_of("https://example.org"), start_of("https://example.org/map.xml").is_site
    (SitemapStart(url=Url('https://example.org/robots.txt'), is_site=True), False)
    """
    url = canonical(text)
    if url.target in ("/", ROBOTS):
        return SitemapStart(canonical(origin_of(url) + ROBOTS), True)
    return SitemapStart(url, False)


def origin_of(url: Url) -> str:
    """Return a URL up to its path: scheme, host and port."""
    return url.text[: len(url.text) - len(url.target)]


def read_starts(urls: Iterable[SeedSource], hosts: Iterable[SeedSource]) -> Iterator[SitemapStart | SeedProblem]:
    """Yield the starts that arguments and files name; a host without a scheme gets https."""
    for line in read_seeds(urls):
        yield line if isinstance(line, SeedProblem) else _start(line)
    for line in read_seeds(hosts):
        if isinstance(line, SeedProblem):
            yield line
        else:
            text = parse_seed(line.text).text
            yield _start(SeedLine(text if "://" in text else f"https://{text}/", line.where), as_site=True)


def save_sites(engine: Engine, crawldb: TableSource, file: Path) -> int:
    """Write the distinct sites of a crawldb to a file and return their number."""
    rows = engine.read(crawldb)
    found = rows.filter(rows.url.re_search(_ORIGIN)).select(origin=rows.url.re_extract(_ORIGIN, 0)).distinct()
    return engine.save(found, _SCHEMA, file, ["origin"])


def save_hosts_as_sites(engine: Engine, hostdb: TableSource, file: Path) -> int:
    """Write the sites of the hosts of a hostdb that are not dead to a file, and return their number."""
    rows = engine.read(hostdb)
    alive = rows.filter(rows.dns.fill_null("") != "failed")
    own = ibis.literal("http://") + alive.url
    # A homepage tells whether the host has https; a redirect to another host tells nothing.
    origin = alive.homepage.fill_null("").startswith(own + "/").ifelse(own, ibis.literal("https://") + alive.url)
    return engine.save(alive.select(origin=origin), _SCHEMA, file, ["origin"])


def read_sites(file: Path) -> Iterator[SitemapStart]:
    """Yield the sites of a file that ``save_sites`` wrote."""
    with pq.ParquetFile(file) as found:
        for row in iter_rows(found.iter_batches()):
            yield SitemapStart(canonical(row["origin"] + ROBOTS), True)


def _start(line: SeedLine, as_site: bool = False) -> SitemapStart | SeedProblem:
    text = parse_seed(line.text).text
    try:
        found = start_of(text)
    except UrlError:
        return SeedProblem(line.where, text[:200], "not a URL that can be fetched")
    if not found.url.text.startswith(("http://", "https://")):
        return SeedProblem(line.where, text[:200], "not an http or https URL")
    return SitemapStart(canonical(origin_of(found.url) + ROBOTS), True) if as_site else found
