"""What a request says of us and of what is known already."""

from __future__ import annotations

from msgspec import Struct

from scoter.core.reply import Headers

_BREAKS = str.maketrans("\r\n\0", "   ")


class Sent(Struct, frozen=True):
    """Header fields that go out: as libcurl takes them, and as they stand in the archive."""

    lines: tuple[str | bytes, ...]
    text: str

    @classmethod
    def of(cls, headers: Headers) -> Sent:
        """Return fields in both forms; libcurl needs a semicolon to send an empty one."""
        fields = [(one_line(name), one_line(value)) for name, value in headers]
        return cls(
            tuple(_line(f"{name}: {value}" if value else f"{name};") for name, value in fields),
            "".join(f"{name}: {value}".rstrip(" ") + "\r\n" for name, value in fields),
        )

    def with_more(self, more: Sent) -> Sent:
        return Sent(self.lines + more.lines, self.text + more.text)


def one_line(text: str) -> str:
    """Return what a field may hold: what a server or a list has given us must not become a field of its own.

    >>> one_line('"v1"\\r\\nX-Other: 1')
    '"v1"  X-Other: 1'
    """
    return text.translate(_BREAKS).strip(" \t")


def _line(text: str) -> str | bytes:
    """Return a field as pycurl takes it: as bytes where it is not ASCII, such as an ETag that a server made."""
    return text if text.isascii() else text.encode("latin-1", errors="replace")
