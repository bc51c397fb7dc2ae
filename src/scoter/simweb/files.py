"""Files that are no pages: feeds, sitemaps, a PDF, images, each written by hand from its format's description."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from html import escape

#: Simulated time starts here and stands still until it is advanced.
START = datetime(2026, 1, 1, tzinfo=UTC)


def moment(seconds: float) -> datetime:
    """The date that lies so many seconds of simulated time after the start."""
    return START + timedelta(seconds=seconds)


def rss(home: str, title: str, items: Iterable[tuple[str, str]]) -> bytes:
    """An RSS 2.0 feed of (URL, title) pairs."""
    entries = "".join(
        f"<item><title>{escape(name)}</title><link>{escape(url)}</link>"
        f'<guid isPermaLink="true">{escape(url)}</guid>'
        f"<pubDate>{moment(-3600 * place).strftime('%a, %d %b %Y %H:%M:%S')} GMT</pubDate></item>\n"
        for place, (url, name) in enumerate(items)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0"><channel>\n'
        f"<title>{escape(title)}</title><link>{escape(home)}</link>"
        f"<description>{escape(title)}</description>\n{entries}</channel></rss>\n"
    ).encode()


def atom(home: str, title: str, items: Iterable[tuple[str, str]]) -> bytes:
    """An Atom feed (RFC 4287) of (URL, title) pairs."""
    entries = "".join(
        f'<entry><title>{escape(name)}</title><link href="{escape(url)}"/><id>{escape(url)}</id>'
        f"<updated>{moment(-3600 * place):%Y-%m-%dT%H:%M:%SZ}</updated></entry>\n"
        for place, (url, name) in enumerate(items)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f'<title>{escape(title)}</title><link href="{escape(home)}"/><id>{escape(home)}</id>'
        f"<updated>{START:%Y-%m-%dT%H:%M:%SZ}</updated><author><name>{escape(title)}</name></author>\n"
        f"{entries}</feed>\n"
    ).encode()


_SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def sitemap(urls: Sequence[str], *, packed: bool = False) -> bytes:
    """A sitemap, gzipped if asked for."""
    entries = "".join(
        f"<url><loc>{escape(url)}</loc><lastmod>{moment(-86400 * (place % 90)):%Y-%m-%d}</lastmod>"
        f"<changefreq>{('daily', 'weekly', 'monthly')[place % 3]}</changefreq>"
        f"<priority>{1.0 - place % 10 / 10:.1f}</priority></url>\n"
        for place, url in enumerate(urls)
    )
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_SITEMAP_NS}">\n{entries}</urlset>\n'
    # mtime=0: the same bytes in every run.
    return gzip.compress(text.encode(), mtime=0) if packed else text.encode()


def sitemap_index(urls: Iterable[str]) -> bytes:
    """A sitemap of sitemaps."""
    entries = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="{_SITEMAP_NS}">\n{entries}</sitemapindex>\n'
    return text.encode()


def png(colour: tuple[int, int, int], comment: str, side: int = 48) -> bytes:
    """A square PNG of one colour with a text chunk, which makes each host's image its own."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    row = b"\0" + bytes(colour) * side
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
        + chunk(b"tEXt", b"Comment\0" + comment.encode("latin-1", "replace"))
        + chunk(b"IDAT", zlib.compress(row * side, 9))
        + chunk(b"IEND", b"")
    )


def icon(colour: tuple[int, int, int], comment: str) -> bytes:
    """A favicon: an ICO file with one PNG in it."""
    image = png(colour, comment, side=16)
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 24, len(image), 22) + image


def pdf(title: str, lines: Sequence[str]) -> bytes:
    """A PDF of one page with the lines as text (ASCII)."""

    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")

    shown = "\n".join(f"({quoted(line)}) Tj T*" for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 72 770 Td\n{shown}\nET\n"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 7 0 R >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}endstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({quoted(title)}) >>",
        "<< /Font << /F1 5 0 R >> >>",
    )
    parts, offsets, size = ["%PDF-1.4\n"], [], 9
    for number, text in enumerate(objects, start=1):
        offsets.append(size)
        parts.append(f"{number} 0 obj\n{text}\nendobj\n")
        size += len(parts[-1])
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    count = len(objects) + 1
    parts.append(
        f"xref\n0 {count}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {count} /Root 1 0 R /Info 6 0 R >>\nstartxref\n{size}\n%%EOF\n"
    )
    return "".join(parts).encode("ascii")
