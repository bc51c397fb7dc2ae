"""The URLs of the links to be added, numbered in the order of their keys, with their hosts and domains.

The numbers are those of one run; ``assembly.py`` gives lasting ones to the URLs whose links are kept. Links are matched
with URLs by hashes of 63 bits, which takes half the memory of texts. Should two URLs have the same hash, all are
matched by their texts.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.graph.values import Ids
from scoter.batch.urls.domains import host_in
from scoter.core.domain import registered_domain
from scoter.engine import Engine, TableSource, file_source, source_of
from scoter.engine.port import Rows
from scoter.engine.portable import fast_hash
from scoter.store.tables.parquet import write_batches

_URLS = pa.schema([*schemas.texts("url", "key", "site"), ("hash", pa.int64()), ("page", pa.int64())])
_ROWS = 2**18


class SiteNames(Struct, frozen=True):
    """Names of hosts or domains by their numbers."""

    names: Any

    def __len__(self) -> int:
        return len(self.names)


class NumberedUrls(Struct, frozen=True):
    """URLs by number: the rows of a file; ``host_of`` and ``domain_of`` have the numbers of their sites.

    ``ids`` has the number of each URL, by its text or its hash, as ``match`` says. ``page_of`` is equal for URLs that
    differ only in their query.
    """

    file: Path
    size: int
    match: str
    ids: TableSource
    hosts: SiteNames
    domains: SiteNames
    host_of: Ids
    domain_of: Ids
    page_of: Ids | None = None

    def numbered(self, engine: Engine, rows: Rows, column: str, name: str) -> Rows:
        """Return rows with the number of the URL in a column; those of other URLs are left out."""
        found = engine.read(self.ids).select(matched=self.match, **{name: "number"})
        value = rows[column] if self.match == "url" else fast_hash(rows[column], engine.name)
        return rows.mutate(matched=value).join(found, "matched").drop("matched")


def number_urls(engine: Engine, rows: Sequence[Rows], folder: Path, *, by_page: bool) -> NumberedUrls:
    """Save the distinct URLs of rows with ``url`` and ``key``, in the order of their keys."""
    together = ibis.union(*rows)
    once = together.group_by("url").agg(key=together.key.arbitrary())
    page = ibis.literal(0, "int64")
    if by_page:  # Nutch's "page" is the URL without its query.
        end = once.url.find("?")
        page = fast_hash((end >= 0).ifelse(once.url.substr(0, end), once.url).lower(), engine.name)
    once = once.mutate(site=once.key.substr(0, once.key.find(")")), hash=fast_hash(once.url, engine.name), page=page)
    file = folder / "urls.parquet"
    size = engine.save(once.select(*_URLS.names), _URLS, file, ("key", "url"))
    match, ids = _save_numbers(file, folder)
    host_of, hosts = _hosts(file, size)
    domains, domain_of = _domains(hosts)
    page_of = None
    if by_page:
        page_of = np.unique(_column(file, "page"), return_inverse=True)[1].astype(np.int32)
    of_url = domain_of[host_of] if size else np.zeros(0, np.int32)
    return NumberedUrls(file, size, match, ids, SiteNames(hosts), SiteNames(domains), host_of, of_url, page_of)


def _column(file: Path, name: str) -> Any:
    return pq.read_table(file, columns=[name])[name].to_numpy()


def _save_numbers(file: Path, folder: Path) -> tuple[str, TableSource]:
    hashes = np.sort(_column(file, "hash"))
    match = "url" if len(hashes) and (hashes[1:] == hashes[:-1]).any() else "hash"
    schema = pa.schema([_URLS.field(match), ("number", pa.int32())])
    path = folder / "ids.parquet"
    write_batches(path, schema, _with_numbers(file, match, schema))
    return match, file_source(path, schema)


def _with_numbers(file: Path, name: str, schema: Any) -> Iterator[Any]:
    at = 0
    with pq.ParquetFile(file) as urls:
        for batch in urls.iter_batches(_ROWS, columns=[name]):
            numbers = np.arange(at, at + batch.num_rows, dtype=np.int32)
            at += batch.num_rows
            yield pa.RecordBatch.from_arrays([batch[name], pa.array(numbers)], schema=schema)


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
    rows = engine.read(source_of(nodes, ("url", "id")))
    if urls.match == "url":
        joined = urls.numbered(engine, rows, "url", "number")
    else:
        # By the text first: a URL of the graph may have the hash of another that is to be added.
        texts = engine.read(TableSource(files=(str(urls.file),), schema=_URLS, defaults={})).select("url", "hash")
        joined = rows.join(texts, "url").join(engine.read(urls.ids), "hash")
    for batch in engine.batches(joined.select("number", "id")):
        found[batch["number"].to_numpy()] = batch["id"].to_numpy()
    return found


def known_sites(engine: Engine, sites: SiteNames, nodes: TableSource, folder: Path) -> Ids:
    """Return the numbers that hosts or domains have in their graph; -1 for those that it does not have."""
    found = np.full(len(sites), -1, np.int32)
    if not nodes.files or not len(sites):
        return found
    schema = pa.schema([("url", pa.utf8()), ("number", pa.int32())])
    numbers = pa.array(np.arange(len(sites), dtype=np.int32))
    file = folder / "sites.parquet"
    write_batches(file, schema, [pa.RecordBatch.from_arrays([sites.names, numbers], schema=schema)])
    rows = engine.read(source_of(nodes, ("url", "id"))).join(engine.read(file_source(file, schema)), "url")
    for batch in engine.batches(rows.select("number", "id")):
        found[batch["number"].to_numpy()] = batch["id"].to_numpy()
    return found
