"""HTML as the hosts of the synthetic web write it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec

from .facts import Link

#: How many sentences stand in one paragraph.
_PARAGRAPH = 6


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be said in a page, and the habits with which its host says it."""

    url: str
    title: str
    language: str = "en"
    #: The charset the page itself names, or "" for none.
    charset: str = "utf-8"
    description: str = ""
    sentences: tuple[str, ...] = ()
    gap: str = " "
    links: tuple[Link, ...] = ()
    #: Random bits that choose how each link is spelled.
    rolls: tuple[int, ...] = (0,)
    canonical: str = ""
    #: The path that <base href> names, or "" for no such tag.
    base: str = ""
    robots: str = ""
    #: The content of a meta refresh, as in "0; url=/there".
    refresh: str = ""
    image: str = ""
    head: str = ""
    body: str = ""


def encode(text: str, encoding: str) -> bytes:
    """Encode a page; what the encoding lacks becomes a character reference.

    >>> encode("\\u00e9", "windows-1252"), encode("a", "utf-16")
    (b'\\xe9', b'\\xff\\xfea\\x00')
    """
    if encoding == "utf-16":
        return b"\xff\xfe" + text.encode("utf-16-le")
    return text.encode(encoding, "xmlcharrefreplace")


def relative(path: str, folder: str) -> str:
    """Spell a path as seen from a folder of the same host.

    >>> relative("/a/b.html", "/a/"), relative("/c/", "/a/"), relative("/a/", "/a/")
    ('b.html', '../c/', './')
    """
    if path.startswith(folder):
        return path[len(folder) :] or "./"
    return "../" * (folder.count("/") - 1) + path[1:]


def spell(url: str, origin: str, folder: str, roll: int) -> str:
    """Choose one of the ways in which a page may write a URL."""
    if not url.startswith(origin) or url[len(origin) : len(origin) + 1] != "/":
        # Other hosts: now and then without the scheme, or with a fragment.
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


def anchor(link: Link, href: str) -> str:
    """One link as HTML, by its tag."""
    rel = ' rel="nofollow"' if link.nofollow else ""
    spelled = escape(href)
    match link.tag:
        case "img":
            return f'<img src="{spelled}" alt="{escape(link.text)}">'
        case "link":
            return ""  # these stand in the head
        case "iframe":
            return f'<iframe src="{spelled}" title="{escape(link.text)}"></iframe>'
        case "area":
            return f'<map name="m"><area shape="default" href="{spelled}" alt="{escape(link.text)}"{rel}></map>'
        case _:
            return f'<a href="{spelled}"{rel}>{escape(link.text, quote=False)}</a>'


def html(page: Document) -> str:
    """Write the page."""
    origin, path = _split(page.url)
    folder = page.base or path[: path.rindex("/", 0, path.find("?") if "?" in path else len(path)) + 1]
    rolls = page.rolls
    spelled = [
        anchor(link, spell(link.url, origin, folder, rolls[place % len(rolls)]))
        for place, link in enumerate(page.links)
    ]
    title = escape(page.title, quote=False)
    parts = [f'<!DOCTYPE html>\n<html lang="{page.language}">\n<head>\n']
    if page.charset:
        parts.append(f'<meta charset="{page.charset}">\n')
    parts.append(f"<title>{title}</title>\n")
    if page.base:
        parts.append(f'<base href="{page.base}">\n')
    if page.refresh:
        parts.append(f'<meta http-equiv="refresh" content="{escape(page.refresh)}">\n')
    if page.robots:
        parts.append(f'<meta name="robots" content="{page.robots}">\n')
    if page.canonical:
        parts.append(f'<link rel="canonical" href="{escape(page.canonical)}">\n')
    if page.description:
        shown = escape(page.description)
        parts.append(
            f'<meta name="description" content="{shown}">\n'
            f'<meta property="og:type" content="article">\n'
            f'<meta property="og:title" content="{escape(page.title)}">\n'
            f'<meta property="og:description" content="{shown}">\n'
            f'<meta property="og:url" content="{escape(page.url)}">\n'
        )
    if page.image:
        parts.append(f'<meta property="og:image" content="{page.image}">\n')
    parts.extend((page.head, f"</head>\n<body>\n<h1>{title}</h1>\n"))
    parts.extend(_paragraphs(page, spelled))
    parts.extend((page.body, "</body>\n</html>\n"))
    return "".join(parts)


def _paragraphs(page: Document, spelled: Sequence[str]) -> list[str]:
    """Sentences in paragraphs with a link at the end of each, and the links left over as a list."""
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
