"""The usage lines of Nutch's commands, and how a command line is split by them.

A usage line names the positional arguments by what they are, and the options with the number of words that follow. The
parts of a crawl directory (crawldb, linkdb, hostdb, segments, segment, webgraphdb) say which crawl is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

PARTS: Final = ("crawldb", "linkdb", "hostdb", "segments", "webgraphdb")
_PRECEDENCE: Final = ("segment", "segments", "crawldb", "linkdb", "hostdb", "webgraphdb")
_MARKER: Final = "crawl.json"
REST: Final = -1
"""Number of words of an option that takes all up to the next option."""


class NutchOption(Struct, frozen=True):
    """An option of Nutch: how many words follow, and how Scoter spells it; empty if it has no such option.

    ``part``: the word names a part of the crawl directory. ``is_implied``: Scoter always does so, or needs no such
    option, so that nothing is lost without it.
    """

    words: int = 0
    scoter: str = ""
    part: str = ""
    is_implied: bool = False


class NutchUsage(Struct, frozen=True):
    """The usage of one command: its positional arguments (one that ends with ``*`` may be repeated) and options."""

    positional: tuple[str, ...] = ()
    options: Mapping[str, NutchOption] = {}

    def role(self, number: int) -> str:
        """Return what a positional argument is."""
        if number < len(self.positional):
            return self.positional[number].rstrip("*")
        return self.positional[-1].rstrip("*") if self.positional and self.positional[-1].endswith("*") else ""


class NutchLine(Struct, kw_only=True):
    """A command line of Nutch, split by its usage."""

    name: str
    words: list[str] = field(default_factory=list)
    """Positional arguments that are not parts of a crawl directory."""
    parts: list[tuple[str, str]] = field(default_factory=list)
    """What each part of a crawl directory is, and its path as typed."""
    segments: list[str] = field(default_factory=list)
    """The names of segments."""
    options: list[str] = field(default_factory=list)
    """The options, spelled as in Scoter."""
    values: dict[str, list[str]] = field(default_factory=dict)
    """The words after each option, or none."""
    definitions: list[str] = field(default_factory=list)
    """The arguments of ``-D``."""
    lost: list[str] = field(default_factory=list)
    """Options for which Scoter has no counterpart."""

    @property
    def crawls(self) -> list[str]:
        """The crawl directories; without those of parts that Nutch can keep elsewhere, if others are known."""
        best = min((_PRECEDENCE.index(role) for role, _ in self.parts), default=0)
        found = [crawl_of(path, role) for role, path in self.parts if _PRECEDENCE.index(role) == best]
        return list(dict.fromkeys(found)) or ["DIR"]

    def value(self, option: str, otherwise: str = "") -> str:
        """Return the first word after an option."""
        return next(iter(self.values.get(option, ())), otherwise)


def crawl_of(word: str, role: str) -> str:
    """Return the crawl directory that a part belongs to.

    >>> crawl_of("my/crawldb/current/", "crawldb"), crawl_of("my/segments/20261115033000", "segment")
    ('my', 'my')
    >>> crawl_of("crawldb", "crawldb"), crawl_of("my", "crawldb")
    ('.', 'my')
    """
    path = Path(word)
    path = path.parent if path.name == "current" else path
    if path.parent.name == "segments" or (role == "segment" and path.name != "segments"):
        path = path.parent
    return str(path.parent if path.name in PARTS else path)


def names_part(word: str) -> bool:
    """Return whether a word is the path of a part, and not a crawl directory with the name of a part."""
    path = Path(word)
    is_part = path.name in (*PARTS, "current") or path.parent.name == "segments"
    return is_part and not (path / _MARKER).exists()


def split_line(
    name: str, words: Sequence[str], usage: NutchUsage, takes_value: Callable[[str], bool | None]
) -> tuple[NutchLine, bool]:
    """Split a command line; also return whether it can only be meant as in Nutch.

    ``takes_value`` says whether a word is an option of the Scoter command that is followed by a value; ``None`` if it
    is no option.
    """
    line, is_nutch, position = NutchLine(name=name), False, 0
    left = list(words)
    while left:
        word = left.pop(0)
        option = usage.options.get(word)
        if word.startswith("-D"):
            line.definitions.append(word[2:] if len(word) > 2 else left.pop(0) if left else "")
        elif option is not None:
            is_nutch = True
            _add_option(line, word, option, left)
        elif (value := takes_value(word)) is not None:
            line.options += [word, *([left.pop(0)] if value and left else [])]
        else:
            role = usage.role(position)
            # After the first argument, a segment may be named by its path in Scoter's spelling, too.
            is_sign = role in _PRECEDENCE and (position == 0 or role != "segment")
            is_nutch |= is_sign and names_part(word.split(",")[0])
            _add_argument(line, word, role)
            position += 1
    return line, is_nutch


def _add_option(line: NutchLine, word: str, option: NutchOption, left: list[str]) -> None:
    most = len(left) if option.words == REST else option.words
    given: list[str] = []
    while left and len(given) < most and not (option.words == REST and left[0].startswith("-")):
        given.append(left.pop(0))
    line.values[word] = given
    for each in given if option.part else ():
        _add_argument(line, each, option.part)
    if option.scoter:
        line.options += [option.scoter, *(() if option.part else given)]
    elif not option.is_implied and not option.part:
        line.lost.append(word)


def _add_argument(line: NutchLine, word: str, role: str) -> None:
    if role not in _PRECEDENCE:
        line.words.append(word)
        return
    for each in word.split(","):  # Nutch's statistics take lists
        line.parts.append((role, each))
        if role == "segment" and Path(each).name != "segments":
            line.segments.append(Path(each).name)


def _usage(
    positional: str = "",
    *,
    flags: Mapping[str, str] = {},
    values: Mapping[str, str] = {},
    parts: Mapping[str, str] = {},
    lost: Sequence[str] = (),
    implied: Sequence[str] = (),
) -> NutchUsage:
    """Return a usage; ``flags`` and ``values`` give the spelling here, ``lost`` and ``implied`` the number of words."""
    options = {name: NutchOption(0, scoter) for name, scoter in flags.items()}
    options |= {name: NutchOption(1, scoter) for name, scoter in values.items()}
    options |= {name: NutchOption(1, part=part) for name, part in parts.items()}
    for each in (*lost, *implied):
        name, _, count = each.partition(" ")
        options[name] = NutchOption(REST if count == "*" else int(count or 0), is_implied=each in implied)
    return NutchUsage(tuple(positional.split()), options)


def _same(*names: str) -> dict[str, str]:
    return {f"-{name}": f"--{name}" for name in names}


_FILTERS: Final = _same("filter", "normalize")
_NO_FILTERS: Final = {"-noFilter": "--no-filter", "-noNormalize": "--no-normalize"}
_SEGMENTS: Final = {"-dir": "segments"}
_CHECKER: Final = ("-listen 1", "-keepClientCnxOpen")
USAGES: Final[Mapping[str, NutchUsage]] = {
    "inject": _usage(
        "crawldb seeds*",
        flags={**_NO_FILTERS, **_same("overwrite", "update"), "-filterNormalizeAll": "--filter-normalize-all"},
    ),
    "generate": _usage(
        "crawldb segments",
        flags={"-force": "--force", "-noFilter": "--no-filter"},
        values={
            "-topN": "--top-n",
            "-numFetchers": "--lists",
            "-maxNumSegments": "--max-segments",
            "-adddays": "--add-days",
            "-addDays": "--add-days",
            "-expr": "--expr",
        },
        parts={"-hostdb": "hostdb"},
        implied=["-noNorm"],
    ),
    "freegen": _usage("input segments", flags=_FILTERS),
    "fetch": _usage(
        "segment",
        flags={"-noParsing": "--no-parse", "-noParse": "--no-parse", "-parse": "--parse"},
        values=_same("threads"),
    ),
    "parse": _usage("segment*", flags=_NO_FILTERS),
    "updatedb": _usage(
        "crawldb segment*", flags={**_FILTERS, "-force": "--force", "-noAdditions": "--no-additions"}, parts=_SEGMENTS
    ),
    "invertlinks": _usage("linkdb segment*", flags={**_NO_FILTERS, "-force": "--force"}, parts=_SEGMENTS),
    "index": _usage(
        "crawldb segment*",
        parts={**_SEGMENTS, "-linkdb": "linkdb"},
        lost=["-params 1", "-filter", "-normalize", "-addBinaryContent", "-base64"],
        implied=["-nocrawldb", "-noCommit", "-deleteGone"],
    ),
    "clean": _usage("crawldb", implied=["-noCommit"]),
    "dedup": _usage("crawldb", values={"-group": "--group", "-compareOrder": "--compare-order"}),
    "readdb": _usage(
        "crawldb",
        flags=_same("stats", "sort"),
        values=_same("dump", "url", "regex", "retry", "expr", "sample"),
        implied=["-topN *", "-format 1", "-status 1"],
    ),
    "readlinkdb": _usage("linkdb", values=_same("dump", "url", "regex")),
    "readseg": _usage(
        "segment word*",
        flags={
            "-recode": "--recode",
            "-nocontent": "--no-content",
            "-nofetch": "--no-fetch",
            "-nogenerate": "--no-generate",
            "-noparse": "--no-parse",
            "-noparsedata": "--no-parse-data",
            "-noparsetext": "--no-parse-text",
        },
        parts=_SEGMENTS,
        implied=["-list", "-dump", "-get"],
    ),
    "readhostdb": _usage(
        "hostdb out", values=_same("get", "expr"), implied=["-dumpHomepages", "-dumpHostnames", "-dump"]
    ),
    "updatehostdb": _usage(
        "",
        flags={
            **_FILTERS,
            "-force": "--force",
            **{f"-check{name}": f"--check-{name.lower()}" for name in ("All", "New", "Failed", "Known")},
        },
        parts={"-crawldb": "crawldb", "-hostdb": "hostdb"},
    ),
    "sitemap": _usage(
        "crawldb",
        flags={**_NO_FILTERS, "-noStrict": "--no-strict"},
        parts={"-hostdb": "hostdb"},
        implied=["-sitemapUrls 1", "-threads 1"],
        lost=["-force"],
    ),
    "mergedb": _usage("out crawldb*", flags=_FILTERS),
    "mergelinkdb": _usage("out linkdb*", flags=_FILTERS),
    "mergesegs": _usage("out segment*", flags=_FILTERS, values=_same("slice"), parts=_SEGMENTS),
    "webgraph": _usage(
        "",
        flags=_FILTERS,
        parts={"-webgraphdb": "webgraphdb", "-segment": "segment", "-segmentDir": "segments"},
    ),
    "linkrank": _usage("", parts={"-webgraphdb": "webgraphdb"}),
    "scoreupdater": _usage("", parts={"-crawldb": "crawldb", "-webgraphdb": "webgraphdb"}),
    "nodedumper": _usage(
        "",
        values={"-topn": "--top-n"},
        parts={"-webgraphdb": "webgraphdb"},
        implied=["-inlinks", "-outlinks", "-scores", "-group 2", "-output 1", "-asEff", "-asSequenceFile"],
    ),
    "domainstats": _usage("crawldb out mode reducers"),
    "protocolstats": _usage("crawldb out reducers"),
    "crawlcomplete": _usage(
        "", values={"-mode": "--by"}, parts={"-inputDirs": "crawldb"}, implied=["-outputDir 1", "-numReducers 1"]
    ),
    "parsechecker": _usage(
        "url*",
        flags={
            "-dumpText": "--dump-text",
            "-followRedirects": "--follow-redirects",
            "-checkRobotsTxt": "--check-robots",
            "-stdin": "--stdin",
        },
        values={"-forceAs": "--force-as"},
        lost=["-md 1", *_CHECKER],
        implied=["-normalize"],
    ),
    "indexchecker": _usage(
        "url*",
        flags={"-followRedirects": "--follow-redirects", "-stdin": "--stdin"},
        values={"-md": "--md"},
        lost=["-doIndex", "-dumpText", *_CHECKER],
        implied=["-normalize"],
    ),
    "filterchecker": _usage("url*", lost=_CHECKER, implied=["-filterName 1", "-allCombined", "-stdin"]),
    "normalizerchecker": _usage(
        "url*", values=_same("scope"), lost=_CHECKER, implied=["-normalizer 1", "-stdin", "-loop"]
    ),
    "crawl": _usage(
        "word*",
        flags={"-i": "--index", "--hostdbupdate": "--hostdb", "--hostdbgenerate": "--hostdb"},
        values={"--size-fetchlist": "--top-n", "-topN": "--top-n", "--sitemaps-from-hostdb": "--sitemaps"},
        lost=["-w 1", "--wait 1", "--num-tasks 1", "--dedup-group 1", "-solr 1"],
        implied=[
            *("-s 1", "-sm 1", "--num-threads 1", "-threads 1", "--num-fetchers 1", "--time-limit-fetch 1"),
            *("-dir 1", "-depth 1"),
        ],
    ),
    # Commands that have another name here.
    "warc": _usage("out segment*", parts=_SEGMENTS),
    "solrindex": _usage(
        "url crawldb segment*",
        parts={**_SEGMENTS, "-linkdb": "linkdb"},
        lost=["-params 1", "-filter", "-normalize"],
        implied=["-noCommit", "-deleteGone"],
    ),
    "solrclean": _usage("crawldb url", implied=["-noCommit"]),
    "solrdedup": _usage("url"),
    "startserver": _usage(
        "",
        values=_same("port", "host"),
        implied=["--port 1", "--host 1"],
        lost=["-log 1", "-cmd 1", "-stop", "-force"],
    ),
    "webapp": _usage("", values=_same("port"), implied=["--port 1"]),
    "showproperties": _usage(""),
    "robotsparser": _usage("robots urls agents"),
}
CLASSES: Final[Mapping[str, str]] = {
    "Injector": "inject",
    "Generator": "generate",
    "FreeGenerator": "freegen",
    "Fetcher": "fetch",
    "ParseSegment": "parse",
    "CrawlDbReader": "readdb",
    "CrawlDbMerger": "mergedb",
    "LinkDbReader": "readlinkdb",
    "SegmentReader": "readseg",
    "SegmentMerger": "mergesegs",
    "CrawlDb": "updatedb",
    "LinkDb": "invertlinks",
    "LinkDbMerger": "mergelinkdb",
    "IndexingJob": "index",
    "DeduplicationJob": "dedup",
    "CleaningJob": "clean",
    "ParserChecker": "parsechecker",
    "IndexingFiltersChecker": "indexchecker",
    "FileDumper": "dump",
    "URLFilterChecker": "filterchecker",
    "URLNormalizerChecker": "normalizerchecker",
    "WebGraph": "webgraph",
    "DomainStatistics": "domainstats",
    "ProtocolStatusStatistics": "protocolstats",
    "LinkRank": "linkrank",
    "CrawlCompletionStats": "crawlcomplete",
    "ScoreUpdater": "scoreupdater",
    "NodeDumper": "nodedumper",
    "PluginRepository": "plugin",
    "NutchServer": "startserver",
    "WARCExporter": "warc",
    "Crawl": "crawl",
    "UpdateHostDb": "updatehostdb",
    "ReadHostDb": "readhostdb",
    "SitemapProcessor": "sitemap",
    "ShowProperties": "showproperties",
    "CommonCrawlDataDumper": "commoncrawldump",
    "DedupRedirectsJob": "dedupredirects",
    "RobotRulesParser": "robotsparser",
}
"""The classes that `nutch CLASSNAME` runs, and the commands that run them too."""
