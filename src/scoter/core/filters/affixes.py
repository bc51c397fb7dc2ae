"""The prefix and suffix filters: what a URL starts or ends with.

The prefix filter keeps the URLs that start with one of its lines. The suffix filter has a mode line, then suffixes:

    +IP
    .gif
    .zip

``+`` drops URLs with one of the suffixes and keeps all others; ``-`` does the opposite. Two letters may follow: ``I``
ignores case, ``P`` looks only at the path, without the query. They may also be on separate lines (``+I``, then ``+P``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from msgspec import Struct

from scoter.core.rule_lines import RuleLine, rule_lines, shown
from scoter.core.url import Url, canonical
from scoter.errors import UrlError


class Affixes(Struct, frozen=True):
    """Prefixes or suffixes with their line numbers; looks up one substring per distinct length.

    ``lengths`` are the lengths that occur, shortest first; ``tails`` are the ends of that length, which few texts have.
    """

    lines: Mapping[str, int]
    lengths: tuple[int, ...]
    tails: frozenset[str]

    def start(self, text: str) -> str | None:
        """Return the shortest prefix of the text."""
        return next((text[:length] for length in self.lengths if text[:length] in self.lines), None)

    def end(self, text: str) -> str | None:
        """Return the shortest suffix of the text."""
        if not self.lengths or text[-self.lengths[0] :] not in self.tails:
            return None
        return next((text[-length:] for length in self.lengths if text[-length:] in self.lines), None)


def affixes(lines: Mapping[str, int]) -> Affixes:
    """Build the lookup.

    >>> affixes({".gif": 1, ".jpeg": 2}).end("http://a.example/x.jpeg")
    '.jpeg'
    """
    lengths = tuple(sorted({len(text) for text in lines}))
    return Affixes(lines, lengths, frozenset(text[-lengths[0] :] for text in lines))


class PrefixRules(Struct, frozen=True):
    """The prefixes of one file."""

    prefixes: Affixes

    def keeps(self, url: Url) -> bool:
        return self.prefixes.start(url.text) is not None

    def explain(self, url: Url) -> str:
        found = self.prefixes.start(url.text)
        return "no prefix matches" if found is None else f"line {self.prefixes.lines[found]}: {found}"


def parse_prefixes(lines: Iterable[str], source: str) -> PrefixRules:
    """Read a file of prefixes, in any spelling that a URL may have.

    >>> from scoter.core.url import canonical
    >>> parse_prefixes(["HTTP://Example.org/a"], "rules.txt").keeps(canonical("http://example.org/a/b"))
    True
    """
    found: dict[str, int] = {}
    for line in rule_lines(lines, source):
        if " " in line.text or "\t" in line.text:
            raise line.error(
                f"no URL starts with {shown(line.text)}", "Write one prefix per line, and %20 for a space."
            )
        found.setdefault(_canonical_prefix(line.text), line.number)
    return PrefixRules(affixes(found))


def _canonical_prefix(prefix: str) -> str:
    scheme, separator, rest = prefix.partition("://")
    if not separator:
        return prefix.lower()  # the beginning of a scheme
    host, slash, target = rest.partition("/")
    if slash or not host.isascii():  # the host is complete, so it has a canonical form: punycode, no default port
        with suppress(UrlError):
            root = canonical(f"{scheme}://{host}/").text
            if "%" in target or not target.isascii():
                return canonical(root + target).text
            return root + target if slash else root[:-1]
    return f"{scheme.lower()}://{host.lower()}{slash}{target}"


class SuffixRules(Struct, frozen=True):
    """The suffixes of one file and its mode."""

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
        text = url.text.partition("?")[0] if self.path_only else url.text
        found = self.suffixes.end(text.lower() if self.ignore_case else text)
        if not self.path_only or (found is None and text.startswith("http")):
            return found
        if found is not None and text.startswith(("http://", "https://")):  # these always have a path
            return found if len(found) <= len(text) - text.index("/", 8) else None
        # Where the path of others begins takes longer to find, and few have a suffix.
        return self.suffixes.end(url.path.lower() if self.ignore_case else url.path)


def parse_suffixes(lines: Iterable[str], source: str) -> SuffixRules:
    """Read a file of suffixes; without a mode line it keeps only what it lists.

    >>> from scoter.core.url import canonical
    >>> parse_suffixes(["+IP", ".gif"], "rules.txt").keeps(canonical("http://a.example/x.GIF?size=2"))
    False
    """
    mode = ""
    listed: list[RuleLine] = []
    for line in rule_lines(lines, source):
        sign, flags = line.text[0], line.text[1:]
        if sign not in "+-":
            listed.append(line)
        elif mode and sign != mode[0]:
            raise line.error(f"the mode {shown(line.text)} contradicts {shown(mode)}")
        elif set(flags) - set("IP"):
            hint = "A mode is + or -, optionally followed by I (ignore case) and P (path only). Suffixes have no sign."
            raise line.error(f"{shown(line.text)} is not a mode", hint)
        else:
            mode = (mode or sign) + flags
    found: dict[str, int] = {}
    for line in listed:
        found.setdefault(line.text.lower() if "I" in mode else line.text, line.number)
    return SuffixRules(affixes(found), mode.startswith("+"), "I" in mode, "P" in mode)
