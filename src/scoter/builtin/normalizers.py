"""The built-in URL normalisers: each reads its rule file, if any, and applies ``scoter.core.normalizers``."""

from __future__ import annotations

from typing import get_args

from scoter.builtin.rulefiles import RuleFile, configured_rules, slow_warnings
from scoter.core.normalizers import by_host, regex, url_pieces
from scoter.plugins import Scope, Setup


class BasicUrlNormalizer:
    """Gives a URL its canonical form, with single slashes in its path and without session identifiers."""

    def __init__(self, setup: Setup) -> None:
        self._trim = setup.config.urlnormalizer.basic_host_trim_trailing_dot
        self._session_ids = not setup.config.urlnormalizer.basic_remove_session_ids

    def normalize(self, text: str, scope: Scope) -> str | None:
        return url_pieces.canonical_text(text, trim_trailing_dot=self._trim, session_ids=self._session_ids)


class RegexUrlNormalizer:
    """Replaces what regular expressions match; each scope may have its own rules."""

    def __init__(self, setup: Setup) -> None:
        self._scopes: dict[str, regex.RegexNormalizerRules] = {}
        self.warnings: tuple[str, ...] = ()
        self._default = self._read(setup, "regex_file", "regex-normalize.xml")
        for scope in get_args(Scope):
            key = f"regex_file_{scope}"
            if getattr(setup.config.urlnormalizer, key, None) is not None:  # the scope default uses regex_file
                self._scopes[scope] = self._read(setup, key)

    def normalize(self, text: str, scope: Scope) -> str | None:
        return self._scopes.get(scope, self._default).normalize(text)

    def explain(self, text: str, scope: Scope) -> str:
        return self._scopes.get(scope, self._default).explain(text)

    def _read(self, setup: Setup, key: str, shipped: str = "") -> regex.RegexNormalizerRules:
        file = configured_rules(setup, f"urlnormalizer.{key}", shipped)
        rules = regex.parse(file.lines, file.source)
        self.warnings += slow_warnings(rules.slow, file.source)
        return rules


class QuerystringUrlNormalizer:
    """Sorts the parameters of the query."""

    def __init__(self, setup: Setup) -> None: ...

    def normalize(self, text: str, scope: Scope) -> str | None:
        return url_pieces.sort_query(text)


class SlashUrlNormalizer:
    """Adds or removes the slash at the end of a path, by host."""

    def __init__(self, setup: Setup) -> None:
        file = configured_rules(setup, "urlnormalizer.slash_file")
        self._rules = by_host.parse_slashes(file.lines, file.source)

    def normalize(self, text: str, scope: Scope) -> str | None:
        return self._rules.normalize(text)


class HostUrlNormalizer:
    """Replaces one host by another."""

    def __init__(self, setup: Setup) -> None:
        file = configured_rules(setup, "urlnormalizer.host_file")
        self._rules = by_host.parse_hosts(file.lines, file.source)

    def normalize(self, text: str, scope: Scope) -> str | None:
        return self._rules.normalize(text)


class ProtocolUrlNormalizer:
    """Gives all URLs of a host one scheme."""

    def __init__(self, setup: Setup) -> None:
        settings = setup.config.urlnormalizer
        file = RuleFile("urlnormalizer.protocols_rules", settings.protocols_rules)
        if not settings.protocols_rules:  # as in Nutch, rules in the configuration win over those in a file
            file = configured_rules(setup, "urlnormalizer.protocols_file")
        self._rules = by_host.parse_protocols(file.lines, file.source)

    def normalize(self, text: str, scope: Scope) -> str | None:
        return self._rules.normalize(text)


class AjaxUrlNormalizer:
    """Turns ``#!state`` into a query parameter, and back for the index."""

    def __init__(self, setup: Setup) -> None: ...

    def normalize(self, text: str, scope: Scope) -> str | None:
        return url_pieces.restore_fragment(text) if scope == "indexer" else url_pieces.escape_fragment(text)


class PassUrlNormalizer:
    """Changes nothing."""

    def __init__(self, setup: Setup) -> None: ...

    def normalize(self, text: str, scope: Scope) -> str | None:
        return text
