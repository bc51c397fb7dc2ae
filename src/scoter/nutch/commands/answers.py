"""Recognise Nutch's commands and spellings, and answer with the right command.

    nutch generate crawl/crawldb crawl/segments -topN 1000    scoter generate crawl --top-n 1000
    nutch fetch crawl/segments/20261115033000 -threads 50     scoter fetch crawl 20261115033000 --threads 50
    nutch readdb crawl/crawldb -stats                         scoter readdb crawl --stats

Nutch has options with one dash, and names the parts of a crawl directory; Scoter always gets the crawl directory first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from scoter.errors import typed
from scoter.nutch.commands.usage import CLASSES, PARTS, USAGES, NutchLine, crawl_of, split_line

TakesValue: TypeAlias = Callable[[str, str], bool | None]


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
    "startserver": CommandCounterpart("ui .", "a REST API for the crawls below a folder"),
    "webapp": CommandCounterpart("ui .", "a web interface for the crawls below a folder"),
    "dedupredirects": CommandCounterpart("", "a redirect never becomes a document, so none has to be removed"),
    "junit": CommandCounterpart("", "the tests are run with make test"),
}


def counterpart(nutch: str, commands: Collection[str]) -> CommandCounterpart | None:
    """Return what Scoter has for a command of Nutch; ``None`` if that is unknown.

    >>> counterpart("readdb", ["readdb"]).command, counterpart("showproperties", []).command
    ('readdb', 'config show')
    """
    return CommandCounterpart(nutch) if nutch in commands else _RENAMED.get(nutch)


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
_FORMATS: Final = {"normal": "plain", "crawldb": "parquet"}
_SETTINGS: Final = {"-threads": "fetch.threads", "--num-threads": "fetch.threads", "--num-fetchers": "fetch.processes"}
_SEVERAL: Final = frozenset({"domainstats", "protocolstats", "crawlcomplete"})
_PER_SEGMENT: Final = frozenset({"fetch", "parse", "updatedb", "invertlinks", "webgraph"})
"""Commands that get the names of segments."""


class NutchAnswer(Struct, frozen=True):
    """What to type instead of a command line of Nutch: commands, the last of which may read a file on stdin."""

    commands: tuple[tuple[str, ...], ...]
    stdin: str = ""
    lost: tuple[str, ...] = ()
    """Options for which there is no counterpart."""

    def __str__(self) -> str:
        """Return the lines of a hint."""
        lines = [f"Run: scoter {typed(*each)}" for each in self.commands]
        lines[-1] += f" < {typed(self.stdin)}" if self.stdin else ""
        return "\n".join([*lines, *([f"Without a counterpart: {', '.join(self.lost)}"] if self.lost else [])])


def nutch_answer(arguments: Sequence[str], takes_value: TakesValue) -> NutchAnswer | None:
    """Return what to type instead of a command line of Nutch; ``None`` if it is not spelled as in Nutch.

    ``takes_value`` gets a command of Scoter and a word, and says whether the word is an option with a value; ``None``
    if it is no option of the command.
    """
    if not arguments:
        return None
    name, rest = arguments[0], arguments[1:]
    is_class = name.startswith("org.apache.nutch.")
    name = CLASSES.get(name.rpartition(".")[2], name) if is_class else name
    if name in _DUMPS and rest:
        return NutchAnswer((tuple(_export(name, rest)),))
    if name == "plugin" and len(rest) > 1 and "." in rest[1]:
        return NutchAnswer((_plugin_command(rest),))
    if name not in USAGES:
        return None
    line, is_nutch = split_line(name, rest, USAGES[name], lambda word: takes_value(name, word))
    settings, is_property = _settings(line.definitions)
    is_renamed = name in _RENAMED and bool(rest)
    if not (is_class or is_nutch or is_property or is_renamed or (name == "crawl" and _is_round_count(line.words))):
        return None
    commands = _BUILDERS.get(name, _ordinary)(line)
    known = [word for each in settings for word in ("-D", each)]
    return NutchAnswer(
        tuple((*each, *known) for each in commands),
        stdin=line.words[1] if name == "robotsparser" and len(line.words) > 1 else "",
        lost=tuple(line.lost),
    )


def _settings(definitions: Sequence[str]) -> tuple[list[str], bool]:
    """Return settings in place of Nutch's properties, and whether there was any property; Hadoop's are left out."""
    from html import escape

    from scoter.config.sections import fields
    from scoter.nutch.settings.translation import UNKNOWN, import_nutch

    found, is_nutch = [], False
    for each in definitions:
        name, _, value = each.partition("=")
        if name in fields():
            found.append(each)
            continue
        text = (
            f"<property><name>{escape(name, quote=False)}</name><value>{escape(value, quote=False)}</value></property>"
        )
        done = import_nutch(f"<configuration>{text}</configuration>", "-D")
        is_property = not any(left.reason == UNKNOWN for left in done.untranslated)
        is_nutch |= is_property
        found += [f"{row.setting}={row.value}" for row in done.translated if row.value] if is_property else [each]
    return found, is_nutch


def _ordinary(line: NutchLine) -> list[list[str]]:
    """Return the command with the crawl directory, the segments, other arguments and options, in this order."""
    segments = list(dict.fromkeys(line.segments)) if line.name in _PER_SEGMENT else []
    crawls = line.crawls if line.name in _SEVERAL else line.crawls[:1]
    is_checker = line.name.endswith("checker")
    return [[line.name, *(() if is_checker else (crawl,)), *segments, *line.words, *line.options] for crawl in crawls]


def _generate(line: NutchLine) -> list[list[str]]:
    return [["generate", line.crawls[0], *line.options, *_hostdb(line)]]


def _hostdb(line: NutchLine) -> list[str]:
    return ["--hostdb"] if "-hostdb" in line.values else []


def _freegen(line: NutchLine) -> list[list[str]]:
    return [["freegen", line.crawls[0], *line.words, *line.options]]


def _index(line: NutchLine) -> list[list[str]]:
    return [[line.name, line.crawls[0], *line.options]]


def _readdb(line: NutchLine) -> list[list[str]]:
    found = ["readdb", line.crawls[0], *line.options]
    if "-topN" in line.values:
        top = line.values["-topN"]  # the number, the output, which is stdout here, and the lowest score
        found += ["--top-n", *top[:1], *(("--min-score", top[2]) if len(top) > 2 else ())]
    if form := line.value("-format"):
        found += ["--format", _FORMATS.get(form, form)]
    if status := line.value("-status"):
        found += ["--status", status.lower().removeprefix("db_")]
    return [found]


def _readseg(line: NutchLine) -> list[list[str]]:
    crawl, segments, words = line.crawls[0], line.segments, line.words
    if "-list" in line.values:
        # The arguments after the first are segments, too.
        segments = [*segments, *(Path(each).name for each in words)]
        return [["readseg", crawl, *(segments if len(segments) == 1 else ()), "--list"]]
    if "-get" in line.values:
        line.lost += [each for each in line.values if each.startswith("-no")]  # everything is shown
        recode = ["--recode"] if "-recode" in line.values else []
        return [["readseg", crawl, *segments[:1], "--get", *words[:1], *recode]]
    return [["readseg", crawl, *segments[:1], "--dump", *words[:1], *line.options]]


def _readhostdb(line: NutchLine) -> list[list[str]]:
    found = ["readhostdb", line.crawls[0], *line.options]
    dumps = {"-dumpHomepages": "--dump-homepages", "-dumpHostnames": "--dump-hostnames"}
    action = next((scoter for nutch, scoter in dumps.items() if nutch in line.values), "--dump")
    return [[*found, action, line.words[0]] if line.words else found]


def _updatehostdb(line: NutchLine) -> list[list[str]]:
    checks = any(each.startswith("--check-") for each in line.options)  # Nutch looks up no names unless it is asked to
    return [["updatehostdb", line.crawls[0], *line.options, *(() if checks else ("--no-check",))]]


def _sitemap(line: NutchLine) -> list[list[str]]:
    common = [*line.options, *_definitions(line)]
    found = [["sitemap", line.crawls[0], url, *common] for url in line.values.get("-sitemapUrls", ())]
    if "-hostdb" in line.values or not found:
        found.append(["sitemap", line.crawls[0], *common, *_hostdb(line)])
    return found


def _definitions(line: NutchLine) -> list[str]:
    given = ((setting, line.value(option)) for option, setting in _SETTINGS.items())
    return [word for setting, value in given if value for word in ("-D", f"{setting}={value}")]


def _merge(line: NutchLine) -> list[list[str]]:
    out = line.words[0] if line.words else "OUT"
    path = Path(out)
    is_part = path.name in PARTS and str(path.parent) != "."
    sources = (
        [path if role == "segment" else crawl_of(path, role) for role, path in line.parts]
        if line.name == "mergesegs"
        else line.crawls
    )
    return [[line.name, str(path.parent) if is_part else out, *dict.fromkeys(sources), *line.options]]


def _statistics(line: NutchLine) -> list[list[str]]:
    by = ["--by", line.words[1]] if line.name == "domainstats" and len(line.words) > 1 else []
    return [[line.name, crawl, *by] for crawl in line.crawls]


def _nodedumper(line: NutchLine) -> list[list[str]]:
    names = {"-inlinks": "inlinks", "-outlinks": "outlinks", "-scores": "score"}
    by = next((scoter for nutch, scoter in names.items() if nutch in line.values), "score")
    group = line.values.get("-group", [])
    options = [word for pair in zip(("--group", "--aggregate"), group, strict=False) for word in pair]
    return [["nodedumper", line.crawls[0], "--by", by, *options, *line.options]]


def _checker(line: NutchLine) -> list[list[str]]:
    from scoter.nutch.settings.names import PLUGINS

    is_filter = line.name == "filterchecker"
    point, option = ("urlfilter", "-filterName") if is_filter else ("urlnormalizer", "-normalizer")
    # org.apache.nutch.urlfilter.regex.RegexURLFilter
    words = line.value(option).split(".")
    chosen = PLUGINS.get(f"{point}-{words[-2]}", ()) if len(words) > 1 else ()
    order = [word for setting, name in chosen for word in ("-D", f"{setting}={name}")]
    return [[line.name, *line.words, *line.options, *order]]


def _plugin_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return what does the work of a plug-in's main(): the checker of its point, or the list of plug-ins."""
    from scoter.nutch.settings.names import PLUGINS

    name, arguments = words[0], words[2:]
    order = [word for setting, each in PLUGINS.get(name, ()) for word in ("-D", f"{setting}={each}")]
    if name.startswith(("urlfilter-", "urlnormalizer-")) and order:
        return ("filterchecker" if name.startswith("urlfilter-") else "normalizerchecker", *arguments, *order)
    return ("parsechecker", *arguments) if name.startswith("parse-") and arguments else ("plugin", "list")


def _warc(line: NutchLine) -> list[list[str]]:
    where = " or ".join(f"segment == '{each}'" for each in line.segments)
    out = line.words[0] if line.words else "OUT"
    return [["export", line.crawls[0], out, "--format", "warc", *(("--where", where) if where else ())]]


def _solr(line: NutchLine) -> list[list[str]]:
    url = line.words[0] if line.words else "URL"
    solr = [] if line.name == "solrdedup" else ["-D", "index.writers=solr", "-D", f"plugin.indexwriter-solr.url={url}"]
    return [[line.name.removeprefix("solr"), line.crawls[0], *solr]]


def _server(line: NutchLine) -> list[list[str]]:
    port = line.value("-port") or line.value("--port") or ("8081" if line.name == "startserver" else "8080")
    host = line.value("-host") or line.value("--host")
    return [["ui", ".", *(("--host", host) if host else ()), "--port", port]]


def _robotsparser(line: NutchLine) -> list[list[str]]:
    agents = line.words[2].split(",") if len(line.words) > 2 else ()
    return [["robotschecker", *line.words[:1], *(word for each in agents for word in ("--agent", each.strip()))]]


def _is_round_count(words: Sequence[str]) -> bool:
    """Return whether the arguments of a crawl end with a number of rounds, which is no seed."""
    return len(words) > 1 and words[-1].lstrip("-").isdecimal() and not Path(words[-1]).exists()


def _crawl(line: NutchLine) -> list[list[str]]:
    """Translate `bin/crawl [SEEDS] DIR [SOLR] ROUNDS`, or the older `nutch crawl SEEDS -dir DIR -depth ROUNDS`."""
    words = list(line.words)
    rounds = words.pop() if _is_round_count(words) else line.value("-depth")
    directory = line.value("-dir")
    seeds = [*line.values.get("-s", ())]
    if directory or "-depth" in line.values:
        seeds, directory = [*seeds, *words[:1]], directory or "DIR"
    elif len(words) > 1:
        seeds, directory = [*seeds, words[0]], words[1]
        line.lost += words[2:]
    else:
        directory = words[0] if words else "DIR"
    limit = ["--until-done"] if rounds == "-1" else ["--rounds", rounds] if rounds else []
    options = list(dict.fromkeys(line.options)) if "--hostdb" in line.options else line.options
    minutes = line.value("--time-limit-fetch")
    more = [*_definitions(line), *(("-D", f"fetch.time_limit={minutes}m") if minutes else ())]
    # Nutch leaves hosts unless its URL filters or db.ignore.external.links say otherwise.
    sitemaps = [["sitemap", directory, each, *more] for each in line.values.get("-sm", ())]
    return [*sitemaps, ["crawl", directory, *seeds, *limit, "--scope", "any", *options, *more]]


_BUILDERS: Final[Mapping[str, Callable[[NutchLine], list[list[str]]]]] = {
    "generate": _generate,
    "freegen": _freegen,
    **dict.fromkeys(("index", "clean"), _index),
    "readdb": _readdb,
    "readseg": _readseg,
    "readhostdb": _readhostdb,
    "updatehostdb": _updatehostdb,
    "sitemap": _sitemap,
    **dict.fromkeys(("mergedb", "mergelinkdb", "mergesegs"), _merge),
    **dict.fromkeys(("domainstats", "protocolstats"), _statistics),
    "nodedumper": _nodedumper,
    **dict.fromkeys(("filterchecker", "normalizerchecker"), _checker),
    "warc": _warc,
    **dict.fromkeys(("solrindex", "solrclean", "solrdedup"), _solr),
    **dict.fromkeys(("startserver", "webapp"), _server),
    "showproperties": lambda line: [["config", "show"]],
    "robotsparser": _robotsparser,
    "crawl": _crawl,
}


def _export(name: str, rest: Sequence[str]) -> list[str]:
    """Return the export that is like one of Nutch's dumps.

    >>> " ".join(_export("dump", ["-outputDir", "out", "-segment", "crawl/segments", "-flatdir"]))
    'export crawl out --format files --layout flat'
    """
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
    found = ["export", crawl_of(segment, "segment") if segment else "DIR", *values.get("-outputDir", ["OUT"])[:1]]
    found += ("--format", "warc") if "-warc" in flags else _DUMPS[name]
    if name == "dump" and not {"-flatdir", "-reverseUrlDirs"}.intersection(flags):
        found += ("--layout", "hash")
    if "-warc" not in flags:
        found += [word for flag in flags for word in _DUMP_OPTIONS.get(flag, ())]
    for each in (*values.get("-mimetype", ()), *values.get("-mimetypes", ())):
        found += ("--type", each)
    if segment and Path(segment).name not in PARTS:
        found += ("--where", f"segment == '{Path(segment).name}'")
    return found
