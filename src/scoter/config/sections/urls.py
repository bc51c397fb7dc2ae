"""The chains that filter and normalise URLs, and their rule files."""

# No `from __future__ import annotations`: the annotations are read at run time.
from pathlib import Path
from typing import Annotated

from scoter.config.settings import Section, Setting


class UrlFilterSettings(Section, frozen=True):
    """URL filters: a URL is kept if every filter keeps it."""

    order: Annotated[
        tuple[str, ...],
        Setting(
            "Active URL filters, in order.",
            nutch=("urlfilter.order",),
            example='["regex", "validator"]',
            departs="Nutch runs the active plug-ins in any order if it is empty",
        ),
    ] = ("validator", "suffix")
    exemptions: Annotated[
        tuple[str, ...],
        Setting(
            "Exemption plug-ins, which may keep links that db.ignore_external_links would drop.",
            example='["ignoreexempt"]',
        ),
    ] = ()
    regex_file: Annotated[
        Path | None,
        Setting("Rule file of the filter regex; empty means the built-in rules.", nutch=("urlfilter.regex.file",)),
    ] = None
    prefix_file: Annotated[
        Path | None,
        Setting("Prefixes for the filter prefix; required if it is active.", nutch=("urlfilter.prefix.file",)),
    ] = None
    suffix_file: Annotated[
        Path | None,
        Setting("Rule file of the filter suffix; empty means the built-in rules.", nutch=("urlfilter.suffix.file",)),
    ] = None
    domain_file: Annotated[
        Path | None,
        Setting(
            "Hosts, domains and suffixes that the filter domain keeps; required if it is active.",
            nutch=("urlfilter.domain.file",),
        ),
    ] = None
    domaindenylist_file: Annotated[
        Path | None,
        Setting(
            "Hosts, domains and suffixes that the filter domaindenylist drops; required if it is active.",
            nutch=("urlfilter.domaindenylist.file", "urlfilter.domainblacklist.file"),
        ),
    ] = None
    scope_file: Annotated[
        Path | None,
        Setting("Hosts and domains that the filter scope keeps; `scoter crawl` writes such a file."),
    ] = None
    fast_file: Annotated[
        Path | None,
        Setting(
            "Rules per host and domain of the filter fast; required if it is active.", nutch=("urlfilter.fast.file",)
        ),
    ] = None
    fast_url_max_length: Annotated[
        int | None,
        Setting("Longest URL that the filter fast keeps.", nutch=("urlfilter.fast.url.max.length",), at_least=1),
    ] = None
    fast_url_path_max_length: Annotated[
        int | None,
        Setting("Longest path that the filter fast keeps.", nutch=("urlfilter.fast.url.path.max.length",), at_least=1),
    ] = None
    fast_url_query_max_length: Annotated[
        int | None,
        Setting(
            "Longest query that the filter fast keeps.", nutch=("urlfilter.fast.url.query.max.length",), at_least=0
        ),
    ] = None


def _scope(scope: str) -> Setting:
    """Declare the rule file of one scope."""
    return Setting(
        f"Rule file of the normaliser regex in the scope {scope}; empty means urlnormalizer.regex_file.",
        nutch=(f"urlnormalizer.regex.file.{scope}",),
    )


class UrlNormalizerSettings(Section, frozen=True):
    """URL normalisers: each rewrites the result of the one before."""

    order: Annotated[
        tuple[str, ...],
        Setting(
            "Active URL normalisers, in order.",
            nutch=("urlnormalizer.order",),
            example='["basic", "regex"]',
            departs="the rules of Nutch's regex normaliser do not suit every crawl",
        ),
    ] = ("basic",)
    loop_count: Annotated[
        int,
        Setting(
            "Maximum number of passes over the chain.", nutch=("urlnormalizer.loop.count",), at_least=1, at_most=100
        ),
    ] = 1
    basic_host_trim_trailing_dot: Annotated[
        bool, Setting("Remove a trailing dot from host names.", nutch=("urlnormalizer.basic.host.trim-trailing-dot",))
    ] = False
    regex_file: Annotated[
        Path | None,
        Setting(
            "Rule file of the normaliser regex; empty means the built-in rules.", nutch=("urlnormalizer.regex.file",)
        ),
    ] = None
    regex_file_partition: Annotated[Path | None, _scope("partition")] = None
    regex_file_generate_host_count: Annotated[Path | None, _scope("generate_host_count")] = None
    regex_file_fetcher: Annotated[Path | None, _scope("fetcher")] = None
    regex_file_crawldb: Annotated[Path | None, _scope("crawldb")] = None
    regex_file_linkdb: Annotated[Path | None, _scope("linkdb")] = None
    regex_file_inject: Annotated[Path | None, _scope("inject")] = None
    regex_file_outlink: Annotated[Path | None, _scope("outlink")] = None
    regex_file_indexer: Annotated[Path | None, _scope("indexer")] = None
    host_file: Annotated[
        Path | None,
        Setting(
            "Hosts and their replacements for the normaliser host; required if it is active.",
            nutch=("urlnormalizer.hosts.file",),
        ),
    ] = None
    slash_file: Annotated[
        Path | None,
        Setting(
            "Hosts with or without trailing slashes for the normaliser slash; required if it is active.",
            nutch=("urlnormalizer.slashes.file",),
        ),
    ] = None
    protocols_file: Annotated[
        Path | None,
        Setting(
            "Hosts and their protocols for the normaliser protocol; this or urlnormalizer.protocols_rules is "
            "required if it is active.",
            nutch=("urlnormalizer.protocols.file",),
        ),
    ] = None
    protocols_rules: Annotated[
        tuple[str, ...],
        Setting(
            "Rules of the normaliser protocol, in place of a file.",
            nutch=("urlnormalizer.protocols.rules",),
            nutch_unit="lines",
            example='["*.example.org https"]',
        ),
    ] = ()
