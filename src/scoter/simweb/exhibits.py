"""Special resources of the plain web, each kind on a host of its own as far as there are hosts.

A front page links to those of its host that are ``linked``; the others are found by way of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec
from msgspec.structs import replace

from . import files
from .atlas import Atlas
from .dice import mix
from .facts import AnswerClass, Link, Resource, Validators
from .markup import Document
from .oddities import oddities
from .pages import LOGO, feed_of, note
from .prose import prose
from .robots import PRESS, PRIVATE, RobotsKind, verdict
from .sites import Site
from .wayside import REDIRECTS, dead, moved

_FOLDER_KINDS = (RobotsKind.FOLDER, RobotsKind.BOM, RobotsKind.MOVED_HERE, RobotsKind.MOVED_AWAY)
_FEED_ITEMS = 10
_SITEMAP_URLS = 200


class Exhibit(msgspec.Struct, frozen=True):
    """A special resource, and whether the front page links to it."""

    resource: Resource
    linked: bool = True


def exhibits(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    """Every special resource of a plain host."""
    yield from _everywhere(atlas, site)
    if site.habits.robots is RobotsKind.OPEN:
        yield from _sitemaps(atlas, site)
    if site.habits.robots in _FOLDER_KINDS:
        yield from _ruled(atlas, site)
    shows = (_dead, _redirects, _refreshes, _media, _meta, _canonical, _framed)
    for number, show in enumerate(shows):
        # Stages 3 and 4 belong to the traps, so these start at 0, 1, 2 and go on from 6.
        if site.index == atlas.stage(number if number < 3 else number + 3).index:
            yield from show(atlas, site)
    if site.index == atlas.stage(5).index:
        yield from (Exhibit(resource) for resource in oddities(atlas, site))
    yield from _copies(atlas, site)


def entry(exhibit: Exhibit) -> Link:
    """The link by which a front page shows an exhibit."""
    return Link(exhibit.resource.url, exhibit.resource.title or exhibit.resource.shows)


def plain_file(
    site: Site, path: str, content_type: str, body: bytes | partial[bytes], *, answer: AnswerClass, shows: str
) -> Resource:
    """A file that is no page."""
    return Resource(
        host=site.name,
        path=path,
        answer=answer,
        content_type=content_type,
        body=(lambda version: body) if isinstance(body, bytes) else (lambda version: body()),
        verdict=verdict(site.habits.robots, path),
        expected=not site.shut,
        shows=shows,
        age=mix(site.index, len(path)) % 31_536_000,
        validators=Validators.BOTH,
    )


def _everywhere(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    bits = mix(site.seed, site.index, 0xC0)
    colour = (bits & 255, bits >> 8 & 255, bits >> 16 & 255)
    logo = plain_file(
        site, LOGO, "image/png", partial(files.png, colour, site.name), answer=AnswerClass.IMAGE, shows="image"
    )
    yield Exhibit(logo)
    favicon = plain_file(
        site,
        "/favicon.ico",
        "image/x-icon",
        partial(files.icon, colour, site.name),
        answer=AnswerClass.IMAGE,
        shows="favicon",
    )
    # Only the host with the media links to its icon; browsers ask for the others unbidden, crawlers do not.
    media = site.index == atlas.stage(6).index
    yield Exhibit(favicon if media else replace(favicon, expected=False), linked=media)
    kind, path = feed_of(site)
    urls = [atlas.url(site.index, number) for number in range(min(site.size, _FEED_ITEMS))]
    items = [(url, f"{site.name} {number}") for number, url in enumerate(urls)]
    write = files.rss if kind == "rss" else files.atom
    feed = plain_file(
        site,
        path,
        f"application/{kind}+xml; charset=utf-8",
        partial(write, f"{site.origin}/", site.name, items),
        answer=AnswerClass.FEED,
        shows=f"feed-{kind}",
    )
    yield Exhibit(replace(feed, links=tuple(Link(url, name, tag="item") for url, name in items)))


def _sitemaps(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    def listing(path: str, urls: list[str], *, packed: bool = False) -> Exhibit:
        resource = plain_file(
            site,
            path,
            "application/gzip" if packed else "application/xml; charset=utf-8",
            partial(files.sitemap, urls, packed=packed),
            answer=AnswerClass.SITEMAP,
            shows="sitemap-gzipped" if packed else "sitemap",
        )
        links = tuple(Link(url, tag="loc") for url in urls)
        return Exhibit(replace(resource, links=links, expected=False), linked=False)

    count = min(site.size, _SITEMAP_URLS)
    urls = [atlas.url(site.index, number) for number in range(count) if not site.confined(number)]
    if site.index % 7:
        yield listing("/sitemap.xml", urls)
        return
    half = len(urls) // 2
    yield listing("/sitemap-a.xml", urls[:half])
    yield listing("/sitemap-b.xml.gz", urls[half:], packed=True)
    parts = [f"{site.origin}/sitemap-a.xml", f"{site.origin}/sitemap-b.xml.gz"]
    index = plain_file(
        site,
        "/sitemap.xml",
        "application/xml; charset=utf-8",
        partial(files.sitemap_index, parts),
        answer=AnswerClass.SITEMAP,
        shows="sitemap-index",
    )
    links = tuple(Link(url, tag="loc") for url in parts)
    yield Exhibit(replace(index, links=links, expected=False), linked=False)


def _ruled(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    for path, shows in (
        (f"{PRIVATE}closed.html", "robots-disallow"),
        (f"{PRESS}open.html", "robots-allow-longer"),
        ("/report.print", "robots-end-anchor"),
        ("/report.print.html", "robots-end-anchor-missed"),
    ):
        yield Exhibit(note(atlas, site, path, shows=shows))


def _dead(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    yield Exhibit(dead(site, "/old/lost.html", removed=False))
    yield Exhibit(dead(site, "/old/closed.html", removed=True))


def _redirects(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    here = note(atlas, site, "/moved/here.html", shows="redirect-target")
    away = f"{atlas.stage(2).origin}/"
    yield Exhibit(here, linked=False)
    for status in REDIRECTS:
        yield Exhibit(moved(site, f"/moved/{status}", status, here.url))
    yield Exhibit(moved(site, "/moved/away", 302, away, shows="redirect-cross-host"))
    yield Exhibit(moved(site, "/moved/near", 303, here.url, location="here.html", shows="redirect-relative"))
    yield Exhibit(moved(site, "/moved/short", 308, away, location=away[5:], shows="redirect-schemeless"))
    for hop in (1, 2, 3):
        target = f"{site.origin}/moved/chain-{hop + 1}" if hop < 3 else here.url
        chain = moved(site, f"/moved/chain-{hop}", (302, 301, 307)[hop - 1], target, shows="redirect-chain")
        yield Exhibit(chain, linked=hop == 1)


def _refreshes(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    for name, content, answer in (
        ("now", "0; url=/refresh/target.html", AnswerClass.REFRESH_NOW),
        ("soon", "3;URL='target.html'", AnswerClass.REFRESH_NOW),
        ("later", "30; url=/refresh/target.html", AnswerClass.REFRESH_LATER),
    ):
        path = f"/refresh/{name}.html"
        page = note(
            atlas,
            site,
            path,
            document=Document(url=site.origin + path, title="", refresh=content),
            shows=f"refresh-{name}",
        )
        yield Exhibit(replace(page, answer=answer, target=f"{site.origin}/refresh/target.html"))
    yield Exhibit(note(atlas, site, "/refresh/target.html", shows="refresh-target"), linked=False)


def _media(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    lines = ["Bridges of the river: a report", "", "There are seven bridges, and the ferry makes eight."]
    yield Exhibit(
        plain_file(
            site,
            "/files/report.pdf",
            "application/pdf",
            partial(files.pdf, lines[0], lines),
            answer=AnswerClass.DOCUMENT,
            shows="pdf",
        )
    )
    text = b"Notes without markup: <b>this is not bold</b>, and http://nowhere.test/ is no link.\n"
    yield Exhibit(
        plain_file(site, "/files/notes.txt", "text/plain; charset=utf-8", text, answer=AnswerClass.TEXT, shows="text")
    )
    path = "/about/site.html"
    links = (
        Link(f"{site.origin}/favicon.ico", "icon", tag="link"),
        Link(f"{site.origin}{LOGO}", "logo", tag="img"),
    )
    head = '<link rel="icon" href="/favicon.ico">\n'
    document = Document(url=site.origin + path, title="About this site", head=head)
    yield Exhibit(note(atlas, site, path, links=links, document=document, shows="icon-and-image"))


def _meta(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    hidden = note(atlas, site, "/meta/hidden.html", shows="behind-meta-nofollow")
    yield Exhibit(replace(hidden, expected=False), linked=False)
    for words in ("noindex", "nofollow", "noindex, nofollow"):
        path = f"/meta/{words.replace(', ', '-')}.html"
        document = Document(url=site.origin + path, title="", robots=words)
        links = (Link(hidden.url, "hidden"),) if "nofollow" in words else ()
        shows = f"meta-{words.replace(', ', '-')}"
        yield Exhibit(note(atlas, site, path, links=links, document=document, shows=shows))
    tagged = note(atlas, site, "/meta/header.html", shows="x-robots-tag")
    yield Exhibit(replace(tagged, noindex=True, headers=(("X-Robots-Tag", "noindex"),)))


def _canonical(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    main = f"{site.origin}/canonical/main.html"
    for query in ("", "?ref=feed", "?ref=mail"):
        document = Document(url=main, title="The one true page", canonical=main)
        path = f"/canonical/main.html{query}"
        page = note(atlas, site, path, key="canonical", document=document, shows="canonical")
        yield Exhibit(replace(page, duplicate="canonical"))
    path = "/canonical/abroad.html"
    abroad = f"{atlas.stage(0).origin}/"
    document = Document(url=site.origin + path, title="", canonical=abroad)
    yield Exhibit(note(atlas, site, path, document=document, shows="canonical-cross-host"))


def _framed(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    inner = [f"{site.origin}/base/inner/{name}.html" for name in ("one", "two")]
    for url in inner:
        yield Exhibit(note(atlas, site, url.removeprefix(site.origin)), linked=False)
    links = (
        *(Link(url, "inner") for url in inner),
        Link(inner[0], "framed", tag="iframe"),
        Link(inner[1], "mapped", tag="area"),
    )
    path = "/base/framed.html"
    # Bits of 1 spell every link relative to the base.
    document = Document(url=site.origin + path, title="", base="/base/inner/", rolls=(1, 1))
    yield Exhibit(note(atlas, site, path, links=links, document=document, shows="base-href"))


def _copies(atlas: Atlas, site: Site) -> Iterator[Exhibit]:
    first = atlas.stage(0).origin
    home = (Link(f"{first}/", "Where it was first"),)
    if site.index in {stage.index for stage in atlas.stages(9, 3)}:
        for number in (0, 1):
            # The same bytes everywhere: hence the first host's URL in it, and links spelled in full (bits of 0).
            path = f"/copies/{number}.html"
            document = Document(url=first + path, title=f"A tale told twice {number}", rolls=(0, 0))
            page = note(atlas, site, path, links=home, key=f"copy {number}", document=document, shows="duplicate")
            yield Exhibit(replace(page, duplicate=f"copy-{number}"))
    if site.index in {stage.index for stage in atlas.stages(12, 3)}:
        # Long, so that one changed sentence weighs little.
        pool = prose("en", atlas.spec.seed).sentences[:120]
        path = "/almost/tale.html"
        sentences = (*pool, f"This copy is kept by {site.name}.")
        document = Document(url=site.origin + path, title="A tale retold", sentences=sentences, rolls=(0, 0))
        page = note(atlas, site, path, links=home, document=document, shows="near-duplicate")
        yield Exhibit(replace(page, near="tale"))
