"""Links and hosts: linkdb, link graph, scoring and hostdb."""

# No `from __future__ import annotations`: the annotations are read at run time.
from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar

from scoter.config.settings import Section, Setting


class LinkdbSettings(Section, frozen=True):
    """The linkdb: the inlinks of a URL and their anchor texts."""

    max_inlinks: Annotated[
        int,
        Setting(
            "Maximum number of inlinks stored per URL.", nutch=("linkdb.max.inlinks", "db.max.inlinks"), at_least=1
        ),
    ] = 10_000
    ignore_internal_links: Annotated[
        bool, Setting("Skip links within one host.", nutch=("linkdb.ignore.internal.links",))
    ] = True
    ignore_external_links: Annotated[
        bool, Setting("Skip links between hosts.", nutch=("linkdb.ignore.external.links",))
    ] = False
    max_anchor_length: Annotated[
        int,
        Setting(
            "Characters of an anchor text that are stored.",
            nutch=("linkdb.max.anchor.length", "db.max.anchor.length"),
            at_least=0,
            at_most=2**31 - 1,
        ),
    ] = 100


class LinkSettings(Section, frozen=True):
    """The link graph and the ranks computed over it."""

    planned: ClassVar[bool] = True

    ignore_internal_host: Annotated[
        bool, Setting("Leave links within one host out of the graph.", nutch=("link.ignore.internal.host",))
    ] = True
    ignore_internal_domain: Annotated[
        bool, Setting("Leave links within one domain out of the graph.", nutch=("link.ignore.internal.domain",))
    ] = True
    ignore_limit_page: Annotated[bool, Setting("Count only one link per page.", nutch=("link.ignore.limit.page",))] = (
        True
    )
    ignore_limit_domain: Annotated[
        bool, Setting("Count only one link per domain.", nutch=("link.ignore.limit.domain",))
    ] = True
    analyze_num_iterations: Annotated[
        int, Setting("Iterations of LinkRank.", nutch=("link.analyze.num.iterations",), at_least=1, at_most=10_000)
    ] = 10
    analyze_initial_score: Annotated[
        float, Setting("Initial rank of every page.", nutch=("link.analyze.initial.score",))
    ] = 1.0
    analyze_damping_factor: Annotated[
        float,
        Setting(
            "Share of a rank that is passed on through links.",
            nutch=("link.analyze.damping.factor",),
            at_least=0,
            at_most=1,
        ),
    ] = 0.85
    delete_gone: Annotated[bool, Setting("Drop gone pages from the graph.", nutch=("link.delete.gone",))] = False
    score_updater_clear_score: Annotated[
        float, Setting("Score of URLs that are not in the graph.", nutch=("link.score.updater.clear.score",))
    ] = 0.0


class ScoringSettings(Section, frozen=True):
    """The scoring filters and their options."""

    filter_order: Annotated[
        tuple[str, ...],
        Setting(
            "Active scoring filters, in order.",
            nutch=("scoring.filter.order",),
            example='["opic", "depth"]',
            departs="Nutch runs the active plug-ins in any order if it is empty",
        ),
    ] = ("opic",)
    depth_max: Annotated[
        int,
        Setting(
            "Links from a seed beyond which links are dropped, for the filter depth.",
            nutch=("scoring.depth.max",),
            at_least=1,
            at_most=2**31 - 1,
        ),
    ] = 1_000
    depth_override_pattern: Annotated[
        str,
        Setting(
            "Regular expression of URLs to which scoring.depth_max_override applies.",
            nutch=("scoring.depth.override.pattern",),
        ),
    ] = ""
    depth_max_override: Annotated[
        int | None,
        Setting("Maximum depth for these URLs.", nutch=("scoring.depth.max.override",), at_least=1, at_most=2**31 - 1),
    ] = None
    similarity_ngrams: Annotated[
        tuple[int, ...],
        Setting(
            "Minimum and maximum number of words per term, for the filter similarity.",
            nutch=("scoring.similarity.ngrams",),
            at_least=1,
            at_most=10,
            example="[1, 2]",
            planned=True,
        ),
    ] = (1, 1)
    cosine_goldstandard_file: Annotated[
        Path | None,
        Setting(
            "Text to compare pages with; required if the filter similarity is active.",
            nutch=("cosine.goldstandard.file",),
            planned=True,
        ),
    ] = None
    similarity_stopword_file: Annotated[
        Path | None,
        Setting(
            "Words to ignore in the comparison, one per line.",
            nutch=("scoring.similarity.stopword.file",),
            planned=True,
        ),
    ] = None
    orphan_mark_gone_after: Annotated[
        timedelta,
        Setting(
            "Time without inlinks after which a URL is gone, for the filter orphan.",
            nutch=("scoring.orphan.mark.gone.after",),
            not_above="scoring.orphan_mark_orphan_after",
            planned=True,
        ),
    ] = timedelta(days=30)
    orphan_mark_orphan_after: Annotated[
        timedelta,
        Setting(
            "Time without inlinks after which a URL is an orphan.",
            nutch=("scoring.orphan.mark.orphan.after",),
            planned=True,
        ),
    ] = timedelta(days=40)
    db_md: Annotated[
        tuple[str, ...],
        Setting(
            "Crawldb metadata passed on to the content, for the filter metadata.",
            nutch=("scoring.db.md",),
            planned=True,
        ),
    ] = ()
    content_md: Annotated[
        tuple[str, ...],
        Setting("Content metadata passed on to the parse.", nutch=("scoring.content.md",), planned=True),
    ] = ()
    parse_md: Annotated[
        tuple[str, ...], Setting("Parse metadata passed on to the links.", nutch=("scoring.parse.md",), planned=True)
    ] = ()
    urlmeta_tags: Annotated[
        tuple[str, ...],
        Setting(
            "Seed metadata passed on to links and index, for the filter urlmeta.", nutch=("urlmeta.tags",), planned=True
        ),
    ] = ()


class HostdbSettings(Section, frozen=True):
    """The hostdb: one record per host, aggregated from the crawldb."""

    planned: ClassVar[bool] = True

    recheck_interval: Annotated[
        timedelta,
        Setting(
            "Time until a failed host is looked up again, multiplied by its failures.",
            nutch=("hostdb.recheck.interval",),
            nutch_unit="ms",
        ),
    ] = timedelta(days=1)
    purge_failed_hosts_threshold: Annotated[
        int | None,
        Setting(
            "Failed lookups after which a host is removed.", nutch=("hostdb.purge.failed.hosts.threshold",), at_least=0
        ),
    ] = 3
    num_resolvers_threads: Annotated[
        int, Setting("Concurrent lookups.", nutch=("hostdb.num.resolvers.threads",), at_least=1, at_most=10_000)
    ] = 25
    check_failed: Annotated[bool, Setting("Look up failed hosts again.", nutch=("hostdb.check.failed",))] = True
    check_new: Annotated[bool, Setting("Look up new hosts.", nutch=("hostdb.check.new",))] = True
    check_known: Annotated[bool, Setting("Look up known hosts again.", nutch=("hostdb.check.known",))] = True
    force_check: Annotated[
        bool, Setting("Look up hosts even if their interval is not over.", nutch=("hostdb.force.check",))
    ] = False
    url_filter: Annotated[bool, Setting("Apply the URL filters before counting.", nutch=("hostdb.url.filter",))] = False
    url_normalize: Annotated[
        bool, Setting("Apply the URL normalisers before counting.", nutch=("hostdb.url.normalize",))
    ] = False
    numeric_fields: Annotated[
        tuple[str, ...],
        Setting("Metadata aggregated as minimum, maximum, mean and percentiles.", nutch=("hostdb.numeric.fields",)),
    ] = ("_rs_",)
    string_fields: Annotated[
        tuple[str, ...], Setting("Metadata counted by value.", nutch=("hostdb.string.fields",))
    ] = ("Content-Type",)
    percentiles: Annotated[
        tuple[int, ...], Setting("Percentiles to store.", nutch=("hostdb.percentiles",), at_least=0, at_most=100)
    ] = (50, 75, 95, 99)
    crawldatum_processors: Annotated[
        tuple[str, ...], Setting("Plug-ins that aggregate more data per host.", nutch=("hostdb.crawldatum.processors",))
    ] = ()
