"""The URLs of the links to be added, numbered in the order of their keys, with their hosts and domains.

The numbers are those of one run; ``assembly.py`` gives lasting ones to the URLs whose links are kept. Links are matched
with URLs by hashes of 63 bits, in arrays. Should two URLs have the same hash, all are matched by their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct
from numpy.typing import NDArray

from scoter.batch.crawldir import schemas
from scoter.batch.graph.distinct import BITS, HashCollision, SeenHashes
from scoter.batch.graph.node_values import Ids
from scoter.batch.urls.domains import host_in
from scoter.core.domain import registered_domain
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.port import Rows
from scoter.engine.portable import fast_hash
from scoter.plugins.recorded import ibis
from scoter.store.tables.parquet import write_batches

_URLS = pa.schema([*schemas.texts("url", "key", "site"), ("hash", pa.int64()), ("page", pa.int64())])
_DISTINCT = pa.schema(schemas.texts("url", "key"))
_NUMBERED = pa.schema([("url", pa.utf8()), ("number", pa.int32())])
_ROWS = 2**18
_BATCH = 2**20
_BLOCK = 2**16  # fits into the cache of a processor
_PROBES = 16
_UNKNOWN = -1
_MASK = 2**BITS - 1


class SiteNames(Struct, frozen=True):
    """Names of hosts or domains by their numbers."""

    names: Any

    def __len__(self) -> int:
        return len(self.names)


class HashedNumbers:
    """Numbers by hash: hashes in order, and where those that start with the same bits begin.

    Finding a number takes a third of the time of a join, and half the memory.
    """

    def __init__(self, hashes: NDArray[np.int64]) -> None:
        """``hashes`` are distinct and of 63 bits; the number of each is its place."""
        order = np.argsort(hashes)
        self._numbers: Ids = np.append(order.astype(np.int32), np.int32(_UNKNOWN))
        self._hashes = np.append(hashes[order], _MASK)
        bits = len(hashes).bit_length()
        self._shift = BITS - bits
        firsts = np.arange(1 << bits, dtype=np.int64) << self._shift
        self._starts = np.searchsorted(self._hashes[:-1], firsts).astype(np.int32)

    def of(self, hashes: NDArray[np.int64]) -> Ids:
        """Return the numbers of hashes, -1 for those that are not known."""
        found = np.empty(len(hashes), np.int32)
        for first in range(0, len(hashes), _BLOCK):
            found[first : first + _BLOCK] = self._of(hashes[first : first + _BLOCK])
        return found

    def _of(self, hashes: NDArray[np.int64]) -> Ids:
        wanted = hashes & _MASK
        # NumPy takes longer to read an array at numbers of other types than this one.
        at = self._starts[wanted >> self._shift].astype(np.intp)
        met = self._hashes[at]
        ahead = np.flatnonzero(met < wanted)
        for _ in range(_PROBES):
            if not len(ahead):
                break
            at[ahead] += 1
            met[ahead] = self._hashes[at[ahead]]
            ahead = ahead[met[ahead] < wanted[ahead]]
        if len(ahead):  # hashes that are not spread evenly, perhaps on purpose
            at[ahead] = np.searchsorted(self._hashes, wanted[ahead])
            met[ahead] = self._hashes[at[ahead]]
        found: Ids = self._numbers[at]
        found[met != wanted] = _UNKNOWN
        return found


class NumberedUrls(Struct, frozen=True):
    """URLs by number: the rows of a file; ``host_of`` and ``domain_of`` have the numbers of their sites.

    ``numbers`` finds the number of a URL by its hash; if there is none, ``texts`` has the numbers by URL. ``page_of``
    is equal for URLs that differ only in their query.
    """

    file: Path
    size: int
    numbers: HashedNumbers | None
    texts: TableSource | None
    hosts: SiteNames
    domains: SiteNames
    host_of: Ids
    domain_of: Ids
    page_of: Ids | None = None

    def numbered(self, engine: Engine, rows: Rows, columns: Sequence[str]) -> Iterator[tuple[list[Ids], Any]]:
        """Yield for each batch of rows the numbers of the URLs in some columns, and the batch.

        Rows with another URL are left out.
        """
        if self.texts is not None:
            for column in columns:
                found = engine.read(self.texts).select(**{f"{column}_text": "url", f"{column}_number": "number"})
                rows = rows.join(found, rows[column] == found[f"{column}_text"])
            for batch in engine.batches(rows.drop(*columns), _BATCH):
                yield [batch[f"{column}_number"].to_numpy() for column in columns], batch
        elif self.numbers is not None:
            hashed = rows.mutate(**{column: fast_hash(rows[column], engine.name) for column in columns})
            for batch in engine.batches(hashed, _BATCH):
                found = [self.numbers.of(batch[column].to_numpy()) for column in columns]
                known = np.logical_and.reduce([each >= 0 for each in found])
                yield (
                    (found, batch) if known.all() else ([each[known] for each in found], batch.filter(pa.array(known)))
                )


def number_urls(engine: Engine, rows: Sequence[Rows], folder: Path, *, by_page: bool) -> NumberedUrls:
    """Save the distinct URLs of rows with ``url`` and ``key``, in the order of their keys."""
    once, is_hashed = _distinct(engine, ibis.union(*rows), folder / "distinct.parquet")
    page = ibis.literal(0, "int64")
    if by_page:  # Nutch's "page" is the URL without its query.
        end = once.url.find("?")
        page = fast_hash((end >= 0).ifelse(once.url.substr(0, end), once.url).lower(), engine.name)
    once = once.mutate(site=once.key.substr(0, once.key.find(")")), hash=fast_hash(once.url, engine.name), page=page)
    file = folder / "urls.parquet"
    size = engine.save(once.select(*_URLS.names), _URLS, file, ("key", "url"), is_temporary=True)
    if is_hashed:
        numbers, texts = HashedNumbers(_column(file, "hash") & _MASK), None
    else:
        numbers, texts = None, _save_numbers(file, folder)
    host_of, hosts = _hosts(file, size)
    domains, domain_of = _domains(hosts)
    page_of = None
    if by_page:
        page_of = np.unique(_column(file, "page"), return_inverse=True)[1].astype(np.int32)
    of_url = domain_of[host_of] if size else np.zeros(0, np.int32)
    return NumberedUrls(file, size, numbers, texts, SiteNames(hosts), SiteNames(domains), host_of, of_url, page_of)


def _distinct(engine: Engine, rows: Rows, file: Path) -> tuple[Rows, bool]:
    """Return the distinct URLs of rows with their keys, and whether their hashes are distinct, too."""
    hashed = rows.mutate(hash=fast_hash(rows.url, engine.name), check=fast_hash(rows.key, engine.name))
    seen = SeenHashes()

    def new() -> Iterator[Any]:
        for batch in engine.batches(hashed, _BATCH):
            hashes, checks = batch["hash"].to_numpy(), batch["check"].to_numpy()
            first = seen.add(hashes & _MASK, checks.astype(np.int32))
            if len(first):
                yield batch.select(_DISTINCT.names).take(pa.array(first))

    try:
        write_batches(file, _DISTINCT, new())
    except HashCollision:
        return rows.group_by("url").agg(key=rows.key.arbitrary()), False
    return engine.read(file_source(file, _DISTINCT)), True


def _column(file: Path, name: str) -> Any:
    return pq.read_table(file, columns=[name])[name].to_numpy()


def _save_numbers(file: Path, folder: Path) -> TableSource:
    path = folder / "numbers.parquet"
    write_batches(path, _NUMBERED, _with_numbers(file))
    return file_source(path, _NUMBERED)


def _with_numbers(file: Path) -> Iterator[Any]:
    at = 0
    with pq.ParquetFile(file) as urls:
        for batch in urls.iter_batches(_ROWS, columns=["url"]):
            numbers = np.arange(at, at + batch.num_rows, dtype=np.int32)
            at += batch.num_rows
            yield pa.RecordBatch.from_arrays([batch["url"], pa.array(numbers)], schema=_NUMBERED)


def _hosts(file: Path, size: int) -> tuple[Ids, Any]:
    """Return the number of each URL's host, and the hosts.

    The URLs of a site follow each other. A host may have several sites, for example on several ports.
    """
    run_of, names = np.zeros(size, np.int32), []
    at = runs = 0
    with pq.ParquetFile(file) as urls:
        for batch in urls.iter_batches(_ROWS, columns=["url", "site"]):
            ends = pc.run_end_encode(batch["site"]).run_ends.to_numpy()
            lengths = np.diff(ends, prepend=0)
            firsts = batch["url"].take(pa.array(ends - lengths))
            names.append(pa.array(map(host_in, firsts.to_pylist()), pa.utf8()))
            run_of[at : at + batch.num_rows] = runs + np.repeat(np.arange(len(ends), dtype=np.int32), lengths)
            at += batch.num_rows
            runs += len(ends)
    if not names:
        return run_of, pa.array([], pa.utf8())
    coded = pa.chunked_array(names).combine_chunks().dictionary_encode()
    return coded.indices.to_numpy()[run_of], coded.dictionary


def _domains(hosts: Any) -> tuple[Any, Ids]:
    chunks = [
        pa.array(map(registered_domain, hosts.slice(first, _ROWS).to_pylist()), pa.utf8())
        for first in range(0, len(hosts), _ROWS)
    ]
    if not chunks:
        return hosts, np.zeros(0, np.int32)
    coded = pa.chunked_array(chunks).combine_chunks().dictionary_encode()
    return coded.dictionary, coded.indices.to_numpy()


def known_ids(engine: Engine, urls: NumberedUrls, nodes: TableSource) -> Ids:
    """Return the numbers that URLs have in the graph; -1 for those that it does not have."""
    found = np.full(urls.size, -1, np.int32)
    if not nodes.files or not urls.size:
        return found
    # By the text first: a URL of the graph may have the hash of another that is to be added.
    texts = engine.read(TableSource(files=(str(urls.file),), schema=_URLS, defaults={})).select("url")
    rows = engine.read(source_of(nodes, ("url", "id"))).join(texts, "url").select("url", "id")
    for (numbers,), batch in urls.numbered(engine, rows, ("url",)):
        found[numbers] = batch["id"].to_numpy()
    return found


def known_sites(engine: Engine, sites: SiteNames, nodes: TableSource, folder: Path) -> Ids:
    """Return the numbers that hosts or domains have in their graph; -1 for those that it does not have."""
    found = np.full(len(sites), -1, np.int32)
    if not nodes.files or not len(sites):
        return found
    numbers = pa.array(np.arange(len(sites), dtype=np.int32))
    file = folder / "sites.parquet"
    write_batches(file, _NUMBERED, [pa.RecordBatch.from_arrays([sites.names, numbers], schema=_NUMBERED)])
    rows = engine.read(source_of(nodes, ("url", "id"))).join(engine.read(file_source(file, _NUMBERED)), "url")
    for batch in engine.batches(rows.select("number", "id")):
        found[batch["number"].to_numpy()] = batch["id"].to_numpy()
    return found
