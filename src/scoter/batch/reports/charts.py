"""Bar charts as SVG. Every text is escaped: titles and host names are written by strangers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _ROW, _BAR = 760, 26, 16
_LABEL, _VALUE = 240, 90
_LONGEST_LABEL = 34


def plain(value: object) -> str:
    """Return a value as text that can stand in HTML or SVG, without control characters.

    >>> plain('<b>\\u202e"x\\x00')
    '&lt;b&gt;\\ufffd&quot;x\\ufffd'
    """
    text = str(value)
    shown = text if text.isprintable() else "".join(each if each.isprintable() else "\ufffd" for each in text)
    return escape(shown, quote=True)


def shortened(text: str, most: int) -> str:
    """Return a text, shortened to at most ``most`` characters.

    >>> shortened("abcdef", 4), shortened("abc", 4)
    ('abc…', 'abc')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def bar_chart(title: str, bars: Sequence[tuple[str, float, str]]) -> str:
    """Return horizontal bars: each with its label, its value, and the text that shows the value."""
    longest = max((value for _, value, _ in bars), default=0.0) or 1.0
    room = _WIDTH - _LABEL - _VALUE
    height = _ROW * len(bars) + 4
    frame = f'class="chart" viewBox="0 0 {_WIDTH} {height}" role="img" xmlns="http://www.w3.org/2000/svg"'
    lines = [f'<svg {frame} aria-label="{plain(title)}">']
    for number, (label, value, shown) in enumerate(bars):
        top = number * _ROW + 4
        width = max(1.0, room * max(value, 0.0) / longest)
        middle = top + _BAR - 3
        lines.append(
            f"<g><title>{plain(label)}: {plain(shown)}</title>"
            f'<text class="label" x="{_LABEL - 8}" y="{middle}">{plain(shortened(label, _LONGEST_LABEL))}</text>'
            f'<rect class="bar" x="{_LABEL}" y="{top}" width="{width:.1f}" height="{_BAR}" rx="3"/>'
            f'<text class="value" x="{_LABEL + width + 6:.1f}" y="{middle}">{plain(shown)}</text></g>'
        )
    lines.append("</svg>")
    return "\n".join(lines)
