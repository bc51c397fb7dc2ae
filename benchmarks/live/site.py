"""Static pages with typical metadata, which nginx serves under any host name."""

from __future__ import annotations

import random
from pathlib import Path

PAGES = 200  # files; each serves any number of URLs, which differ in their query
ROBOTS = "User-agent: *\nDisallow: /private/\nDisallow: /*.print$\nAllow: /private/press/\n"
_HEAD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Story {number}: {words}</title>
<meta name="description" content="{words}, told at length"><link rel="icon" href="/icon.png">
<meta property="og:type" content="article"><meta property="og:title" content="{words}">
<meta property="og:site_name" content="The Daily Duck"><meta property="og:description" content="{words}">
<meta property="og:image" content="/images/{number}.jpg"><meta property="og:image:width" content="1200">
<meta property="og:image:height" content="630"><meta name="twitter:card" content="summary_large_image">
<script type="application/ld+json">{{"@context": "https://schema.org", "@type": "NewsArticle",
"headline": "{words}", "datePublished": "2026-11-15T08:00:00Z", "author": {{"@type": "Person", "name": "A. Drake"}}}}
</script></head><body>
"""


def write(root: Path, page_bytes: int) -> None:
    """Write pages of many words, so that they compress like real pages."""
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randint(2, 9))) for _ in range(3_000)]
    pages = root / "pages"
    pages.mkdir()
    for number in range(PAGES):
        text = _HEAD.format(number=number, words=" ".join(chance.choices(words, k=8)))
        while len(text) < page_bytes:
            link = f'<a href="/{chance.randrange(PAGES)}.html">{chance.choice(words)}</a>'
            text += f"<p>{' '.join(chance.choices(words, k=40))} {link}</p>\n"
        (pages / f"{number}.html").write_text(text + "</body></html>\n")
    (pages / "robots.txt").write_text(ROBOTS)


def url_of(number: int, domains: int) -> str:
    """Return a different URL for each number, distributed evenly over the registered domains."""
    return f"http://www.site{number % domains}.example/{number % PAGES}.html?story={number}"
