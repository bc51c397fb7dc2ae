"""The built-in URL filters: each reads its rule file and asks the rules of ``scoter.core.filters``."""

from __future__ import annotations

from typing import Annotated, Protocol

from msgspec import Struct

from scoter.builtin.rulefiles import read_rules, slow_warnings
from scoter.config import Setting
from scoter.core.filters import domain, fast, prefix, regex, scope, suffix, validator
from scoter.core.url import Url
from scoter.errors import RuleError
from scoter.plugins import Setup


class Rules(Protocol):
    """What every filter's rules can do."""

    def keeps(self, url: Url) -> bool: ...
    def explain(self, url: Url) -> str: ...


class _Ruled:
    """Keeps what its rules keep."""

    warnings: tuple[str, ...] = ()

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def keeps(self, url: Url) -> bool:
        return self._rules.keeps(url)

    def explain(self, url: Url) -> str:
        return self._rules.explain(url)


class RegexUrlFilter(_Ruled):
    """Keeps or drops by the first regular expression that is found in the URL."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.regex_file, "urlfilter.regex_file", "regex-urlfilter.txt")
        rules = regex.parse(file.lines, file.source)
        super().__init__(rules)
        self.warnings = slow_warnings(rules.slow, file.source)


class AutomatonUrlFilter(_Ruled):
    """The regex filter, for those who want only patterns that take linear time."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.regex_file, "urlfilter.regex_file", "regex-urlfilter.txt")
        rules = regex.parse(file.lines, file.source)
        if rules.slow:
            raise RuleError(
                f"the pattern {rules.slow[0].pattern.text} cannot be matched in linear time",
                file=file.source,
                line=rules.slow[0].line,
                hint="Do without look-around, back-references and possessive groups, or use the filter regex.",
            )
        super().__init__(rules)


class PrefixUrlFilter(_Ruled):
    """Keeps the URLs that start with one of its prefixes."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.prefix_file, "urlfilter.prefix_file")
        super().__init__(prefix.parse(file.lines, file.source))


class SuffixUrlFilter(_Ruled):
    """Keeps or drops by what the URL ends with."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.suffix_file, "urlfilter.suffix_file", "suffix-urlfilter.txt")
        super().__init__(suffix.parse(file.lines, file.source))


class ScopeUrlFilter(_Ruled):
    """Keeps the URLs of the hosts or domains that a crawl was started with."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.scope_file, "urlfilter.scope_file")
        super().__init__(scope.parse(file.lines, file.source))


class DomainUrlFilter(_Ruled):
    """Keeps the URLs of the hosts, domains and suffixes that it lists."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.domain_file, "urlfilter.domain_file")
        super().__init__(domain.parse(file.lines, file.source))


class DomainDenylistUrlFilter(_Ruled):
    """Drops the URLs of the hosts, domains and suffixes that it lists."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.urlfilter.domaindenylist_file, "urlfilter.domaindenylist_file")
        super().__init__(domain.parse_denylist(file.lines, file.source))


class FastUrlFilter(_Ruled):
    """Drops by patterns for the path that stand under a host or domain, and by length."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.urlfilter
        file = read_rules(settings.fast_file, "urlfilter.fast_file")
        lengths = fast.Lengths(
            settings.fast_url_max_length, settings.fast_url_path_max_length, settings.fast_url_query_max_length
        )
        rules = fast.parse(file.lines, file.source, lengths)
        super().__init__(rules)
        self.warnings = slow_warnings(rules.slow, file.source)


class ValidatorSettings(Struct, frozen=True):
    """What the validator accepts."""

    schemes: Annotated[tuple[str, ...], Setting("Schemes that are valid.", example='["https"]')] = validator.SCHEMES
    longest: Annotated[int, Setting("Longest valid URL, in characters.", at_least=1)] = validator.LONGEST_URL


class ValidatorUrlFilter(_Ruled):
    """Keeps what is shaped like a URL of the public web."""

    Settings = ValidatorSettings

    def __init__(self, setup: Setup) -> None:
        settings = setup.settings or ValidatorSettings()
        super().__init__(validator.ValidatorRules(settings.schemes, settings.longest))
