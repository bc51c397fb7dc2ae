"""Links between hosts or domains: aggregates of the links of pages, and the reading of a table with differences.

A link between two sites has two weights: the number of links between their pages, and of the pages that have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from scoter.batch.graph.node_values import Ids, Numbers
from scoter.batch.graph.tables import BASE_ROWS
from scoter.store.tables import Table

_HALF = 32
_LOW = 2**_HALF - 1


class SiteLinks(Struct, frozen=True):
    """Links between sites in the order of source and target, each once; ``keys`` has both numbers in one."""

    keys: Numbers
    links: Numbers
    pages: Numbers

    @property
    def sources(self) -> Numbers:
        return self.keys >> _HALF

    @property
    def targets(self) -> Numbers:
        targets: Numbers = self.keys & _LOW
        return targets


def aggregate(source: Ids, target: Ids, site_of: Ids) -> SiteLinks:
    """Return the links between the sites of pages, given all links of each of these pages."""
    to_site = site_of[target]
    keys, links = _runs(np.sort(_joined(site_of[source], to_site)))
    # Links come by page and target, so this is nearly sorted, which a stable sort is fast with.
    by_page, _ = _runs(np.sort(_joined(source, to_site), kind="stable"))
    if len(by_page) == len(source):
        return SiteLinks(keys, links, links)  # no page links to a site twice
    _, pages = _runs(np.sort(_joined(site_of[by_page >> _HALF], by_page & _LOW)))
    return SiteLinks(keys, links, pages)


def is_once(source: Ids, target: Ids, site_of: Ids) -> bool:
    """Return whether no page links to a site twice, given all links of each of these pages."""
    keys = _joined(source, site_of[target])
    if (keys[1:] > keys[:-1]).all():
        return True
    keys.sort()
    return bool((keys[1:] > keys[:-1]).all())


def relabelled(links: SiteLinks, site_of: Ids) -> SiteLinks:
    """Return links between hosts as links between domains, if no page links to a domain twice."""
    return add_up([SiteLinks(_joined(site_of[links.sources], site_of[links.targets]), links.links, links.pages)])


def in_order(blocks: Iterable[SiteLinks]) -> Iterator[SiteLinks]:
    """Yield links, each once, given blocks whose sources are not below those of the block before."""
    rest: list[SiteLinks] = []
    for each in blocks:
        whole = add_up([*rest, each])
        if len(whole.keys):
            end = int(np.searchsorted(whole.keys, whole.keys[-1] >> _HALF << _HALF))
            yield _part(whole, 0, end)
            whole = _part(whole, end, len(whole.keys))
        rest = [whole]
    yield from rest


def _joined(high: Any, low: Any) -> Numbers:
    joined: Numbers = (high.astype(np.int64) << _HALF) | low
    return joined


def _runs(ordered: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct values of a sorted array, and how often each occurs."""
    if not len(ordered):
        return ordered, ordered
    firsts = np.flatnonzero(np.concatenate([np.ones(1, bool), ordered[1:] != ordered[:-1]]))
    return ordered[firsts], np.diff(np.append(firsts, len(ordered)))


def add_up(parts: list[SiteLinks]) -> SiteLinks:
    """Return the sum of several sets of links, without those whose weights are zero."""
    if not parts:
        none = np.zeros(0, np.int64)
        return SiteLinks(none, none, none)
    keys, links, pages = (
        np.concatenate([getattr(each, name) for each in parts]) for name in SiteLinks.__struct_fields__
    )
    if len(keys) and not (keys[1:] > keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys, links, pages = keys[order], links[order], pages[order]
        firsts = np.flatnonzero(np.concatenate([np.ones(1, bool), keys[1:] != keys[:-1]]))
        keys, links, pages = keys[firsts], np.add.reduceat(links, firsts), np.add.reduceat(pages, firsts)
    if len(keys) and not links.all():
        kept = (links != 0) | (pages != 0)
        keys, links, pages = keys[kept], links[kept], pages[kept]
    return SiteLinks(keys, links, pages)


def negative(links: SiteLinks) -> SiteLinks:
    """Return links to be taken away."""
    return SiteLinks(links.keys, -links.links, -links.pages)


def _batches(table: Table) -> Iterator[SiteLinks]:
    for batch in table.scan(["source", "target", "links", "pages"]):
        source, target, links, pages = (column.to_numpy() for column in batch.columns)
        yield SiteLinks(_joined(source, target), links, pages)


def read_site_links(table: Table) -> Iterator[SiteLinks]:
    """Yield the links of a table in blocks, in order, with the differences of updates added.

    The differences are held in memory; ``sites.py`` limits their number.
    """
    base_rows = int(table.manifest.properties.get(BASE_ROWS, table.manifest.rows))
    changes: SiteLinks | None = None
    if base_rows < table.manifest.rows:
        changes = add_up([each for at, each in _placed(table) if at >= base_rows])
    done = 0
    for at, each in _placed(table):
        if at >= base_rows:
            break
        if changes is None:
            yield each
            continue
        end = int(np.searchsorted(changes.keys, each.keys[-1], "right"))
        yield add_up([each, _part(changes, done, end)])
        done = end
    if changes is not None:
        yield _part(changes, done, len(changes.keys))


def _placed(table: Table) -> Iterator[tuple[int, SiteLinks]]:
    """Yield blocks with the place of their first row; a block never spans files."""
    at = 0
    for each in _batches(table):
        if len(each.keys):
            yield at, each
        at += len(each.keys)


def _part(links: SiteLinks, first: int, last: int) -> SiteLinks:
    return SiteLinks(links.keys[first:last], links.links[first:last], links.pages[first:last])


def links_before(table: Table, keys: Numbers) -> Numbers:
    """Return the number of links between pairs of sites, given their keys in order."""
    found = np.zeros(len(keys), np.int64)
    for batch in table.scan(["source", "target", "links"]):
        source, target, links = (column.to_numpy() for column in batch.columns)
        if not len(source):
            continue
        bounds = _joined(source[[0, -1]], target[[0, -1]])
        first, last = np.searchsorted(keys, bounds[0], "left"), np.searchsorted(keys, bounds[1], "right")
        if first == last:
            continue
        known, wanted = _joined(source, target), keys[first:last]
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found[first:last] += np.where(known[at] == wanted, links[at], 0)
    return found
