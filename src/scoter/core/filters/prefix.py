"""The prefix filter: keeps the URLs that start with one of its lines."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct

from scoter.core.filters.affixes import Affixes, affixes
from scoter.core.rule_lines import rule_lines, shown
from scoter.core.url import Url, canonical
from scoter.errors import RuleError, UrlError


class PrefixRules(Struct, frozen=True):
    """The prefixes of one file."""

    prefixes: Affixes

    def keeps(self, url: Url) -> bool:
        return self.prefixes.start(url.text) is not None

    def explain(self, url: Url) -> str:
        found = self.prefixes.start(url.text)
        return "no prefix matches" if found is None else f"line {self.prefixes.lines[found]}: {found}"


def parse(lines: Iterable[str], source: str) -> PrefixRules:
    """Read a rule file; scheme and host may be written in any case, all of it in any letters.

    >>> from scoter.core.url import canonical
    >>> parse(["HTTP://Example.org/a"], "rules.txt").keeps(canonical("http://example.org/a/b"))
    True
    """
    found: dict[str, int] = {}
    for number, text in rule_lines(lines):
        if " " in text or "\t" in text:
            raise RuleError(
                f"{shown(text)} cannot start a URL",
                file=source,
                line=number,
                hint="One prefix a line; a space in a URL is written %20.",
            )
        found.setdefault(_settled(text), number)
    return PrefixRules(affixes(found))


def _settled(prefix: str) -> str:
    scheme, separator, rest = prefix.partition("://")
    if not separator:
        return prefix.lower()  # the beginning of a scheme
    host, slash, target = rest.partition("/")
    if slash or not host.isascii():  # the host is whole, so its spelling can be settled: punycode, no default port
        with suppress(UrlError):
            settled = canonical(f"{scheme}://{host}/").text
            if "%" in target or not target.isascii():  # the letters of a path have one spelling as well
                return canonical(settled + target).text
            return settled + target if slash else settled[:-1]
    return f"{scheme.lower()}://{host.lower()}{slash}{target}"
