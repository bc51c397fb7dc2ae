"""The extension points of Scoter, and how plug-ins are found and loaded.

A plug-in is a class that an installed package registers as an entry point in the group ``scoter.POINT``; the built-in
ones are registered the same way. Its constructor takes a ``Setup``. It may declare

- ``Settings``: a msgspec struct, read from the table ``[plugin.POINT-NAME]`` of the configuration;
- ``columns``: typed columns in the crawldb (``CrawlDatum.extra``);
- ``run(args)``: a command for ``scoter plugin run``;
- ``explain(url)``: why a URL filter keeps or drops a URL, in a few words;
- ``reads_text = False``: for a signature or scoring filter that does not read a page's text;
- ``carries_metadata = True``: for a scoring filter whose links pass metadata on to new URLs.

The point's setting (``Point.chain``) lists the active plug-ins, in order.

Modules:

- ``points``       the extension points, one Protocol each
- ``loading``      finds plug-ins, checks them, and creates them
- ``pickles``      sends functions that hold plug-ins to other processes
- ``recorded``     expressions of Ibis that are recorded, and built only when needed
- ``query_cache``  compiled queries, stored for later commands
"""

from scoter.core.chain import Scope, UrlFilter, UrlNormalizer
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
    preload,
)
from scoter.plugins.points import (
    POINTS,
    Column,
    Command,
    DocumentExchange,
    FetchProtocol,
    FetchSchedule,
    IndexingFilter,
    IndexRun,
    IndexWriter,
    MergedPage,
    ParseFilter,
    Parser,
    PluginValue,
    Point,
    Publisher,
    ScoringFilter,
    SegmentMergeFilter,
    Setup,
    Signature,
    UrlExemption,
)

__all__ = [
    "POINTS",
    "Column",
    "Command",
    "DocumentExchange",
    "FetchProtocol",
    "FetchSchedule",
    "IndexRun",
    "IndexWriter",
    "IndexingFilter",
    "MergedPage",
    "ParseFilter",
    "Parser",
    "Plugin",
    "PluginValue",
    "Point",
    "Publisher",
    "Scope",
    "ScoringFilter",
    "SegmentMergeFilter",
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
    "preload",
]
