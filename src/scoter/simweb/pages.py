"""Ordinary pages: the numbered pages of each host, and short pages for special resources."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any
from zlib import crc32

from msgspec.structs import replace

from scoter.simweb.facts import Resource, SimLink, Validators
from scoter.simweb.formats import PageMarkup, encode, html
from scoter.simweb.prose import prose
from scoter.simweb.rng import fraction, mix, random_ints
from scoter.simweb.robots import verdict
from scoter.simweb.sites import BRANCHES, SHUT_LINKED, SimSite, SimSites

DAY = 86_400
_PERIODS = (DAY, 7 * DAY, 30 * DAY)
#: Approximate size of a page's head and of a link; text fills the rest of the requested size.
_HEAD_CHARS = 1150
_LINK_CHARS = 75
LOGO = "/images/logo.png"


def site_resource(site: SimSite, path: str, **fields: Any) -> Resource:
    """Return a resource of a host with the verdict of its robots.txt; expected unless the host is shut."""
    given = {"verdict": verdict(site.profile.robots, path), "expected": not site.shut, **fields}
    return Resource(host=site.name, path=path, **given)


def meta_robots(site: SimSite, number: int) -> str:
    """Return the robots meta value of a numbered page; only pages without children have one."""
    if not site.leaf(number) or number == 0:
        return ""
    return {5: "nofollow", 6: "noindex"}.get(number % 23, "")


def is_followed(site: SimSite, number: int) -> bool:
    """Tell whether every crawler follows links from this page, so that it may be the only way to a resource."""
    return not site.shut and not site.in_private_folder(number) and meta_robots(site, number) != "nofollow"


def number_of(path: str) -> int:
    """Return the number at the end of a numbered page's path, or -1.

    >>> number_of("/guide/tall-tower-12.html"), number_of("/guide/tall-tower.html")
    (12, -1)
    """
    if path == "/":
        return 0
    digits = path[path.rfind("-") + 1 : -5] if path.endswith(".html") else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 12 else -1


def page(sites: SimSites, site: SimSite, number: int, extras: tuple[SimLink, ...] = ()) -> Resource:
    """Return a numbered page; ``extras`` are additional links at its top."""
    spec, path, bits = sites.spec, site.path(number), site.bits(number)
    text = prose(site.profile.language, spec.seed)
    robots = meta_robots(site, number)
    title = f"{text.title(bits >> 20)} {number}" if number else f"{text.title(bits >> 20)} · {site.name}"
    changes = fraction(bits >> 32) < spec.changing
    period = _PERIODS[bits % 3] if changes else 0
    links = (*extras, *_links(sites, site, number))
    return site_resource(
        site,
        path,
        content_type=site.html,
        body=partial(_body, sites, site, number, title, links),
        links=links,
        nofollow=robots == "nofollow",
        noindex=robots == "noindex",
        expected=not site.shut or number < SHUT_LINKED,
        title=title,
        language=site.profile.language,
        encoding=site.profile.encoding,
        shows=f"meta-{robots}-page" if robots else "",
        period=period,
        age=(bits >> 8) % (period or 365 * DAY),
        validators=site.profile.validators,
        compress=site.profile.compress,
        wire=site.profile.wire,
    )


def _links(sites: SimSites, site: SimSite, number: int) -> list[SimLink]:
    text = prose(site.profile.language, sites.spec.seed)
    origin, url = site.origin, sites.url
    first = BRANCHES * number + 1
    links = [
        SimLink(url(site.index, child), text.title(child * 7 + number))
        for child in range(first, min(first + BRANCHES, site.size))
    ]
    if number:
        links.append(SimLink(url(site.index, (number - 1) // BRANCHES), text.title(number)))
        if is_followed(site, number):
            links.extend(side_page_links(origin, number))
    if site.fault:
        return links
    rolls = random_ints(3 * sites.spec.links, sites.spec.seed, site.index, number, 0x117C)
    for place in range(0, len(rolls), 3):
        how = rolls[place + 2]
        links.append(
            SimLink(sites.drawn(site, rolls[place], rolls[place + 1]), text.title(how), nofollow=how % 19 == 0)
        )
    return links


def side_page_links(origin: str, number: int) -> list[SimLink]:
    """Return links to extra pages that only this page links to."""
    links = []
    if number % 25 == 7:
        links.append(SimLink(f"{origin}/old/{number}.html", "…"))
    if number % 20 == 11:
        links.append(SimLink(f"{origin}/go/{number}", "→"))
    if number % 40 == 9:
        links.append(SimLink(f"{origin}/members/{number}.html", "✓", nofollow=True))
    return links


def _body(sites: SimSites, site: SimSite, number: int, title: str, links: tuple[SimLink, ...], version: int) -> bytes:
    spec, profile, bits = sites.spec, site.profile, site.bits(number)
    text = prose(profile.language, spec.seed)
    wanted = spec.page_bytes * (0.4 + 1.2 * fraction(bits >> 16))
    per_char = 2 if profile.encoding == "utf-16" else 1
    room = wanted - (_HEAD_CHARS + _LINK_CHARS * len(links)) * per_char
    count = max(4, min(round(room / _sentence_bytes(profile.language, spec.seed, profile.encoding)), 20_000))
    rolls = random_ints(count, spec.seed, site.index, number, 0x7E47)
    # The first sentences change with each version of the page.
    news = random_ints(3, spec.seed, site.index, number, version, 0x4E75)
    url = site.origin + site.path(number)
    head = ""
    if number == 0 and not site.fault:  # hosts with faults have no feed
        kind, path = feed_of(site)
        head = f'<link rel="alternate" type="application/{kind}+xml" title="{site.name}" href="{path}">\n'
    markup = PageMarkup(
        url=url,
        title=title,
        language=profile.language,
        charset=profile.meta,
        description=text.sentences[rolls[0] & 511],
        sentences=text.sayings((*news, *rolls[3:]), bits),
        gap=text.gap,
        links=links,
        rolls=rolls,
        canonical=url if number % 3 else "",
        base="/guide/" if number % 16 == 4 else "",
        robots=meta_robots(site, number),
        image=f"{site.origin}{LOGO}",
        head=head,
        body=f"<footer>{site.name} #{number}.{version}</footer>\n",
    )
    return encode(html(markup), profile.encoding)


def feed_of(site: SimSite) -> tuple[str, str]:
    """Return the format and path of a host's feed."""
    return ("rss", "/feed.xml") if site.index % 2 == 0 else ("atom", "/atom.xml")


@lru_cache(maxsize=256)
def _sentence_bytes(language: str, seed: int, encoding: str) -> float:
    """Return the average size of a sentence, sampled from some pages."""
    text = prose(language, seed)
    sayings = [saying for page in range(40) for saying in text.sayings(random_ints(24, page), page)]
    return len(encode(text.gap.join(sayings), encoding)) / len(sayings)


def short_page(
    sites: SimSites,
    site: SimSite,
    path: str,
    *,
    links: tuple[SimLink, ...] = (),
    key: str = "",
    document: PageMarkup | None = None,
    shows: str = "",
) -> Resource:
    """Return a short English page in UTF-8.

    Pages with the same ``key`` have the same text; ``document`` adds further markup.
    """
    bits = crc32((key or f"{site.name}{path}").encode())
    given = document or PageMarkup(url=site.origin + path, title="")
    title = given.title or f"{prose('en', sites.spec.seed).title(bits)} {bits % 997}"
    return site_resource(
        site,
        path,
        content_type="text/html; charset=utf-8",
        body=partial(_short_body, sites, given, title, links, bits),
        links=links,
        nofollow="nofollow" in given.robots,
        noindex="noindex" in given.robots,
        title=title,
        language="en",
        encoding="utf-8",
        shows=shows,
        age=mix(bits) % (365 * DAY),
        validators=Validators.BOTH,
    )


def _short_body(
    sites: SimSites, given: PageMarkup, title: str, links: tuple[SimLink, ...], bits: int, version: int
) -> bytes:
    pool = prose("en", sites.spec.seed).sentences
    rolls = random_ints(20, sites.spec.seed, bits, 0x407E)
    sentences = given.sentences or prose("en", sites.spec.seed).sayings(rolls, bits)
    rolls = given.rolls if len(given.rolls) > 1 else rolls
    document = replace(given, title=title, description=pool[bits & 511], sentences=sentences, links=links, rolls=rolls)
    return encode(html(document), "utf-8")
