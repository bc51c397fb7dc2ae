"""What all rule files share: numbered lines, comments, host names, patterns and error messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from scoter.core.pattern import Pattern, compile_pattern
from scoter.core.url import canonical
from scoter.errors import RuleError, UrlError

_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*\.?|\[[0-9a-fA-F:.]+\]")


class RuleLine(Struct, frozen=True):
    """A line of a rule file, and where it is: it raises errors that say so."""

    text: str
    source: str
    number: int

    def error(self, message: str, hint: str = "") -> RuleError:
        """Return an error about this line."""
        return RuleError(message, file=self.source, line=self.number, hint=hint)

    def words(self, count: int, expected: str) -> list[str]:
        """Split the line into ``count`` words; anything else is an error."""
        words = self.text.split()
        if len(words) != count:
            raise self.error(f"expected {expected}, not {shown(self.text)}")
        return words

    def host(self, name: str) -> str:
        """Return a host or domain as canonical URLs spell it.

        >>> RuleLine("", "rules.txt", 1).host("Bücher.example")
        'xn--bcher-kva.example'
        """
        try:
            host = canonical(f"http://{name}/").host.removesuffix(".") if _NAME.fullmatch(name) else ""
        except UrlError:
            host = ""
        # canonical() would silently read "10.1" as an IP address.
        if not host or (name.isascii() and host != name.lower().removesuffix(".")):
            hint = "Write a name such as www.example.org, example.org or org, without scheme, port, path or *."
            raise self.error(f"{shown(name)} is not a host or domain name", hint)
        return host

    def pattern(self, text: str) -> Pattern:
        """Compile the regular expression of a rule."""
        try:
            return compile_pattern(text)
        except ValueError as error:
            raise self.error(f"the pattern {shown(text)} {error}") from error


def rule_lines(lines: Iterable[str], source: str) -> Iterator[RuleLine]:
    """Yield the trimmed lines that are neither blank nor a comment; their numbers start from 1.

    >>> list(rule_lines(["# why", "", " org "], "rules.txt"))
    [RuleLine(text='org', source='rules.txt', number=3)]
    """
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield RuleLine(text, source, number)


def shown(text: str) -> str:
    """Return a piece of a rule as error messages quote it."""
    return repr(text if len(text) <= 100 else text[:100] + "…")
