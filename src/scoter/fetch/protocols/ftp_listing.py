"""What FTP servers say of their folders: MLSD (RFC 3659), and LIST as Unix and DOS print it.

MLSD was made for programs and is asked for first. LIST was made for people and has no standard; a line that looks like
neither of the two usual ones is left out.
"""

from __future__ import annotations

import re

from scoter.fetch.protocols.linkpage import MOST_NAMES, Item

# -rw-r--r--   1 owner group   1234 Nov 05 07:08 name; the group is missing at some, and the owner may have spaces.
_UNIX = re.compile(
    rb"(?P<kind>[-dlbcps])[-rwxsStTlL]{9}[+.@]?\s{1,40}[^\n]{0,200}?"
    rb"\s(?:[A-Z][a-z]{2}\s{1,4}[0-9]{1,2}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s{1,4}(?:[0-9]{1,2}:[0-9]{2}|[0-9]{4})\s(?P<name>[^\n]+)"
)
# 11-05-26  07:08AM  <DIR>  name
_DOS = re.compile(
    rb"[0-9]{2}-[0-9]{2}-[0-9]{2,4}\s{1,8}[0-9]{2}:[0-9]{2}(?:[AP]M)?\s{1,20}(?P<size><[A-Z]{1,12}>|[0-9]{1,20})\s(?:\s{0,12})(?P<name>[^\n]+)"
)
_LONGEST_LINE = 4_096


def read_mlsd(text: bytes) -> list[Item]:
    """Return what an answer to MLSD lists.

    >>> read_mlsd(b"type=file;size=3; a b.txt\\r\\ntype=cdir; .\\r\\nType=dir; sub\\r\\n")
    [Item(name=b'a b.txt', is_folder=False), Item(name=b'sub', is_folder=True)]
    """
    found: list[Item] = []
    for line in _lines(text):
        facts, space, name = line.partition(b" ")
        kinds = [fact[5:].lower() for fact in facts.split(b";") if fact[:5].lower() == b"type="]
        kind = kinds[0] if kinds else b"file"
        if space and _is_name(name) and kind not in (b"cdir", b"pdir"):
            found.append(Item(name, kind == b"dir"))
    return found


def read_list(text: bytes) -> list[Item]:
    """Return what an answer to LIST lists.

    >>> read_list(b"total 4\\r\\ndrwxr-xr-x  2 ftp ftp  4096 Nov 05 07:08 sub\\r\\n11-05-26  07:08AM   12 a.txt\\r\\n")
    [Item(name=b'sub', is_folder=True), Item(name=b'a.txt', is_folder=False)]
    """
    found: list[Item] = []
    for line in _lines(text):
        if (unix := _UNIX.fullmatch(line)) is not None:
            name, is_folder = unix["name"], unix["kind"] == b"d"
            if unix["kind"] == b"l":
                name = name.partition(b" -> ")[0]
            elif unix["kind"] not in b"-d":
                continue  # a device or a pipe
        elif (dos := _DOS.fullmatch(line)) is not None:
            name, is_folder = dos["name"], dos["size"] == b"<DIR>"
        else:
            continue
        if _is_name(name):
            found.append(Item(name, is_folder))
    return found


def _lines(text: bytes) -> list[bytes]:
    lines = (line.removesuffix(b"\r") for line in text.split(b"\n", MOST_NAMES)[:MOST_NAMES])
    return [line for line in lines if 0 < len(line) <= _LONGEST_LINE]


def _is_name(name: bytes) -> bool:
    """Tell whether a name stands for something in the folder itself, and can be asked for."""
    return name not in (b"", b".", b"..") and b"/" not in name and not any(byte < 32 or byte == 127 for byte in name)
