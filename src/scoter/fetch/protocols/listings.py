"""Folders: the listings of FTP servers read, and folders shown as pages of links for the HTML parser.

FTP has two listings. MLSD (RFC 3659) is for programs and is requested first. LIST is for people and has no
standard; lines in neither the Unix nor the DOS format are skipped.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from msgspec import Struct

from scoter.core.reply import Truncation

MAX_NAMES = 100_000
"""Names of one folder that are read."""

# Without the system's files, so that a name has the same type on every machine.
_TYPES = mimetypes.MimeTypes()
_COMPRESSED = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
    "br": "application/x-brotli",
}
_SAFE = "/~!$&'()*+,;=:@"
_END = b"</ul></body></html>\n"
# -rw-r--r--   1 owner group   1234 Nov 05 07:08 name; some omit the group, and the owner may contain spaces.
_UNIX = re.compile(
    rb"(?P<kind>[-dlbcps])[-rwxsStTlL]{9}[+.@]?\s{1,40}[^\n]{0,200}?"
    rb"\s(?:[A-Z][a-z]{2}\s{1,4}[0-9]{1,2}|[0-9]{4}-[0-9]{2}-[0-9]{2})\s{1,4}(?:[0-9]{1,2}:[0-9]{2}|[0-9]{4})\s(?P<name>[^\n]+)"
)
# 11-05-26  07:08AM  <DIR>  name
_DOS = re.compile(
    rb"[0-9]{2}-[0-9]{2}-[0-9]{2,4}\s{1,8}[0-9]{2}:[0-9]{2}(?:[AP]M)?\s{1,20}(?P<size><[A-Z]{1,12}>|[0-9]{1,20})\s(?:\s{0,12})(?P<name>[^\n]+)"
)
_MAX_LINE = 4_096


class FolderEntry(Struct, frozen=True, order=True):
    """An entry of a folder: its name as bytes, and whether it is a folder itself."""

    name: bytes
    is_folder: bool = False


class LinkPage(Struct, frozen=True):
    """A page of links; ``cut`` if it was truncated."""

    body: bytes
    truncation: Truncation = Truncation.NOT


def link_page(folder: bytes, items: Iterable[FolderEntry], *, parent: bool, limit: int | None) -> LinkPage:
    """Return a page with links to all entries of a folder, whose path ends with a slash; at most ``limit`` bytes.

    >>> page = link_page(b"/a/", [FolderEntry(b"b c.txt"), FolderEntry(b"d", True)], parent=False, limit=None)
    >>> [line for line in page.body.decode().splitlines() if "href" in line]
    ['<li><a href="/a/b%20c.txt">b c.txt</a></li>', '<li><a href="/a/d/">d/</a></li>']
    """
    title = escape(f"Index of {_shown(folder)}")
    head = f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>\n'
    pieces = [head.encode(), f"<body><h1>{title}</h1><ul>\n".encode()]
    if parent and folder.strip(b"/"):
        above = folder.rstrip(b"/").rpartition(b"/")[0] + b"/"
        pieces.append(_link(above, "../"))
    size = sum(map(len, pieces)) + len(_END)
    for item in sorted(items):
        slash = b"/" if item.is_folder else b""
        piece = _link(folder + item.name + slash, _shown(item.name + slash))
        size += len(piece)
        if limit is not None and size > limit:
            return LinkPage(b"".join((*pieces, _END)), Truncation.LENGTH)
        pieces.append(piece)
    return LinkPage(b"".join((*pieces, _END)))


def media_type(name: str) -> str:
    """Return the media type that a file name suggests; that of the compression for a compressed file.

    >>> media_type("a.html"), media_type("b.tar.gz"), media_type("README")
    ('text/html', 'application/gzip', 'application/octet-stream')
    """
    found, packed = _TYPES.guess_type(name.rpartition("/")[2])
    if packed:
        return _COMPRESSED.get(packed, "application/octet-stream")
    return found or "application/octet-stream"


def path_text(path: bytes) -> str:
    """Return a path, escaped for a URL.

    >>> path_text(b"/a b/?")
    '/a%20b/%3F'
    """
    return quote(path, safe=_SAFE)


def _link(path: bytes, text: str) -> bytes:
    return f'<li><a href="{escape(path_text(path))}">{escape(text)}</a></li>\n'.encode()


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")


def read_mlsd(text: bytes) -> list[FolderEntry]:
    """Read an answer to MLSD.

    >>> read_mlsd(b"type=file;size=3; a b.txt\\r\\ntype=cdir; .\\r\\nType=dir; sub\\r\\n")
    [FolderEntry(name=b'a b.txt', is_folder=False), FolderEntry(name=b'sub', is_folder=True)]
    """
    found: list[FolderEntry] = []
    for line in _lines(text):
        facts, space, name = line.partition(b" ")
        kinds = [fact[5:].lower() for fact in facts.split(b";") if fact[:5].lower() == b"type="]
        kind = kinds[0] if kinds else b"file"
        if space and _is_name(name) and kind not in (b"cdir", b"pdir"):
            found.append(FolderEntry(name, kind == b"dir"))
    return found


def read_list(text: bytes) -> list[FolderEntry]:
    """Read an answer to LIST.

    >>> read_list(b"total 4\\r\\ndrwxr-xr-x  2 ftp ftp  4096 Nov 05 07:08 sub\\r\\n11-05-26  07:08AM   12 a.txt\\r\\n")
    [FolderEntry(name=b'sub', is_folder=True), FolderEntry(name=b'a.txt', is_folder=False)]
    """
    found: list[FolderEntry] = []
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
            found.append(FolderEntry(name, is_folder))
    return found


def _lines(text: bytes) -> list[bytes]:
    lines = (line.removesuffix(b"\r") for line in text.split(b"\n", MAX_NAMES)[:MAX_NAMES])
    return [line for line in lines if 0 < len(line) <= _MAX_LINE]


def _is_name(name: bytes) -> bool:
    """Tell whether a name is an entry of the folder itself that can be requested."""
    return name not in (b"", b".", b"..") and b"/" not in name and not any(byte < 32 or byte == 127 for byte in name)
