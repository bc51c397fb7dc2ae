"""Markup for tests that compare two ways to read a page: every kind of element, nested, unclosed and broken."""

from __future__ import annotations

import random
from typing import Final

ELEMENTS: Final = (
    *("a", "a", "a", "b", "span", "p", "div", "br", "li", "ul", "td", "tr", "table", "h1", "h2", "dt", "dd", "section"),
    *("script", "style", "noscript", "template", "iframe", "svg", "math", "title", "img", "source", "link", "meta"),
    *("base", "form", "area", "frame", "frameset", "object", "video", "html", "body", "head", "pre", "option", "x-y"),
    *("select", "textarea", "caption", "em", "code", "font", "nobr", "p:q"),
)
ATTRIBUTES: Final = (
    *('href="/a"', 'href="b?c#d"', "href=''", "href", "xlink:href='/x'", "rel=NOFOLLOW", "rel='Canonical'", "id=top"),
    *("rel=alternate", "name=end", "id=''", "id='é'", "alt='A  picture'", "title=' T '", "src=i.png"),
    *("srcset='a 1x, b 2x'", "srcset='i.png 1x,,b,c 1.5x d'", "srcset='é 2w, a .5x'", "srcset='a 3w,b 12345678.x , '"),
    *("rel='dns-prefetch'", "rel='icon preload'", "rel='Stylesheet'", "rel='\u212aanonical'"),
    *("content=noindex", "name=robots", "http-equiv=refresh", "content='3; url=/r'", "lang=de"),
    *("method=POST", "action=/f", "poster=p", "data=o", "HREF=/Upper", "href='\x00'", "property='og:title'"),
    *("class=mw-headline", "xml:lang=fr", "name=' ROBOTS'", "name=''", "property", "property=É", "content"),
)
TEXTS: Final = (
    *("word", " ", "  ", "\n\t", "&nbsp;", "\u00a0x", "\u3000", "\u2003y", "é", "東京", "\x1c", "\x1e", "a\x1eb"),
    *("&amp;", "&lt;b&gt;", "&#0;", "&#xD800;", "\u200b", "¶", "🔗 ", "[edit]", "<!-- c -->", "<?pi?>", "\x85"),
    *("a  b   c ", "x\x00y", "\ufeff", "x" * 700, "l ong " * 500, "<", "</", "]]>", "\x7f", "\x1f", "<![CDATA[x]]>"),
)


def some_markup(chance: random.Random, most: int = 60) -> str:
    """Return random markup that uses all of the above."""
    pieces: list[str] = []
    opened: list[str] = []
    for _ in range(chance.randrange(1, most)):
        kind = chance.random()
        if kind < 0.45:
            name = chance.choice(ELEMENTS)
            given = "".join(f" {chance.choice(ATTRIBUTES)}" for _ in range(chance.randrange(4)))
            pieces.append(f"<{name}{given}>")
            opened.append(name)
        elif kind < 0.7 and opened:
            pieces.append(f"</{opened.pop(chance.randrange(len(opened)))}>")
        else:
            pieces.append(chance.choice(TEXTS))
    return "".join(pieces)
