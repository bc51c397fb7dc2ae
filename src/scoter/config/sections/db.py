"""The crawldb: which URLs are due, when they are fetched again, and which links are added."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import Literal

from scoter.config.settings import SAME_NAME, Section, setting

_LONGEST_INTERVAL = timedelta(days=24_855)  # seconds of the crawldb's 32 bits: 68 years
_Status = Literal[
    "unfetched", "fetched", "gone", "redir_temp", "redir_perm", "notmodified", "duplicate", "orphan", "parse_failed"
]


class GenerateSettings(Section, frozen=True):
    """Selection of due URLs for the next segments."""

    max_count: int | None = setting(
        None,
        "Maximum number of URLs of one host or domain in a segment.",
        nutch=("generate.max.count", "generate.max.per.host"),
        at_least=1,
    )
    count_mode: Literal["host", "domain"] = setting(
        "host", "Whether generate.max_count applies per host or per domain.", nutch=SAME_NAME
    )
    partition_mode: Literal["host", "domain", "ip"] = setting(
        "host",
        "What is kept together in one fetch list, so that no two workers request from the same server.",
        nutch=("partition.url.mode",),
        follows="fetch.queue_mode",
    )
    trap_share: float = setting(
        0.01,
        "Largest share of a fetch list that may come from possible crawler traps: URLs whose pages say the same and "
        "lead to ever more of their kind, or with dates far in the future; unless it is 0, at least one URL beside "
        "others may, and 1 means no limit.",
        at_least=0.0,
        at_most=1.0,
    )
    update_crawldb: bool = setting(
        False, "Leave out URLs of segments that are still being fetched, so that rounds may overlap.", nutch=SAME_NAME
    )
    mark_age: timedelta = setting(
        timedelta(days=7),
        "How long generate.update_crawldb leaves out a generated URL.",
        nutch=("crawl.gen.delay",),
        nutch_unit="ms",
    )
    min_score: float | None = setting(0.0, "URLs with a lower sort value are left out.", nutch=SAME_NAME)
    max_interval: timedelta | None = setting(
        None,
        "URLs with a longer fetch interval are left out.",
        nutch=("generate.min.interval",),
        formerly=("generate.min_interval",),
    )
    restrict_status: _Status | None = setting(None, "Select only URLs with this status.", nutch=SAME_NAME, none="any")
    hostdb: Path | None = setting(
        None,
        "Folder of the hostdb that generate uses: for the two expressions below, and to leave out dead hosts; if it is "
        "empty, generate uses the crawl's own hostdb, with --hostdb or if there is an expression.",
        nutch=SAME_NAME,
    )
    fetch_delay_expr: str = setting(
        "",
        "Expression over a host's record that gives its delay, as a duration or in milliseconds; robots.txt may "
        "lengthen it.",
        nutch=SAME_NAME,
        nutch_unit="expression",
        example='"max(5000, latency_ms.p95 * 10)"',
    )
    max_count_expr: str = setting(
        "",
        "Expression over a host's record that gives its maximum number of URLs in a segment; a negative number means "
        "no limit, a missing value that generate.max_count applies.",
        nutch=SAME_NAME,
        nutch_unit="expression",
        example='"if(server_errors > 10, 50, 1000)"',
    )


class CrawldbSettings(Section, frozen=True):
    """The crawldb: schedules, retries, scores, outlinks and signatures."""

    fetch_interval_default: timedelta = setting(
        timedelta(days=30),
        "Interval after which a new URL is fetched again.",
        nutch=("db.fetch.interval.default", "db.default.fetch.interval"),
        at_least=timedelta(seconds=1),
        at_most=_LONGEST_INTERVAL,
    )
    fetch_interval_max: timedelta = setting(
        timedelta(days=90),
        "Longest interval until a URL is fetched again; anything scheduled later is brought forward.",
        nutch=("db.fetch.interval.max", "db.max.fetch.interval"),
        at_least=timedelta(seconds=1),
        at_most=_LONGEST_INTERVAL,
    )
    fetch_retry_max: int = setting(
        3, "Transient failures after which a URL counts as gone.", nutch=SAME_NAME, at_least=0, at_most=127
    )
    schedule: str = setting(
        "default",
        "Fetch schedule: default, adaptive, mime-adaptive, or a plug-in.",
        nutch=("db.fetch.schedule.class",),
        formerly=("db.fetch_schedule_class",),
        example='"adaptive"',
    )
    fetch_schedule_adaptive_inc_rate: float = setting(
        0.4,
        "Share by which the interval grows if a page has not changed.",
        nutch=("db.fetch.schedule.adaptive.inc_rate",),
        at_least=0,
        at_most=10,
    )
    fetch_schedule_adaptive_dec_rate: float = setting(
        0.2,
        "Share by which the interval shrinks if a page has changed.",
        nutch=("db.fetch.schedule.adaptive.dec_rate",),
        at_least=0,
        at_most=1,
    )
    fetch_schedule_adaptive_min_interval: timedelta = setting(
        timedelta(minutes=1),
        "Shortest interval of the adaptive schedules.",
        nutch=("db.fetch.schedule.adaptive.min_interval",),
        at_most=_LONGEST_INTERVAL,
        not_above="db.fetch_schedule_adaptive_max_interval",
    )
    fetch_schedule_adaptive_max_interval: timedelta = setting(
        timedelta(days=365),
        "Longest interval of the adaptive schedules.",
        nutch=("db.fetch.schedule.adaptive.max_interval",),
        at_most=_LONGEST_INTERVAL,
    )
    fetch_schedule_adaptive_sync_delta: bool = setting(
        True,
        "Move the next fetch towards the time at which the page changes.",
        nutch=("db.fetch.schedule.adaptive.sync_delta",),
    )
    fetch_schedule_adaptive_sync_delta_rate: float = setting(
        0.3,
        "Share of the time since the last change by which the next fetch is moved.",
        nutch=("db.fetch.schedule.adaptive.sync_delta_rate",),
        at_least=0,
        at_most=1,
    )
    fetch_schedule_mime_file: Path | None = setting(
        None, "File with one content type and its two rates per line; empty means the built-in list.", nutch=SAME_NAME
    )

    update_additions_allowed: bool = setting(True, "Let updatedb add newly found URLs.", nutch=SAME_NAME)
    update_max_inlinks: int = setting(
        10_000, "Inlinks of a URL that an update considers, best scores first.", nutch=SAME_NAME, at_least=1
    )
    update_purge_404: bool = setting(False, "Drop gone URLs at the next update.", nutch=SAME_NAME)
    update_purge_orphans: bool = setting(False, "Drop orphaned URLs at the next update.", nutch=SAME_NAME)
    segment_merge_filters: tuple[str, ...] = setting(
        (), "Active segment merge filters, which may drop pages when segments are merged.", example='["only-text"]'
    )
    url_normalizers: bool = setting(
        False, "Apply the URL normalisers to the crawldb at each update.", nutch=("crawldb.url.normalizers",)
    )
    url_filters: bool = setting(
        False, "Apply the URL filters to the crawldb at each update.", nutch=("crawldb.url.filters",)
    )
    preserve_backup: bool = setting(
        True, "Keep the previous version of the crawldb and the linkdb as a backup.", nutch=SAME_NAME
    )
    incremental_min_rows: int = setting(
        100_000,
        "Number of URLs from which on a crawldb is updated by delta parts; smaller ones are rewritten as a whole.",
        at_least=0,
    )
    compaction_share: float = setting(
        0.375,
        "Compact a key range of the crawldb when its replaced rows and delta rows exceed this share of its rows.",
        at_least=0.01,
        at_most=1.0,
    )
    parsemeta_to_crawldb: tuple[str, ...] = setting(
        (), "Parse metadata that is copied into the crawldb.", nutch=SAME_NAME, example='["lang"]'
    )

    injector_overwrite: bool = setting(False, "Let a seed replace the record of a known URL.", nutch=SAME_NAME)
    injector_update: bool = setting(
        False, "Merge a seed's metadata, score and interval into the record of a known URL.", nutch=SAME_NAME
    )

    ignore_internal_links: bool = setting(False, "Drop links to the page's own host or domain.", nutch=SAME_NAME)
    ignore_external_links: bool = setting(False, "Drop links to other hosts or domains.", nutch=SAME_NAME)
    ignore_external_links_mode: Literal["host", "domain"] = setting(
        "host", "Whether the two settings above compare hosts or domains.", nutch=SAME_NAME
    )
    ignore_also_redirects: bool = setting(True, "Apply the settings above to redirect targets too.", nutch=SAME_NAME)
    ignore_external_exemptions_file: Path | None = setting(
        None,
        "Rules for external links that are kept; required if the exemption ignoreexempt is active.",
        nutch=SAME_NAME,
    )
    max_outlinks_per_page: int | None = setting(
        100,
        "Maximum number of links kept per page; several links to one target count as several.",
        nutch=SAME_NAME,
        at_least=0,
    )
    max_outlink_length: int | None = setting(
        4_096, "Maximum length of a link or redirect target, in characters.", nutch=SAME_NAME, at_least=1
    )

    score_injected: float = setting(1.0, "Score of a seed without one.", nutch=SAME_NAME)
    score_link_external: float = setting(
        1.0, "Factor for the score passed on by links to other hosts.", nutch=SAME_NAME
    )
    score_link_internal: float = setting(
        1.0, "Factor for the score passed on by links to the same host.", nutch=SAME_NAME
    )
    score_count_filtered: bool = setting(
        False, "Divide a page's score by all its links, not only by those kept.", nutch=SAME_NAME
    )

    signature: str = setting(
        "md5",
        "Signature: md5 of the body; text-md5, text-profile or simhash of title and text; or a plug-in.",
        nutch=("db.signature.class",),
        formerly=("db.signature_class",),
        example='"text-profile"',
    )
    signature_text_profile_min_token_len: int = setting(
        2,
        "Words of a text profile must be longer than this.",
        nutch=("db.signature.text_profile.min_token_len",),
        at_least=0,
    )
    signature_text_profile_quant_rate: float = setting(
        0.01,
        "Share of the highest word count to which a text profile rounds its counts.",
        nutch=("db.signature.text_profile.quant_rate",),
        at_least=0,
        at_most=1,
    )
    stats_score_quantiles: tuple[float, ...] = setting(
        (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99),
        "Score quantiles shown by readdb --stats.",
        nutch=SAME_NAME,
        at_least=0,
        at_most=1,
    )
