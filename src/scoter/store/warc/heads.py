"""HTTP heads: how they are archived, and how they are read back.

A head is archived as it came, but for what would make it a lie or unreadable beside the body that is archived with it:

- ``Transfer-Encoding`` becomes ``X-Crawler-Transfer-Encoding``, since the body is free of transfer coding;
- a ``Content-Length`` that is not the length of the archived body becomes ``X-Crawler-Content-Length``;
- lines that end in a bare line feed end in CR LF, since readers look for CR LF CR LF.

In a request the values of ``Authorization``, ``Proxy-Authorization`` and ``Cookie`` are removed,
since archives are passed on.
"""

from __future__ import annotations

import re

from scoter.core.reply import Headers

_END = b"\r\n\r\n"
_FRAMING = re.compile(rb"(?im)^(transfer-encoding|content-length)([ \t]*:[ \t]*)([^\r\n]*)")
_SECRET = re.compile(rb"(?im)^(authorization|proxy-authorization|cookie)[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*")
_LINE_END = re.compile(rb"\r?\n")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"\S+[ \t]+([0-9]{3})(?![0-9])")


def archived_response(head: bytes, length: int | None) -> bytes:
    """Return a response's head as it is archived with a body of ``length`` bytes; none leaves Content-Length alone.

    >>> archived_response(b"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n", 5)
    b'HTTP/1.1 200 OK\\r\\nX-Crawler-Transfer-Encoding: chunked\\r\\n\\r\\n'
    """
    whole = _whole(head)
    plain = whole.lower()  # looking for a word is several times quicker than looking for a pattern
    lengths = plain.count(b"\ncontent-length")
    is_right = lengths == 1 and length is not None and b"\ncontent-length: %d\r\n" % length in plain
    if b"\ntransfer-encoding" not in plain and (is_right or not lengths):
        return whole
    fitting = None if length is None else b"%d" % length

    def rename(field: re.Match[bytes]) -> bytes:
        is_length = len(field[1]) == len(b"content-length")
        if is_length and (fitting is None or field[3].rstrip() == fitting):
            return field[0]
        return b"X-Crawler-" + field[0]

    return _FRAMING.sub(rename, whole)


def archived_request(head: bytes) -> bytes:
    """Return a request's head as it is archived: without what opens doors.

    >>> archived_request(b"GET / HTTP/1.1\\r\\nCookie: id=1\\r\\n\\r\\n")
    b'GET / HTTP/1.1\\r\\nCookie: removed\\r\\n\\r\\n'
    """
    whole = _whole(head)
    plain = whole.lower()
    if b"authorization" not in plain and b"\ncookie" not in plain:
        return whole
    return _SECRET.sub(rb"\1: removed\r", whole)


def split_message(block: bytes) -> tuple[bytes, bytes]:
    """Return the head, with its empty line, and the body of an HTTP message."""
    end = _BLANK_LINE.search(block)
    return (block[: end.end()], block[end.end() :]) if end else (block, b"")


def parse_head(head: bytes) -> tuple[int, Headers]:
    """Return the status of a response, or 0, and its fields.

    A folded field is put on one line; a line that is no field is left out.

    >>> parse_head(b"HTTP/1.1 200\\r\\nA: b\\r\\n  c\\r\\n\\r\\n")
    (200, (('A', 'b c'),))
    """
    first, *lines = head.decode("latin-1").split("\n")
    status = _STATUS.match(first.encode("latin-1"))
    fields: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.removesuffix("\r").partition(":")
        if line[:1] in (" ", "\t"):
            if fields and (more := line.strip(" \t\r")):
                fields[-1] = (fields[-1][0], f"{fields[-1][1]} {more}".strip())
        elif colon:
            fields.append((name.rstrip(" \t"), value.strip(" \t")))
    return (int(status[1]) if status else 0), tuple(fields)


def _whole(head: bytes) -> bytes:
    """Return the head as one run of CR LF lines with an empty line at its end and nowhere else."""
    if head.endswith(_END) and head.find(_END) == len(head) - len(_END) and head.count(b"\n") == head.count(b"\r\n"):
        return head
    tidy = _LINE_END.sub(b"\r\n", head).strip(b"\r\n")
    # Provisional responses may have gone before; the last head is the one the body belongs to.
    return tidy.rpartition(_END)[2].lstrip(b"\r\n") + _END
