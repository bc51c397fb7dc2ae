"""The built-in URL filters and the exemption from ``db.ignore_external_links``.

Each reads its rule file and applies the rules of ``scoter.core.filters``.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from msgspec import Struct

from scoter.builtin.rulefiles import read_rules, slow_warnings
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
    """Keeps what its rules keep."""

    warnings: tuple[str, ...] = ()

    def __init__(self, rules: FilterRules) -> None:
        self._rules = rules

    def keeps(self, url: Url) -> bool:
        return self._rules.keeps(url)

    def explain(self, url: Url) -> str:
        return self._rules.explain(url)


class RegexUrlFilter(_RuleFilter):
    """Keeps or drops a URL by the first regular expression that matches it."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.regex_file, "urlfilter.regex_file", "regex-urlfilter.txt")
        rules = regex.parse(file.lines, file.source)
        super().__init__(rules)
        self.warnings = slow_warnings(rules.slow, file.source)


class AutomatonUrlFilter(_RuleFilter):
    """The regex filter, limited to patterns that run in linear time."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.regex_file, "urlfilter.regex_file", "regex-urlfilter.txt")
        rules = regex.parse(file.lines, file.source)
        if rules.slow:
            raise RuleError(
                f"the pattern {rules.slow[0].pattern.text} cannot be matched in linear time",
                file=file.source,
                line=rules.slow[0].line,
                hint="Avoid look-around, back-references and possessive groups, or use the filter regex.",
            )
        super().__init__(rules)


class PrefixUrlFilter(_RuleFilter):
    """Keeps the URLs that start with one of its prefixes."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.prefix_file, "urlfilter.prefix_file")
        super().__init__(affixes.parse_prefixes(file.lines, file.source))


class SuffixUrlFilter(_RuleFilter):
    """Keeps or drops a URL by what it ends with."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.suffix_file, "urlfilter.suffix_file", "suffix-urlfilter.txt")
        super().__init__(affixes.parse_suffixes(file.lines, file.source))


class ScopeUrlFilter(_RuleFilter):
    """Keeps the URLs of the hosts or domains that a crawl was started with."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.scope_file, "urlfilter.scope_file")
        super().__init__(domain.parse_scope(file.lines, file.source))


class DomainUrlFilter(_RuleFilter):
    """Keeps the URLs of the hosts, domains and suffixes that it lists."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.domain_file, "urlfilter.domain_file")
        super().__init__(domain.parse_domains(file.lines, file.source))


class DomainDenylistUrlFilter(_RuleFilter):
    """Drops the URLs of the hosts, domains and suffixes that it lists."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.domaindenylist_file, "urlfilter.domaindenylist_file")
        super().__init__(domain.parse_domains(file.lines, file.source, keep=False))


class FastUrlFilter(_RuleFilter):
    """Drops URLs by path patterns listed under a host or domain, and by length."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.urlfilter
        file = read_rules(settings.fast_file, "urlfilter.fast_file")
        lengths = fast.LengthLimits(
            settings.fast_url_max_length, settings.fast_url_path_max_length, settings.fast_url_query_max_length
        )
        rules = fast.parse(file.lines, file.source, lengths)
        super().__init__(rules)
        self.warnings = slow_warnings(rules.slow, file.source)


class ValidatorSettings(Struct, frozen=True):
    """What the validator accepts."""

    schemes: Annotated[tuple[str, ...], Setting("Valid schemes.", example='["https"]')] = validator.SCHEMES
    longest: Annotated[int, Setting("Longest valid URL, in characters.", at_least=1)] = validator.LONGEST_URL


class ValidatorUrlFilter(_RuleFilter):
    """Keeps what looks like a URL of the public web."""

    Settings = ValidatorSettings

    def __init__(self, setup: Setup) -> None:
        settings = setup.settings or ValidatorSettings()
        super().__init__(validator.ValidatorRules(settings.schemes, settings.longest))


class IgnoreExemptUrlExemption:
    """Lets a link leave its site if a regex rule keeps its target."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.db.ignore_external_exemptions_file, "db.ignore_external_exemptions_file")
        self._rules = regex.parse(file.lines, file.source)
        self.warnings = slow_warnings(self._rules.slow, file.source)

    def exempts(self, source: Url, target: Url) -> bool:
        return self._rules.keeps(target)

    def explain(self, url: Url) -> str:
        return self._rules.explain(url)
