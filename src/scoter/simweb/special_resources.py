"""Special resources of hosts without faults, each kind on its own host if there are enough.

The front page links to its host's ``linked`` resources; the others are reached through these.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from scoter.simweb import formats
from scoter.simweb.extra_pages import REDIRECTS, dead, moved
from scoter.simweb.facts import AnswerClass, Resource, SimLink, Validators
from scoter.simweb.formats import PageMarkup
from scoter.simweb.pages import LOGO, feed_of, short_page, site_resource
from scoter.simweb.prose import prose, slug
from scoter.simweb.rng import mix
from scoter.simweb.robots import PRESS, PRIVATE, WITH_FOLDER_RULES, RobotsKind
from scoter.simweb.sites import SimSite, SimSites

_FEED_ITEMS = 10
_SITEMAP_URLS = 200
_PATH_DEPTH = 100
_PLAIN = "/odd/plain.html"
_ACCENT = "/odd/caf%C3%A9.html"


class SpecialResource(msgspec.Struct, frozen=True):
    """A special resource, and whether the front page links to it."""

    resource: Resource
    linked: bool = True


def special_resources(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    """Yield the special resources of a host without fault."""
    yield from _everywhere(sites, site)
    if site.profile.robots is RobotsKind.OPEN:
        yield from _sitemaps(sites, site)
    if site.profile.robots in WITH_FOLDER_RULES:
        yield from _ruled(sites, site)
    shows = (_dead, _redirects, _refreshes, _media, _meta, _canonical, _framed)
    for number, show in enumerate(shows):
        # Numbers 3 and 4 belong to the traps and 5 to the odd pages, so these use 0, 1, 2 and continue with 6.
        if site.index == sites.host_for(number if number < 3 else number + 3).index:
            yield from show(sites, site)
    if site.index == sites.host_for(5).index:
        yield from (SpecialResource(resource) for resource in _odd_pages(sites, site))
    yield from _copies(sites, site)


def front_page_link(special: SpecialResource) -> SimLink:
    """Return the front page's link to a special resource."""
    return SimLink(special.resource.url, special.resource.title or special.resource.shows)


def plain_file(
    site: SimSite, path: str, content_type: str, body: bytes | partial[bytes], *, answer: AnswerClass, shows: str
) -> Resource:
    """Return a file that is not a page."""
    return site_resource(
        site,
        path,
        answer=answer,
        content_type=content_type,
        body=(lambda version: body) if isinstance(body, bytes) else (lambda version: body()),
        shows=shows,
        age=mix(site.index, len(path)) % 31_536_000,
        validators=Validators.BOTH,
    )


def _everywhere(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    bits = mix(site.seed, site.index, 0xC0)
    colour = (bits & 255, bits >> 8 & 255, bits >> 16 & 255)
    logo, icon = partial(formats.png, colour, site.name), partial(formats.icon, colour, site.name)
    yield SpecialResource(plain_file(site, LOGO, "image/png", logo, answer=AnswerClass.IMAGE, shows="image"))
    favicon = plain_file(site, "/favicon.ico", "image/x-icon", icon, answer=AnswerClass.IMAGE, shows="favicon")
    # Only the host with the media links to its icon; browsers request the others unasked, crawlers do not.
    media = site.index == sites.host_for(6).index
    yield SpecialResource(favicon if media else replace(favicon, expected=False), linked=media)
    kind, path = feed_of(site)
    urls = [sites.url(site.index, number) for number in range(min(site.size, _FEED_ITEMS))]
    items = [(url, f"{site.name} {number}") for number, url in enumerate(urls)]
    body = partial(formats.rss if kind == "rss" else formats.atom, f"{site.origin}/", site.name, items)
    media_type = f"application/{kind}+xml; charset=utf-8"
    feed = plain_file(site, path, media_type, body, answer=AnswerClass.FEED, shows=f"feed-{kind}")
    yield SpecialResource(replace(feed, links=tuple(SimLink(url, name, tag="item") for url, name in items)))


def _sitemaps(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    def listing(path: str, urls: list[str], write: Any = formats.sitemap, kind: str = "sitemap") -> SpecialResource:
        media_type = "application/gzip" if path.endswith(".gz") else "application/xml; charset=utf-8"
        resource = plain_file(site, path, media_type, partial(write, urls), answer=AnswerClass.SITEMAP, shows=kind)
        links = tuple(SimLink(url, tag="loc") for url in urls)
        return SpecialResource(replace(resource, links=links, expected=False), linked=False)

    count = min(site.size, _SITEMAP_URLS)
    urls = [sites.url(site.index, number) for number in range(count) if not site.in_private_folder(number)]
    if site.index % 7:
        yield listing("/sitemap.xml", urls)
        return
    half = len(urls) // 2
    yield listing("/sitemap-a.xml", urls[:half])
    yield listing("/sitemap-b.xml.gz", urls[half:], partial(formats.sitemap, packed=True), "sitemap-gzipped")
    parts = [f"{site.origin}/sitemap-a.xml", f"{site.origin}/sitemap-b.xml.gz"]
    yield listing("/sitemap.xml", parts, formats.sitemap_index, "sitemap-index")


def _ruled(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    for path, shows in (
        (f"{PRIVATE}closed.html", "robots-disallow"),
        (f"{PRESS}open.html", "robots-allow-longer"),
        ("/report.print", "robots-end-anchor"),
        ("/report.print.html", "robots-end-anchor-missed"),
    ):
        yield SpecialResource(short_page(sites, site, path, shows=shows))


def _dead(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    yield SpecialResource(dead(site, "/old/lost.html", removed=False))
    yield SpecialResource(dead(site, "/old/closed.html", removed=True))


def _redirects(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    here = short_page(sites, site, "/moved/here.html", shows="redirect-target")
    away = f"{sites.host_for(2).origin}/"
    yield SpecialResource(here, linked=False)
    for status in REDIRECTS:
        yield SpecialResource(moved(site, f"/moved/{status}", status, here.url))
    yield SpecialResource(moved(site, "/moved/away", 302, away, shows="redirect-cross-host"))
    yield SpecialResource(moved(site, "/moved/near", 303, here.url, location="here.html", shows="redirect-relative"))
    yield SpecialResource(moved(site, "/moved/short", 308, away, location=away[5:], shows="redirect-schemeless"))
    for hop in (1, 2, 3):
        target = f"{site.origin}/moved/chain-{hop + 1}" if hop < 3 else here.url
        chain = moved(site, f"/moved/chain-{hop}", (302, 301, 307)[hop - 1], target, shows="redirect-chain")
        yield SpecialResource(chain, linked=hop == 1)


def _refreshes(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    for name, content, answer in (
        ("now", "0; url=/refresh/target.html", AnswerClass.REFRESH_NOW),
        ("soon", "3;URL='target.html'", AnswerClass.REFRESH_NOW),
        ("later", "30; url=/refresh/target.html", AnswerClass.REFRESH_LATER),
    ):
        path = f"/refresh/{name}.html"
        document = PageMarkup(url=site.origin + path, title="", refresh=content)
        page = short_page(sites, site, path, document=document, shows=f"refresh-{name}")
        yield SpecialResource(replace(page, answer=answer, target=f"{site.origin}/refresh/target.html"))
    yield SpecialResource(short_page(sites, site, "/refresh/target.html", shows="refresh-target"), linked=False)


def _media(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    lines = ["Bridges of the river: a report", "", "There are seven bridges, and the ferry makes eight."]
    body = partial(formats.pdf, lines[0], lines)
    yield SpecialResource(
        plain_file(site, "/files/report.pdf", "application/pdf", body, answer=AnswerClass.DOCUMENT, shows="pdf")
    )
    text = b"Notes without markup: <b>this is not bold</b>, and http://nowhere.test/ is no link.\n"
    yield SpecialResource(
        plain_file(site, "/files/notes.txt", "text/plain; charset=utf-8", text, answer=AnswerClass.TEXT, shows="text")
    )
    path = "/about/site.html"
    links = (
        SimLink(f"{site.origin}/favicon.ico", "icon", tag="link"),
        SimLink(f"{site.origin}{LOGO}", "logo", tag="img"),
    )
    head = '<link rel="icon" href="/favicon.ico">\n'
    document = PageMarkup(url=site.origin + path, title="About this site", head=head)
    yield SpecialResource(short_page(sites, site, path, links=links, document=document, shows="icon-and-image"))


def _meta(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    hidden = short_page(sites, site, "/meta/hidden.html", shows="behind-meta-nofollow")
    yield SpecialResource(replace(hidden, expected=False), linked=False)
    for words in ("noindex", "nofollow", "noindex, nofollow"):
        path = f"/meta/{words.replace(', ', '-')}.html"
        document = PageMarkup(url=site.origin + path, title="", robots=words)
        links = (SimLink(hidden.url, "hidden"),) if "nofollow" in words else ()
        shows = f"meta-{words.replace(', ', '-')}"
        yield SpecialResource(short_page(sites, site, path, links=links, document=document, shows=shows))
    tagged = short_page(sites, site, "/meta/header.html", shows="x-robots-tag")
    yield SpecialResource(replace(tagged, noindex=True, headers=(("X-Robots-Tag", "noindex"),)))


def _canonical(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    main = f"{site.origin}/canonical/main.html"
    for query in ("", "?ref=feed", "?ref=mail"):
        document = PageMarkup(url=main, title="The one true page", canonical=main)
        path = f"/canonical/main.html{query}"
        page = short_page(sites, site, path, key="canonical", document=document, shows="canonical")
        yield SpecialResource(replace(page, duplicate="canonical"))
    path = "/canonical/abroad.html"
    abroad = f"{sites.host_for(0).origin}/"
    document = PageMarkup(url=site.origin + path, title="", canonical=abroad)
    yield SpecialResource(short_page(sites, site, path, document=document, shows="canonical-cross-host"))


def _framed(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    inner = [f"{site.origin}/base/inner/{name}.html" for name in ("one", "two")]
    for url in inner:
        yield SpecialResource(short_page(sites, site, url.removeprefix(site.origin)), linked=False)
    links = (
        *(SimLink(url, "inner") for url in inner),
        SimLink(inner[0], "framed", tag="iframe"),
        SimLink(inner[1], "mapped", tag="area"),
    )
    path = "/base/framed.html"
    # Bits of 1 make every link relative to the base.
    document = PageMarkup(url=site.origin + path, title="", base="/base/inner/", rolls=(1, 1))
    yield SpecialResource(short_page(sites, site, path, links=links, document=document, shows="base-href"))


def _copies(sites: SimSites, site: SimSite) -> Iterator[SpecialResource]:
    first = sites.host_for(0).origin
    home = (SimLink(f"{first}/", "Where it was first"),)
    if site.index in {stage.index for stage in sites.hosts_for(9, 3)}:
        for number in (0, 1):
            # Identical bytes on all hosts: hence the first host's URL in it, and absolute links (bits of 0).
            path = f"/copies/{number}.html"
            document = PageMarkup(url=first + path, title=f"A tale told twice {number}", rolls=(0, 0))
            page = short_page(sites, site, path, links=home, key=f"copy {number}", document=document, shows="duplicate")
            yield SpecialResource(replace(page, duplicate=f"copy-{number}"))
    if site.index in {stage.index for stage in sites.hosts_for(12, 3)}:
        # Long, so that one changed sentence matters little.
        pool = prose("en", sites.spec.seed).sentences[:120]
        path = "/almost/tale.html"
        sentences = (*pool, f"This copy is kept by {site.name}.")
        document = PageMarkup(url=site.origin + path, title="A tale retold", sentences=sentences, rolls=(0, 0))
        page = short_page(sites, site, path, links=home, document=document, shows="near-duplicate")
        yield SpecialResource(replace(page, near="tale"))


def _odd_pages(sites: SimSites, site: SimSite) -> list[Resource]:
    """Return pages that are odd in form: very deep nesting, a very long path, and many spellings of one URL."""
    return [
        _nested(sites, site),
        short_page(sites, site, _deep_path(), shows="deep-path"),
        short_page(sites, site, _PLAIN, shows="spelled-target"),
        short_page(sites, site, _ACCENT, shows="non-ascii-path"),
        _spellings(sites, site),
    ]


def _nested(sites: SimSites, site: SimSite) -> Resource:
    depth, path = sites.spec.nesting, "/odd/nested.html"
    body = "<div>" * depth + "At the bottom of the well." + "</div>" * depth + "\n"
    document = PageMarkup(url=site.origin + path, title="The well", body=body)
    return short_page(sites, site, path, document=document, shows="deep-nesting")


def _deep_path() -> str:
    # Segments differ, so that a rule against repeated segments does not match this page.
    return "/odd/" + "".join(f"{slug(level * 7919)}-{level}/" for level in range(_PATH_DEPTH)) + "end.html"


def _spellings(sites: SimSites, site: SimSite) -> Resource:
    """Return a page whose links are all spellings of three URLs, or not links at all."""
    host, path = site.name, "/odd/spellings.html"
    plain, accent, home = (f"{site.origin}{target}" for target in (_PLAIN, _ACCENT, "/"))
    spelled: tuple[tuple[str, str], ...] = (
        (plain, f"HTTP://{host.upper()}{_PLAIN}"),
        (plain, f"http://{host}:80{_PLAIN}"),
        (plain, "/odd/./deeper/../plain.html"),
        (plain, "/../odd/plain.html"),
        (plain, "  plain.html  "),
        (plain, "pla\nin.html"),
        (plain, "plain.html#somewhere"),
        (plain, "/odd/pl%61in.html"),
        (plain, "\\odd\\plain.html"),
        (plain, f"//{host}{_PLAIN}"),
        (accent, "caf%c3%a9.html"),
        (accent, "café.html"),
        (home, f"http://{host}"),
        (home, ".."),
    )
    nothing = ("mailto:nobody@example.test", "javascript:void(0)", "tel:+390612345", "data:text/plain,hello")
    shown = "".join(f'<li><a href="{href}">{href.strip()}</a></li>\n' for _, href in spelled)
    shown += "".join(f'<li><a href="{href}">{href}</a></li>\n' for href in nothing)
    document = PageMarkup(url=site.origin + path, title="One place, many names", body=f"<ol>\n{shown}</ol>\n")
    page = short_page(sites, site, path, document=document, shows="spellings")
    links = tuple(SimLink(url, href.strip()) for url, href in spelled)
    return replace(page, links=links)
