"""What seed lists and sitemaps name: the pages that clicks are counted from, and those that should be found."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
import xxhash

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.site.tables import SiteFolder

MOST_SEEDS: Final = 10_000
"""Seeds that are kept of a list; a site has fewer start pages."""
MOST_LISTED: Final = 50_000_000


def note_seeds(crawl: CrawlDir, file: Path) -> None:
    """Keep the URLs of a list of seeds; the same list is kept once."""
    with pq.ParquetFile(file) as found:
        if not found.metadata.num_rows:
            return
        first = next(found.iter_batches(MOST_SEEDS, columns=["url"]))
    digest = xxhash.xxh3_64_hexdigest("\n".join(first["url"].to_pylist()).encode())
    folder, name = SiteFolder(crawl), f"seeds-{digest}.parquet"
    if name not in folder.names("seeds-"):
        folder.copy_urls(name, file, MOST_SEEDS)


def note_sitemap(crawl: CrawlDir, file: Path, now: datetime, *, replaces: bool) -> None:
    """Keep the URLs that sitemaps list, instead of those kept before if the sitemaps of all sites were read anew."""
    folder = SiteFolder(crawl)
    before = folder.names("sitemap-")
    if pq.read_metadata(file).num_rows:
        name = f"sitemap-{now:%Y%m%d%H%M%S}-{len(before):05d}.parquet"
        folder.copy_urls(name, file, MOST_LISTED)
    if replaces:
        folder.remove(before)
