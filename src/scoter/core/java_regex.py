"""Translate Java's regular expressions for the two engines that Scoter uses: RE2 and ``regex``.

Rule files were written for Nutch, so a pattern means what it means in ``java.util.regex``: ``\\w``, ``\\d`` and ``\\s``
are ASCII, ``(?i)`` applies from its position on, ``a*+`` is possessive, ``\\Q...\\E`` is literal. What the engines do
not support (class intersection, nested classes, comments mode) is rejected with a reason, never reinterpreted. ``$`` is
the very end of the text: a URL has no final line break.

The size of a pattern is counted with repetitions expanded, as both engines compile them:
``(?:(?:a{1000}){1000}){1000}`` is short, but would exhaust the memory.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

LONGEST_PATTERN: Final = 4_096
LARGEST_PATTERN: Final = 5_000  # with repetitions expanded; the worst pattern of this size takes RE2 60 ms
DEEPEST_PATTERN: Final = 60

_META: Final = frozenset("\\.^$*+?()[]{}|")
_META_IN_CLASS: Final = frozenset("\\]^-[&~|")
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_REPEAT = re.compile(r"[*+?]|\{([0-9]{1,6})(,([0-9]{1,6})?)?\}")
_GROUP_NAME = re.compile("<([A-Za-z][A-Za-z0-9]*)>")
_FLAGS = re.compile("([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_SET_NAME = re.compile(r"\{([^}]*)\}|(.)", re.DOTALL)
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})")
_OCTAL = re.compile("0([0-3][0-7]{2}|[0-7]{1,2})")
_PLAIN_GROUPS: Final = ("?:", "?=", "?!", "?<=", "?<!", "?>")


class Translation(Struct, frozen=True):
    """A pattern for each of the two engines, and the groups that a replacement may refer to."""

    linear: str
    backtracking: str
    groups: int
    names: dict[str, int]


def translate(text: str) -> Translation:
    """Translate a Java pattern for RE2 and ``regex``, or raise ``ValueError`` with a predicate ("has an unmatched )").

    >>> translate(r"\\p{Alpha}\\Q.\\E$").linear, translate(r"\\p{Alpha}\\Q.\\E$").backtracking
    ('[A-Za-z]\\\\.$', '[A-Za-z]\\\\.\\\\Z')
    """
    if len(text) > LONGEST_PATTERN:
        raise ValueError(f"is longer than {LONGEST_PATTERN:,} characters")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("contains a lone surrogate")
    reader = _PatternReader(text)
    reader.alternatives(0)
    if reader.at < len(text):
        raise ValueError("has an unmatched )")
    return Translation("".join(reader.linear), "".join(reader.backtracking), reader.groups, reader.names)


class _PatternReader:
    """Reads a pattern once and writes both translations."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}
        self.multiline = False
        self.linear: list[str] = []
        self.backtracking: list[str] = []

    def alternatives(self, depth: int) -> int:
        """Read up to the closing parenthesis or the end, and return the size."""
        if depth > DEEPEST_PATTERN:
            raise ValueError(f"nests groups more than {DEEPEST_PATTERN} levels deep")
        size = 1
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self._take("|"):
                self._write("|")
                continue
            size += self._repeated(self._atom(depth))
            if size > LARGEST_PATTERN:
                raise ValueError(f"is too large: over {LARGEST_PATTERN:,} steps with its repetitions expanded")
        return size

    def _write(self, linear: str, backtracking: str | None = None) -> None:
        self.linear.append(linear)
        self.backtracking.append(linear if backtracking is None else backtracking)

    def _take(self, token: str) -> bool:
        found = self.text.startswith(token, self.at)
        self.at += len(token) if found else 0
        return found

    def _next(self, missing: str) -> str:
        if self.at >= len(self.text):
            raise ValueError(missing)
        self.at += 1
        return self.text[self.at - 1]

    def _atom(self, depth: int) -> int:
        character = self._next("ends too early")
        match character:
            case "(":
                return self._group(depth)
            case "[":
                self._class()
            case "\\":
                return self._escape()
            case "$":
                self._write("$", "$" if self.multiline else r"\Z")
            case "." | "^":
                self._write(character)
            case "*" | "+" | "?" | "{":
                raise ValueError(f"has a {character} with nothing to repeat (write \\{character} for the character)")
            case _:
                self._write(_literal(character))
        return 1

    def _repeated(self, size: int) -> int:
        found = _REPEAT.match(self.text, self.at)
        if found is None:
            if self.text.startswith("{", self.at):
                raise ValueError(
                    r"has a { that starts no repetition such as {2}, {2,} or {2,5} (write \{ for the character)"
                )
            return size
        most = 1
        if found[1] is not None:
            most = int(found[3] or found[1]) + (1 if found[2] == "," else 0)
            if most < int(found[1]):
                raise ValueError(f"has the repetition {found[0]}, whose maximum is less than its minimum")
        self.at = found.end()
        self._write(found[0] + ("?" if self._take("?") else "+" if self._take("+") else ""))
        return size * max(most, 1)

    def _group(self, depth: int) -> int:
        multiline = self.multiline
        if not self._opened():
            return 1
        size = self.alternatives(depth + 1)
        self.multiline = multiline
        if not self._take(")"):
            raise ValueError("has an unmatched (")
        self._write(")")
        return size

    def _opened(self) -> bool:
        """Read what follows an opening parenthesis; false for ``(?i)``, which opens nothing."""
        if not self.text.startswith("?", self.at):
            self.groups += 1
            self._write("(")
            return True
        for kind in _PLAIN_GROUPS:
            if self._take(kind):
                self._write("(" + kind)
                return True
        name = _GROUP_NAME.match(self.text, self.at + 1)
        if name is None:
            return self._flags()
        self.groups += 1
        if self.names.setdefault(name[1], self.groups) != self.groups:
            raise ValueError(f"has two groups named {name[1]}")
        self.at = name.end()
        self._write(f"(?P<{name[1]}>")
        return True

    def _flags(self) -> bool:
        found = _FLAGS.match(self.text, self.at + 1)
        if found is None:
            raise ValueError(f"has an unsupported group: ({self.text[self.at : self.at + 4]}")
        unknown = sorted(set(found[1] + (found[2] or "")) - set("imsu"))
        if unknown:
            raise ValueError(f"sets the flag {unknown[0]!r}; only i, m, s and u are supported")
        # In Java, u extends (?i) beyond ASCII. Canonical URLs are ASCII, so it changes nothing.
        on, off = found[1].replace("u", ""), (found[2] or "").replace("u", "")
        self.at = found.end()
        self.multiline = ("m" in on or self.multiline) and "m" not in off
        flags = on + ("-" + off if off else "")
        if flags or found[3] == ":":
            self._write(f"(?{flags}{found[3]}")
        return found[3] == ":"

    def _escape(self) -> int:
        character = self._next("ends with a backslash")
        if character == "Q":
            return self._quoted()
        if character in "123456789":
            self._back_reference(character)
        elif character == "k":
            name = _GROUP_NAME.match(self.text, self.at)
            if name is None or name[1] not in self.names:
                raise ValueError(r"refers with \k to an undefined group")
            self.at = name.end()
            self._write(rf"\k<{name[1]}>", f"(?P={name[1]})")
        elif character in "bBA":
            self._write("\\" + character)
        elif character in "zZ":
            self._write(r"\z", r"\Z")
        elif (inside := self._set(character)) is not None:
            self._write(f"[{inside}]")
        else:
            self._write(_literal(self._character(character)))
        return 1

    def _quoted(self) -> int:
        end = self.text.find(r"\E", self.at)
        words = self.text[self.at : end if end >= 0 else None]
        self.at += len(words) + (2 if end >= 0 else 0)
        self._write("".join(map(_literal, words)))
        return max(len(words), 1)

    def _back_reference(self, digits: str) -> None:
        following = self.text[self.at : self.at + 1]
        while following and following in "0123456789" and int(digits + following) <= self.groups:
            digits += following
            self.at += 1
            following = self.text[self.at : self.at + 1]
        if int(digits) > self.groups:
            raise ValueError(f"refers to group {digits}, which is not defined before it")
        # RE2 has no back-references and rejects \k. It would read \1 before another digit as an octal number.
        self._write(rf"\k<{digits}>", rf"\g<{digits}>")

    def _set(self, character: str) -> str | None:
        if character not in "pP":
            return escaped_set(character)
        found = _SET_NAME.match(self.text, self.at)
        if found is None:
            raise ValueError(f"has a \\{character} without a name")
        self.at = found.end()
        return named_set(found[1] or found[2] or "", negated=character == "P")

    def _character(self, character: str) -> str:
        """Return the character that an escape denotes."""
        if found := _HEX.match(self.text, self.at - 1) or _OCTAL.match(self.text, self.at - 1):
            self.at = found.end()
            digits = next(group for group in found.groups() if group)
            code = int(digits, 8 if character == "0" else 16)
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise ValueError(f"has the invalid character code \\{found[0]}")
            return chr(code)
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character.isascii() and character.isalnum():
            raise ValueError(f"has the unknown escape \\{character}")
        return character

    def _class(self) -> None:
        self._write("[^" if self._take("^") else "[")
        self._member()  # the first may be a bracket: []a] has two members
        while not self._take("]"):
            self._member()
        self._write("]")

    def _member(self) -> None:
        low, is_set = self._class_character()
        if is_set or not self.text.startswith("-", self.at) or self.text.startswith("-]", self.at):
            self._write(low if is_set else _literal(low, _META_IN_CLASS))
            return
        self.at += 1
        high, is_set = self._class_character()
        if is_set or high < low:
            raise ValueError(r"has a range in [...] that is reversed or ends in a set (write \- for the character)")
        self._write(f"{_literal(low, _META_IN_CLASS)}-{_literal(high, _META_IN_CLASS)}")

    def _class_character(self) -> tuple[str, bool]:
        """Return a character and false, or the inside of a set and true."""
        if self.text.startswith(("[", "&&"), self.at):
            raise ValueError(r"has a nested class or &&, which are not supported (write \[ or \& for the character)")
        character = self._next("has an unmatched [")
        if character != "\\":
            return character, False
        character = self._next("ends with a backslash")
        inside = self._set(character)
        return (inside, True) if inside is not None else (self._character(character), False)


def _literal(character: str, meta: frozenset[str] = _META) -> str:
    return "\\" + character if character in meta else character


_LAST: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)

# Single characters, or the first and the last of a range.
_RANGES: Final[dict[str, tuple[str, ...]]] = {
    "d": ("09",),
    "w": ("09", "AZ", "_", "az"),
    "s": ("\t\r", " "),
    "h": ("\t", " ", "\xa0", "\u1680", "\u180e", "\u2000\u200a", "\u202f", "\u205f", "\u3000"),
    "v": ("\n\r", "\x85", "\u2028\u2029"),
}
# java.util.regex.Pattern calls these the POSIX classes; they are ASCII only.
_POSIX: Final[dict[str, tuple[str, ...]]] = {
    "Lower": ("az",),
    "Upper": ("AZ",),
    "ASCII": ("\x00\x7f",),
    "Alpha": ("AZ", "az"),
    "Digit": ("09",),
    "Alnum": ("09", "AZ", "az"),
    "Punct": ("!/", ":@", "[`", "{~"),
    "Graph": ("!~",),
    "Print": (" ~",),
    "Blank": ("\t", " "),
    "Cntrl": ("\x00\x1f", "\x7f"),
    "XDigit": ("09", "AF", "af"),
    "Space": ("\t\r", " "),
}


def escaped_set(letter: str) -> str | None:
    """Return the ranges that ``\\d``, ``\\W`` and similar escapes denote, or `None` for other letters.

    >>> escaped_set("d"), escaped_set("q")
    ('0-9', None)
    """
    ranges = _RANGES.get(letter.lower())
    return None if ranges is None else _inside(ranges, negated=letter.isupper())


def named_set(name: str, *, negated: bool) -> str:
    """Return what ``\\p{name}`` denotes: ASCII ranges, or the name as both engines spell it.

    >>> named_set("Upper", negated=False), named_set("IsGreek", negated=True)
    ('A-Z', '\\\\P{Greek}')
    """
    if name in _POSIX:
        return _inside(_POSIX[name], negated=negated)
    if name.startswith(("In", "java")) or not name.replace("_", "").isalnum() or not name.isascii():
        raise ValueError(f"uses the unsupported character set \\p{{{name}}}")
    return f"\\{'P' if negated else 'p'}{{{name.removeprefix('Is')}}}"


def _inside(ranges: tuple[str, ...], *, negated: bool) -> str:
    pairs = [(ord(each[0]), ord(each[-1])) for each in ranges]
    if negated:
        pairs = _others(pairs)
    return "".join("-".join(_literal(chr(end), _META_IN_CLASS) for end in sorted(set(pair))) for pair in pairs)


def _others(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the complement of some ranges, without surrogates, which no text contains."""
    found = []
    start = 0
    for low, high in [*sorted([*pairs, _SURROGATES]), (_LAST + 1, _LAST + 1)]:
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    return found
