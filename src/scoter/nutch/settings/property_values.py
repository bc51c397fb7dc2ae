"""Translate Nutch values: units, booleans, lists, class names and ``plugin.includes``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import msgspec

from scoter.config.settings import Field
from scoter.config.units import Size
from scoter.nutch.settings.names import PACKAGES, PLUGINS, UNTRANSLATED_PLUGINS, WORDS

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][+-]?[0-9]{1,2})?[fFdDlL]?")
_CLASS: Final = re.compile(r"(?:[a-z_][a-z0-9_]*\.)+([a-z_][a-z0-9_]*)\.[A-Z]\w*", re.ASCII)
_SECONDS: Final = {"": 1.0, "s": 1.0, "ms": 0.001, "min": 60.0}
_BYTES: Final = {"": 1, "kbit/s": 125}


def native(field: Field, raw: str, between: str = "") -> tuple[Any, str]:
    """Return the value in the form that the setting accepts, and a note; ``ValueError`` says why there is none.

    ``between`` separates the items of a list if that is not the usual comma.
    """
    type_, setting, text = field.type, field.setting, raw.strip()
    if setting.nutch_unit == "expression":
        if text:
            raise ValueError(f"a JEXL expression; rewrite it as {field.name}")
        return "", ""
    if between:
        return [item.strip() for item in raw.split(between) if item.strip()], ""
    if type_.many:
        return _items(field, raw)
    if type_.item is Path:
        return text, "relative to the folder of this file" if text and not text.startswith("/") else ""
    if type_.item is bool:
        return _switch(WORDS.get(field.name, {}).get(text, text)), ""
    if type_.item is str:
        return _word(field, text), ""
    return _number(field, text), ""


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("neither true nor false")
    return text.lower() == "true"


def _word(field: Field, text: str) -> str:
    special = WORDS.get(field.name, {})
    if text in special:
        return special[text]
    if field.type.choices:
        word = re.sub(r"^(by(?=[A-Z])|db_)", "", text).lower()
        return word or (field.setting.none if field.type.optional else word)
    if field.name in WORDS and "." in text:
        raise ValueError(f"a custom class; name a plug-in in {field.name}")
    return text


def _number(field: Field, text: str) -> Any:
    type_, setting = field.type, field.setting
    if not text and type_.optional:
        return setting.none
    number = _numeral(field, text, "a number")
    if number < 0 and type_.optional:
        return setting.none
    if type_.item is timedelta:
        # Rounded to what a duration can hold: 0.1 s in milliseconds is not exact in binary.
        return round(number * _SECONDS[setting.nutch_unit], 6)
    if type_.item is Size:
        return int(number * _BYTES[setting.nutch_unit])
    return number


def _items(field: Field, raw: str) -> tuple[Any, str]:
    if field.setting.nutch_unit == "lines":
        return [line.strip() for line in raw.splitlines() if line.strip()], ""
    if not field.setting.nutch[0].endswith((".order", ".processors")):  # Nutch's lists of classes
        # Only the value of a constant field may contain spaces.
        between = r"[,\n]+" if field.name == "index.static" else r"[,\s]+"
        words = [word.strip() for word in re.split(between, raw) if word.strip()]
        if field.type.item in (int, float):
            return [_numeral(field, word, "a list of numbers") for word in words], ""
        return words, ""
    names: list[str] = []
    foreign: list[str] = []
    for name in raw.replace(",", " ").split():
        found = _CLASS.fullmatch(name)
        if found is None or not name.startswith("org.apache.nutch."):
            foreign.append(name)
        elif (own := PACKAGES.get(found[1], found[1])) not in names:
            names.append(own)
    if foreign and not names:
        raise ValueError(f"custom classes; name plug-ins in {field.name}")
    return names, f"without {', '.join(foreign)}" if foreign else ""


def _numeral(field: Field, text: str, expected: str) -> int | float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"not {expected}")
    number = float(text.rstrip("fFdDlL"))
    return int(number) if field.type.item is int and number.is_integer() else number


_MOST_PIECES: Final = 500
_LONGEST: Final = 10_000
_PLAIN: Final = re.compile(r"[A-Za-z0-9_*-]+", re.ASCII)


class Chains(msgspec.Struct, frozen=True):
    """The active plug-ins by setting, and those without counterpart."""

    named: Mapping[str, tuple[str, ...]] = {}
    untranslated: tuple[tuple[str, str], ...] = ()

    def ordered(self, setting: str, order: Iterable[str]) -> tuple[str, ...]:
        """Return the plug-ins of a setting, those in ``order`` first; in Nutch only active plug-ins run."""
        active = self.named[setting]
        first = [name for name in order if name in active]
        return (*first, *(name for name in active if name not in first))


def chains_of(includes: str | None, excludes: str | None) -> Chains:
    """Translate ``plugin.includes`` and ``plugin.excludes``, which are regular expressions over plug-in ids.

    They are expanded instead of matched: nearly all list names, and an expression from a file must not run forever.
    """
    if includes is None:
        return Chains()
    if len(includes) + len(excludes or "") > _LONGEST:
        return Chains(untranslated=((includes[:40] + "…", "too long to be a list of plug-ins"),))
    named: dict[str, list[str]] = {}
    untranslated: list[tuple[str, str]] = []
    known = {*PLUGINS, *UNTRANSLATED_PLUGINS}
    without = set(_names(excludes or "", known))
    for plugin in _names(includes, known):
        if plugin in without:
            continue
        if plugin not in PLUGINS:
            untranslated.append((plugin[:80], UNTRANSLATED_PLUGINS.get(plugin, "unknown plug-in")))
        for setting, name in PLUGINS.get(plugin, ()):
            chain = named.setdefault(setting, [])
            if name not in chain:
                chain.append(name)
    return Chains({setting: tuple(names) for setting, names in named.items()}, tuple(untranslated))


def listed_plugins(includes: str) -> list[str]:
    """Return the ids of the plug-ins that ``plugin.includes`` selects, in its order."""
    return _names(includes, {*PLUGINS, *UNTRANSLATED_PLUGINS}) if len(includes) <= _LONGEST else []


def active_plugins(includes: str, excludes: str) -> frozenset[str]:
    """Return the ids of the plug-ins that ``plugin.includes`` and ``plugin.excludes`` select."""
    return frozenset(listed_plugins(includes)) - frozenset(listed_plugins(excludes))


def _names(expression: str, known: Iterable[str]) -> list[str]:
    """Return the plug-in ids that an expression matches, in its order, each once."""
    names: dict[str, None] = {}
    for piece in _spelt_out(re.sub(r"\s+", "", expression)):
        pattern = re.sub(r"\.[*+]", "*", piece)
        if "*" in pattern and _PLAIN.fullmatch(pattern):
            names.update(dict.fromkeys(name for name in sorted(known) if fnmatchcase(name, pattern)))
        elif piece:
            names[piece] = None
    return list(names)


def _spelt_out(expression: str) -> list[str]:
    """Return every alternative: ``a-(b|c)|d`` is ``a-b``, ``a-c`` and ``d``.

    Anything other than alternatives and groups stays in its piece, which then matches no name.
    """
    done: list[str] = []
    rest = [expression]
    while rest and len(done) + len(rest) <= _MOST_PIECES:
        piece, *rest = rest
        alternatives = _split(piece)
        if len(alternatives) > 1:
            rest = [*alternatives, *rest]
            continue
        group = re.search(r"\((?:\?:)?([^()]*)\)(?![*+?{])", piece)
        if group is None:
            done.append(piece)
        else:
            rest = [piece[: group.start()] + part + piece[group.end() :] for part in group[1].split("|")] + rest
    return done + rest


def _split(expression: str) -> list[str]:
    """Split at the ``|`` outside groups."""
    pieces, depth, start = [], 0, 0
    for at, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            pieces.append(expression[start:at])
            start = at + 1
    return [*pieces, expression[start:]]
