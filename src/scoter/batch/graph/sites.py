"""The host graph and the domain graph: built from the links of pages, or updated by the pages that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import Struct

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.graph.node_values import RANKS, Columns, Ids, Numbers, read_values, write_file, write_values
from scoter.batch.graph.site_links import SiteLinks, add_up, aggregate, in_order, links_before, negative
from scoter.batch.graph.tables import (
    BASE_ROWS,
    LINKS,
    NEXT_ID,
    NODES,
    RUN,
    GraphTables,
    SiteName,
    graph_tables,
    properties_of,
)
from scoter.store.disk import disk_errors
from scoter.store.tables import Table

BLOCK = 2**20
"""Links that are aggregated at a time; with more, they leave the processor's cache."""
_PIECE = 4
"""Blocks of a temporary file, roughly."""
MAX_DIFFERENCES = 8
"""Files of differences, after which all links are rewritten."""
_SHARE = 8
"""At most one in this many rows may be a difference."""


class LinkChanges(Struct, frozen=True):
    """All links of the pages that changed, before and now, and by how much the pages of each host changed."""

    before: tuple[Ids, Ids]
    now: tuple[Ids, Ids]
    entered: Numbers
    left: Numbers


class SiteBlocks(Struct, frozen=True):
    """Links between sites, aggregated in blocks: a link may be in several.

    ``is_ordered``: the sources of a block are not below those of the block before.
    """

    blocks: Iterable[SiteLinks]
    is_ordered: bool


def build_sites(
    crawl: CrawlDir,
    name: SiteName,
    found: SiteBlocks,
    site_of: Ids,
    counts: Columns,
    run: str,
    folder: Path,
    *,
    now: datetime,
) -> None:
    """Write the links and values of sites anew, given their links and the counts of pages; sites keep their ranks."""
    tables = graph_tables(crawl, name)
    size = int(properties_of(tables.nodes)[NEXT_ID])
    ranks = read_values(tables.values, tables.value_schema, RANKS, size)
    inlinks, outlinks = np.zeros(size, np.int64), np.zeros(size, np.int64)
    if found.is_ordered:
        links = in_order(found.blocks)
    else:
        pieces = _SitePieces(folder / name, np.bincount(site_of, counts["outlinks"], size))
        pieces.fill(found.blocks)
        links = pieces.read()

    def batches() -> Iterator[Any]:
        for each in links:
            np.add.at(outlinks, each.sources, 1)
            np.add.at(inlinks, each.targets, 1)
            yield _batch(each)

    file = folder / f"{name}-links.parquet"
    rows = write_file(file, tables.link_schema, batches())
    with Table.write(tables.links, tables.link_schema, writer="webgraph", clock=lambda: now) as version:
        version.adopt(file)
        version.commit(properties={RUN: run, BASE_ROWS: str(rows)})
    is_live = (counts["inlinks"] > 0) | (counts["outlinks"] > 0)
    pages = np.bincount(site_of[is_live], minlength=size).astype(np.int64)
    _write_values(tables, {"pages": pages, "inlinks": inlinks, "outlinks": outlinks, **ranks}, run, folder, now)


def _write_values(tables: GraphTables, values: Columns, run: str, folder: Path, now: datetime) -> None:
    is_live = (values["inlinks"] > 0) | (values["outlinks"] > 0)
    values["score"][~is_live] = 0
    for name in ("pagerank", "harmonic"):
        values[name][~is_live] = np.nan
    properties = {RUN: run, NODES: str(int(is_live.sum())), LINKS: str(int(values["outlinks"].sum()))}
    write_values(tables, values, properties, now=now, folder=folder)


def _batch(links: SiteLinks) -> Any:
    columns = (links.sources, links.targets, links.links, links.pages)
    arrays = [
        pa.array(each.astype(field.type.to_pandas_dtype(), copy=False))
        for each, field in zip(columns, schemas.SITE_LINKS, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schemas.SITE_LINKS)


def page_blocks(pairs: Iterable[tuple[Ids, Ids]]) -> Iterator[tuple[Ids, Ids]]:
    """Yield links in blocks that do not divide those of a page."""
    sources: list[Ids] = []
    targets: list[Ids] = []
    waiting = 0
    for source, target in pairs:
        if waiting >= BLOCK and len(source):
            end = int(np.searchsorted(source != sources[-1][-1], True)) if source[0] == sources[-1][-1] else 0
            sources.append(source[:end])
            targets.append(target[:end])
            yield np.concatenate(sources), np.concatenate(targets)
            sources, targets, waiting = [], [], 0
            source, target = source[end:], target[end:]
        if len(source):
            sources.append(source)
            targets.append(target)
            waiting += len(source)
    if sources:
        yield np.concatenate(sources), np.concatenate(targets)


_ROW = np.dtype([(name, np.int64 if name == "keys" else np.int32) for name in SiteLinks.__struct_fields__])


class _SitePieces:
    """Links between sites in temporary files, each for a range of sources; ``weights`` are the links of each source."""

    def __init__(self, folder: Path, weights: Any) -> None:
        self._folder = folder
        total = float(weights.sum())
        self._count = count = max(1, -(-int(total) // (_PIECE * BLOCK)))
        shares = [total * number / count for number in range(1, count)]
        self._edges = np.searchsorted(np.cumsum(weights), shares).astype(np.int64) << 32
        with disk_errors("write temporary links", folder):
            folder.mkdir()

    def fill(self, blocks: Iterable[SiteLinks]) -> None:
        with ExitStack() as stack, disk_errors("write temporary links", self._folder):
            files = [stack.enter_context(self._file(number).open("wb")) for number in range(self._count)]
            for each in blocks:
                rows = np.empty(len(each.keys), _ROW)
                for name in _ROW.fields or ():
                    rows[name] = getattr(each, name)
                ends = [0, *np.searchsorted(each.keys, self._edges).tolist(), len(each.keys)]
                for number, file in enumerate(files):
                    rows[ends[number] : ends[number + 1]].tofile(file)

    def read(self) -> Iterator[SiteLinks]:
        for number in range(self._count):
            with disk_errors("read temporary links", self._folder):
                rows = np.fromfile(self._file(number), _ROW)
                self._file(number).unlink()
            yield add_up([SiteLinks(*(rows[name] for name in SiteLinks.__struct_fields__))])

    def _file(self, number: int) -> Path:
        return self._folder / f"links-{number}"


def can_update(crawl: CrawlDir, name: SiteName, changed: int) -> bool:
    """Return whether so many changed links can be added as differences."""
    with Table.open(graph_tables(crawl, name).links) as table:
        base = int(table.manifest.properties.get(BASE_ROWS, 0))
        differences = table.manifest.rows - base + changed
        return len(table.files) <= MAX_DIFFERENCES and differences * _SHARE <= base


def update_sites(
    crawl: CrawlDir,
    name: SiteName,
    changes: LinkChanges,
    site_of: Ids,
    run: str,
    folder: Path,
    *,
    now: datetime,
) -> None:
    """Add the differences that changed pages make to the links of sites, and write their values."""
    tables = graph_tables(crawl, name)
    size = int(properties_of(tables.nodes)[NEXT_ID])
    values = read_values(tables.values, tables.value_schema, ("pages", "inlinks", "outlinks", *RANKS), size)
    old, new = aggregate(*changes.before, site_of), aggregate(*changes.now, site_of)
    change = add_up([negative(old), new])
    with Table.open(tables.links, tables.link_schema) as links:
        known = links_before(links, change.keys)
        after = known + change.links
        step = (after > 0).astype(np.int64) - (known > 0)
        np.add.at(values["outlinks"], change.sources, step)
        np.add.at(values["inlinks"], change.targets, step)
        file = folder / f"{name}-changes.parquet"
        rows = write_file(file, tables.link_schema, iter([_batch(change)]))
        with Table.write(tables.links, tables.link_schema, writer="webgraph", clock=lambda: now) as version:
            version.keep(links.files, links.manifest.parts)
            if rows:
                version.adopt(file)
            version.commit(properties={**links.manifest.properties, RUN: run})
    np.add.at(values["pages"], site_of[changes.entered], 1)
    np.add.at(values["pages"], site_of[changes.left], -1)
    _write_values(tables, values, run, folder, now)
