"""The crawldb: which URLs are due, when they are fetched again, and which links are added."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from scoter.config.settings import Section, Setting

_LONGEST_INTERVAL = timedelta(days=24_855)  # seconds of the crawldb's 32 bits: 68 years


class GenerateSettings(Section, frozen=True):
    """Selection of due URLs for the next segments."""

    max_count: Annotated[
        int | None,
        Setting(
            "Maximum number of URLs of one host or domain in a segment.",
            nutch=("generate.max.count", "generate.max.per.host"),
            at_least=1,
        ),
    ] = None
    count_mode: Annotated[
        Literal["host", "domain"],
        Setting("Whether generate.max_count applies per host or per domain.", nutch=("generate.count.mode",)),
    ] = "host"
    partition_mode: Annotated[
        Literal["host", "domain", "ip"],
        Setting(
            "What is kept together in one fetch list, so that no two workers request from the same server.",
            nutch=("partition.url.mode",),
            follows="fetch.queue_mode",
        ),
    ] = "host"
    update_crawldb: Annotated[
        bool,
        Setting(
            "Leave out URLs of segments that are still being fetched, so that rounds may overlap.",
            nutch=("generate.update.crawldb",),
        ),
    ] = False
    mark_age: Annotated[
        timedelta,
        Setting(
            "How long generate.update_crawldb leaves out a generated URL.", nutch=("crawl.gen.delay",), nutch_unit="ms"
        ),
    ] = timedelta(days=7)
    min_score: Annotated[
        float | None, Setting("URLs with a lower sort value are left out.", nutch=("generate.min.score",))
    ] = 0.0
    min_interval: Annotated[
        timedelta | None, Setting("URLs with a longer fetch interval are left out.", nutch=("generate.min.interval",))
    ] = None
    restrict_status: Annotated[
        Literal[
            "unfetched",
            "fetched",
            "gone",
            "redir_temp",
            "redir_perm",
            "notmodified",
            "duplicate",
            "orphan",
            "parse_failed",
        ]
        | None,
        Setting("Select only URLs with this status.", nutch=("generate.restrict.status",), none="any"),
    ] = None
    hostdb: Annotated[
        Path | None,
        Setting("Folder of the hostdb for the two expressions below.", nutch=("generate.hostdb",), planned=True),
    ] = None
    fetch_delay_expr: Annotated[
        str,
        Setting(
            "Expression over a host's record that gives its delay.",
            nutch=("generate.fetch.delay.expr",),
            nutch_unit="expression",
            planned=True,
        ),
    ] = ""
    max_count_expr: Annotated[
        str,
        Setting(
            "Expression over a host's record that gives its maximum count.",
            nutch=("generate.max.count.expr",),
            nutch_unit="expression",
            planned=True,
        ),
    ] = ""


class CrawldbSettings(Section, frozen=True):
    """The crawldb: schedules, retries, scores, outlinks and signatures."""

    fetch_interval_default: Annotated[
        timedelta,
        Setting(
            "Interval after which a new URL is fetched again.",
            nutch=("db.fetch.interval.default", "db.default.fetch.interval"),
            at_least=timedelta(seconds=1),
            at_most=_LONGEST_INTERVAL,
        ),
    ] = timedelta(days=30)
    fetch_interval_max: Annotated[
        timedelta,
        Setting(
            "Longest interval until a URL is fetched again; anything scheduled later is brought forward.",
            nutch=("db.fetch.interval.max", "db.max.fetch.interval"),
            at_least=timedelta(seconds=1),
            at_most=_LONGEST_INTERVAL,
        ),
    ] = timedelta(days=90)
    fetch_retry_max: Annotated[
        int,
        Setting(
            "Transient failures after which a URL counts as gone.",
            nutch=("db.fetch.retry.max",),
            at_least=0,
            at_most=127,
        ),
    ] = 3
    fetch_schedule_class: Annotated[
        str,
        Setting(
            "Fetch schedule: default, adaptive, mime-adaptive, or a plug-in.",
            nutch=("db.fetch.schedule.class",),
            example='"adaptive"',
        ),
    ] = "default"
    fetch_schedule_adaptive_inc_rate: Annotated[
        float,
        Setting(
            "Share by which the interval grows if a page has not changed.",
            nutch=("db.fetch.schedule.adaptive.inc_rate",),
            at_least=0,
            at_most=10,
        ),
    ] = 0.4
    fetch_schedule_adaptive_dec_rate: Annotated[
        float,
        Setting(
            "Share by which the interval shrinks if a page has changed.",
            nutch=("db.fetch.schedule.adaptive.dec_rate",),
            at_least=0,
            at_most=1,
        ),
    ] = 0.2
    fetch_schedule_adaptive_min_interval: Annotated[
        timedelta,
        Setting(
            "Shortest interval of the adaptive schedules.",
            nutch=("db.fetch.schedule.adaptive.min_interval",),
            at_most=_LONGEST_INTERVAL,
            not_above="db.fetch_schedule_adaptive_max_interval",
        ),
    ] = timedelta(minutes=1)
    fetch_schedule_adaptive_max_interval: Annotated[
        timedelta,
        Setting(
            "Longest interval of the adaptive schedules.",
            nutch=("db.fetch.schedule.adaptive.max_interval",),
            at_most=_LONGEST_INTERVAL,
        ),
    ] = timedelta(days=365)
    fetch_schedule_adaptive_sync_delta: Annotated[
        bool,
        Setting(
            "Move the next fetch towards the time at which the page changes.",
            nutch=("db.fetch.schedule.adaptive.sync_delta",),
        ),
    ] = True
    fetch_schedule_adaptive_sync_delta_rate: Annotated[
        float,
        Setting(
            "Share of the time since the last change by which the next fetch is moved.",
            nutch=("db.fetch.schedule.adaptive.sync_delta_rate",),
            at_least=0,
            at_most=1,
        ),
    ] = 0.3
    fetch_schedule_mime_file: Annotated[
        Path | None,
        Setting(
            "File with one content type and its two rates per line; empty means the built-in list.",
            nutch=("db.fetch.schedule.mime.file",),
        ),
    ] = None

    update_additions_allowed: Annotated[
        bool, Setting("Let updatedb add newly found URLs.", nutch=("db.update.additions.allowed",))
    ] = True
    update_max_inlinks: Annotated[
        int,
        Setting(
            "Inlinks of a URL that an update considers, best scores first.",
            nutch=("db.update.max.inlinks",),
            at_least=1,
        ),
    ] = 10_000
    update_purge_404: Annotated[bool, Setting("Drop gone URLs at the next update.", nutch=("db.update.purge.404",))] = (
        False
    )
    update_purge_orphans: Annotated[
        bool, Setting("Drop orphaned URLs at the next update.", nutch=("db.update.purge.orphans",))
    ] = False
    url_normalizers: Annotated[
        bool, Setting("Apply the URL normalisers to the crawldb at each update.", nutch=("crawldb.url.normalizers",))
    ] = False
    url_filters: Annotated[
        bool, Setting("Apply the URL filters to the crawldb at each update.", nutch=("crawldb.url.filters",))
    ] = False
    preserve_backup: Annotated[
        bool,
        Setting("Keep the previous version of the crawldb and the linkdb as a backup.", nutch=("db.preserve.backup",)),
    ] = True
    parsemeta_to_crawldb: Annotated[
        tuple[str, ...],
        Setting(
            "Parse metadata that is copied into the crawldb.", nutch=("db.parsemeta.to.crawldb",), example='["lang"]'
        ),
    ] = ()

    injector_overwrite: Annotated[
        bool, Setting("Let a seed replace the record of a known URL.", nutch=("db.injector.overwrite",))
    ] = False
    injector_update: Annotated[
        bool,
        Setting(
            "Merge a seed's metadata, score and interval into the record of a known URL.", nutch=("db.injector.update",)
        ),
    ] = False

    ignore_internal_links: Annotated[
        bool, Setting("Drop links to the page's own host or domain.", nutch=("db.ignore.internal.links",))
    ] = False
    ignore_external_links: Annotated[
        bool, Setting("Drop links to other hosts or domains.", nutch=("db.ignore.external.links",))
    ] = False
    ignore_external_links_mode: Annotated[
        Literal["host", "domain"],
        Setting("Whether the two settings above compare hosts or domains.", nutch=("db.ignore.external.links.mode",)),
    ] = "host"
    ignore_also_redirects: Annotated[
        bool, Setting("Apply the settings above to redirect targets too.", nutch=("db.ignore.also.redirects",))
    ] = True
    ignore_external_exemptions_file: Annotated[
        Path | None,
        Setting(
            "Rules for external links that are kept; required if the exemption ignoreexempt is active.",
            nutch=("db.ignore.external.exemptions.file",),
        ),
    ] = None
    max_outlinks_per_page: Annotated[
        int | None, Setting("Maximum number of links kept per page.", nutch=("db.max.outlinks.per.page",), at_least=0)
    ] = 100
    max_outlink_length: Annotated[
        int | None,
        Setting(
            "Maximum length of a link or redirect target, in characters.", nutch=("db.max.outlink.length",), at_least=1
        ),
    ] = 4_096

    score_injected: Annotated[float, Setting("Score of a seed without one.", nutch=("db.score.injected",))] = 1.0
    score_link_external: Annotated[
        float, Setting("Factor for the score passed on by links to other hosts.", nutch=("db.score.link.external",))
    ] = 1.0
    score_link_internal: Annotated[
        float, Setting("Factor for the score passed on by links to the same host.", nutch=("db.score.link.internal",))
    ] = 1.0
    score_count_filtered: Annotated[
        bool,
        Setting("Divide a page's score by all its links, not only by those kept.", nutch=("db.score.count.filtered",)),
    ] = False

    signature_class: Annotated[
        str,
        Setting(
            "Signature: md5, text-md5, text-profile, simhash, or a plug-in.",
            nutch=("db.signature.class",),
            example='"text-profile"',
        ),
    ] = "md5"
    signature_text_profile_min_token_len: Annotated[
        int,
        Setting(
            "Words of a text profile must be longer than this.",
            nutch=("db.signature.text_profile.min_token_len",),
            at_least=0,
        ),
    ] = 2
    signature_text_profile_quant_rate: Annotated[
        float,
        Setting(
            "Share of the highest word count to which a text profile rounds its counts.",
            nutch=("db.signature.text_profile.quant_rate",),
            at_least=0,
            at_most=1,
        ),
    ] = 0.01
    stats_score_quantiles: Annotated[
        tuple[float, ...],
        Setting("Score quantiles shown by readdb --stats.", nutch=("db.stats.score.quantiles",), at_least=0, at_most=1),
    ] = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99)
