"""The suffix filter: what a URL ends with.

    +IP
    .gif
    .zip

One line says what becomes of the rest: ``+`` keeps URLs with none of the suffixes and drops those with one, ``-``
the other way round. Letters after it: ``I`` ignores case, ``P`` looks at the path alone, without the query. They may
stand on lines of their own (``+I``, then ``+P``).
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from scoter.core.filters.affixes import Affixes, affixes
from scoter.core.rule_lines import rule_lines, shown
from scoter.core.url import Url
from scoter.errors import RuleError


class SuffixRules(Struct, frozen=True):
    """The suffixes of one file and how they are meant."""

    suffixes: Affixes
    keep_unknown: bool
    ignore_case: bool
    path_only: bool

    def keeps(self, url: Url) -> bool:
        return (self._found(url) is None) is self.keep_unknown

    def explain(self, url: Url) -> str:
        found = self._found(url)
        return "no suffix matches" if found is None else f"line {self.suffixes.lines[found]}: {found}"

    def _found(self, url: Url) -> str | None:
        text = url.path if self.path_only else url.text
        return self.suffixes.end(text.lower() if self.ignore_case else text)


def parse(lines: Iterable[str], source: str) -> SuffixRules:
    """Read a rule file; without a mode line it keeps only what it lists.

    >>> from scoter.core.url import canonical
    >>> parse(["+IP", ".gif"], "rules.txt").keeps(canonical("http://a.example/x.GIF?size=2"))
    False
    """
    mode = ""
    listed: list[tuple[int, str]] = []
    for number, text in rule_lines(lines):
        if text[0] not in "+-":
            listed.append((number, text))
        elif mode and text[0] != mode[0]:
            raise RuleError(
                f"{shown(text)} says otherwise than {shown(mode)} what becomes of the rest", file=source, line=number
            )
        elif set(text[1:]) - set("IP"):
            raise RuleError(
                f"{shown(text)} is not a mode",
                file=source,
                line=number,
                hint="A mode is + or -, followed by I (ignore case) and P (path only) at most; suffixes have no sign.",
            )
        else:
            mode = (mode or text[0]) + text[1:]
    found: dict[str, int] = {}
    for number, text in listed:
        found.setdefault(text.lower() if "I" in mode else text, number)
    return SuffixRules(affixes(found), mode.startswith("+"), "I" in mode, "P" in mode)
