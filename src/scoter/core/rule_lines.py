"""What all rule files share: numbered lines, comments, host names, patterns and error messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scoter.core.pattern import Pattern, compile_pattern
from scoter.core.url import canonical
from scoter.errors import RuleError, UrlError

_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*\.?|\[[0-9a-fA-F:.]+\]")


def rule_lines(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the trimmed lines that are neither blank nor a comment, each with its number from 1.

    >>> list(rule_lines(["# why", "", " org "]))
    [(3, 'org')]
    """
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not text.startswith("#"):
            yield number, text


def two_words(text: str, expected: str, source: str, line: int) -> tuple[str, str]:
    """Split a line into its two words."""
    words = text.split()
    if len(words) != 2:
        raise RuleError(f"expected {expected}, not {shown(text)}", file=source, line=line)
    return words[0], words[1]


def host_name(text: str, source: str, line: int) -> str:
    """Return a host or domain as canonical URLs spell it.

    >>> host_name("Bücher.example", "rules.txt", 1)
    'xn--bcher-kva.example'
    """
    try:
        host = canonical(f"http://{text}/").host.removesuffix(".") if _NAME.fullmatch(text) else ""
    except UrlError:
        host = ""
    # canonical() would silently read "10.1" as an IP address.
    if not host or (text.isascii() and host != text.lower().removesuffix(".")):
        raise RuleError(
            f"{shown(text)} is not a host or domain name",
            file=source,
            line=line,
            hint="Write a name such as www.example.org, example.org or org, without scheme, port, path or *.",
        )
    return host


def rule_pattern(text: str, source: str, line: int) -> Pattern:
    """Compile the regular expression of a rule."""
    try:
        return compile_pattern(text)
    except ValueError as error:
        raise RuleError(f"the pattern {shown(text)} {error}", file=source, line=line) from error


def shown(text: str) -> str:
    """Return a piece of a rule as error messages quote it."""
    return repr(text if len(text) <= 100 else text[:100] + "…")
