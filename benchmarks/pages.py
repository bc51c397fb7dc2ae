"""Generate realistic pages, like those of news sites and shops.

A page of 125 KB has 250 links, 20 images with several widths each, tables, and 1,300 elements with the classes and data
attributes of a framework. A quarter of its bytes is inline script and style; another quarter is words, with some
entities and non-ASCII characters. The head has the usual ``meta`` elements, OpenGraph, Twitter cards and JSON-LD.
"""

from __future__ import annotations

import json
import random
from functools import cache

_LETTERS = "etaoinshrdlucmfwyp"
_VOCABULARIES = 20
_ODD = ("caf&eacute;", "&nbsp;", "R&amp;D", "naïve", "–", "„Wort“", "&rsquo;s", "&#8217;", "東京", "&lt;3")


def page(size: int, links: int, number: int) -> bytes:
    """Return a page of about ``size`` bytes with about ``links`` links; the same number gives the same page."""
    chance = random.Random(number)
    words = _vocabulary(number % _VOCABULARIES)
    head, foot = _head(chance, words, number, size), _foot(words, links // 6)
    start = f"{head}<body class=\"page page-{number} no-js\" data-page='{_state(chance, words, 4)}'>\n"
    start += _menu(words, links // 5)
    parts, length, done = [start], len(start.encode()) + len(foot.encode()), links // 5 + links // 6
    share = (size - length) / max(1, links - done)
    due = 0.0
    while done < links:
        due += share
        kind = chance.random()
        if kind < 0.25:
            block, count = _card(chance, words), 2
        elif kind < 0.85:
            block, count = _paragraph(chance, words), 1
        elif kind < 0.9:
            block, count = _table(chance, words), 2
        else:
            block, count = _list(chance, words), 4
        missing = int(due * count - len(block.encode()))
        due -= share
        if missing > 60:
            block += _prose(chance, words, missing)
        parts.append(block)
        done += count
    parts.append(foot)
    return "".join(parts).encode()


@cache
def _vocabulary(number: int) -> list[str]:
    chance = random.Random(number)
    return ["".join(chance.choices(_LETTERS, k=chance.randint(2, 9))) for _ in range(3_000)]


def _some(chance: random.Random, words: list[str], count: int) -> str:
    return " ".join(chance.choice(_ODD) if chance.random() < 0.02 else chance.choice(words) for _ in range(count))


def _state(chance: random.Random, words: list[str], count: int) -> str:
    return json.dumps({word: {"id": chance.randrange(10**6), "on": True} for word in chance.sample(words, count)})


def _head(chance: random.Random, words: list[str], number: int, size: int) -> str:
    title, about = _some(chance, words, 7), _some(chance, words, 22)
    image = f"https://img.a.example/{number}/1200x630.jpg"
    linked = {
        "@context": "https://schema.org",
        "@graph": [
            {
                "@type": "NewsArticle",
                "headline": title,
                "datePublished": "2024-05-01T09:30:00+02:00",
                "image": [image],
                "author": {"@type": "Person", "name": "Ann Author", "url": "/people/ann"},
            },
            {"@type": "BreadcrumbList", "itemListElement": [{"@type": "ListItem", "position": n} for n in range(4)]},
        ],
    }
    metas = {
        "og:title": title,
        "og:description": about,
        "og:image": image,
        "og:image:width": "1200",
        "og:type": "article",
        "og:site_name": "A Example",
        "og:url": f"https://a.example/{number}.html",
        "article:published_time": "2024-05-01T09:30:00+02:00",
    }
    named = {
        "description": about,
        "viewport": "width=device-width, initial-scale=1",
        "robots": "index, follow, max-image-preview:large",
        "twitter:card": "summary_large_image",
        "twitter:title": title,
        "twitter:image": image,
        "theme-color": "#102030",
        "generator": "Example CMS 6.1",
    }
    lines = [
        '<!DOCTYPE html>\n<html lang="en-GB" class="no-js">\n<head>\n<meta charset="utf-8">',
        f"<title>{title} | A Example</title>",
        *(f'<meta property="{name}" content="{value}">' for name, value in metas.items()),
        *(f'<meta name="{name}" content="{value}">' for name, value in named.items()),
        f'<link rel="canonical" href="https://a.example/{number}.html">',
        '<link rel="stylesheet" href="/static/css/main.3f9a1c.css" media="all">',
        '<link rel="preload" href="/static/fonts/text.woff2" as="font" type="font/woff2" crossorigin>',
        '<link rel="icon" href="/favicon.ico" sizes="any">',
        '<link rel="alternate" type="application/rss+xml" title="News" href="/feed.xml">',
        *(f'<link rel="alternate" hreflang="{tag}" href="/{tag}/{number}.html">' for tag in ("de", "fr", "x-default")),
        f'<script type="application/ld+json">{json.dumps(linked)}</script>',
        '<script async src="/static/js/app.77ac.js"></script>',
        "<style>"
        + "".join(f".c-{n}{{margin:0 auto;padding:{n}px;display:flex}}" for n in range(size // 600))
        + "</style>",
        f"<script>window.__STATE__ = {_state(chance, words, size // 240)};",
        "(function(w,d){if(w.a<2){d.write('<p>x</p>')}})(window,document);</script>",
        "</head>\n",
    ]
    return "\n".join(lines)


def _menu(words: list[str], count: int) -> str:
    items = "\n".join(
        f'      <li class="nav__item nav__item--{n}"><a class="nav__link" href="/section/{words[n]}/" '
        f'data-track="nav-{n}"><span class="nav__label">{words[n]}</span></a></li>'
        for n in range(count)
    )
    return (
        '<header class="site-header" role="banner"><div class="wrap"><a class="logo" href="/" aria-label="Home">'
        '<svg width="90" height="20" viewBox="0 0 90 20"><title>Logo</title><path d="M0 0h90v20H0z"/></svg></a>\n'
        f'  <nav class="nav" aria-label="Main">\n    <ul class="nav__list">\n{items}\n    </ul>\n  </nav></div>'
        "</header>\n"
        '<main id="main" class="main"><article class="article">\n'
    )


def _card(chance: random.Random, words: list[str]) -> str:
    name, number = chance.choice(words), chance.randrange(10**5)
    widths = ", ".join(f"https://img.a.example/{number}/{width}.jpg {width}w" for width in (320, 640))
    return (
        f'<div class="card card--{chance.randrange(9)}" data-id="{number}">\n  <div class="card__media">'
        f'<a href="/{name}/{number}.html" tabindex="-1"><picture><img class="lazy" src="https://img.a.example/{number}/320.jpg"'
        f' srcset="{widths}" alt="{name}" width="320" height="180" loading="lazy"></picture></a></div>\n'
        f'  <div class="card__body"><h3 class="card__title"><a href="/{name}/{number}.html" class="card__link">'
        f'{_some(chance, words, 6)}</a></h3>\n    <p class="card__text">{_some(chance, words, 14)}</p>\n'
        '    <div class="card__meta"><time datetime="2024-05-01">1 May</time> <span class="sep">&middot;</span> '
        f'<span class="by">{_some(chance, words, 2)}</span></div></div>\n</div>\n'
    )


def _paragraph(chance: random.Random, words: list[str]) -> str:
    return (
        f'<p class="text" id="p{chance.randrange(10**4)}">{_some(chance, words, 12)} '
        f'<a href="/{chance.randrange(200)}.html">'
        f"{_some(chance, words, 2)}</a>, {_some(chance, words, 10)} <em>{_some(chance, words, 2)}</em>.</p>\n"
    )


def _list(chance: random.Random, words: list[str]) -> str:
    items = "".join(
        f'  <li class="list__item"><a href="https://{chance.choice("bcdef")}.example/{chance.choice(words)}?utm=a&amp;id='
        f'{chance.randrange(999)}" rel="noopener" target="_blank">{_some(chance, words, 4)}</a>'
        f'<span class="badge">{chance.randrange(99)}</span></li>\n'
        for _ in range(4)
    )
    return f'<section class="box"><h2>{_some(chance, words, 3)}</h2>\n<ul class="list">\n{items}</ul></section>\n'


def _table(chance: random.Random, words: list[str]) -> str:
    rows = "".join(
        f'<tr><td><a href="/{chance.randrange(200)}.html">{chance.choice(words)}</a></td>'
        f'<td class="num">{chance.randrange(10**4)}</td><td>{_some(chance, words, 2)}</td></tr>\n'
        for _ in range(2)
    )
    head = "".join(f'<th scope="col">{chance.choice(words)}</th>' for _ in range(3))
    return f'<table class="data"><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody></table>\n'


def _prose(chance: random.Random, words: list[str], length: int) -> str:
    parts: list[str] = []
    while length > 60:
        count = min(14, max(2, (length - 150) // 9))
        piece = (
            f'<div class="row mx-auto flex items-center gap-{chance.randrange(9)}" data-component="row" '
            f'data-key="{chance.randrange(10**6)}" style="--o:{chance.randrange(99)}">\n  <p class="text text-base">'
            f"{_some(chance, words, count)}</p>\n</div>\n"
        )
        parts.append(piece)
        length -= len(piece)
    return "".join(parts)


def _foot(words: list[str], count: int) -> str:
    items = "".join(f'<li><a href="/about/{words[-n]}">{words[-n]}</a></li>\n' for n in range(1, count + 1))
    return (
        '</article></main>\n<footer class="site-footer"><ul class="foot">' + items + "</ul>\n"
        '<noscript><img height="1" width="1" alt="" src="https://stats.example/pixel.gif?x=1&amp;y=2"></noscript>\n'
        "<script>var _q=_q||[];_q.push(['track','/page']);</script></footer>\n</body>\n</html>\n"
    )
