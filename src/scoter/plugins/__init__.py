"""Every extension point of Scoter, and how plug-ins are found and loaded.

A plug-in is a class named by an entry point in the group ``scoter.POINT`` of an installed package; the
built-in ones in ``scoter.builtin`` are registered the same way. It is made with one ``Setup`` and may declare

- ``Settings``: a msgspec struct, filled from the table ``[plugin.POINT-NAME]`` of the configuration;
- ``columns``: typed columns that the crawldb keeps for it (a datum has them under ``extra``);
- ``run(args)``: a command of its own, for ``scoter plugin run``;
- ``explain(url)``: why a URL filter decided as it did, in a few words;
- ``reads_text = False``: that a signature does not look at a page's text.

Which plug-ins are active, and in which order, is said by the point's setting (``Point.chain``).
"""

from scoter.core.chain import Scope
from scoter.plugins.loading import (
    Plugin,
    active,
    chain,
    check_tables,
    declared_settings,
    find,
    find_by_full_name,
    installed,
    names_by_key,
)
from scoter.plugins.points import (
    POINTS,
    Column,
    Command,
    FetchProtocol,
    FetchSchedule,
    IndexingFilter,
    IndexWriter,
    ParseFilter,
    Parser,
    Point,
    Publisher,
    ScoringFilter,
    Setup,
    Signature,
    UrlExemption,
    UrlFilter,
    UrlNormalizer,
)

__all__ = [
    "POINTS",
    "Column",
    "Command",
    "FetchProtocol",
    "FetchSchedule",
    "IndexWriter",
    "IndexingFilter",
    "ParseFilter",
    "Parser",
    "Plugin",
    "Point",
    "Publisher",
    "Scope",
    "ScoringFilter",
    "Setup",
    "Signature",
    "UrlExemption",
    "UrlFilter",
    "UrlNormalizer",
    "active",
    "chain",
    "check_tables",
    "declared_settings",
    "find",
    "find_by_full_name",
    "installed",
    "names_by_key",
]
