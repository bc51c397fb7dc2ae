"""Jobs: the engine, files on disk, sitemaps and publishers."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta

from scoter.config.settings import SAME_NAME, Section, setting
from scoter.config.units import Size

_SPARK_MASTER = r"local(\[(\d+|\*)\])?|spark://[^\s/]+|yarn|k8s://\S+"
_SPARK_CONF = r"spark\.[^\s=]+=.*"


class EngineSettings(Section, frozen=True):
    """The engine that runs relational jobs."""

    kind: str = setting("duckdb", "Engine: duckdb, or one from a plug-in package.", example='"duckdb"')
    memory_limit: Size | None = setting(
        None,
        "Memory of a job, above which it spills to disk; auto means 60 % of the machine's or container's memory.",
        at_least=2**26,
        none="auto",
    )
    spark_master: str = setting(
        "local[*]",
        "Where Spark runs its jobs: local[N] (N cores of this machine; * for all of them), spark://host:7077, yarn or"
        " k8s://https://host:443, on machines that see the crawl directory under the same path or URL.",
        pattern=_SPARK_MASTER,
        form="local[N], spark://host:port, yarn or k8s://address",
        example='"spark://spark.example.org:7077"',
    )
    spark_conf: tuple[str, ...] = setting(
        (),
        "Settings of Spark, which replace Scoter's own.",
        pattern=_SPARK_CONF,
        form="spark.name=value",
        example='["spark.executor.memory=4g", "spark.executor.cores=4"]',
    )
    spark_folder: str = setting(
        "",
        "Folder in an object store for the temporary files of Spark's executors; by default, tmp in the crawl directory"
        " if that is in a store.",
        example='"s3://bucket/tmp"',
    )


class StoreSettings(Section, frozen=True):
    """Archives and tables on disk."""

    warc_size: Size = setting(
        Size(2**30), "Size at which a WARC file is closed and a new one is started.", at_least=2**20
    )
    warc_age: timedelta = setting(
        timedelta(minutes=1),
        "Age at which a part and its WARC file are closed; a killed fetch loses at most this much.",
        at_least=timedelta(seconds=1),
    )
    lease: timedelta = setting(
        timedelta(minutes=1),
        "Time after which the lock of a killed or suspended command expires, in a crawl directory on an object store.",
        at_least=timedelta(seconds=3),
    )
    disk_floor: Size = setting(
        Size(2**30), "Free disk space below which a crawl stops and the live service refuses messages."
    )


class SitemapSettings(Section, frozen=True):
    """Sitemaps as a source of URLs."""

    strict_parsing: bool = setting(True, "Accept only URLs below the sitemap's own path.", nutch=SAME_NAME)
    url_filter: bool = setting(True, "Apply the URL filters to a sitemap's URLs.", nutch=SAME_NAME)
    url_normalize: bool = setting(True, "Apply the URL normalisers to a sitemap's URLs.", nutch=SAME_NAME)
    url_default_sitemap_xml: bool = setting(True, "Try /sitemap.xml if robots.txt lists no sitemap.", nutch=SAME_NAME)
    url_overwrite_existing: bool = setting(
        False, "Let a sitemap change the score, interval and modified time of known URLs.", nutch=SAME_NAME
    )
    redir_max: int = setting(3, "Redirects followed for a sitemap.", nutch=SAME_NAME, at_least=0, at_most=20)
    size_max: Size = setting(Size(50 * 2**20), "Maximum size of a sitemap.", nutch=SAME_NAME, at_least=1)
    site_time_limit: timedelta = setting(
        timedelta(minutes=10),
        "Time for the sitemaps of one site, from its first answer; the rest of them is not read.",
        at_least=timedelta(seconds=1),
    )
    time_limit: timedelta = setting(
        timedelta(hours=2), "Time for all sitemaps together.", at_least=timedelta(seconds=1)
    )
    wait: timedelta = setting(
        timedelta(seconds=30),
        "How long a round of a crawl waits for slow sites when the sitemaps of the others have been read; the slow ones"
        " continue before the next round.",
        at_least=timedelta(0),
    )


class PublisherSettings(Section, frozen=True):
    """Publishers, which report the start, progress and end of a fetch."""

    publishers: tuple[str, ...] = setting(
        (), "Active publishers.", nutch=("publisher.order",), formerly=("publisher.order",), example='["file"]'
    )
