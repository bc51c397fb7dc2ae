"""Settings of what is not built yet: the hostdb, link ranks, some scoring filters and the index.

They are declared, read and checked, so that a configuration that came from Nutch can be taken over whole; nothing asks
for them, and whoever sets one is told. A test holds the list to the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scoter.config.load import Loaded
from scoter.config.sections import fields

SECTIONS: Final = ("hostdb", "link")
"""Those of which nothing is read."""

_SINGLE: Final[dict[str, tuple[str, ...]]] = {
    "generate": ("fetch_delay_expr", "hostdb", "max_count_expr"),
    "index": (
        "add_domain",
        "anchor_deduplicate",
        "content_md",
        "db_md",
        "delete",
        "delete_robots_noindex",
        "delete_skipped_by_indexingfilter",
        "filter_expr",
        "links_hosts_only",
        "links_inlinks_host_ignore",
        "links_outlinks_host_ignore",
        "max_content_length",
        "max_title_length",
        "mimetype_filter_file",
        "more_index_mime_type_parts",
        "more_map_mime_types",
        "parse_md",
        "replace_regexp",
        "skip_notmodified",
        "static",
        "subcollection_default_fieldname",
    ),
    "lang": ("index_languages",),
    "parse": ("caching_forbidden_policy",),
    "scoring": (
        "content_md",
        "cosine_goldstandard_file",
        "db_md",
        "orphan_mark_gone_after",
        "orphan_mark_orphan_after",
        "parse_md",
        "similarity_ngrams",
        "similarity_stopword_file",
        "urlmeta_tags",
    ),
}
_CHAINS: Final = ("index.filter_order", "index.writers")
"""Chains of points that nothing asks."""

UNREAD: Final = frozenset(
    [name for name in fields() if name.partition(".")[0] in SECTIONS]
    + [f"{section}.{key}" for section, keys in _SINGLE.items() for key in keys]
    + list(_CHAINS)
)


def unread_of(loaded: Loaded) -> Iterator[str]:
    """Yield the settings without effect to which somebody has given another value than their default."""
    for name in sorted(UNREAD & loaded.origins.keys()):
        section, _, key = name.partition(".")
        if getattr(getattr(loaded.config, section), key) != fields()[name].default:
            yield name
