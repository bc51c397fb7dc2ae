"""The built-in exemption: links that may leave their site."""

from __future__ import annotations

from scoter.builtin.rulefiles import read_rules, slow_warnings
from scoter.core.filters import exemption
from scoter.core.url import Url
from scoter.plugins import Setup


class IgnoreExemptUrlExemption:
    """Lets a link leave its site when a rule says so of its target."""

    def __init__(self, setup: Setup) -> None:
        file = read_rules(setup.config.db.ignore_external_exemptions_file, "db.ignore_external_exemptions_file")
        self._rules = exemption.parse(file.lines, file.source)
        self.warnings = slow_warnings(self._rules.targets.slow, file.source)

    def exempts(self, source: Url, target: Url) -> bool:
        return self._rules.exempts(source, target)

    def explain(self, url: Url) -> str:
        return self._rules.explain(url)
