"""freegen: make a segment of the URLs in files, whether or not they are in the crawldb.

As in Nutch, every URL gets the record of a new URL, even if it is in the crawldb; ``updatedb`` later combines the known
record with the result of the fetch. Lines may have the fields of seed lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from scoter.batch.crawldir.crawldb import scoring_columns
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import SegmentInfo
from scoter.batch.fetchlists.picker import UrlPicker, save_picked, with_lists
from scoter.batch.fetchlists.writer import write_segments
from scoter.batch.jobs.generate import limits_of
from scoter.batch.urls.chains import UrlChains
from scoter.batch.urls.records import SeedRecords, first_seeds
from scoter.batch.urls.seeds import SeedProblem, read_seeds, seed_sources
from scoter.config import Config
from scoter.engine import Engine
from scoter.store.disk import Scratch


class FreegenResult(Struct, frozen=True, kw_only=True):
    """The new segments with their number of URLs, and the number of skipped lines."""

    segments: Mapping[str, int]
    filtered: int = 0
    not_urls: int = 0
    bad_fields: int = 0
    complaints: tuple[SeedProblem, ...] = ()

    @property
    def urls(self) -> int:
        return sum(self.segments.values())


def freegen(
    crawl: CrawlDir,
    engine: Engine,
    config: Config,
    files: Iterable[str],
    *,
    now: datetime,
    filter: bool = False,
    normalize: bool = False,
    lists: int | None = None,
) -> FreegenResult:
    """Make one segment of the URLs in files, folders or standard input (``-``)."""
    # No limits per host: all URLs were requested explicitly.
    limits = limits_of(config, lists=lists, is_capped=False)
    sources = seed_sources(files, may_be_urls=False)
    columns = scoring_columns(config)
    chains = UrlChains.from_config(config, "inject", filter=filter, normalize=normalize)
    with Scratch(crawl.scratch, "freegen") as scratch:
        file = scratch.path / "seeds.parquet"
        with SeedRecords(file, chains, config, now) as records:
            records.add(read_seeds(sources))
        segments: Mapping[str, int] = {}
        if records.kept:
            rows = first_seeds(engine, file, columns)
            picker = UrlPicker(limits, UrlChains((), (), "default"))
            picked = save_picked(map(picker.pick, engine.batches(rows.select("url", "key", "host"))), scratch.path)
            buckets = picker.buckets()
            found = with_lists(engine, engine.read(picked), buckets, scratch.path)
            info = SegmentInfo(created=now, lists=limits.lists, urls=0, made_by="freegen", partition=limits.partition)
            full = found.join(rows, found.picked_url == rows.url)
            segments = write_segments(crawl, engine, full, columns, info, scratch.path, buckets)
    return FreegenResult(
        segments=segments,
        filtered=records.filtered,
        not_urls=records.not_urls,
        bad_fields=records.bad_fields,
        complaints=tuple(records.problems),
    )
