"""The picture that stands for a page which names none: the largest that seems to belong to its content."""

from __future__ import annotations

import re
from typing import Final

from scoter.core.metadata import Image
from scoter.parse.metadata.cleaning import LONGEST_ADDRESS, LONGEST_TITLE, clean, side
from scoter.parse.metadata.seen import Attributes, Seen, within

MOST_PICTURES: Final = 60
_SMALLEST: Final = 100  # pixels a side: less is an icon, a smiley, a tracker
_LONGEST_SHAPE: Final = 4  # times as wide as high: a banner, a rule
_USUAL: Final = 240 * 180  # what a picture that does not say its size is taken to cover
_LARGEST: Final = 4_000_000
_APART: Final = ("nav", "footer", "aside", "header", "form", "dialog", "template", "button", "noscript")
_LATE: Final = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-image")
_DECORATION: Final = re.compile(
    r"(?:^|[/._\-?=&\s])(?:sprites?|icons?|favicon|logos?|avatars?|gravatar|pixel|spacer|blank|transparent|placeholder"
    r"|tracking|tracker|beacon|1x1|buttons?|badges?|emoji|smil(?:ey|ies)|ads?|adserver|banner|captcha|loading|loader"
    r"|share|social)(?:$|[/._\-?=&\s0-9])",
    re.IGNORECASE,
)
_QUERIES: Final = ('article img,main img,[role="main"] img', "img", "amp-img")
_HOSTS: Final = ("doubleclick.net", "gravatar.com", "facebook.com/tr", "google-analytics.com", "scorecardresearch.com")


def picture(seen: Seen) -> Image | None:
    """Return the largest plausible picture, of the main content if there is one in it."""
    for query in _QUERIES:
        ranked = []
        for place, node in enumerate(seen.some(query, MOST_PICTURES)):
            attributes = node.attributes
            if area := _area(attributes):
                ranked.append((-area, place, node, attributes))
        ranked.sort(key=lambda found: found[:2])
        for _, _, node, attributes in ranked:
            if (image := _plausible(seen, attributes)) is not None and not within(node, _APART):
                return image
    return None


def _area(attributes: Attributes) -> int:
    """Return about how many pixels a picture covers; none for what is too small or too narrow for a picture."""
    width, height = side(attributes.get("width")), side(attributes.get("height"))
    if (width is not None and width < _SMALLEST) or (height is not None and height < _SMALLEST):
        return 0
    if width and height:
        return min(width * height, _LARGEST) if 1 / _LONGEST_SHAPE <= width / height <= _LONGEST_SHAPE else 0
    one = width or height or _source(attributes)[1]
    if not one:
        return _USUAL
    return min(one * one * 2 // 3, _LARGEST) if one >= _SMALLEST else 0


def _plausible(seen: Seen, attributes: Attributes) -> Image | None:
    """Return a picture, or nothing for a decoration."""
    href, _ = _source(attributes)
    said = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if len(href) > LONGEST_ADDRESS or _DECORATION.search(href) or (len(said) > 1 and _DECORATION.search(said[:500])):
        return None
    url = seen.address(href)
    if not url or url.partition("?")[0].lower().endswith((".svg", ".ico", ".gif")) or any(h in url for h in _HOSTS):
        return None
    return Image(
        url=url,
        alt=clean(attributes.get("alt") or "", LONGEST_TITLE),
        width=side(attributes.get("width")),
        height=side(attributes.get("height")),
    )


def _source(attributes: Attributes) -> tuple[str, int]:
    """Return where a picture is and how wide, if its set of sources tells: late sources first, the largest of a set."""
    best = ("", 0)
    for name in ("srcset", "data-srcset"):
        for part in (attributes.get(name) or "")[:20_000].split(", ")[:30]:
            href, _, size = part.strip().rpartition(" ")
            width = (side(size[:-1]) or 0) if size.endswith("w") else 0
            if href and not href.startswith("data:") and width > best[1]:
                best = (href.strip(), width)
    if best[0]:
        return best
    # Where a picture is loaded late, the source is what is shown until then.
    return next(filter(None, (attributes.get(name) for name in (*_LATE, "src"))), None) or "", 0
