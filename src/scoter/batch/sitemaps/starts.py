"""Where the search for sitemaps begins: at sites, whose robots.txt names them, or at a sitemap itself."""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.seeds import Complaint, Line, Origin, parse, read
from scoter.core.url import Url, canonical
from scoter.engine import Engine, Source
from scoter.errors import UrlError

ROBOTS = "/robots.txt"
_SCHEMA = pa.schema([("origin", pa.utf8())])
_ORIGIN = "^https?://[^/?#]+"


class Start(Struct, frozen=True):
    """A site (``url`` is its robots.txt), or a sitemap."""

    url: Url
    is_site: bool


def start_of(text: str) -> Start:
    """Return what an address names: a site's root or robots.txt is the site, everything else a sitemap.

    >>> start_of("https://example.org"), start_of("https://example.org/map.xml").is_site
    (Start(url=Url('https://example.org/robots.txt'), is_site=True), False)
    """
    url = canonical(text)
    if url.target in ("/", ROBOTS):
        return Start(canonical(origin_of(url) + ROBOTS), True)
    return Start(url, False)


def origin_of(url: Url) -> str:
    """Return scheme, host and port of a URL, as they stand before its path."""
    return url.text[: len(url.text) - len(url.target)]


def given(
    urls: Iterable[Origin], hosts: Iterable[Origin], stdin: IO[bytes] | None = None
) -> Iterator[Start | Complaint]:
    """Yield what arguments and files name; a host without a scheme is asked by https."""
    for line in read(urls, stdin):
        yield line if isinstance(line, Complaint) else _start(line)
    for line in read(hosts, stdin):
        if isinstance(line, Complaint):
            yield line
        else:
            text = parse(line.text).text
            yield _start(Line(text if "://" in text else f"https://{text}/", line.where), as_site=True)


def sites_of(engine: Engine, crawldb: Source, file: Path) -> int:
    """Write the sites of the URLs in a crawldb to a file, each once, and return their number."""
    rows = engine.read(crawldb)
    found = rows.filter(rows.url.re_search(_ORIGIN)).select(origin=rows.url.re_extract(_ORIGIN, 0)).distinct()
    return engine.save(found, _SCHEMA, file, ["origin"])


def sites_in(file: Path) -> Iterator[Start]:
    """Yield the sites of such a file, a few thousand in memory at a time."""
    with pq.ParquetFile(file) as found:
        batches: Iterable[Any] = found.iter_batches(10_000)
        for batch in batches:
            for origin in batch["origin"].to_pylist():
                yield Start(canonical(origin + ROBOTS), True)


def _start(line: Line, as_site: bool = False) -> Start | Complaint:
    text = parse(line.text).text
    try:
        found = start_of(text)
    except UrlError:
        return Complaint(line.where, text[:200], "is not a URL that can be fetched")
    if not found.url.text.startswith(("http://", "https://")):
        return Complaint(line.where, text[:200], "is not on the web (http or https)")
    return Start(canonical(origin_of(found.url) + ROBOTS), True) if as_site else found
