"""The crawl database: which URLs are due, when they come again, and what becomes of new links."""

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from scoter.config.settings import Section, Setting

_LONGEST_INTERVAL = timedelta(days=24_855)  # seconds of the crawldb's 32 bits: 68 years


class GenerateSettings(Section, frozen=True):
    """Which due URLs go into the next segments."""

    max_count: Annotated[
        int | None,
        Setting(
            "URLs of one host or domain in a segment at most.",
            nutch=("generate.max.count", "generate.max.per.host"),
            at_least=1,
        ),
    ] = None
    count_mode: Annotated[
        Literal["host", "domain"],
        Setting("What generate.max_count counts by.", nutch=("generate.count.mode",)),
    ] = "host"
    partition_mode: Annotated[
        Literal["host", "domain", "ip"],
        Setting(
            "What must stand in one fetch list together, so that no two workers ask the same server.",
            nutch=("partition.url.mode",),
            follows="fetch.queue_mode",
        ),
    ] = "host"
    update_crawldb: Annotated[
        bool,
        Setting(
            "Mark generated URLs in the crawldb, so that segments may be generated while others are fetched.",
            nutch=("generate.update.crawldb",),
        ),
    ] = False
    mark_age: Annotated[
        timedelta,
        Setting("How long such a mark holds.", nutch=("crawl.gen.delay",), nutch_unit="ms"),
    ] = timedelta(days=7)
    min_score: Annotated[
        float | None,
        Setting("Sort value below which URLs are left out.", nutch=("generate.min.score",)),
    ] = 0.0
    min_interval: Annotated[
        timedelta | None,
        Setting(
            "URLs whose fetch interval is longer are left out.",
            nutch=("generate.min.interval",),
        ),
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
        Setting("Take only URLs of this status.", nutch=("generate.restrict.status",), none="any"),
    ] = None
    hostdb: Annotated[
        Path | None,
        Setting(
            "Folder of the hostdb that the two expressions below look into.",
            nutch=("generate.hostdb",),
            planned=True,
        ),
    ] = None
    fetch_delay_expr: Annotated[
        str,
        Setting(
            "Expression over a host's record that gives its fetch delay.",
            nutch=("generate.fetch.delay.expr",),
            nutch_unit="expression",
            planned=True,
        ),
    ] = ""
    max_count_expr: Annotated[
        str,
        Setting(
            "Expression over a host's record that gives its own maximum count.",
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
            "Time until a new URL is fetched again.",
            nutch=("db.fetch.interval.default", "db.default.fetch.interval"),
            at_least=timedelta(seconds=1),
            at_most=_LONGEST_INTERVAL,
        ),
    ] = timedelta(days=30)
    fetch_interval_max: Annotated[
        timedelta,
        Setting(
            "Longest time until a URL is fetched again; whatever is scheduled later is brought forward.",
            nutch=("db.fetch.interval.max", "db.max.fetch.interval"),
            at_least=timedelta(seconds=1),
            at_most=_LONGEST_INTERVAL,
        ),
    ] = timedelta(days=90)
    fetch_retry_max: Annotated[
        int,
        Setting(
            "Passing failures after which a URL counts as gone.",
            nutch=("db.fetch.retry.max",),
            at_least=0,
            at_most=127,
        ),
    ] = 3
    fetch_schedule_class: Annotated[
        str,
        Setting(
            "Name of the fetch schedule: default, adaptive, mime-adaptive, or a plug-in's.",
            nutch=("db.fetch.schedule.class",),
            example='"adaptive"',
        ),
    ] = "default"
    fetch_schedule_adaptive_inc_rate: Annotated[
        float,
        Setting(
            "Share by which the interval grows when a page has not changed.",
            nutch=("db.fetch.schedule.adaptive.inc_rate",),
            at_least=0,
            at_most=10,
        ),
    ] = 0.4
    fetch_schedule_adaptive_dec_rate: Annotated[
        float,
        Setting(
            "Share by which the interval shrinks when a page has changed.",
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
            "Move the next fetch towards the time at which the page is seen to change.",
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
            "File with a content type and its two rates a line, by tabs; empty means the list that ships with Scoter.",
            nutch=("db.fetch.schedule.mime.file",),
        ),
    ] = None

    update_additions_allowed: Annotated[
        bool, Setting("Let updatedb add newly found URLs.", nutch=("db.update.additions.allowed",))
    ] = True
    update_max_inlinks: Annotated[
        int,
        Setting(
            "Links to a URL that an update looks at, best scores first.",
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
        bool,
        Setting("Run the URL normalisers over the crawldb at each update.", nutch=("crawldb.url.normalizers",)),
    ] = False
    url_filters: Annotated[
        bool, Setting("Run the URL filters over the crawldb at each update.", nutch=("crawldb.url.filters",))
    ] = False
    preserve_backup: Annotated[
        bool,
        Setting(
            "Keep the version before the current one of the crawldb and the linkdb, to go back to.",
            nutch=("db.preserve.backup",),
        ),
    ] = True
    parsemeta_to_crawldb: Annotated[
        tuple[str, ...],
        Setting(
            "Names of parse metadata that are copied into the crawldb.",
            nutch=("db.parsemeta.to.crawldb",),
            example='["lang"]',
        ),
    ] = ()

    injector_overwrite: Annotated[
        bool, Setting("Let an injected seed replace a known URL's record.", nutch=("db.injector.overwrite",))
    ] = False
    injector_update: Annotated[
        bool,
        Setting(
            "Merge an injected seed's metadata, score and interval into a known URL's record.",
            nutch=("db.injector.update",),
        ),
    ] = False

    ignore_internal_links: Annotated[
        bool,
        Setting("Drop links to the page's own host or domain.", nutch=("db.ignore.internal.links",)),
    ] = False
    ignore_external_links: Annotated[
        bool, Setting("Drop links to other hosts or domains.", nutch=("db.ignore.external.links",))
    ] = False
    ignore_external_links_mode: Annotated[
        Literal["host", "domain"],
        Setting("What counts as one's own for the two rules above.", nutch=("db.ignore.external.links.mode",)),
    ] = "host"
    ignore_also_redirects: Annotated[
        bool, Setting("Hold redirect targets to the same rules.", nutch=("db.ignore.also.redirects",))
    ] = True
    ignore_external_exemptions_file: Annotated[
        Path | None,
        Setting(
            "Rules for links that are kept although they lead elsewhere; needs a file when the exemption is active.",
            nutch=("db.ignore.external.exemptions.file",),
        ),
    ] = None
    max_outlinks_per_page: Annotated[
        int | None,
        Setting("Links kept from one page.", nutch=("db.max.outlinks.per.page",), at_least=0),
    ] = 100
    max_outlink_length: Annotated[
        int | None,
        Setting(
            "Longest link or redirect target that is kept, in characters.",
            nutch=("db.max.outlink.length",),
            at_least=1,
        ),
    ] = 4_096

    score_injected: Annotated[float, Setting("Score of a seed that brings none.", nutch=("db.score.injected",))] = 1.0
    score_link_external: Annotated[
        float,
        Setting("Factor of the score that a link to another host passes on.", nutch=("db.score.link.external",)),
    ] = 1.0
    score_link_internal: Annotated[
        float,
        Setting("Factor of the score that a link to the same host passes on.", nutch=("db.score.link.internal",)),
    ] = 1.0
    score_count_filtered: Annotated[
        bool,
        Setting(
            "Divide a page's score by all its links, not only by those that are kept.",
            nutch=("db.score.count.filtered",),
        ),
    ] = False

    signature_class: Annotated[
        str,
        Setting(
            "Name of the signature: md5, text-md5, text-profile, simhash, or a plug-in's.",
            nutch=("db.signature.class",),
            example='"text-profile"',
        ),
    ] = "md5"
    signature_text_profile_min_token_len: Annotated[
        int,
        Setting(
            "Words of a text profile are longer than this.",
            nutch=("db.signature.text_profile.min_token_len",),
            at_least=0,
        ),
    ] = 2
    signature_text_profile_quant_rate: Annotated[
        float,
        Setting(
            "Share of the most frequent word's count by which a text profile rounds its counts.",
            nutch=("db.signature.text_profile.quant_rate",),
            at_least=0,
            at_most=1,
        ),
    ] = 0.01
    stats_score_quantiles: Annotated[
        tuple[float, ...],
        Setting(
            "Quantiles of the score that readdb --stats shows.",
            nutch=("db.stats.score.quantiles",),
            at_least=0,
            at_most=1,
        ),
    ] = (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99)
