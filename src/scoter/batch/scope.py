"""Where a crawl goes: the hosts or domains of its seeds, kept in the crawl directory.

``scope.txt`` has a line a name (``domain example.org``) and is what the URL filter ``scope`` reads. People may edit it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from scoter.batch.directory import CrawlDir
from scoter.batch.seeds import Complaint, parse, read
from scoter.batch.seeds import origins as origins_of
from scoter.config import Config
from scoter.core.domain import registered_domain
from scoter.core.filters.scope import FILES
from scoter.core.url import canonical
from scoter.errors import UrlError
from scoter.store.disk import disk_errors
from scoter.store.tables.local import LocalStorage

SCOPE = "scope.txt"
FILTER = "scope"
ANY = "any"


def extend(crawl: CrawlDir, scope: str, hosts: Iterable[str]) -> None:
    """Let a crawl go to more hosts, or to their registered domains, as ``scope`` says."""
    file = crawl.path / SCOPE
    with disk_errors("read the crawl's scope", file):
        # Bytes, since people may have written into it in whatever encoding; their lines stay as they are.
        before = file.read_bytes().splitlines() if file.exists() else []
    names = {f"{scope} {(host if scope == 'host' else registered_domain(host)) or FILES}".encode() for host in hosts}
    new = sorted(names - set(before))
    if new:
        LocalStorage(crawl.path).replace(SCOPE, b"".join(line + b"\n" for line in [*before, *new]))


def hosts_of(seeds: Iterable[str]) -> set[str]:
    """Return the hosts that seeds name; what is no URL is inject's to complain of."""
    found: set[str] = set()
    for line in read(origins_of(seeds)):
        if isinstance(line, Complaint):
            continue
        try:
            found.add(canonical(parse(line.text).text).host)
        except UrlError:
            continue
    return found


def within(config: Config, crawl: CrawlDir) -> Config:
    """Return the configuration with the filter for the crawl's scope in its chain, if it has one."""
    file: Path = crawl.path / SCOPE
    if not file.exists() or FILTER in config.urlfilter.order:
        return config
    chain = replace(config.urlfilter, order=(*config.urlfilter.order, FILTER), scope_file=file.absolute())
    return replace(config, urlfilter=chain)
