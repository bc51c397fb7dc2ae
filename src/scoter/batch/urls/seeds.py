"""Seed lists (files, folders, URLs, standard input), and the scope that follows from them.

A line is a URL followed by tab-separated ``name=value`` fields. Three names are Nutch's: ``nutch.score``,
``nutch.fetchInterval`` and ``nutch.fetchInterval.fixed`` (seconds); all others become metadata. Empty lines and lines
that begin with ``#`` are ignored. See docs/seeds.md.

``scope.txt`` in the crawl directory has one name per line (``domain example.org``); the URL filter ``scope`` reads it,
and people may edit it.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from datetime import timedelta
from io import BufferedIOBase
from pathlib import Path
from typing import IO, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from scoter.batch.crawldir.directory import CrawlDir
from scoter.config import Config
from scoter.core.datum import FIXED_INTERVAL
from scoter.core.domain import is_ip, registered_domain
from scoter.core.filters.domain import FILES
from scoter.core.page import EMPTY
from scoter.core.schedule import LONGEST
from scoter.core.url import canonical
from scoter.errors import UrlError, UsageError
from scoter.store.disk import disk_errors
from scoter.store.objects.copies import local_file
from scoter.store.tables.local import storage_at

SCORE = "nutch.score"
INTERVAL = "nutch.fetchInterval"
FIXED = "nutch.fetchInterval.fixed"

STDIN = "-"
MAX_LINE = 2**20
"""Maximum length of a line in bytes: the file may be binary."""
_HOST = re.compile(r"[^/]*[.]|localhost|[\w-]+:[0-9]")
_HAS_PORT = re.compile(r"[^/]*:[0-9]+")
_GZIP = b"\x1f\x8b"
_SHOWN = 200

SeedSource: TypeAlias = Path | str
"""A file to read, a URL itself, or ``-`` for standard input."""


class SeedLine(Struct, frozen=True):
    """A line that is neither empty nor a comment, and its position."""

    text: str
    where: str


class SeedProblem(Struct, frozen=True):
    """A problem with a line."""

    where: str
    text: str
    why: str


class Seed(Struct, frozen=True, kw_only=True):
    """A parsed line; the URL is not checked yet."""

    text: str
    score: float | None = None
    interval: timedelta | None = None
    metadata: Mapping[str, str] = EMPTY
    wrong: tuple[str, ...] = ()
    """Why fields of the line were ignored."""


def seed_sources(seeds: Iterable[str], *, may_be_urls: bool = True) -> list[SeedSource]:
    """Return the files, URLs and standard input that arguments name, in order, without reading them."""
    found: list[SeedSource] = []
    for seed in seeds:
        path = Path(seed)
        if seed == STDIN:
            found.append(STDIN)
        elif _exists(path):
            found += _files(path)
        elif may_be_urls and _is_url(seed):
            found.append(seed)
        else:
            raise _neither(seed, may_be_urls)
    return found


def read_seeds(origins: Iterable[SeedSource], stdin: IO[bytes] | None = None) -> Iterator[SeedLine | SeedProblem]:
    """Yield the lines that are not empty or comments, and problems for lines that are too long."""
    for origin in origins:
        if isinstance(origin, Path):
            yield from _lines_of(origin)
        elif origin == STDIN:
            source = stdin or (None if sys.stdin is None else sys.stdin.buffer)
            if source is not None:
                yield from _lines(source, "stdin")
        else:
            # Invalid UTF-8 in an argument becomes surrogates, which cannot be written.
            yield SeedLine(origin.encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "argument")


def parse_seed(text: str) -> Seed:
    """Parse a line.

    >>> parse_seed("https://example.org/\\tnutch.score=2.5\\tlang=en").score
    2.5
    """
    if "\t" not in text:
        return Seed(text=text.strip())
    url, *fields = text.split("\t")
    known: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    wrong: list[str] = []
    for field in fields:
        name, equals, value = (part.strip() for part in field.partition("="))
        read, expected = _FIELDS.get(name, (None, "name=value"))
        if read is not None:
            known[name] = read(value)
            is_valid = known[name] is not None
        elif is_valid := bool(name and equals):
            metadata[name] = value
        if not is_valid and field.strip():
            wrong.append(f"{field.strip()[:_SHOWN]!r} is not {expected}")
    fixed: timedelta | None = known.get(FIXED)
    if fixed is not None:
        metadata[FIXED_INTERVAL] = str(int(fixed.total_seconds()))
    return Seed(
        text=url.strip(),
        score=known.get(SCORE),
        interval=known.get(INTERVAL) if fixed is None else fixed,
        metadata=metadata or EMPTY,
        wrong=tuple(wrong),
    )


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _seconds(text: str) -> timedelta | None:
    found = _number(text)
    return None if found is None or found < 1 else min(timedelta(seconds=min(int(found), 2**31 - 1)), LONGEST)


_FIELDS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    SCORE: (_number, "a number"),
    INTERVAL: (_seconds, "a number of seconds"),
    FIXED: (_seconds, "a number of seconds"),
}


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a URL may be too long for a path or hold invalid characters
        return False


def _is_url(text: str) -> bool:
    try:
        canonical(parse_seed(text).text)
    except UrlError:
        return False
    return True


def _neither(seed: str, may_be_urls: bool) -> UsageError:
    if not may_be_urls:
        return UsageError("no such file or folder", where=seed)
    near = ""
    if _HOST.match(seed) and _is_url(f"https://{seed}"):
        is_local = seed.startswith("localhost") or _HAS_PORT.match(seed)
        near = f" Did you mean {'http' if is_local else 'https'}://{seed}?"
    return UsageError(
        f"{seed[:_SHOWN]!r} is neither a file nor a URL", hint=f"A URL looks like https://example.org/.{near}"
    )


def _files(path: Path) -> Iterator[Path]:
    """Yield a file, or the files below a folder in name order, without hidden ones."""
    if not path.is_dir():
        yield path
        return

    def fail(failure: OSError) -> None:
        raise UsageError(f"cannot list the folder: {failure.strerror}", where=str(failure.filename)) from failure

    for folder, below, names in os.walk(path, onerror=fail):
        below[:] = sorted(name for name in below if not name.startswith("."))
        yield from (
            file
            for name in sorted(names)
            if not name.startswith(".") and (file := Path(folder, name)).is_file()  # no sockets or pipes
        )


def _lines_of(path: Path) -> Iterator[SeedLine | SeedProblem]:
    with disk_errors("read the seeds", path), path.open("rb") as file:
        # A pipe cannot be peeked at.
        packed = file.seekable() and file.peek(2)[:2] == _GZIP
        try:
            with gzip.open(file) if packed else nullcontext(file) as lines:
                yield from _lines(lines, str(path))
        except (EOFError, gzip.BadGzipFile, zlib.error) as failure:
            raise UsageError(f"the gzip file is damaged: {failure}", where=str(path)) from failure


def _lines(file: IO[bytes] | BufferedIOBase, name: str) -> Iterator[SeedLine | SeedProblem]:
    number = 0
    while data := file.readline(MAX_LINE):
        number += 1
        where = f"{name}:{number}"
        if len(data) == MAX_LINE and not data.endswith(b"\n"):
            yield SeedProblem(where, data[:_SHOWN].decode("utf-8", "replace"), "the line is too long")
            while len(rest := file.readline(MAX_LINE)) == MAX_LINE and not rest.endswith(b"\n"):
                pass
            continue
        text = data.decode("utf-8-sig" if number == 1 else "utf-8", "replace").strip()
        if text and not text.startswith("#"):
            yield SeedLine(text, where)


SCOPE_FILE = "scope.txt"
SCOPE_FILTER = "scope"
ANY_SCOPE = "any"


def extend_scope(crawl: CrawlDir, scope: str, hosts: Iterable[str]) -> None:
    """Add hosts, or their registered domains, to the scope of a crawl."""
    place = storage_at(crawl.path)
    # Bytes, because people may have edited it in any encoding; existing lines are kept as they are.
    before = (place.read(SCOPE_FILE) or b"").splitlines()
    names = {f"{scope} {(host if scope == 'host' else registered_domain(host)) or FILES}".encode() for host in hosts}
    new = sorted(names - set(before))
    if new:
        place.replace(SCOPE_FILE, b"".join(line + b"\n" for line in [*before, *new]))


def scope_hosts(crawl: CrawlDir) -> Iterator[str]:
    """Yield the hosts that the scope of a crawl names; for a domain, also the one that starts with www."""
    for line in (storage_at(crawl.path).read(SCOPE_FILE) or b"").decode("utf-8", "replace").splitlines():
        scope, _, name = line.strip().partition(" ")
        if scope in ("host", "domain") and name != FILES:
            yield name
            if scope == "domain" and not is_ip(name) and "." in name:
                yield f"www.{name}"


def seed_hosts(seeds: Iterable[str]) -> set[str]:
    """Return the hosts of seeds; lines that are not URLs are ignored here and reported by ``inject``."""
    found: set[str] = set()
    for line in read_seeds(seed_sources(seeds)):
        if isinstance(line, SeedProblem):
            continue
        try:
            found.add(canonical(parse_seed(line.text).text).host)
        except UrlError:
            continue
    return found


def with_scope(config: Config, crawl: CrawlDir) -> Config:
    """Return the configuration with the crawl's scope filter added, if the crawl has a scope."""
    if SCOPE_FILTER in config.urlfilter.filters or not (crawl.path / SCOPE_FILE).is_file():
        return config
    file = Path(local_file(str(crawl.path / SCOPE_FILE), refresh=True))
    chain = replace(config.urlfilter, filters=(*config.urlfilter.filters, SCOPE_FILTER), scope_file=file.absolute())
    return replace(config, urlfilter=chain)
