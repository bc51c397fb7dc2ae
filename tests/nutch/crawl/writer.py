"""Writes SequenceFiles and Nutch's records from the description of their formats, independently of what reads them."""

from __future__ import annotations

import bz2
import gzip
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

SYNC = bytes(range(100, 116))
ESCAPE = struct.pack(">i", -1)
Pair = tuple[bytes, bytes]


def vint(number: int) -> bytes:
    if -112 <= number <= 127:
        return struct.pack("b", number)
    positive = number if number >= 0 else ~number
    size = (positive.bit_length() + 7) // 8
    return struct.pack("b", (-112 if number >= 0 else -120) - size) + positive.to_bytes(size)


def text(value: str) -> bytes:
    return vint(len(value.encode())) + value.encode()


def string(value: str) -> bytes:
    return struct.pack(">i", len(value.encode())) + value.encode()


def framed(data: bytes, codec: str) -> bytes:
    half = len(data) // 2
    chunks = [pa.compress(each, codec=codec, asbytes=True) for each in (data[:half], data[half:]) if each]
    return struct.pack(">i", len(data)) + b"".join(struct.pack(">i", len(each)) + each for each in chunks)


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "DefaultCodec": zlib.compress,
    "GzipCodec": lambda data: gzip.compress(data, mtime=0),
    "BZip2Codec": bz2.compress,
    "SnappyCodec": lambda data: framed(data, "snappy"),
    "Lz4Codec": lambda data: framed(data, "lz4_raw"),
    "ZStandardCodec": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def header(value: str, kind: str, codec: str, version: int = 6) -> bytes:
    found = b"SEQ" + bytes([version]) + text("org.apache.hadoop.io.Text") + text(value)
    found += bytes([kind != "none", kind == "block"])
    if kind != "none" and version >= 5:
        found += text(f"org.apache.hadoop.io.compress.{codec}")
    if version >= 6:
        found += struct.pack(">i", 1) + text("made by") + text("a test")
    return found + SYNC


def sequence_file(
    pairs: Sequence[Pair],
    kind: str = "none",
    codec: str = "DefaultCodec",
    *,
    value: str = "org.apache.nutch.crawl.CrawlDatum",
    version: int = 6,
    every: int = 4,
) -> tuple[bytes, list[tuple[int, int]]]:
    """Return a file with a sync marker before every so many records, and the range of bytes of each such block."""
    data = header(value, kind, codec, version)
    blocks = []
    for start in range(0, len(pairs), every):
        some = pairs[start : start + every]
        block = ESCAPE + SYNC if kind == "block" or start else b""
        block += (
            _block(some, CODECS[codec]) if kind == "block" else b"".join(_record(*each, kind, codec) for each in some)
        )
        blocks.append((len(data), len(data) + len(block)))
        data += block
    return data, blocks


def _record(key: bytes, value: bytes, kind: str, codec: str) -> bytes:
    stored = CODECS[codec](value) if kind == "record" else value
    return struct.pack(">ii", len(key) + len(stored), len(key)) + key + stored


def _block(pairs: Sequence[Pair], compress: Callable[[bytes], bytes]) -> bytes:
    buffers = (
        b"".join(vint(len(key)) for key, _ in pairs),
        b"".join(key for key, _ in pairs),
        b"".join(vint(len(value)) for _, value in pairs),
        b"".join(value for _, value in pairs),
    )
    return vint(len(pairs)) + b"".join(vint(len(each)) + each for each in map(compress, buffers))


def write_map_file(folder: Path, pairs: Iterable[Pair], kind: str = "block", codec: str = "DefaultCodec") -> Path:
    """Write the data of a MapFile, sorted by key, and return its path."""
    folder.mkdir(parents=True)
    file = folder / "data"
    file.write_bytes(sequence_file(sorted(pairs), kind, codec)[0])
    return file


# Nutch's records


def map_writable(entries: Mapping[str, tuple[int, bytes]], classes: Mapping[int, str] | None = None) -> bytes:
    """Return a map of texts to values, each with the number of its class and its bytes."""
    names = classes or {}
    found = struct.pack("b", len(names))
    for number, name in names.items():
        found += struct.pack("b", number) + struct.pack(">h", len(name)) + name.encode()
    found += struct.pack(">i", len(entries))
    for key, (number, value) in entries.items():
        found += struct.pack("b", -116) + text(key) + struct.pack("b", number) + value
    return found


def metadata(values: Mapping[str, Sequence[str]]) -> bytes:
    found = struct.pack(">i", len(values))
    for name, each in values.items():
        found += text(name) + struct.pack(">i", len(each)) + b"".join(map(text, each))
    return found


def protocol_status(code: int, *args: str) -> bytes:
    return struct.pack(">bbqi", 2, code, 0, len(args)) + b"".join(map(string, args))


def datum(
    status: int,
    *,
    version: int = 7,
    fetch_time: int = 1_794_700_800_000,
    retries: int = 0,
    interval: int = 2_592_000,
    score: float = 1.0,
    modified: int = 0,
    signature: bytes = b"",
    more: bytes = b"",
) -> bytes:
    found = struct.pack(">bbqb", version, status, fetch_time, retries)
    found += struct.pack(">i", interval) if version > 5 else struct.pack(">f", interval)
    found += struct.pack(">f", score)
    if version > 2:
        found += struct.pack(">qb", modified, len(signature)) + signature
    if version > 3:
        found += bytes([bool(more)]) + more
    return found


def content(url: str, body: bytes, headers: Mapping[str, Sequence[str]], *, version: int = -1) -> bytes:
    fields = text(url) + text(url) + struct.pack(">i", len(body)) + body + text("text/html") + metadata(headers)
    if version == -1:
        return struct.pack(">i", -1) + fields
    packed = zlib.compress(bytes([version]) + fields)
    return struct.pack(">i", len(packed)) + packed


def parse_data(
    title: str,
    links: Sequence[tuple[str, str]] = (),
    *,
    status: tuple[int, int] = (1, 0),
    message: Sequence[str] = (),
    headers: Mapping[str, Sequence[str]] | None = None,
    about: Mapping[str, Sequence[str]] | None = None,
    flags: bool = True,
) -> bytes:
    found = bytes([5]) + struct.pack(">bbh", 2, *status) + struct.pack(">i", len(message))
    found += b"".join(map(string, message)) + text(title) + struct.pack(">i", len(links))
    for target, anchor in links:
        found += text(target) + text(anchor) + (b"\0" if flags else b"")
    return found + metadata(headers or {}) + metadata(about or {})


def parse_text(value: str) -> bytes:
    return b"\2" + text(value)


def inlinks(links: Sequence[tuple[str, str]]) -> bytes:
    return struct.pack(">i", len(links)) + b"".join(text(source) + text(anchor) for source, anchor in links)


def host(homepage: str, counts: Sequence[int]) -> bytes:
    return struct.pack(">fq", 0.5, 1_000) + text(homepage) + struct.pack(">8q", *counts) + map_writable({})
