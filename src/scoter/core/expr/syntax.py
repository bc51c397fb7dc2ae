"""Parse the text of an expression into a tree with the position of every part, for error messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from scoter.errors import UserError

LONGEST = 10_000
DEEPEST = 50
MOST_PARTS = 400


class ExprError(UserError):
    """An invalid expression; the message shows the expression and points at the mistake."""

    def __init__(self, message: str, text: str, at: int, hint: str = "") -> None:
        self.at = at
        start = max(0, at - 60)
        line = text[start : at + 40].replace("\n", " ")
        shown = f"  {line}\n  {' ' * (at - start)}^"
        super().__init__(message, where="expression", hint=f"{shown}\n{hint}" if hint else shown)


class Literal(Struct, frozen=True):
    """A number, string, duration (with the seconds of its unit), true, false, null or now."""

    value: float | int | str | bool | None
    at: int
    unit: int = 0
    is_now: bool = False


class Name(Struct, frozen=True):
    """A column, or an entry of the metadata."""

    name: str
    at: int
    entry: str | None = None


class Unary(Struct, frozen=True):
    """``not x`` or ``-x``."""

    sign: str
    inner: Node
    at: int


class Binary(Struct, frozen=True):
    """A binary operation."""

    sign: str
    left: Node
    right: Node
    at: int


class OneOf(Struct, frozen=True):
    """``x in [a, b]``."""

    inner: Node
    choices: tuple[Literal, ...]
    at: int


class FunctionCall(Struct, frozen=True):
    """A function and its arguments."""

    name: str
    arguments: tuple[Node, ...]
    at: int


Node: TypeAlias = Literal | Name | Unary | Binary | OneOf | FunctionCall

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<moment>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)
    | (?P<duration>[0-9]+(?:\.[0-9]+)?(?:[smhdw])\b)
    | (?P<number>[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+)
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<sign>\|\||&&|==|!=|=~|<=|>=|[-<>+*/!()\[\],.])
    )""",
    re.VERBOSE,
)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_WORDS = {"or": "or", "and": "and", "not": "not", "||": "or", "&&": "and", "!": "not"}
_CONSTANTS = {"true": True, "false": False, "null": None}
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "=~", "in"})


class Token(Struct, frozen=True):
    """A token of the text."""

    kind: str
    text: str
    at: int


def parse(text: str) -> Node:
    """Parse an expression."""
    if len(text) > LONGEST:
        raise ExprError(f"longer than {LONGEST:,} characters", text, LONGEST)
    for at, each in enumerate(text):
        if "\ud800" <= each <= "\udfff":
            raise ExprError("contains bytes that are not UTF-8", text, at)
    return _ExpressionParser(text, _tokens(text)).whole()


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise ExprError(f"unexpected character {text[start : start + 1]!r}", text, start)
        kind = match.lastgroup or ""
        word = match[kind]
        if kind == "moment":  # Nutch writes times without quotes
            found.append(Token("text", f"'{word}'", match.start(kind)))
            at = match.end()
            continue
        sign = _WORDS.get(word) if kind in ("name", "sign") else None
        found.append(Token("sign" if sign or word == "in" else kind, sign or word, match.start(kind)))
        at = match.end()
        if len(found) > MOST_PARTS:
            raise ExprError(f"more than {MOST_PARTS} tokens", text, at)
    return [*found, Token("end", "", len(text))]


class _ExpressionParser:
    """Parses tokens by precedence: or, and, not, comparison, + -, * /, minus, everything else."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._either()
        if self._peek().kind != "end":
            raise self._unexpected("an operator or the end")
        return node

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self, *signs: str) -> Token | None:
        token = self._peek()
        if token.kind == "sign" and token.text in signs:
            self._next += 1
            return token
        return None

    def _need(self, sign: str) -> Token:
        token = self._take(sign)
        if token is None:
            raise self._unexpected(repr(sign))
        return token

    def _either(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ExprError(f"nested deeper than {DEEPEST} levels", self._text, self._peek().at)
        node = self._chained(self._both, "or")
        self._depth -= 1
        return node

    def _both(self) -> Node:
        return self._chained(self._negated, "and")

    def _chained(self, operand: Callable[[], Node], *signs: str) -> Node:
        """Parse operands with binary operators between them, from left to right."""
        node = operand()
        while sign := self._take(*signs):
            node = Binary(sign.text, node, operand(), sign.at)
        return node

    def _prefixes(self, sign: str) -> list[Token]:
        """Take the operators before an operand and return them, the innermost first."""
        found: list[Token] = []
        while token := self._take(sign):
            found.insert(0, token)
        return found

    def _negated(self) -> Node:
        signs = self._prefixes("not")
        node = self._compared()
        for sign in signs:
            node = Unary("not", node, sign.at)
        return node

    def _compared(self) -> Node:
        left = self._sum()
        sign = self._take(*_COMPARISONS)
        if sign is None:
            return left
        if sign.text == "in":
            return OneOf(left, self._choices(), sign.at)
        node = Binary(sign.text, left, self._sum(), sign.at)
        if self._peek().kind == "sign" and self._peek().text in _COMPARISONS:
            raise ExprError("comparisons cannot be chained", self._text, self._peek().at, "Join them with `and`.")
        return node

    def _choices(self) -> tuple[Literal, ...]:
        self._need("[")
        found: list[Literal] = []
        while True:
            item = self._signed()
            if not isinstance(item, Literal):
                raise ExprError("a list may contain only constants", self._text, self._peek().at)
            found.append(item)
            if self._take(",") is None:
                break
        self._need("]")
        return tuple(found)

    def _sum(self) -> Node:
        return self._chained(self._product, "+", "-")

    def _product(self) -> Node:
        return self._chained(self._signed, "*", "/")

    def _signed(self) -> Node:
        signs = self._prefixes("-")
        node = self._single()
        for sign in signs:
            if isinstance(node, Literal) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
                node = Literal(-node.value, sign.at, node.unit)
            else:
                node = Unary("-", node, sign.at)
        return node

    def _single(self) -> Node:
        token = self._peek()
        self._next += 1
        match token.kind:
            case "number":
                # Beyond 15 digits a double, which is what the engines compute with.
                is_whole = token.text.isdigit() and len(token.text) <= 15
                return Literal(int(token.text) if is_whole else float(token.text), token.at)
            case "duration":
                unit = _SECONDS[token.text[-1]]
                return Literal(float(token.text[:-1]) * unit, token.at, unit)
            case "text":
                return Literal(_unquoted(token.text), token.at)
            case "name":
                return self._named(token)
            case "sign" if token.text == "(":
                node = self._either()
                self._need(")")
                return node
        self._next -= 1
        raise self._unexpected("a column, a value or a parenthesis")

    def _named(self, token: Token) -> Node:
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text], token.at)
        if token.text == "now":
            return Literal(None, token.at, is_now=True)
        if self._take("("):
            arguments: list[Node] = []
            while not self._take(")"):
                if arguments:
                    self._need(",")
                arguments.append(self._either())
            return FunctionCall(token.text, tuple(arguments), token.at)
        if self._take("."):
            entry = self._peek()
            if entry.kind not in ("name", "sign") or not entry.text.isidentifier():
                raise self._unexpected("the name of a metadata entry")
            self._next += 1
            return Name(token.text, token.at, entry.text)
        if self._take("["):
            entry = self._peek()
            if entry.kind != "text":
                raise self._unexpected("the name of a metadata entry, as a string")
            self._next += 1
            self._need("]")
            return Name(token.text, token.at, _unquoted(entry.text))
        return Name(token.text, token.at)

    def _unexpected(self, wanted: str) -> ExprError:
        token = self._peek()
        found = "the end" if token.kind == "end" else repr(token.text)
        return ExprError(f"expected {wanted}, not {found}", self._text, token.at)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
