"""The chains that judge and rewrite URLs, and the rule files they read."""

# Without the annotations import: here annotations are data, and cheaper from bytecode than from text.
from pathlib import Path
from typing import Annotated

from scoter.config.settings import Section, Setting


class UrlFilterSettings(Section, frozen=True):
    """URL filters: a URL passes when every filter of the chain lets it."""

    order: Annotated[
        tuple[str, ...],
        Setting(
            "URL filters in their order; those named are active.",
            nutch=("urlfilter.order",),
            example='["regex", "validator"]',
            departs="Nutch takes the active plug-ins in any order when it is empty",
        ),
    ] = ("validator", "suffix")
    exemptions: Annotated[
        tuple[str, ...],
        Setting("Exemption plug-ins that may keep links which lead elsewhere.", example='["ignoreexempt"]'),
    ] = ()
    regex_file: Annotated[
        Path | None,
        Setting(
            "Rules of the filter regex; empty means the list that ships with Scoter.",
            nutch=("urlfilter.regex.file",),
        ),
    ] = None
    prefix_file: Annotated[
        Path | None,
        Setting(
            "Prefixes of the filter prefix; needs a file when it is active.",
            nutch=("urlfilter.prefix.file",),
        ),
    ] = None
    suffix_file: Annotated[
        Path | None,
        Setting(
            "Rules of the filter suffix; empty means the list that ships with Scoter.",
            nutch=("urlfilter.suffix.file",),
        ),
    ] = None
    domain_file: Annotated[
        Path | None,
        Setting(
            "Hosts, domains and suffixes that the filter domain lets pass; needs a file when it is active.",
            nutch=("urlfilter.domain.file",),
        ),
    ] = None
    domaindenylist_file: Annotated[
        Path | None,
        Setting(
            "Hosts, domains and suffixes that the filter domaindenylist refuses; needs a file when it is active.",
            nutch=("urlfilter.domaindenylist.file", "urlfilter.domainblacklist.file"),
        ),
    ] = None
    scope_file: Annotated[
        Path | None,
        Setting("Lines `host NAME` or `domain NAME` that the filter scope lets pass; a crawl writes it."),
    ] = None
    fast_file: Annotated[
        Path | None,
        Setting(
            "Rules of the filter fast by host and domain; needs a file when it is active.",
            nutch=("urlfilter.fast.file",),
        ),
    ] = None
    fast_url_max_length: Annotated[
        int | None,
        Setting("Longest URL that the filter fast lets pass.", nutch=("urlfilter.fast.url.max.length",), at_least=1),
    ] = None
    fast_url_path_max_length: Annotated[
        int | None,
        Setting(
            "Longest path that the filter fast lets pass.",
            nutch=("urlfilter.fast.url.path.max.length",),
            at_least=1,
        ),
    ] = None
    fast_url_query_max_length: Annotated[
        int | None,
        Setting(
            "Longest query that the filter fast lets pass.",
            nutch=("urlfilter.fast.url.query.max.length",),
            at_least=0,
        ),
    ] = None


def _scope(scope: str) -> Setting:
    """A rule file for one scope; where it is empty, urlnormalizer.regex_file serves the scope too."""
    return Setting(
        f"Rules of the normaliser regex in the scope {scope}; empty means urlnormalizer.regex_file.",
        nutch=(f"urlnormalizer.regex.file.{scope}",),
    )


class UrlNormalizerSettings(Section, frozen=True):
    """URL normalisers: each rewrites what the one before it gave."""

    order: Annotated[
        tuple[str, ...],
        Setting(
            "URL normalisers in their order; those named are active.",
            nutch=("urlnormalizer.order",),
            example='["basic", "regex"]',
            departs="the rules that ship with Nutch's regex normaliser are a matter of choice",
        ),
    ] = ("basic",)
    loop_count: Annotated[
        int,
        Setting("Passes over the chain.", nutch=("urlnormalizer.loop.count",), at_least=1, at_most=100),
    ] = 1
    basic_host_trim_trailing_dot: Annotated[
        bool,
        Setting(
            "Drop a dot at the end of a host name.",
            nutch=("urlnormalizer.basic.host.trim-trailing-dot",),
        ),
    ] = False
    regex_file: Annotated[
        Path | None,
        Setting(
            "Rules of the normaliser regex; empty means the list that ships with Scoter.",
            nutch=("urlnormalizer.regex.file",),
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
            "Hosts and what the normaliser host puts in their place; needs a file when it is active.",
            nutch=("urlnormalizer.hosts.file",),
        ),
    ] = None
    slash_file: Annotated[
        Path | None,
        Setting(
            "Hosts and whether the normaliser slash ends their paths with one; needs a file when it is active.",
            nutch=("urlnormalizer.slashes.file",),
        ),
    ] = None
    protocols_file: Annotated[
        Path | None,
        Setting(
            "Hosts and the protocol that the normaliser protocol gives them; needs a file or "
            "urlnormalizer.protocols_rules when it is active.",
            nutch=("urlnormalizer.protocols.file",),
        ),
    ] = None
    protocols_rules: Annotated[
        tuple[str, ...],
        Setting(
            "The same rules, written here.",
            nutch=("urlnormalizer.protocols.rules",),
            nutch_unit="lines",
            example='["*.example.org https"]',
        ),
    ] = ()
