"""Generate docs/nutch-counterparts.md: ``python -m scoter.cli.counterparts NAMES PAGE``.

``NAMES`` is a folder with the names that the page must explain: ``nutch-commands.txt``, ``nutch-plugins.txt``,
``nutch-properties.tsv`` (with defaults) and ``nutch-other-names.txt``. What the page says about them is derived from
the commands, the plug-ins, and the translation of Nutch's configuration.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scoter.cli.main import MODULES
from scoter.config.docs import code, markdown_item, markdown_row
from scoter.config.sections import fields
from scoter.config.show import written_default
from scoter.nutch.classes import CLASS_MODULES
from scoter.nutch.commands.answers import counterpart
from scoter.nutch.settings.names import EXTENSION_POINTS, PLUGIN_NOTES, PLUGINS, UNTRANSLATED_PLUGINS
from scoter.nutch.settings.translation import UNKNOWN, reason_without
from scoter.plugins import POINTS

_INTRODUCTION: Final = """\
# Nutch's counterparts

<!-- Generated from src/scoter by `make docs`; edit the declarations there. -->

Find what Scoter has for each command, plug-in, extension point, property and class of Apache Nutch 1.x, or why it has
nothing, and what it does otherwise. To bring a crawl and its configuration:

```sh
scoter import-nutch-crawl /data/nutch/crawl mycrawl
scoter config import-nutch conf -o scoter.toml
```

[Importing a Nutch crawl](nutch-import.md) explains both.
"""
_DEPARTURES: Final = """\
## Departures

The pages on [politeness](politeness.md#differences-from-nutch), [URL rules](url-rules.md) and
[importing](nutch-import.md) list the differences in their subjects, and [settings](settings.md) each default that
differs. Others that you may notice:

- **Compression is fixed.** Nutch takes the codec of its files from Hadoop's configuration. Here tables are Parquet with
  zstd and archives are WARC with one gzip member per record, so that every tool can read them; no setting changes this.
  An import reads all of Hadoop's usual codecs.
- **A time limit counts from the start of a run.** In Nutch, `fetcher.timelimit.mins` becomes a point in time when the
  job is submitted. Here `fetch.time_limit` counts from the start of the workers: a fetch that is resumed, or continued
  after a worker was killed, has the whole time again, and so has the fetch of every round of a crawl.
- **Too many redirects are not an error.** Earlier versions of Nutch record a URL whose chain exceeds
  `http.redirect.max` as gone. Here each hop is recorded as the redirect that it is, and the last target is a link for a
  later round, as in newer versions; with `fetch.redirect_max_exceeded_skip` it is dropped.
- **topN is the size of a segment.** The best URLs are selected over all hosts and then divided into fetch lists. In
  Nutch each of N partitions selects its topN / N best ones, so that a segment may have fewer URLs, and not the best.
- **Partitions by IP address are one fetch list.** Nutch resolves every host in `generate`. Here `generate` asks no DNS
  server: with `generate.partition_mode = "ip"` a segment has one list, one process fetches it, and its queues are by
  the addresses that the fetch finds.
- **No class is run by its name.** `nutch org.apache.nutch.crawl.Injector …` is answered with the command to run. Other
  classes, and classes of plug-ins, cannot be run: install a package with [entry points](plugins.md) instead.
"""
_LONGEST_DEFAULT: Final = 60


def page(names: Path) -> str:
    """Return the whole page; raise ``ValueError`` if there is nothing to say about a name."""
    parts = (_commands(names), [_DEPARTURES], _plugins(names), _points(), _properties(names), _classes())
    return "\n".join([_INTRODUCTION, *(line for part in parts for line in part)])


def _commands(names: Path) -> Iterator[str]:
    yield "## Commands\n"
    yield "Commands get the crawl directory instead of its parts: `scoter generate DIR` instead of"
    yield "`nutch generate crawldb segments`. Type a command as in Nutch, and Scoter answers with its own.\n"
    yield markdown_row("Nutch", "Scoter", "remark")
    yield "|---|---|---|"
    for name in _lines(names / "nutch-commands.txt"):
        found = counterpart(name, MODULES)
        if found is None:
            raise ValueError(f"nothing is known about the command {name}")
        nutch = "bin/crawl" if name == "crawl" else f"nutch {name}"
        yield markdown_row(code(nutch), code(f"scoter {found.command}") if found.command else "none", found.note or "–")
    yield ""


def _plugins(names: Path) -> Iterator[str]:
    yield "## Plug-ins\n"
    yield "The plug-ins of Scoter follow, with the settings that list the active ones; `scoter config import-nutch`"
    yield "translates `plugin.includes`.\n"
    by_setting = {point.chain: point.name for point in POINTS.values()}
    for name in _lines(names / "nutch-plugins.txt"):
        pairs = PLUGINS.get(name, ())
        note = PLUGIN_NOTES.get(name) or UNTRANSLATED_PLUGINS.get(name, "")
        if not pairs and not note:
            raise ValueError(f"nothing is known about the plug-in {name}")
        found = ", ".join(code(f"{by_setting[setting]}-{each}") for setting, each in pairs)
        settings = ", ".join(code(setting) for setting in dict.fromkeys(setting for setting, _ in pairs))
        told = f"{found} in {settings}" if found else "none"
        yield markdown_item(f"{code(name)}: {told}" + (f". {note[0].upper()}{note[1:]}" if note else ""))
    yield ""


def _points() -> Iterator[str]:
    yield "## Extension points\n"
    yield markdown_row("Nutch", "Scoter", "what the plug-in does")
    yield "|---|---|---|"
    for nutch, name in EXTENSION_POINTS.items():
        yield markdown_row(code(nutch), code(name), POINTS[name].sentence)
    yield ""


def _properties(names: Path) -> Iterator[str]:
    yield "## Properties\n"
    yield "Each property with its default, and the setting with its default here. Durations and sizes have units."
    yield "[Settings](settings.md) explains each setting.\n"
    defaults = {line.partition("\t")[0]: line.partition("\t")[2] for line in _lines(names / "nutch-properties.tsv")}
    defaults |= dict.fromkeys(_lines(names / "nutch-other-names.txt"), "")
    by_name = {nutch: field for field in fields().values() for nutch in field.setting.nutch}
    for name in sorted({*defaults, *by_name}, key=lambda name: (name.lower(), name)):
        default = _shown(defaults.get(name, ""))
        if name in by_name:
            field = by_name[name]
            yield markdown_item(f"{code(name)}{default}: {code(field.name)}{_shown(written_default(field))}")
            continue
        reason = reason_without(name)
        if reason == UNKNOWN:
            raise ValueError(f"nothing is known about the property {name}")
        yield markdown_item(f"{code(name)}{default}: none: {reason}")
    yield ""


def _classes() -> Iterator[str]:
    yield "## Classes\n"
    yield "The modules, below `src/scoter`, that do the work of Nutch's classes.\n"
    for package, classes in CLASS_MODULES.items():
        yield f"### {package}\n"
        yield markdown_row("class", "modules")
        yield "|---|---|"
        for names, modules in classes.items():
            yield markdown_row(*(", ".join(map(code, each)) for each in (names.split(", "), modules.split())))
        yield ""


def _shown(value: str) -> str:
    if not value.strip():
        return ""
    return f" ({code(value if len(value) <= _LONGEST_DEFAULT else f'{value[: _LONGEST_DEFAULT - 1]}…')})"


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text("utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(page(Path(sys.argv[1])), encoding="utf-8")
