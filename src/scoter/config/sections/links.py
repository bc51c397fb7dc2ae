"""Links and hosts: linkdb, link graph, scoring and hostdb."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path

from scoter.config.settings import SAME_NAME, Section, setting


class LinkdbSettings(Section, frozen=True):
    """The linkdb: the inlinks of a URL and their anchor texts."""

    max_inlinks: int = setting(
        10_000, "Maximum number of inlinks stored per URL.", nutch=("linkdb.max.inlinks", "db.max.inlinks"), at_least=1
    )
    ignore_internal_links: bool = setting(True, "Skip links within one host.", nutch=SAME_NAME)
    ignore_external_links: bool = setting(False, "Skip links between hosts.", nutch=SAME_NAME)
    max_anchor_length: int = setting(
        100,
        "Characters of an anchor text that are stored.",
        nutch=("linkdb.max.anchor.length", "db.max.anchor.length"),
        at_least=0,
        at_most=2**31 - 1,
    )


class LinkSettings(Section, frozen=True):
    """The link graph and the ranks computed over it."""

    ignore_internal_host: bool = setting(True, "Leave links within one host out of the graph.", nutch=SAME_NAME)
    ignore_internal_domain: bool = setting(True, "Leave links within one domain out of the graph.", nutch=SAME_NAME)
    ignore_limit_page: bool = setting(
        True,
        "Count only one link per page: of links to URLs that differ in their query, or from such.",
        nutch=SAME_NAME,
    )
    ignore_limit_domain: bool = setting(
        True, "Count only one link of a page to a domain, and of a domain to a page.", nutch=SAME_NAME
    )
    analyze_num_iterations: int = setting(10, "Iterations of LinkRank.", nutch=SAME_NAME, at_least=1, at_most=10_000)
    analyze_initial_score: float = setting(1.0, "Initial rank of every page.", nutch=SAME_NAME)
    analyze_damping_factor: float = setting(
        0.85, "Share of a rank that is passed on through links.", nutch=SAME_NAME, at_least=0, at_most=1
    )
    delete_gone: bool = setting(False, "Drop the links of gone pages from the graph.", nutch=SAME_NAME)
    score_updater_clear_score: float = setting(0.0, "Score of URLs that are not in the graph.", nutch=SAME_NAME)


class ScoringSettings(Section, frozen=True):
    """The scoring filters and their options."""

    filters: tuple[str, ...] = setting(
        ("opic",),
        "Active scoring filters, in order.",
        nutch=("scoring.filter.order",),
        formerly=("scoring.filter_order",),
        example='["opic", "depth"]',
        departs="Nutch runs the active plug-ins in any order if it is empty",
    )
    depth_max: int = setting(
        1_000,
        "Links from a seed beyond which links are dropped, for the filter depth.",
        nutch=SAME_NAME,
        at_least=1,
        at_most=2**31 - 1,
    )
    depth_override_pattern: str = setting(
        "", "Regular expression of URLs to which scoring.depth_max_override applies.", nutch=SAME_NAME
    )
    depth_max_override: int | None = setting(
        None, "Maximum depth for these URLs.", nutch=SAME_NAME, at_least=1, at_most=2**31 - 1
    )
    similarity_ngrams: tuple[int, ...] = setting(
        (1, 1),
        "Minimum and maximum number of words per term, for the filter similarity.",
        nutch=SAME_NAME,
        at_least=1,
        at_most=10,
        example="[1, 2]",
    )
    cosine_goldstandard_file: Path | None = setting(
        None,
        "Text to compare pages with; required if the filter similarity is active.",
        nutch=("cosine.goldstandard.file",),
    )
    similarity_stopword_file: Path | None = setting(
        None, "Words to ignore in the comparison, one per line.", nutch=SAME_NAME
    )
    orphan_mark_gone_after: timedelta = setting(
        timedelta(days=30),
        "Time without inlinks after which a URL is gone, for the filter orphan.",
        nutch=SAME_NAME,
        not_above="scoring.orphan_mark_orphan_after",
    )
    orphan_mark_orphan_after: timedelta = setting(
        timedelta(days=40), "Time without inlinks after which a URL is an orphan.", nutch=SAME_NAME
    )
    db_md: tuple[str, ...] = setting(
        (), "Crawldb metadata passed on to the content, for the filter metadata.", nutch=SAME_NAME
    )
    content_md: tuple[str, ...] = setting((), "Content metadata passed on to the parse.", nutch=SAME_NAME)
    parse_md: tuple[str, ...] = setting((), "Parse metadata passed on to the links.", nutch=SAME_NAME)
    urlmeta_tags: tuple[str, ...] = setting(
        (),
        "Metadata of seeds that the scoring filter urlmeta passes on to links, and the indexing filter indexes.",
        nutch=("urlmeta.tags",),
    )


class HostdbSettings(Section, frozen=True):
    """The hostdb: one record per host, aggregated from the crawldb."""

    recheck_interval: timedelta = setting(
        timedelta(days=1),
        "Time until a host is looked up again, multiplied by the number of its failed lookups.",
        nutch=SAME_NAME,
        nutch_unit="ms",
    )
    purge_failed_hosts_threshold: int | None = setting(
        3,
        "Failed lookups after which a host is removed, if the crawldb has no URL of it any more.",
        nutch=SAME_NAME,
        at_least=0,
    )
    num_resolvers_threads: int = setting(25, "Concurrent lookups.", nutch=SAME_NAME, at_least=1, at_most=10_000)
    lookup_time_limit: timedelta = setting(
        timedelta(minutes=10),
        "Time after which an update starts no more lookups; the other hosts are looked up by the next one.",
    )
    check_failed: bool = setting(True, "Look up failed hosts again.", nutch=SAME_NAME)
    check_new: bool = setting(True, "Look up hosts that never answered and were never looked up.", nutch=SAME_NAME)
    check_known: bool = setting(True, "Look up known hosts again.", nutch=SAME_NAME)
    force_check: bool = setting(False, "Look up hosts even if their interval is not over.", nutch=SAME_NAME)
    url_filter: bool = setting(False, "Apply the URL filters before counting.", nutch=SAME_NAME)
    url_normalize: bool = setting(False, "Apply the URL normalisers before counting.", nutch=SAME_NAME)
    numeric_fields: tuple[str, ...] = setting(
        ("_rs_",), "Metadata aggregated as minimum, maximum, mean and percentiles.", nutch=SAME_NAME
    )
    string_fields: tuple[str, ...] = setting(("Content-Type",), "Metadata counted by value.", nutch=SAME_NAME)
    percentiles: tuple[int, ...] = setting(
        (50, 75, 95, 99), "Percentiles to store.", nutch=SAME_NAME, at_least=0, at_most=100
    )
    processors: tuple[str, ...] = setting(
        (),
        "Plug-ins that aggregate more data per host.",
        nutch=("hostdb.crawldatum.processors",),
        formerly=("hostdb.crawldatum_processors",),
    )
