"""Links and hosts: linkdb, link graph, scoring and hostdb."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from scoter.config.settings import Section, setting


class LinkdbSettings(Section, frozen=True):
    """The linkdb: the inlinks of a URL and their anchor texts."""

    max_inlinks: int = setting(
        10_000, "Maximum number of inlinks stored per URL.", nutch=("linkdb.max.inlinks", "db.max.inlinks"), at_least=1
    )
    ignore_internal_links: bool = setting(True, "Skip links within one host.", nutch=("linkdb.ignore.internal.links",))
    ignore_external_links: bool = setting(False, "Skip links between hosts.", nutch=("linkdb.ignore.external.links",))
    max_anchor_length: int = setting(
        100,
        "Characters of an anchor text that are stored.",
        nutch=("linkdb.max.anchor.length", "db.max.anchor.length"),
        at_least=0,
        at_most=2**31 - 1,
    )


class LinkSettings(Section, frozen=True):
    """The link graph and the ranks computed over it."""

    planned: ClassVar[bool] = True

    ignore_internal_host: bool = setting(
        True, "Leave links within one host out of the graph.", nutch=("link.ignore.internal.host",)
    )
    ignore_internal_domain: bool = setting(
        True, "Leave links within one domain out of the graph.", nutch=("link.ignore.internal.domain",)
    )
    ignore_limit_page: bool = setting(True, "Count only one link per page.", nutch=("link.ignore.limit.page",))
    ignore_limit_domain: bool = setting(True, "Count only one link per domain.", nutch=("link.ignore.limit.domain",))
    analyze_num_iterations: int = setting(
        10, "Iterations of LinkRank.", nutch=("link.analyze.num.iterations",), at_least=1, at_most=10_000
    )
    analyze_initial_score: float = setting(1.0, "Initial rank of every page.", nutch=("link.analyze.initial.score",))
    analyze_damping_factor: float = setting(
        0.85,
        "Share of a rank that is passed on through links.",
        nutch=("link.analyze.damping.factor",),
        at_least=0,
        at_most=1,
    )
    delete_gone: bool = setting(False, "Drop gone pages from the graph.", nutch=("link.delete.gone",))
    score_updater_clear_score: float = setting(
        0.0, "Score of URLs that are not in the graph.", nutch=("link.score.updater.clear.score",)
    )


class ScoringSettings(Section, frozen=True):
    """The scoring filters and their options."""

    filter_order: tuple[str, ...] = setting(
        ("opic",),
        "Active scoring filters, in order.",
        nutch=("scoring.filter.order",),
        example='["opic", "depth"]',
        departs="Nutch runs the active plug-ins in any order if it is empty",
    )
    depth_max: int = setting(
        1_000,
        "Links from a seed beyond which links are dropped, for the filter depth.",
        nutch=("scoring.depth.max",),
        at_least=1,
        at_most=2**31 - 1,
    )
    depth_override_pattern: str = setting(
        "",
        "Regular expression of URLs to which scoring.depth_max_override applies.",
        nutch=("scoring.depth.override.pattern",),
    )
    depth_max_override: int | None = setting(
        None, "Maximum depth for these URLs.", nutch=("scoring.depth.max.override",), at_least=1, at_most=2**31 - 1
    )
    similarity_ngrams: tuple[int, ...] = setting(
        (1, 1),
        "Minimum and maximum number of words per term, for the filter similarity.",
        nutch=("scoring.similarity.ngrams",),
        at_least=1,
        at_most=10,
        example="[1, 2]",
        planned=True,
    )
    cosine_goldstandard_file: Path | None = setting(
        None,
        "Text to compare pages with; required if the filter similarity is active.",
        nutch=("cosine.goldstandard.file",),
        planned=True,
    )
    similarity_stopword_file: Path | None = setting(
        None,
        "Words to ignore in the comparison, one per line.",
        nutch=("scoring.similarity.stopword.file",),
        planned=True,
    )
    orphan_mark_gone_after: timedelta = setting(
        timedelta(days=30),
        "Time without inlinks after which a URL is gone, for the filter orphan.",
        nutch=("scoring.orphan.mark.gone.after",),
        not_above="scoring.orphan_mark_orphan_after",
        planned=True,
    )
    orphan_mark_orphan_after: timedelta = setting(
        timedelta(days=40),
        "Time without inlinks after which a URL is an orphan.",
        nutch=("scoring.orphan.mark.orphan.after",),
        planned=True,
    )
    db_md: tuple[str, ...] = setting(
        (),
        "Crawldb metadata passed on to the content, for the filter metadata.",
        nutch=("scoring.db.md",),
        planned=True,
    )
    content_md: tuple[str, ...] = setting(
        (), "Content metadata passed on to the parse.", nutch=("scoring.content.md",), planned=True
    )
    parse_md: tuple[str, ...] = setting(
        (), "Parse metadata passed on to the links.", nutch=("scoring.parse.md",), planned=True
    )
    urlmeta_tags: tuple[str, ...] = setting(
        (), "Seed metadata passed on to links and index, for the filter urlmeta.", nutch=("urlmeta.tags",), planned=True
    )


class HostdbSettings(Section, frozen=True):
    """The hostdb: one record per host, aggregated from the crawldb."""

    planned: ClassVar[bool] = True

    recheck_interval: timedelta = setting(
        timedelta(days=1),
        "Time until a failed host is looked up again, multiplied by its failures.",
        nutch=("hostdb.recheck.interval",),
        nutch_unit="ms",
    )
    purge_failed_hosts_threshold: int | None = setting(
        3, "Failed lookups after which a host is removed.", nutch=("hostdb.purge.failed.hosts.threshold",), at_least=0
    )
    num_resolvers_threads: int = setting(
        25, "Concurrent lookups.", nutch=("hostdb.num.resolvers.threads",), at_least=1, at_most=10_000
    )
    check_failed: bool = setting(True, "Look up failed hosts again.", nutch=("hostdb.check.failed",))
    check_new: bool = setting(True, "Look up new hosts.", nutch=("hostdb.check.new",))
    check_known: bool = setting(True, "Look up known hosts again.", nutch=("hostdb.check.known",))
    force_check: bool = setting(
        False, "Look up hosts even if their interval is not over.", nutch=("hostdb.force.check",)
    )
    url_filter: bool = setting(False, "Apply the URL filters before counting.", nutch=("hostdb.url.filter",))
    url_normalize: bool = setting(False, "Apply the URL normalisers before counting.", nutch=("hostdb.url.normalize",))
    numeric_fields: tuple[str, ...] = setting(
        ("_rs_",), "Metadata aggregated as minimum, maximum, mean and percentiles.", nutch=("hostdb.numeric.fields",)
    )
    string_fields: tuple[str, ...] = setting(
        ("Content-Type",), "Metadata counted by value.", nutch=("hostdb.string.fields",)
    )
    percentiles: tuple[int, ...] = setting(
        (50, 75, 95, 99), "Percentiles to store.", nutch=("hostdb.percentiles",), at_least=0, at_most=100
    )
    crawldatum_processors: tuple[str, ...] = setting(
        (), "Plug-ins that aggregate more data per host.", nutch=("hostdb.crawldatum.processors",)
    )
