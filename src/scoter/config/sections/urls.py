"""The chains that filter and normalise URLs, and their rule files."""

# No `from __future__ import annotations`: the annotations are read at run time.
from pathlib import Path

from scoter.config.settings import SAME_NAME, Section, setting


class UrlFilterSettings(Section, frozen=True):
    """URL filters: a URL is kept if every filter keeps it."""

    filters: tuple[str, ...] = setting(
        ("validator", "suffix"),
        "Active URL filters, in order.",
        nutch=("urlfilter.order",),
        formerly=("urlfilter.order",),
        example='["regex", "validator"]',
        departs="Nutch runs the active plug-ins in any order if it is empty",
    )
    exemptions: tuple[str, ...] = setting(
        (),
        "Exemption plug-ins, which may keep links that db.ignore_external_links would drop.",
        example='["ignoreexempt"]',
    )
    regex_file: Path | None = setting(
        None, "Rule file of the filter regex; empty means the built-in rules.", nutch=SAME_NAME
    )
    automaton_file: Path | None = setting(
        None, "Rule file of the filter automaton; required if it is active.", nutch=SAME_NAME
    )
    prefix_file: Path | None = setting(
        None, "Prefixes for the filter prefix; required if it is active.", nutch=SAME_NAME
    )
    suffix_file: Path | None = setting(
        None, "Rule file of the filter suffix; empty means the built-in rules.", nutch=SAME_NAME
    )
    domain_file: Path | None = setting(
        None, "Hosts, domains and suffixes that the filter domain keeps; required if it is active.", nutch=SAME_NAME
    )
    domaindenylist_file: Path | None = setting(
        None,
        "Hosts, domains and suffixes that the filter domaindenylist drops; required if it is active.",
        nutch=("urlfilter.domaindenylist.file", "urlfilter.domainblacklist.file"),
    )
    scope_file: Path | None = setting(
        None, "Hosts and domains that the filter scope keeps; `scoter crawl` writes such a file."
    )
    fast_file: Path | None = setting(
        None, "Rules per host and domain of the filter fast; required if it is active.", nutch=SAME_NAME
    )
    fast_url_max_length: int | None = setting(
        None, "Longest URL that the filter fast keeps.", nutch=SAME_NAME, at_least=1
    )
    fast_url_path_max_length: int | None = setting(
        None, "Longest path that the filter fast keeps.", nutch=SAME_NAME, at_least=1
    )
    fast_url_query_max_length: int | None = setting(
        None, "Longest query that the filter fast keeps.", nutch=SAME_NAME, at_least=0
    )


def _scope(scope: str) -> Path | None:
    """Declare the rule file of one scope."""
    return setting(
        None,
        f"Rule file of the normaliser regex in the scope {scope}; empty means urlnormalizer.regex_file.",
        nutch=(f"urlnormalizer.regex.file.{scope}",),
    )


class UrlNormalizerSettings(Section, frozen=True):
    """URL normalisers: each rewrites the result of the one before."""

    normalizers: tuple[str, ...] = setting(
        ("basic",),
        "Active URL normalisers, in order.",
        nutch=("urlnormalizer.order",),
        formerly=("urlnormalizer.order",),
        example='["basic", "regex"]',
        departs="the rules of Nutch's regex normaliser do not suit every crawl",
    )
    loop_count: int = setting(1, "Maximum number of passes over the chain.", nutch=SAME_NAME, at_least=1, at_most=100)
    basic_host_trim_trailing_dot: bool = setting(
        False, "Remove a trailing dot from host names.", nutch=("urlnormalizer.basic.host.trim-trailing-dot",)
    )
    basic_remove_session_ids: bool = setting(
        True,
        "Let the normaliser basic remove session identifiers (jsessionid, PHPSESSID, …) from paths and queries.",
    )
    regex_file: Path | None = setting(
        None, "Rule file of the normaliser regex; empty means the built-in rules.", nutch=SAME_NAME
    )
    regex_file_partition: Path | None = _scope("partition")
    regex_file_generate_host_count: Path | None = _scope("generate_host_count")
    regex_file_fetcher: Path | None = _scope("fetcher")
    regex_file_crawldb: Path | None = _scope("crawldb")
    regex_file_linkdb: Path | None = _scope("linkdb")
    regex_file_inject: Path | None = _scope("inject")
    regex_file_outlink: Path | None = _scope("outlink")
    regex_file_indexer: Path | None = _scope("indexer")
    host_file: Path | None = setting(
        None,
        "Hosts and their replacements for the normaliser host; required if it is active.",
        nutch=("urlnormalizer.hosts.file",),
    )
    slash_file: Path | None = setting(
        None,
        "Hosts with or without trailing slashes for the normaliser slash; required if it is active.",
        nutch=("urlnormalizer.slashes.file",),
    )
    protocols_file: Path | None = setting(
        None,
        "Hosts and their protocols for the normaliser protocol; this or urlnormalizer.protocols_rules is "
        "required if it is active.",
        nutch=SAME_NAME,
    )
    protocols_rules: tuple[str, ...] = setting(
        (),
        "Rules of the normaliser protocol, in place of a file.",
        nutch=SAME_NAME,
        nutch_unit="lines",
        example='["*.example.org https"]',
    )
