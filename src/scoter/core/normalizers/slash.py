"""The slash normaliser: whether the paths of a host end with a slash.

    www.example.org  +
    www.example.com  -

``+`` adds one, unless the path ends like a file name (``/a.html``); ``-`` takes it away, except from ``/`` itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.normalizers.parts import split
from scoter.core.rule_lines import host_name, rule_lines, shown, two_words
from scoter.errors import RuleError

_FILE_NAME = re.compile(r"\.[A-Za-z0-9]{1,5}\Z")


class SlashRules(Struct, frozen=True):
    """Hosts, and whether their paths end with a slash."""

    hosts: Mapping[str, bool]

    def normalize(self, text: str) -> str:
        """Return the URL with or without its last slash."""
        parts = split(text)
        wanted = None if parts is None else self.hosts.get(parts.name)
        if parts is None or wanted is None or len(parts.path) < 2:
            return text
        if not wanted:
            return str(replace(parts, path=parts.path.rstrip("/") or "/"))
        if parts.path.endswith("/") or _FILE_NAME.search(parts.path):
            return text
        return str(replace(parts, path=parts.path + "/"))


def parse(lines: Iterable[str], source: str) -> SlashRules:
    """Read a rule file.

    >>> parse(["example.org +"], "slashes.txt").normalize("http://example.org/a?b")
    'http://example.org/a/?b'
    """
    hosts: dict[str, bool] = {}
    for number, text in rule_lines(lines):
        name, sign = two_words(text, "a host and + or -", source, number)
        if sign not in {"+", "-"}:
            raise RuleError(f"{shown(sign)} is neither + nor -", file=source, line=number)
        hosts[host_name(name, source, number)] = sign == "+"
    return SlashRules(hosts)
