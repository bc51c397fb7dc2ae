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
from scoter.config.docs import code, markdown_row
from scoter.config.sections import fields
from scoter.config.settings import Field
from scoter.config.show import written_default
from scoter.nutch.commands.answers import counterpart
from scoter.nutch.settings.names import EXTENSION_POINTS, PLUGIN_NOTES, PLUGINS, UNTRANSLATED_PLUGINS
from scoter.nutch.settings.translation import UNKNOWN, reason_without
from scoter.plugins import POINTS

_INTRODUCTION: Final = """\
# Nutch's counterparts

<!-- Generated from src/scoter by `make docs`; edit the declarations there. -->

What Scoter has for each command, plug-in, extension point and property of Apache Nutch 1.x, or why it has nothing.
[Importing a Nutch crawl](nutch-import.md) explains how to bring data, and `scoter config import-nutch conf -o
scoter.toml` converts the configuration.
"""
_LONGEST_DEFAULT: Final = 60


def page(names: Path) -> str:
    """Return the whole page; raise ``ValueError`` if there is nothing to say about a name."""
    parts = (_commands(names), _plugins(names), _points(), _properties(names))
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
    yield "The setting lists the active plug-ins; `scoter config import-nutch` translates `plugin.includes`.\n"
    yield markdown_row("Nutch", "Scoter", "setting", "remark")
    yield "|---|---|---|---|"
    by_setting = {point.chain: point.name for point in POINTS.values()}
    for name in _lines(names / "nutch-plugins.txt"):
        pairs = PLUGINS.get(name, ())
        note = PLUGIN_NOTES.get(name) or UNTRANSLATED_PLUGINS.get(name, "")
        if not pairs and not note:
            raise ValueError(f"nothing is known about the plug-in {name}")
        found = ", ".join(code(f"{by_setting[setting]}-{each}") for setting, each in pairs)
        settings = ", ".join(code(setting) for setting in dict.fromkeys(setting for setting, _ in pairs))
        yield markdown_row(code(name), found or "none", settings or "–", note or "–")
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
    yield "Durations and sizes have units here. [Settings](settings.md) explains each setting.\n"
    yield markdown_row("Nutch", "default there", "Scoter", "default here")
    yield "|---|---|---|---|"
    defaults = {line.partition("\t")[0]: line.partition("\t")[2] for line in _lines(names / "nutch-properties.tsv")}
    defaults |= dict.fromkeys(_lines(names / "nutch-other-names.txt"), "")
    by_name = {nutch: field for field in fields().values() for nutch in field.setting.nutch}
    for name in sorted({*defaults, *by_name}, key=lambda name: (name.lower(), name)):
        default = _shown(defaults.get(name, ""))
        if name in by_name:
            yield markdown_row(code(name), default, *_setting(by_name[name]))
            continue
        reason = reason_without(name)
        if reason == UNKNOWN:
            raise ValueError(f"nothing is known about the property {name}")
        yield markdown_row(code(name), default, f"none: {reason}", "–")
    yield ""


def _setting(field: Field) -> tuple[str, str]:
    return code(field.name), _shown(written_default(field))


def _shown(value: str) -> str:
    if not value.strip():
        return "–"
    return code(value if len(value) <= _LONGEST_DEFAULT else f"{value[: _LONGEST_DEFAULT - 1]}…")


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text("utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(page(Path(sys.argv[1])), encoding="utf-8")
