"""Whether a page is only a frame that its scripts would fill: a guess from its bytes, in one pass."""

from __future__ import annotations

LITTLE_TEXT = 200
"""Visible bytes below which a page with scripts is taken to be empty."""

_WINDOW = 1 << 20  # of a page that are looked at: whatever has no text until there has none
_SPACE = b" \t\r\n\f\v"
# What stands in these is not seen, or only by those without scripts.
_UNSEEN = (b"script", b"style", b"noscript", b"template", b"title", b"svg", b"textarea")


def needs_scripts(html: bytes) -> bool:
    """Tell whether a page has scripts and next to no text.

    >>> needs_scripts(b'<title>App</title><div id="root"></div><script src="/app.js"></script>')
    True
    >>> needs_scripts(b"<script>track()</script>" + b"<p>A page with a good deal to say.</p>" * 10)
    False
    """
    text = html[:_WINDOW].lower()
    if b"<script" not in text:
        return False
    seen = place = 0
    while seen < LITTLE_TEXT:
        opening = text.find(b"<", place)
        until = len(text) if opening < 0 else opening
        seen += len(text[place:until].translate(None, _SPACE))
        if opening < 0:
            return seen < LITTLE_TEXT
        place = _behind(text, opening)
    return False


def _behind(text: bytes, opening: int) -> int:
    """Return where the text goes on after a tag, a comment, or an element that is not seen."""
    if text.startswith(b"<!--", opening):
        return _after(text, b"-->", opening + 4)
    end = _after(text, b">", opening)
    for name in _UNSEEN:
        if text.startswith(name, opening + 1) and not text[opening + 1 + len(name) : opening + 2 + len(name)].isalnum():
            return _after(text, b">", _after(text, b"</" + name, end))
    return end


def _after(text: bytes, mark: bytes, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)
