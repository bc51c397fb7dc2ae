"""Hosts with faults: the resources that demonstrate each kind of fault.

A working front page links to all of them. ``truth`` says how a crawler should handle each.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from scoter.simweb.extra_pages import moved
from scoter.simweb.facts import AnswerClass, SimLink, Validators, WireBehaviour, no_body
from scoter.simweb.pages import short_page
from scoter.simweb.robots import EARLY, LATE
from scoter.simweb.sites import SimSite, SimSites
from scoter.simweb.special_resources import SpecialResource

_BOMB_BYTES = 100 * 1024 * 1024
_OVERLONG_BYTES = 3 * 1024 * 1024
_LONG_CHAIN = 12

#: Targets of redirects to private addresses and files: as spelled, and canonical.
PRIVATE_TARGETS: tuple[tuple[str, str], ...] = (
    ("http://10.0.0.1/", "http://10.0.0.1/"),
    ("http://169.254.169.254/latest/meta-data/", "http://169.254.169.254/latest/meta-data/"),
    ("http://[::1]/", "http://[::1]/"),
    ("http://2130706433/decimal", "http://127.0.0.1/decimal"),
    ("http://0x7f.1/hex", "http://127.0.0.1/hex"),
    ("http://[::ffff:192.168.0.1]/", "http://[::ffff:c0a8:1]/"),
    ("file:///etc/hostname", "file:///etc/hostname"),
    ("ftp://10.0.0.1/", "ftp://10.0.0.1/"),
)
_RETRY_SOON = (("Retry-After", "1"),)
PRIVATE_LINK = "http://192.168.1.1/admin"
_Maker = Callable[[SimSites, SimSite], Iterator[SpecialResource]]


def faults(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    """Yield the special resources of a faulty host."""
    make = _MAKERS.get(site.fault)
    if make is not None:
        yield from make(sites, site)


def refused_urls(site: SimSite) -> tuple[str, ...]:
    """Return URLs outside this web that a crawler finds here and must not fetch."""
    if site.fault != "redirect-private":
        return ()
    return (*(url for _, url in PRIVATE_TARGETS), PRIVATE_LINK)


def _flawed(sites: SimSites, site: SimSite, path: str, answer: AnswerClass, **changes: Any) -> SpecialResource:
    """Return a page that is like any other apart from the given changes."""
    page = short_page(sites, site, path, shows=site.fault)
    return SpecialResource(replace(page, answer=answer, validators=Validators.NONE, **changes))


def _robots_huge(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    yield SpecialResource(short_page(sites, site, f"{EARLY}closed.html", shows=site.fault))
    yield SpecialResource(short_page(sites, site, f"{LATE}open.html", shows=site.fault))


def _loop(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    for here, there in (("a", "b"), ("b", "a"), ("self", "self")):
        target = f"{site.origin}/loop/{there}"
        yield SpecialResource(moved(site, f"/loop/{here}", 302, target, shows=site.fault), linked=here != "b")


def _long(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    end = short_page(sites, site, "/long/end.html", shows=site.fault)
    yield SpecialResource(end, linked=False)
    for hop in range(1, _LONG_CHAIN + 1):
        target = f"{site.origin}/long/{hop + 1}" if hop < _LONG_CHAIN else end.url
        yield SpecialResource(moved(site, f"/long/{hop}", 301, target, shows=site.fault), linked=hop == 1)


def _private(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    for number, (location, target) in enumerate(PRIVATE_TARGETS):
        path = f"/inside/{number}"
        yield SpecialResource(moved(site, path, (302, 301)[number % 2], target, location=location, shows=site.fault))
    link = (SimLink(PRIVATE_LINK, "router"),)
    yield SpecialResource(short_page(sites, site, "/inside/link.html", links=link, shows=site.fault))


def _forbidden(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    yield _flawed(sites, site, "/forbidden.html", AnswerClass.FORBIDDEN, status=403)


def _busy(status: int, sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    yield _flawed(sites, site, "/always.html", AnswerClass.BUSY, status=status, headers=_RETRY_SOON)
    for failures in (1, 2):
        path = f"/recovers-{failures}.html"
        changes = {"status": status, "failures": failures, "headers": _RETRY_SOON}
        yield _flawed(sites, site, path, AnswerClass.RECOVERING, **changes)


def _error(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    yield _flawed(sites, site, "/always.html", AnswerClass.SERVER_ERROR, status=500)
    yield _flawed(sites, site, "/recovers-1.html", AnswerClass.RECOVERING, status=500, failures=1)


def _sent(
    answer: AnswerClass, sent: dict[str, WireBehaviour], sites: SimSites, site: SimSite
) -> Iterator[SpecialResource]:
    for path, wire in sent.items():
        yield _flawed(sites, site, path, answer, wire=wire)


def _bomb(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    # Sent whether the client accepts gzip or not.
    headers = (("Content-Encoding", "gzip"),)
    yield _flawed(sites, site, "/bomb.html", AnswerClass.BOMB, body=lambda version: bomb(), headers=headers)


def _overlong(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    page = short_page(sites, site, "/long.html", shows=site.fault).body
    line = b"<p>And so on, and so on, and so on.</p>\n"
    rest = line * (_OVERLONG_BYTES // len(line))
    yield _flawed(sites, site, "/long.html", AnswerClass.OVERLONG, body=lambda version: page(version) + rest)


def _mistyped(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    noise = b"\0\x01\x02" + struct.pack(">256I", *(zlib.crc32(bytes((n,))) for n in range(256)))
    yield _flawed(sites, site, "/page-as-image.html", AnswerClass.MISTYPED, content_type="image/png")
    yield _flawed(sites, site, "/noise-as-page.html", AnswerClass.MISTYPED, body=lambda version: noise)
    yield _flawed(sites, site, "/untyped.html", AnswerClass.MISTYPED, content_type="")


def _empty(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    yield _flawed(sites, site, "/empty.html", AnswerClass.EMPTY, body=no_body, title="")


@lru_cache(maxsize=1)
def bomb() -> bytes:
    """Return a gzip file of about 100 KB that decompresses to 100 MiB.

    One mebibyte is compressed once up to a full flush. After a full flush deflate refers to nothing before it, so the
    compressed bytes can be repeated within one stream.
    """
    head = b"<!DOCTYPE html>\n<title>Small parcel</title>\n<p>"
    block = b"x" * (1024 * 1024)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    count = _BOMB_BYTES // len(block)
    checksum = zlib.crc32(head)
    for _ in range(count):
        checksum = zlib.crc32(block, checksum)
    size = len(head) + count * len(block)
    # RFC 1952: a header of ten bytes, the stream with an empty last block, CRC-32 and size.
    return (
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        + start
        + packed * count
        + b"\x03\0"
        + struct.pack("<II", checksum, size & 0xFFFFFFFF)
    )


_MAKERS: dict[str, _Maker] = {
    "robots-huge": _robots_huge,
    "redirect-loop": _loop,
    "redirect-long": _long,
    "redirect-private": _private,
    "forbidden": _forbidden,
    "busy": partial(_busy, 429),
    "overloaded": partial(_busy, 503),
    "server-error": _error,
    "reset": partial(
        _sent,
        AnswerClass.RESET,
        {"/at-once.html": WireBehaviour.RESET_AT_ONCE, "/midway.html": WireBehaviour.RESET_MIDWAY},
    ),
    "truncated": partial(
        _sent,
        AnswerClass.TRUNCATED,
        {"/length.html": WireBehaviour.SHORT_BODY, "/chunks.html": WireBehaviour.SHORT_CHUNKS},
    ),
    "drip": partial(_sent, AnswerClass.DRIP, {"/drip.html": WireBehaviour.DRIP}),
    "silent": partial(_sent, AnswerClass.SILENT, {"/silent.html": WireBehaviour.SILENT}),
    "chunking": partial(_sent, AnswerClass.BAD_CHUNKING, {"/chunks.html": WireBehaviour.BAD_CHUNKS}),
    "header-flood": partial(_sent, AnswerClass.HEADER_FLOOD, {"/headers.html": WireBehaviour.HEADER_FLOOD}),
    "bomb": _bomb,
    "overlong": _overlong,
    "mistyped": _mistyped,
    "empty": _empty,
}
