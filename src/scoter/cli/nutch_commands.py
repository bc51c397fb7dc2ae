"""Recognise Nutch's commands and spellings, and answer with the right command.

    nutch generate crawl/crawldb crawl/segments -topN 1000    scoter generate crawl --top-n 1000
    nutch fetch crawl/segments/20261115033000 -threads 50     scoter fetch crawl 20261115033000 --threads 50
    nutch readdb crawl/crawldb -stats                         scoter readdb crawl --stats

Nutch has options with one dash, and names the parts of a crawl directory; Scoter always gets the crawl directory first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct


class CommandCounterpart(Struct, frozen=True):
    """What to run instead of a command of Nutch; an empty command means that there is none, and the note says why."""

    command: str = ""
    note: str = ""


# Commands of `bin/nutch` for which Scoter has no command of the same name.
_RENAMED: Final[Mapping[str, CommandCounterpart]] = {
    "dump": CommandCounterpart("export DIR OUT --format files", "the bodies of pages as files"),
    "commoncrawldump": CommandCounterpart("export DIR OUT --format commoncrawl", "JSON or CBOR records"),
    "warc": CommandCounterpart("export DIR OUT --format warc", "a crawl is stored as WARC files to begin with"),
    "robotsparser": CommandCounterpart("robotschecker"),
    "showproperties": CommandCounterpart("config show"),
    "solrindex": CommandCounterpart("index", "set index.writers to solr"),
    "solrdedup": CommandCounterpart("dedup", "the next `scoter index` deletes duplicates from the index"),
    "solrclean": CommandCounterpart("clean", "set index.writers to solr"),
    "startserver": CommandCounterpart("ui", "a REST API for the crawls below a folder"),
    "webapp": CommandCounterpart("report", "tables instead of a web application, which Nutch no longer has either"),
    "dedupredirects": CommandCounterpart("", "a redirect never becomes a document, so none has to be removed"),
    "junit": CommandCounterpart("", "the tests are run with make test"),
}


def counterpart(nutch: str, commands: Collection[str]) -> CommandCounterpart | None:
    """Return what Scoter has for a command of Nutch; ``None`` if that is unknown.

    >>> counterpart("readdb", ["readdb"]).command, counterpart("showproperties", []).command
    ('readdb', 'config show')
    """
    return CommandCounterpart(nutch) if nutch in commands else _RENAMED.get(nutch)


# Options whose name differs in more than the dashes. An option that is not known to the command is left out.
_OPTIONS: Final = {
    "-topN": "--top-n",
    "-numFetchers": "--fetchers",
    "-maxNumSegments": "--max-segments",
    "-adddays": "--add-days",
    "-addDays": "--add-days",
    "-noFilter": "--no-filter",
    "-nofilter": "--no-filter",
    "-noNorm": "--no-normalize",
    "-noNormalize": "--no-normalize",
    "-noAdditions": "--no-additions",
    "-noStrict": "--no-strict",
    "-nocontent": "--no-content",
    "-nofetch": "--no-fetch",
    "-nogenerate": "--no-generate",
    "-noparse": "--no-parse",
    "-noparsedata": "--no-parse-data",
    "-noparsetext": "--no-parse-text",
    "-compareOrder": "--compare-order",
    "-filterNormalizeAll": "--filter-normalize-all",
    "-followRedirects": "--follow-redirects",
    "-checkRobotsTxt": "--check-robots",
    "-dumpText": "--dump-text",
    "-dumpHomepages": "--dump-homepages",
    "-dumpHostnames": "--dump-hostnames",
    "-checkAll": "--check-all",
    "-checkNew": "--check-new",
    "-checkFailed": "--check-failed",
    "-checkKnown": "--check-known",
    "-forceAs": "--force-as",
    **{
        f"-{name}": f"--{name}"
        for name in (
            *("filter", "normalize", "expr", "force", "stats", "sort", "dump", "url", "regex", "retry", "status"),
            *("sample", "format", "threads", "overwrite", "update", "list", "get", "recode", "slice", "group", "stdin"),
        )
    },
}
_WITH_VALUE: Final = frozenset({"-dir", "-hostdb", "-crawldb"})  # left out together with their value
_PARTS: Final = ("crawldb", "linkdb", "hostdb", "segments")
_MARKER: Final = "crawl.json"


# What the options of Nutch's dumps are in `scoter export`. Those without a counterpart are left out.
_DUMPS: Final = {
    "dump": ("--format", "files"),
    "commoncrawldump": ("--format", "commoncrawl", "--encoding", "cbor"),
}
_DUMP_OPTIONS: Final = {
    "-flatdir": ("--layout", "flat"),
    "-reverseUrlDirs": ("--layout", "reverse"),
    "-gzip": ("--compress", "gzip"),
    "-reverseKey": ("--reverse-key",),
}
_DUMP_VALUES: Final = frozenset(
    {"-outputDir", "-segment", "-mimetype", "-mimetypes", "-extension", "-keyPrefix", "-warcSize"}
)


def export_command(arguments: Sequence[str]) -> list[str] | None:
    """Return the export that is like one of Nutch's dumps, or ``None`` if the arguments are not those of a dump.

    >>> " ".join(export_command(["dump", "-outputDir", "out", "-segment", "crawl/segments", "-flatdir"]) or ())
    'export DIR out --format files --layout flat'
    """
    if not arguments or arguments[0] not in _DUMPS:
        return None
    name, *rest = arguments
    values: dict[str, list[str]] = {}
    flags: list[str] = []
    current = ""
    for word in rest:
        if word.startswith("-"):
            current = word if word in _DUMP_VALUES else ""
            flags += () if current else (word,)
        else:
            values.setdefault(current, []).append(word)
    segment = next(iter(values.get("-segment", ())), "")
    crawl = _crawl_of(segment)
    found = ["export", str(crawl or "DIR"), *values.get("-outputDir", ["OUT"])[:1]]
    found += ("--format", "warc") if "-warc" in flags else _DUMPS[name]
    if name == "dump" and not {"-flatdir", "-reverseUrlDirs"}.intersection(flags):
        found += ("--layout", "hash")
    if "-warc" not in flags:
        found += [word for flag in flags for word in _DUMP_OPTIONS.get(flag, ())]
    for each in (*values.get("-mimetype", ()), *values.get("-mimetypes", ())):
        found += ("--type", each)
    if crawl is not None and Path(segment).name not in _PARTS:
        found += ("--where", f"segment == '{Path(segment).name}'")
    return found


def scoter_command(arguments: Sequence[str], options_of: Callable[[str], Collection[str]]) -> list[str] | None:
    """Return the command that a Nutch user means, or ``None`` if the arguments are not spelled as in Nutch.

    ``options_of`` returns the options of a command.
    """
    if not arguments:
        return None
    name, *rest = arguments
    first = next((each for each in rest if not each.startswith("-")), "")
    is_nutch = any(each in _OPTIONS or each in _WITH_VALUE for each in rest) or _crawl_of(first) is not None
    if not is_nutch:
        return None
    options, found, crawls = options_of(name), [name], []
    words = iter(rest)
    for word in words:
        if word in _WITH_VALUE:
            word = next(words, "")
            if (crawl := _crawl_of(word)) is None:
                continue
        elif word in _OPTIONS:
            if _OPTIONS[word] in options:
                found.append(_OPTIONS[word])
            continue
        crawl = _crawl_of(word)
        if crawl is None:
            found.append(word)
            continue
        if str(crawl) not in crawls:
            crawls.append(str(crawl))
            found.append(str(crawl))
        if Path(word).name not in _PARTS:
            found.append(Path(word).name)
    return found


def _crawl_of(word: str) -> Path | None:
    """Return the crawl directory if a word names one of its parts or a segment."""
    path = Path(word)
    for crawl, is_part in ((path.parent, path.name in _PARTS), (path.parent.parent, path.parent.name == "segments")):
        with suppress(OSError, ValueError):  # a name that is too long, or not a name
            if is_part and (crawl / _MARKER).is_file():
                return crawl
    return None
