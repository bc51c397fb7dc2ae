"""Which settings others may set: a key over the REST API, and whoever made a crawl directory.

The rest name files, programs, plug-ins or addresses. Somebody else's value would read files of this machine, run
programs on it, or reach its network, so only the operator sets them: in a configuration file, by environment variables
or options.
"""

from __future__ import annotations

from functools import cache

from scoter.config.sections import fields

_SECTIONS = frozenset(
    {
        *("agent", "fetch", "http", "generate", "db", "parse", "lang", "scoring", "linkdb", "link", "sitemap", "store"),
        *("urlfilter", "urlnormalizer", "corpus"),
    }
)
_REFUSED = frozenset(
    {
        *("fetch.protocols", "fetch.allow_networks", "fetch.allow_ports", "fetch.allow_hosts", "fetch.connect_to"),
        "fetch.processes",
        *("http.robot_rules_allowlist", "parse.parsers", "parse.types", "urlfilter.filters", "urlfilter.exemptions"),
        *("urlnormalizer.normalizers", "urlnormalizer.protocols_rules", "agent.host"),
    }
)


@cache
def settable_by_others() -> tuple[str, ...]:
    """Return the names of the settings that others may set, in the order of the sections."""
    return tuple(
        field.name
        for field in fields().values()
        if field.section in _SECTIONS and field.name not in _REFUSED and not _names_a_file_or_proxy(field.key)
    )


def _names_a_file_or_proxy(key: str) -> bool:
    return key.endswith(("_file", "_files")) or "regex_file" in key or key.startswith("proxy_")
