"""How jobs run and what they leave on disk; sitemaps and publishers."""

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.
from datetime import timedelta
from typing import Annotated

from scoter.config.settings import Section, Setting
from scoter.config.units import Size


class EngineSettings(Section, frozen=True):
    """Where the relational jobs run."""

    kind: Annotated[str, Setting("Name of the engine: duckdb, or one that a package adds.", example='"duckdb"')] = (
        "duckdb"
    )
    memory_limit: Annotated[
        Size | None,
        Setting(
            "Memory of a job, beyond which it spills to disk; auto is 60 % of the machine's, or of its container's.",
            at_least=2**26,
            none="auto",
        ),
    ] = None


class StoreSettings(Section, frozen=True):
    """Archives and tables on disk."""

    warc_size: Annotated[
        Size, Setting("Size at which a WARC file is closed and the next one begun.", at_least=2**20)
    ] = Size(2**30)
    warc_age: Annotated[
        timedelta,
        Setting(
            "Age at which a part with its WARC file is finished; a killed fetch loses at most this much.",
            at_least=timedelta(seconds=1),
        ),
    ] = timedelta(minutes=1)
    disk_floor: Annotated[Size, Setting("Free disk space below which a crawl pauses.")] = Size(2**30)


class SitemapSettings(Section, frozen=True):
    """Sitemaps as a source of URLs."""

    strict_parsing: Annotated[
        bool, Setting("Take only URLs below the sitemap's own place.", nutch=("sitemap.strict.parsing",))
    ] = True
    url_filter: Annotated[
        bool, Setting("Run the URL filters over a sitemap's URLs.", nutch=("sitemap.url.filter",))
    ] = True
    url_normalize: Annotated[
        bool, Setting("Run the URL normalisers over a sitemap's URLs.", nutch=("sitemap.url.normalize",))
    ] = True
    url_default_sitemap_xml: Annotated[
        bool,
        Setting(
            "Try /sitemap.xml where robots.txt names none.",
            nutch=("sitemap.url.default.sitemap.xml",),
        ),
    ] = True
    url_overwrite_existing: Annotated[
        bool,
        Setting(
            "Let a sitemap change the score, interval and modified time of known URLs.",
            nutch=("sitemap.url.overwrite.existing",),
        ),
    ] = False
    redir_max: Annotated[
        int,
        Setting("Redirects followed for a sitemap.", nutch=("sitemap.redir.max",), at_least=0, at_most=20),
    ] = 3
    size_max: Annotated[Size, Setting("Largest sitemap that is read.", nutch=("sitemap.size.max",), at_least=1)] = Size(
        50 * 2**20
    )


class PublisherSettings(Section, frozen=True):
    """Who is told of a fetch's start, progress and end."""

    order: Annotated[
        tuple[str, ...],
        Setting("Publishers; those named are told.", nutch=("publisher.order",), example='["file"]'),
    ] = ()
