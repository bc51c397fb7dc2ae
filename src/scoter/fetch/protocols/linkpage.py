"""A folder as a page of links: how the protocols that have folders show them to a parser."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from html import escape
from urllib.parse import quote

from msgspec import Struct

from scoter.core.reply import Truncation

MOST_NAMES = 100_000
"""Names of one folder that are looked at."""

# Of its own, without the system's files: the same name has the same type on every machine.
_TYPES = mimetypes.MimeTypes()
_PACKED = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
    "br": "application/x-brotli",
}
_SAFE = "/~!$&'()*+,;=:@"
_END = b"</ul></body></html>\n"


class Item(Struct, frozen=True, order=True):
    """What stands in a folder: its name, in the bytes it has there, and whether it is a folder itself."""

    name: bytes
    is_folder: bool = False


class LinkPage(Struct, frozen=True):
    """A page of links; ``cut`` when not everything found room."""

    body: bytes
    truncation: Truncation = Truncation.NOT


def link_page(folder: bytes, items: Iterable[Item], *, parent: bool, limit: int | None) -> LinkPage:
    """Return a page that links to everything in a folder, whose path ends with a slash; at most ``limit`` bytes.

    >>> page = link_page(b"/a/", [Item(b"b c.txt"), Item(b"d", True)], parent=False, limit=None)
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
    """Return the media type that a file's name promises; a packed file is what it is packed by.

    >>> media_type("a.html"), media_type("b.tar.gz"), media_type("README")
    ('text/html', 'application/gzip', 'application/octet-stream')
    """
    found, packed = _TYPES.guess_type(name.rpartition("/")[2])
    if packed:
        return _PACKED.get(packed, "application/octet-stream")
    return found or "application/octet-stream"


def path_text(path: bytes) -> str:
    """Return a path as a URL has it.

    >>> path_text(b"/a b/?")
    '/a%20b/%3F'
    """
    return quote(path, safe=_SAFE)


def _link(path: bytes, text: str) -> bytes:
    return f'<li><a href="{escape(path_text(path))}">{escape(text)}</a></li>\n'.encode()


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")
