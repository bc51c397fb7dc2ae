"""Jobs: the engine, files on disk, sitemaps and publishers."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size


class EngineSettings(Section, frozen=True):
    """The engine that runs relational jobs."""

    kind: Annotated[str, Setting("Engine: duckdb, or one from a plug-in package.", example='"duckdb"')] = "duckdb"
    memory_limit: Annotated[
        Size | None,
        Setting(
            "Memory of a job, above which it spills to disk; auto means 60 % of the machine's or container's memory.",
            at_least=2**26,
            none="auto",
        ),
    ] = None


class StoreSettings(Section, frozen=True):
    """Archives and tables on disk."""

    warc_size: Annotated[
        Size, Setting("Size at which a WARC file is closed and a new one is started.", at_least=2**20)
    ] = Size(2**30)
    warc_age: Annotated[
        timedelta,
        Setting(
            "Age at which a part and its WARC file are closed; a killed fetch loses at most this much.",
            at_least=timedelta(seconds=1),
        ),
    ] = timedelta(minutes=1)
    disk_floor: Annotated[
        Size, Setting("Free disk space below which a crawl stops and the live service refuses messages.")
    ] = Size(2**30)


class SitemapSettings(Section, frozen=True):
    """Sitemaps as a source of URLs."""

    strict_parsing: Annotated[
        bool, Setting("Accept only URLs below the sitemap's own path.", nutch=("sitemap.strict.parsing",))
    ] = True
    url_filter: Annotated[
        bool, Setting("Apply the URL filters to a sitemap's URLs.", nutch=("sitemap.url.filter",))
    ] = True
    url_normalize: Annotated[
        bool, Setting("Apply the URL normalisers to a sitemap's URLs.", nutch=("sitemap.url.normalize",))
    ] = True
    url_default_sitemap_xml: Annotated[
        bool, Setting("Try /sitemap.xml if robots.txt lists no sitemap.", nutch=("sitemap.url.default.sitemap.xml",))
    ] = True
    url_overwrite_existing: Annotated[
        bool,
        Setting(
            "Let a sitemap change the score, interval and modified time of known URLs.",
            nutch=("sitemap.url.overwrite.existing",),
        ),
    ] = False
    redir_max: Annotated[
        int, Setting("Redirects followed for a sitemap.", nutch=("sitemap.redir.max",), at_least=0, at_most=20)
    ] = 3
    size_max: Annotated[Size, Setting("Maximum size of a sitemap.", nutch=("sitemap.size.max",), at_least=1)] = Size(
        50 * 2**20
    )


class PublisherSettings(Section, frozen=True):
    """Publishers, which report the start, progress and end of a fetch."""

    order: Annotated[
        tuple[str, ...], Setting("Active publishers.", nutch=("publisher.order",), example='["file"]')
    ] = ()
