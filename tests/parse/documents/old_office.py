"""Old Office files made by hand: an OLE container with the streams of Word, Excel and PowerPoint."""

from __future__ import annotations

import struct
from collections.abc import Mapping

_SECTOR = 512
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_SMALLEST = 4_096  # smaller streams would have to be in the mini stream


def container(streams: Mapping[str, bytes]) -> bytes:
    """Return a compound file (MS-CFB, version 3) with these streams."""
    padded = {name: body.ljust(_SMALLEST, b"\0") for name, body in streams.items()}
    sectors: list[bytes] = []
    chain: list[int] = []
    starts = {}

    def add(body: bytes) -> int:
        first = len(sectors)
        count = -(-len(body) // _SECTOR)
        for number in range(count):
            sectors.append(body[number * _SECTOR : (number + 1) * _SECTOR].ljust(_SECTOR, b"\0"))
            chain.append(first + number + 1 if number < count - 1 else _END)
        return first

    for name, body in padded.items():
        starts[name] = add(body)
    names = sorted(padded, key=lambda name: (len(name), name.upper()))  # the order of the directory tree
    entries = [_entry("Root Entry", 5, 1 if names else _FREE, _END, 0)]
    for number, name in enumerate(names):
        right = number + 2 if number + 1 < len(names) else _FREE
        entries.append(_entry(name, 2, _FREE, starts[name], len(padded[name]), right))
    directory = add(b"".join(entries))
    fat = len(sectors)
    table = struct.pack(f"<{fat + 1}I", *chain, _FAT).ljust(_SECTOR, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, 1, directory, 0, _SMALLEST, _END, 0, _END, 0)
    header += struct.pack("<109I", fat, *[_FREE] * 108)
    assert len(header) == len(table) == _SECTOR
    return header + b"".join(sectors) + table


def _entry(name: str, kind: int, child: int, start: int, size: int, right: int = _FREE) -> bytes:
    text = name.encode("utf-16-le")
    head = text.ljust(64, b"\0") + struct.pack("<HBB", len(text) + 2, kind, 1)
    return head + struct.pack("<III", _FREE, right, child) + bytes(36) + struct.pack("<IQ", start, size)


def doc(text: str) -> bytes:
    """Return a Word file (MS-DOC) with one piece of text."""
    body = text.encode("utf-16-le")
    start = 2_048
    plc = struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, start, 0)
    clx = b"\x02" + struct.pack("<I", len(plc)) + plc
    base = struct.pack("<HHHHHHHI", 0xA5EC, 0xC1, 0, 0x409, 0, 0x0200, 0xBF, 0).ljust(32, b"\0")
    words = struct.pack("<H", 14) + bytes(28)
    longs = [0] * 22
    longs[3] = len(text)  # ccpText
    pairs = [0] * 186
    pairs[66], pairs[67] = 64, len(clx)  # fcClx, lcbClx
    fib = base + words + struct.pack("<H22I", 22, *longs) + struct.pack("<H186I", 93, *pairs) + struct.pack("<H", 0)
    return container({"WordDocument": fib.ljust(start, b"\0") + body, "1Table": bytes(64) + clx})


def xls(name: str, cells: Mapping[tuple[int, int], str | float]) -> bytes:
    """Return an Excel file (MS-XLS, BIFF8) with one sheet."""
    texts = [value for value in cells.values() if isinstance(value, str)]
    shared = struct.pack("<II", len(texts), len(texts))
    shared += b"".join(struct.pack("<HB", len(text), 1) + text.encode("utf-16-le") for text in texts)
    bof = struct.pack("<HHHHII", 0x0600, 0x0005, 0x0DBB, 0x07CC, 0, 6)
    title = name.encode("latin-1")

    def globals_with(offset: int) -> bytes:
        sheet = struct.pack("<IBBBB", offset, 0, 0, len(title), 0) + title
        page = struct.pack("<H", 1_200)
        return _biff(0x809, bof) + _biff(0x42, page) + _biff(0x85, sheet) + _biff(0xFC, shared) + _biff(0x0A, b"")

    rows = b""
    for (row, column), value in cells.items():
        if isinstance(value, str):
            rows += _biff(0xFD, struct.pack("<HHHI", row, column, 0, texts.index(value)))
        else:
            rows += _biff(0x203, struct.pack("<HHHd", row, column, 0, value))
    last = struct.pack("<IIHHH", 0, 1 + max(row for row, _ in cells), 0, 1 + max(column for _, column in cells), 0)
    of_sheet = struct.pack("<HHHHII", 0x0600, 0x0010, 0x0DBB, 0x07CC, 0, 6)
    sheet = _biff(0x809, of_sheet) + _biff(0x200, last) + rows + _biff(0x0A, b"")
    return container({"Workbook": globals_with(len(globals_with(0))) + sheet})


def _biff(kind: int, body: bytes) -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def ppt(*slides: str) -> bytes:
    """Return a PowerPoint file (MS-PPT) with a text on each slide."""
    found = b""
    for text in slides:
        atom = _record(0x0FA0, text.encode("utf-16-le"))
        found += _record(0x03EE, _record(0xF00D, atom, container=True), container=True)
    document = _record(0x03E8, b"", container=True)
    user = struct.pack("<IIIHBBIIHH", 20, 0xE391C05F, 0, 8, 3, 0, 0, 0, 0, 0)
    return container({"PowerPoint Document": document + found, "Current User": _record(0x0FF6, user)})


def _record(kind: int, body: bytes, *, container: bool = False) -> bytes:
    return struct.pack("<HHI", 0xF if container else 0, kind, len(body)) + body
