"""What is wrong with a page of which only a part could be read."""

from __future__ import annotations

from typing import Final

from scoter.core.display import count
from scoter.core.page import Content
from scoter.parse.decoded import Decoded

_HEAD: Final = 1_445
"""Bytes that tell a text from other things (MIME Sniffing standard, 5.2)."""
_BINARY: Final = bytes([*range(9), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)])
_REPLACED: Final = "\ufffd".encode()


def doubt_about(content: Content, source: Decoded, most_links: int = 0, *, markup: bool = True) -> str:
    """Return what is to be said about a page, in a few words each; most often nothing.

    ``most_links`` is how many of its links were read where it has more; ``markup`` is off for plain text.
    """
    utf8 = source.utf8
    said = []
    if content.truncated:
        said.append("truncated")
    if not utf8 or utf8.isspace():
        said.append("empty")
    elif markup and b"<" not in utf8:
        said.append("no markup")
    head = utf8[:_HEAD]
    if len(head.translate(None, _BINARY)) * 50 < len(head) * 49 or b"\0" in head:
        said.append("binary")
    if utf8 is not content.body:
        own = content.body.count(_REPLACED) if source.encoding == "utf-8" else 0
        replaced = utf8.count(_REPLACED) - own
        if replaced > 0:
            said.append(f"not valid {source.encoding}: {count(replaced, 'character')} replaced")
    if most_links:
        said.append(f"too many links: the first {most_links:,} are read")
    return "; ".join(said)
