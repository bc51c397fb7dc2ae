"""The built-in URL filters and the exemption from ``db.ignore_external_links``.

Each reads its rule file and applies the rules of ``scoter.core.filters``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Protocol

from msgspec import Struct

from scoter.builtin.rulefiles import configured_rules, slow_warnings
from scoter.config import Setting
from scoter.core.filters import affixes, domain, fast, regex, validator
from scoter.core.url import Url
from scoter.errors import RuleError
from scoter.plugins import Setup


class FilterRules(Protocol):
    """What the rules of every filter offer."""

    def keeps(self, url: Url) -> bool: ...
    def explain(self, url: Url) -> str: ...


class _RuleFilter:
    """Keeps what the rules in its file keep."""

    warnings: tuple[str, ...] = ()

    def __init__(self, setup: Setup, setting: str, parse: Callable[..., FilterRules], shipped: str = "") -> None:
        file = configured_rules(setup, setting, shipped)
        self._rules = parse(file.lines, file.source)
        self.warnings = slow_warnings(getattr(self._rules, "slow", ()), file.source)

    def keeps(self, url: Url) -> bool:
        return self._rules.keeps(url)

    def explain(self, url: Url) -> str:
        return self._rules.explain(url)


class RegexUrlFilter(_RuleFilter):
    """Keeps or drops a URL by the first regular expression that matches it."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "urlfilter.regex_file", regex.parse, "regex-urlfilter.txt")


class AutomatonUrlFilter(_RuleFilter):
    """Keeps or drops a URL by the first pattern that matches all of it; the patterns have another syntax."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "urlfilter.automaton_file", _linear)


def _linear(lines: Sequence[str], source: str) -> regex.RegexRules:
    rules = regex.parse(lines, source, regex.automaton_pattern)
    if rules.slow:
        raise RuleError(
            f"the pattern {rules.slow[0].text} cannot be matched in linear time",
            file=source,
            line=rules.slow[0].line,
            hint="Repeat less often, or use the filter regex.",
        )
    return rules


class PrefixUrlFilter(_RuleFilter):
    """Keeps the URLs that start with one of its prefixes."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "urlfilter.prefix_file", affixes.parse_prefixes)


class SuffixUrlFilter(_RuleFilter):
    """Keeps or drops a URL by what it ends with."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "urlfilter.suffix_file", affixes.parse_suffixes, "suffix-urlfilter.txt")


class ScopeUrlFilter(_RuleFilter):
    """Keeps the URLs of the hosts or domains that a crawl was started with."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "urlfilter.scope_file", domain.parse_scope)


class DomainUrlFilter(_RuleFilter):
    """Keeps the URLs of the hosts, domains and suffixes that it lists."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "urlfilter.domain_file", domain.parse_domains)


class DomainDenylistUrlFilter(_RuleFilter):
    """Drops the URLs of the hosts, domains and suffixes that it lists."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "urlfilter.domaindenylist_file", partial(domain.parse_domains, keep=False))


class FastUrlFilter(_RuleFilter):
    """Drops URLs by path patterns listed under a host or domain, and by length."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.urlfilter
        lengths = fast.LengthLimits(
            settings.fast_url_max_length, settings.fast_url_path_max_length, settings.fast_url_query_max_length
        )
        super().__init__(setup, "urlfilter.fast_file", partial(fast.parse, lengths=lengths))


class ValidatorSettings(Struct, frozen=True):
    """What the validator accepts."""

    schemes: Annotated[tuple[str, ...], Setting("Valid schemes.", example='["https"]')] = validator.SCHEMES
    longest: Annotated[int, Setting("Longest valid URL, in characters.", at_least=1)] = validator.LONGEST_URL
    most_repeats: Annotated[int, Setting("How often a path segment may occur in a URL.", at_least=1)] = (
        validator.MOST_REPEATS
    )


class ValidatorUrlFilter(_RuleFilter):
    """Keeps what looks like a URL of the public web."""

    Settings = ValidatorSettings

    def __init__(self, setup: Setup) -> None:
        settings = setup.settings or ValidatorSettings()
        self._rules = validator.ValidatorRules(settings.schemes, settings.longest, settings.most_repeats)


class IgnoreExemptUrlExemption(_RuleFilter):
    """Lets a link leave its site if a regex rule keeps its target."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, "db.ignore_external_exemptions_file", regex.parse)

    def exempts(self, source: Url, target: Url) -> bool:
        return self.keeps(target)
