"""The URLs that seed lists and sitemaps have named, by hash: somebody wants them, so they are never held back as traps.

``listed.bin`` has eight bytes per URL, sorted. It is written by ``inject`` and ``sitemap``, and read by ``generate``
only if a URL is suspected.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import xxhash

from scoter.batch.crawldir.directory import CrawlDir
from scoter.store.tables.local import storage_at

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

LISTED_FILE: Final = "listed.bin"
MOST: Final = 10_000_000
"""How many URLs are kept. If there are more, some of those that were listed earlier are forgotten."""


class ListedUrls:
    """The listed URLs of a crawl, read when they are first needed."""

    def __init__(self, crawl: CrawlDir) -> None:
        self._crawl = crawl
        self._hashes: Hashes | None = None

    def __contains__(self, url: object) -> bool:
        import numpy as np

        if self._hashes is None:
            self._hashes = _read(self._crawl)
        hashed = np.uint64(_hash(str(url)))
        place = int(np.searchsorted(self._hashes, hashed))
        return place < len(self._hashes) and bool(self._hashes[place] == hashed)


class ListedHashes:
    """Collects the URLs of a seed list or of sitemaps, and adds them to the file."""

    def __init__(self) -> None:
        self._new = array("Q")

    def add(self, url: str) -> None:
        if len(self._new) < MOST:
            self._new.append(_hash(url))

    def save(self, crawl: CrawlDir) -> None:
        """Add the URLs to those of the crawl."""
        import numpy as np

        new, old = _distinct(np.array(self._new, dtype=np.uint64)), _read(crawl)
        added = np.setdiff1d(new, old, assume_unique=True)
        if len(added):
            merged = _distinct(np.concatenate([old[: MOST - len(added)], added]))
            storage_at(crawl.path).replace(LISTED_FILE, merged.astype("<u8").tobytes())


def _distinct(hashes: Hashes) -> Hashes:
    """Return hashes in order, each once, without what ``numpy.unique`` imports."""
    import numpy as np

    ordered = np.sort(hashes)
    return np.concatenate([ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]]])


def _read(crawl: CrawlDir) -> Hashes:
    import numpy as np

    data = storage_at(crawl.path).read(LISTED_FILE) or b""
    return np.frombuffer(data[: len(data) // 8 * 8], dtype="<u8").astype(np.uint64)


def _hash(url: str) -> int:
    return xxhash.xxh3_64_intdigest(url.encode())
