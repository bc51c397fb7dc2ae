"""Translating Nutch's exchanges.xml: JEXL expressions over documents become expressions of routes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from scoter.core.expr import ExprError, compile_expr
from scoter.index.routes import ROUTE_COLUMNS
from scoter.nutch.settings.xml import XmlElement, read_element

_LONGEST: Final = 10_000
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<name>[A-Za-z_]\w*)|(?P<number>[0-9]+(?:\.[0-9]+)?)
    |(?P<mark>=~|!~|==|!=|<=|>=|&&|\|\||[-+*/()<>!.,])|(?P<end>\Z))""",
    re.VERBOSE | re.ASCII,
)
_WORDS: Final[Mapping[str, str]] = {
    **{word: word for word in ("and", "or", "not", "null", "true", "false")},
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_METHODS: Final[Mapping[str, tuple[int, str]]] = {
    "equals": (1, "({} == {})"),
    "contains": (1, "contains({}, {})"),
    "startsWith": (1, "startswith({}, {})"),
    "endsWith": (1, "endswith({}, {})"),
    "toLowerCase": (0, "lower({})"),
    "length": (0, "length({})"),
    "toString": (0, "{}"),
}
"""Methods of Java's String: the number of arguments, and the translation."""


def read_exchanges(xml: str | bytes, source: str) -> list[XmlElement]:
    """Return the exchanges of a file."""
    return read_element(xml, source, "exchanges", "exchanges.xml").named("exchange")


def route_expression(jexl: str) -> str:
    """Return the expression of a route that selects the same documents; ``ValueError`` says why there is none.

    >>> route_expression("doc.getFieldValue('host')=='example.org' && doc.getFieldValue('tag') =~ 'a.*'")
    'host == \\'example.org\\' && doc["tag"] =~ \\'^(?:a.*)$\\''
    """
    text = " ".join(_JexlReader(jexl).parts())
    try:
        compile_expr(text, ROUTE_COLUMNS)
    except ExprError as error:
        raise ValueError(f"cannot be translated: {error.message}") from None
    return text


class _JexlReader:
    """Translates an expression token by token; what is valid is for the language of routes to say."""

    def __init__(self, jexl: str) -> None:
        if len(jexl) > _LONGEST:
            raise ValueError(f"longer than {_LONGEST:,} characters")
        self._tokens = _tokens(jexl)
        self._at = 0

    def parts(self) -> list[str]:
        found: list[str] = []
        while self._at < len(self._tokens):
            kind, text = self._next()
            if (kind, text) == ("name", "doc"):
                found.append(self._field())
            elif kind == "name" and text not in _WORDS:
                raise ValueError(f"{text} has no counterpart")
            elif text in ("=~", "!~"):
                pattern = self._pattern()
                if text == "!~" and found:
                    found.append(f"not ({found.pop()} =~ {pattern})")
                else:
                    found += ["=~", pattern]
            elif text == ".":
                raise ValueError("methods have no counterpart, except those of a document's field")
            else:
                found.append(_quoted(_unquoted(text)) if kind == "text" else _WORDS.get(text, text))
        return found

    def _field(self) -> str:
        """Translate ``.getFieldValue('name')`` and the methods that are called on it."""
        self._expect(".")
        self._expect("getFieldValue")
        self._expect("(")
        kind, text = self._next()
        if kind != "text":
            raise ValueError("getFieldValue needs the name of a field")
        self._expect(")")
        name = _unquoted(text)
        operand = name if name in ROUTE_COLUMNS and name != "doc" else f'doc["{name}"]'
        while self._is(0, ".") and self._is(2, "("):
            operand = self._method(operand)
        return operand

    def _method(self, operand: str) -> str:
        self._expect(".")
        _, name = self._next()
        self._expect("(")
        if name == "matches":
            translated = f"({operand} =~ {self._pattern()})"
        elif name in _METHODS:
            number, form = _METHODS[name]
            translated = form.format(operand, *(self._literal() for _ in range(number)))
        else:
            raise ValueError(f"the method {name} has no counterpart")
        self._expect(")")
        return translated

    def _literal(self) -> str:
        kind, text = self._next()
        if kind != "text":
            raise ValueError("methods need a string in quotes")
        return _quoted(_unquoted(text))

    def _pattern(self) -> str:
        """Translate a pattern, which must match the whole text in JEXL."""
        kind, text = self._next()
        if kind != "text":
            raise ValueError("a pattern must be a string in quotes")
        return _quoted(f"^(?:{_unquoted(text)})$")

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise ValueError("ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _is(self, ahead: int, text: str) -> bool:
        at = self._at + ahead
        return at < len(self._tokens) and self._tokens[at][1] == text

    def _expect(self, text: str) -> None:
        found = self._next()[1]
        if found != text:
            raise ValueError(f"{found} has no counterpart; only doc.getFieldValue('field') has")


def _tokens(jexl: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while True:
        token = _TOKEN.match(jexl, at)
        if token is None:
            raise ValueError(f"{jexl[at:].strip()[:1]} has no counterpart")
        if token.lastgroup == "end":
            return found
        kind = token.lastgroup or ""
        found.append((kind, token[kind]))
        at = token.end()


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda each: each[1] if each[1] in "'\"\\" else each[0], text[1:-1])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
