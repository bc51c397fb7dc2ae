"""The regex normaliser: replaces everything that a pattern matches.

    <regex-normalize>
      <regex>
        <pattern>(?i)[?&amp;]sid=[^&amp;]*</pattern>
        <substitution></substitution>
      </regex>
    </regex-normalize>

The rules are applied in order. ``$1`` and ``${name}`` in a substitution stand for groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.parsers import expat

from msgspec import Struct

from scoter.core.pattern import Pattern, Replacement, compile_replacement
from scoter.core.rule_lines import RuleLine, shown
from scoter.errors import RuleError

_PARENT = {"regex-normalize": "", "regex": "regex-normalize", "pattern": "regex", "substitution": "regex"}


class SubstitutionRule(Struct, frozen=True):
    """A pattern, its replacement, and its line number."""

    line: int
    pattern: Pattern
    replacement: Replacement

    def __str__(self) -> str:
        return f"line {self.line}: {self.pattern.text}"


class RegexNormalizerRules(Struct, frozen=True):
    """The rules of one file, in order."""

    rules: tuple[SubstitutionRule, ...]

    def normalize(self, text: str) -> str | None:
        """Apply every rule; ``None`` if one is too slow or makes the URL too long."""
        found: str | None = text
        for rule in self.rules:
            if found is None:
                return None
            found = rule.pattern.replaced(found, rule.replacement)
        return found

    def explain(self, text: str) -> str:
        """Say at which rule normalising gave up."""
        for rule in self.rules:
            found = rule.pattern.replaced(text, rule.replacement)
            if found is None:
                return f"{rule} (gave up: the pattern is too slow on this URL, or makes it too long)"
            text = found
        return "all rules applied"

    @property
    def slow(self) -> tuple[SubstitutionRule, ...]:
        """The rules whose patterns backtrack."""
        return tuple(rule for rule in self.rules if not rule.pattern.linear)


def parse(lines: Iterable[str], source: str) -> RegexNormalizerRules:
    """Read a rule file.

    >>> rule = "<regex><pattern>/+$</pattern><substitution>/</substitution></regex>"
    >>> parse([f"<regex-normalize>{rule}</regex-normalize>"], "rules.xml").normalize("http://a.example/b///")
    'http://a.example/b/'
    """
    reader = _RegexXmlReader(source)
    reader.read("\n".join(line.rstrip("\r\n") for line in lines))
    return RegexNormalizerRules(tuple(reader.rules))


class _RegexXmlReader:
    """Turns the events of the XML parser into rules."""

    def __init__(self, source: str) -> None:
        self.rules: list[SubstitutionRule] = []
        self._source = source
        self._open = [""]
        self._texts: dict[str, str] = {}
        self._line = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, text: str) -> None:
        try:
            self._parser.Parse(text.encode("utf-8", "replace"), True)
        except expat.ExpatError as error:
            raise RuleError(
                f"not well-formed XML: {expat.ErrorString(error.code)}", file=self._source, line=error.lineno
            ) from error

    def _error(self, message: str, line: int = 0) -> RuleError:
        return RuleError(message, file=self._source, line=line or self._parser.CurrentLineNumber)

    def _doctype(self, name: str, *_: object) -> None:
        # A document type may define entities, a few lines of which expand to gigabytes.
        raise self._error(f"a rule file may have no document type ({shown(name)})")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if _PARENT.get(name) != self._open[-1]:
            parent = f"<{self._open[-1]}>" if self._open[-1] else "the file"
            raise self._error(f"<{name[:100]}> is not allowed in {parent}")
        if name in self._texts:
            raise self._error(f"a second <{name}> in one <regex>")
        self._open.append(name)
        if _PARENT[name] == "regex":
            self._texts[name] = ""
        if name == "pattern":
            self._line = self._parser.CurrentLineNumber

    def _characters(self, text: str) -> None:
        if self._open[-1] in self._texts:
            self._texts[self._open[-1]] += text
        elif text.strip():
            raise self._error(f"text outside <pattern> and <substitution>: {shown(text.strip())}")

    def _end(self, name: str) -> None:
        self._open.pop()
        if name != "regex":
            return
        texts, self._texts = self._texts, {}
        if not texts.get("pattern"):
            raise self._error("a <regex> without a <pattern>")
        self.rules.append(self._rule(texts["pattern"], texts.get("substitution", "")))

    def _rule(self, text: str, substitution: str) -> SubstitutionRule:
        pattern = RuleLine(text, self._source, self._line).pattern(text)
        try:
            replacement = compile_replacement(substitution, pattern)
        except ValueError as error:
            raise self._error(f"the substitution {shown(substitution)} {error}", self._line) from error
        return SubstitutionRule(self._line, pattern, replacement)
