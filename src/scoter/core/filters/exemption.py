"""Exemptions: which links may leave their site although external links are ignored.

The file has the form of the regex filter's, and its rules are asked about the link's target: ``+`` lets it pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from scoter.core.filters import regex
from scoter.core.url import Url


class ExemptionRules(Struct, frozen=True, eq=False):
    """The rules of one file."""

    targets: regex.RegexRules

    def exempts(self, source: Url, target: Url) -> bool:
        """Tell whether a link from one page to another passes; where it comes from makes no difference."""
        return self.targets.keeps(target)

    def explain(self, url: Url) -> str:
        """Tell which rule decides about a target."""
        return self.targets.explain(url)


def parse(lines: Iterable[str], source: str) -> ExemptionRules:
    """Read a rule file.

    >>> from scoter.core.url import canonical
    >>> rules = parse(["+[.]png$"], "rules.txt")
    >>> rules.exempts(canonical("http://a.example/"), canonical("http://cdn.example/x.png"))
    True
    """
    return ExemptionRules(regex.parse(lines, source))
