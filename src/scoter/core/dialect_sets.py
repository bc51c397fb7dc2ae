"""The character sets that Java's escapes name, as the inside of a class: ``\\d`` is ``0-9``.

They are written out, so that both engines agree on them: ``regex`` would take ``\\d`` for every digit of
Unicode, and RE2 leaves the vertical tab out of ``\\s``.
"""

from __future__ import annotations

from typing import Final

_LAST: Final = 0x10FFFF
_SURROGATES: Final = (0xD800, 0xDFFF)

_RANGES: Final[dict[str, tuple[str, ...]]] = {
    "d": ("09",),
    "w": ("09", "AZ", "__", "az"),
    "s": ("\t\r", "  "),
    "h": (
        "\t\t",
        "  ",
        "\xa0\xa0",
        "\u1680\u1680",
        "\u180e\u180e",
        "\u2000\u200a",
        "\u202f\u202f",
        "\u205f\u205f",
        "\u3000\u3000",
    ),
    "v": ("\n\r", "\x85\x85", "\u2028\u2029"),
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
    "Blank": ("\t\t", "  "),
    "Cntrl": ("\x00\x1f", "\x7f\x7f"),
    "XDigit": ("09", "AF", "af"),
    "Space": ("\t\r", "  "),
}


def escaped_set(letter: str) -> str | None:
    """Return what ``\\d``, ``\\W`` and their like stand for, or nothing for a letter that is no set.

    >>> escaped_set("d"), escaped_set("q")
    ('0-9', None)
    """
    ranges = _RANGES.get(letter.lower())
    return None if ranges is None else _inside(ranges, negated=letter.isupper())


def named_set(name: str, *, negated: bool) -> str:
    """Return what ``\\p{name}`` stands for: ASCII ranges, or the name as both engines spell it.

    >>> named_set("Upper", negated=False), named_set("IsGreek", negated=True)
    ('A-Z', '\\\\P{Greek}')
    """
    if name in _POSIX:
        return _inside(_POSIX[name], negated=negated)
    if name.startswith(("In", "java")) or not name.replace("_", "").isalnum() or not name.isascii():
        raise ValueError(f"names a set of characters that is not understood: \\p{{{name}}}")
    return f"\\{'P' if negated else 'p'}{{{name.removeprefix('Is')}}}"


def _inside(ranges: tuple[str, ...], *, negated: bool) -> str:
    pairs = [(ord(each[0]), ord(each[1])) for each in ranges]
    if negated:
        pairs = _others(pairs)
    return "".join(_shown(low) if low == high else f"{_shown(low)}-{_shown(high)}" for low, high in pairs)


def _others(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return every character outside some ranges; half characters are in no text, hence in no range."""
    found = []
    start = 0
    for low, high in [*sorted([*pairs, _SURROGATES]), (_LAST + 1, _LAST + 1)]:
        if start < low:
            found.append((start, low - 1))
        start = high + 1
    return found


def _shown(code: int) -> str:
    character = chr(code)
    return "\\" + character if character in "\\]^-[&~|" else character
