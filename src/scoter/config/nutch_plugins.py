"""Nutch's ``plugin.includes``, a regular expression over plug-in ids, as chains of names.

The expression is not run: it is spelt out, since it is nearly always alternatives of names, and
an expression from a file must not be able to take for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from scoter.config.nutch_names import PLUGINS, UNTRANSLATED_PLUGINS

_MOST_PIECES: Final = 500
_LONGEST: Final = 10_000
_PLAIN: Final = re.compile(r"[A-Za-z0-9_*-]+", re.ASCII)


class Chains(msgspec.Struct, frozen=True):
    """The chains that a list of plug-ins gives, by setting, and the plug-ins that give none."""

    named: Mapping[str, tuple[str, ...]] = {}
    untranslated: tuple[tuple[str, str], ...] = ()

    def ordered(self, setting: str, order: Iterable[str]) -> tuple[str, ...]:
        """Return the chain with the names of ``order`` first; in Nutch only active plug-ins run."""
        active = self.named[setting]
        first = [name for name in order if name in active]
        return (*first, *(name for name in active if name not in first))


def chains_of(includes: str | None, excludes: str | None) -> Chains:
    """Return what the two expressions come to; nothing at all without the first."""
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
            untranslated.append((plugin[:80], UNTRANSLATED_PLUGINS.get(plugin, "no plug-in of that name is known")))
        for setting, name in PLUGINS.get(plugin, ()):
            chain = named.setdefault(setting, [])
            if name not in chain:
                chain.append(name)
    return Chains({setting: tuple(names) for setting, names in named.items()}, tuple(untranslated))


def _names(expression: str, known: Iterable[str]) -> list[str]:
    """Return the plug-in ids an expression stands for, in its order, each once."""
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

    What is more than alternatives and groups stays in its piece, which then matches no name.
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
    """Split at the ``|`` that stand outside every group."""
    pieces, depth, start = [], 0, 0
    for at, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            pieces.append(expression[start:at])
            start = at + 1
    return [*pieces, expression[start:]]
