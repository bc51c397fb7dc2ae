"""File formats: HTML pages, feeds, sitemaps, images and a PDF, each written from its specification."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape

import msgspec

from scoter.simweb.clock import START, moment
from scoter.simweb.facts import SimLink

_SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
#: Sentences per paragraph.
_PARAGRAPH = 6


class PageMarkup(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an HTML page and how its host writes it."""

    url: str
    title: str
    language: str = "en"
    #: The character encoding that the page declares, or "".
    charset: str = "utf-8"
    description: str = ""
    sentences: tuple[str, ...] = ()
    gap: str = " "
    links: tuple[SimLink, ...] = ()
    #: Random bits that select how each link is spelled.
    rolls: tuple[int, ...] = (0,)
    canonical: str = ""
    #: The path in <base href>, or "" for none.
    base: str = ""
    robots: str = ""
    #: The content of a meta refresh, such as "0; url=/there".
    refresh: str = ""
    image: str = ""
    head: str = ""
    body: str = ""


def encode(text: str, encoding: str) -> bytes:
    """Encode a page; characters that the encoding lacks become character references.

    >>> encode("\\u00e9", "windows-1252"), encode("a", "utf-16")
    (b'\\xe9', b'\\xff\\xfea\\x00')
    """
    if encoding == "utf-16":
        return b"\xff\xfe" + text.encode("utf-16-le")
    return text.encode(encoding, "xmlcharrefreplace")


def relative(path: str, folder: str) -> str:
    """Return a path relative to a folder of the same host.

    >>> relative("/a/b.html", "/a/"), relative("/c/", "/a/"), relative("/a/", "/a/")
    ('b.html', '../c/', './')
    """
    if path.startswith(folder):
        return path[len(folder) :] or "./"
    return "../" * (folder.count("/") - 1) + path[1:]


def spell(url: str, origin: str, folder: str, roll: int) -> str:
    """Return one of the ways in which a page may write a URL."""
    if not url.startswith(origin) or url[len(origin) : len(origin) + 1] != "/":
        # Other hosts: sometimes without the scheme, or with a fragment.
        if roll & 15 == 0:
            return url[5:]
        return f"{url}#top" if roll & 15 == 1 else url
    path = url[len(origin) :]
    match roll & 7:
        case 0:
            return url
        case 1 | 2 | 3:
            return relative(path, folder)
        case 4:
            return f"{path}#part-{roll >> 3 & 7}"
        case _:
            return path


def anchor(link: SimLink, href: str) -> str:
    """Return a link as HTML."""
    rel = ' rel="nofollow"' if link.nofollow else ""
    spelled = escape(href)
    match link.tag:
        case "img":
            return f'<img src="{spelled}" alt="{escape(link.text)}">'
        case "link":
            return ""  # written in the head
        case "iframe":
            return f'<iframe src="{spelled}" title="{escape(link.text)}"></iframe>'
        case "area":
            return f'<map name="m"><area shape="default" href="{spelled}" alt="{escape(link.text)}"{rel}></map>'
        case _:
            return f'<a href="{spelled}"{rel}>{escape(link.text, quote=False)}</a>'


def html(page: PageMarkup) -> str:
    """Return the page as HTML."""
    origin, path = _split(page.url)
    folder = page.base or path[: path.rindex("/", 0, path.find("?") if "?" in path else len(path)) + 1]
    rolls = page.rolls
    spelled = [
        anchor(link, spell(link.url, origin, folder, rolls[place % len(rolls)]))
        for place, link in enumerate(page.links)
    ]
    title = escape(page.title, quote=False)
    shown = escape(page.description)
    parts = [
        f'<!DOCTYPE html>\n<html lang="{page.language}">\n<head>\n',
        f'<meta charset="{page.charset}">\n' if page.charset else "",
        f"<title>{title}</title>\n",
        f'<base href="{page.base}">\n' if page.base else "",
        f'<meta http-equiv="refresh" content="{escape(page.refresh)}">\n' if page.refresh else "",
        f'<meta name="robots" content="{page.robots}">\n' if page.robots else "",
        f'<link rel="canonical" href="{escape(page.canonical)}">\n' if page.canonical else "",
        f'<meta name="description" content="{shown}">\n'
        f'<meta property="og:type" content="article">\n'
        f'<meta property="og:title" content="{escape(page.title)}">\n'
        f'<meta property="og:description" content="{shown}">\n'
        f'<meta property="og:url" content="{escape(page.url)}">\n'
        if page.description
        else "",
        f'<meta property="og:image" content="{page.image}">\n' if page.image else "",
        page.head,
        f"</head>\n<body>\n<h1>{title}</h1>\n",
        *_paragraphs(page, spelled),
        page.body,
        "</body>\n</html>\n",
    ]
    return "".join(parts)


def _paragraphs(page: PageMarkup, spelled: Sequence[str]) -> list[str]:
    """Return paragraphs with one link each, and the remaining links as a list."""
    starts = range(0, len(page.sentences), _PARAGRAPH)
    parts = []
    for place, start in enumerate(starts):
        text = page.gap.join(page.sentences[start : start + _PARAGRAPH])
        link = spelled[place] if place < len(spelled) else ""
        parts.append(f"<p>{text} {link}</p>\n")
    rest = spelled[len(starts) :]
    if rest:
        parts.append("<ul>\n")
        parts.extend(f"<li>{link}</li>\n" for link in rest if link)
        parts.append("</ul>\n")
    return parts


def _split(url: str) -> tuple[str, str]:
    slash = url.index("/", 8)
    return url[:slash], url[slash:]


def rss(home: str, title: str, items: Iterable[tuple[str, str]]) -> bytes:
    """Return an RSS 2.0 feed of (URL, title) pairs."""
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
    """Return an Atom feed (RFC 4287) of (URL, title) pairs."""
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


def sitemap(urls: Sequence[str], *, packed: bool = False) -> bytes:
    """Return a sitemap, optionally gzipped."""
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
    """Return a sitemap index."""
    entries = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex xmlns="{_SITEMAP_NS}">\n{entries}</sitemapindex>\n'
    return text.encode()


def png(colour: tuple[int, int, int], comment: str, side: int = 48) -> bytes:
    """Return a square PNG of one colour; the text chunk makes each host's image unique."""

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
    """Return a favicon: an ICO file with one PNG."""
    image = png(colour, comment, side=16)
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 24, len(image), 22) + image


def pdf(title: str, lines: Sequence[str]) -> bytes:
    """Return a one-page PDF with the given lines (ASCII)."""

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
