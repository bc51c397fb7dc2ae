"""Links in temporary files by their source, so that all links of a page can be processed in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scoter.batch.graph.node_values import Ids, Numbers
from scoter.config.sections.links import LinkSettings
from scoter.store.disk import disk_errors

ROWS = 1_000_000
"""Links of a bucket, roughly."""
_MOST = 256
_SCHEMA = pa.schema([("source", pa.int32()), ("target", pa.int32()), ("anchor", pa.utf8())])


class LinkBuckets:
    """Files of links, each for a range of sources; ``pages`` are the numbers of all sources, in order."""

    def __init__(self, folder: Path, pages: Numbers, size: int, links: int) -> None:
        self._folder = folder
        self.count = max(1, min(_MOST, -(-links // ROWS)))
        edges: Any = pages[[len(pages) * number // self.count for number in range(1, self.count)]] if len(pages) else []
        self._bucket_of = np.zeros(size, np.uint8)
        for number, edge in enumerate(edges, 1):
            self._bucket_of[edge:] = number

    def fill(self, batches: Iterator[tuple[Ids, Ids, Any]]) -> None:
        """Write sources, targets and anchor texts to the files of their buckets."""
        with ExitStack() as stack, disk_errors("write temporary links", self._folder):
            files = [
                stack.enter_context(pa.ipc.new_file(str(self._file(number)), _SCHEMA)) for number in range(self.count)
            ]
            for source, target, anchor in batches:
                bucket = self._bucket_of[source]
                order = np.argsort(bucket, kind="stable")
                chosen = [pa.array(source[order]), pa.array(target[order]), anchor.take(pa.array(order))]
                whole = pa.RecordBatch.from_arrays(chosen, schema=_SCHEMA)
                first = 0
                for number, rows in enumerate(np.bincount(bucket, minlength=self.count).tolist()):
                    if rows:
                        files[number].write_batch(whole.slice(first, rows))
                    first += rows

    def read(self, number: int) -> tuple[Ids, Ids, Any]:
        """Return the sources, targets and anchor texts of a bucket."""
        with disk_errors("read temporary links", self._folder), pa.memory_map(str(self._file(number))) as file:
            table = pa.ipc.open_file(file).read_all()
            anchor = table["anchor"]
            if anchor.nbytes >= 2**31:  # more than the offsets of one Arrow array of texts can reach
                anchor = anchor.cast(pa.large_utf8())
            return table["source"].to_numpy(), table["target"].to_numpy(), anchor.combine_chunks()

    def remove(self, number: int) -> None:
        """Remove the file of a bucket."""
        self._file(number).unlink()

    def _file(self, number: int) -> Path:
        return self._folder / f"bucket-{number}.arrow"


def choose_rows(source: Ids, target: Ids, anchor: Any, group_of: Ids | None) -> Numbers:
    """Return the rows of the links to keep, in the order of source and target.

    One link per page and target is kept, with the anchor text that sorts last; and of those to targets of the same
    group only the first by target.
    """
    if not len(source):
        return np.zeros(0, np.int64)
    order, key = _order(source, target)
    firsts = np.flatnonzero(_is_first(key))
    kept = order[firsts]
    if len(kept) < len(order):
        kept = _last_anchors(order, firsts, kept, anchor)
    if group_of is None:
        return kept
    group = _joined(source[kept], group_of[target[kept]])
    # Groups follow the order of targets closely, and sorting what is nearly sorted is fast.
    by_group = np.argsort(group, kind="stable")
    first: Numbers = kept[np.sort(by_group[_is_first(group[by_group])])]
    return first


def _order(source: Ids, target: Ids) -> tuple[Numbers, Numbers]:
    """Return the order by source and target, and keys in this order.

    Sorting numbers that hold their own place is five times as fast as computing their order, if 63 bits are enough.
    """
    first = int(source.min())
    bits, low = (len(source) - 1).bit_length(), int(target.max()).bit_length()
    if bits + low + (int(source.max()) - first).bit_length() > 63:
        order = np.argsort(_joined(source, target))
        return order, _joined(source[order], target[order])
    packed = (source - first).astype(np.int64) << low
    packed |= target
    packed <<= bits
    packed |= np.arange(len(source))
    packed.sort()
    return packed & ((1 << bits) - 1), packed >> bits


def _last_anchors(order: Numbers, firsts: Numbers, kept: Numbers, anchor: Any) -> Numbers:
    sizes = np.diff(np.append(firsts, len(order)))
    repeated = np.flatnonzero(sizes > 1)
    at = np.repeat(sizes > 1, sizes)
    rows = order[at]
    texts = pa.table({"place": np.repeat(repeated, sizes[repeated]), "anchor": anchor.take(pa.array(rows))})
    by_text = pc.sort_indices(texts, [("place", "ascending"), ("anchor", "descending")]).to_numpy()
    place = texts["place"].to_numpy()[by_text]
    is_first = _is_first(place)
    kept = kept.copy()
    kept[place[is_first]] = rows[by_text[is_first]]
    return kept


def _joined(high: Any, low: Any) -> Numbers:
    joined: Numbers = (high.astype(np.int64) << 32) | low
    return joined


def _is_first(key: Numbers) -> Any:
    return np.concatenate([np.ones(1, bool), key[1:] != key[:-1]])


def group_of(settings: LinkSettings, domains: Ids, pages: Ids | None) -> Ids | None:
    """Return the groups of targets of which a page may link to only one, as the settings say; ``None`` for no limit."""
    if settings.ignore_limit_domain:
        return domains
    return pages if settings.ignore_limit_page else None
