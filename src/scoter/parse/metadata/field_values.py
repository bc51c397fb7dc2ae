"""Clean and limit metadata values: one-line texts, absolute URLs, plausible numbers and dates."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from scoter.core.dates import parse_date
from scoter.core.language_tags import shortest
from scoter.core.metadata import Author, Image, Media
from scoter.core.url import Url, join
from scoter.parse.html.elements import TEXT_LEVEL

LONGEST_TITLE: Final = 1_000
LONGEST_DESCRIPTION: Final = 5_000
LONGEST_NAME: Final = 200  # of a site, an author, a brand, a feed
LONGEST_WORD: Final = 100  # a keyword, a type, an article number
LONGEST_ADDRESS: Final = 4_096
MOST_AUTHORS: Final = 20
MOST_KEYWORDS: Final = 50
MOST_MEDIA: Final = 10
LARGEST_SIDE: Final = 100_000  # pixels
EARLIEST_YEAR: Final = 1970
LATEST_YEAR: Final = 2100

# Control characters, lone surrogates and direction overrides. Zero-width joiners are kept: they are part of words.
_UNWANTED: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff\ufffe\uffff\ud800-\udfff]+")
# An unclosed comment extends to the end of the text, as on a page; this keeps the search linear.
_MARKUP: Final = re.compile(r"<(?:!--.*?(?:-->|\Z)|/?([a-zA-Z][a-zA-Z0-9]*)[^<>]*>)", re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,6})?")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,5}")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,90}")
_COMMAS: Final = re.compile("[,;\uff0c\uff1b\u3001\u060c\u061b]")  # also those of Chinese, Japanese and Arabic
_COLOUR: Final = re.compile(r"#[0-9a-f]{3,8}|[a-z]{3,30}|(?:rgb|hsl|hwb|lab|lch|oklab|oklch)a?\([0-9a-z.,%/ -]{1,60}\)")
_BY: Final = re.compile(r"(?:(?:written|posted) )?by[: ]\s*", re.IGNORECASE)


def clean(text: str, longest: int) -> str:
    r"""Return a text on one line without control characters.

    >>> clean(" Grey\n\t seals\x07 ", 100)
    'Grey seals'
    """
    words = " ".join(text[: 4 * longest].split())
    if not words.isprintable():
        words = " ".join(_UNWANTED.sub("", words).split())
    return words if len(words) <= longest else words[:longest].rstrip()


def strip_markup(text: str, longest: int) -> str:
    """Return a text without tags and entities, for sources whose values are often HTML.

    >>> strip_markup("<p>Seals &amp; terns</p>", 100)
    'Seals & terns'
    >>> strip_markup("Fast <b>swimm</b>ers.<br>Slow walkers.", 100)
    'Fast swimmers. Slow walkers.'
    """
    text = text[: 8 * longest]
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _MARKUP.sub(_tag_replacement, text)
    return clean(text, longest)


def title(text: str) -> str:
    return clean(text, LONGEST_TITLE)


def name(text: str) -> str:
    return clean(text, LONGEST_NAME)


def word(text: str) -> str:
    return clean(text, LONGEST_WORD)


def description(text: str) -> str:
    return strip_markup(text, LONGEST_DESCRIPTION)


def address(base: Url, href: str | None) -> str:
    """Return the absolute, canonical URL; empty for what cannot be fetched (``data:``, ``#part``).

    >>> from scoter.core.url import canonical
    >>> address(canonical("http://a.example/b/"), " c.png#x "), address(canonical("http://a.example/"), "data:,x")
    ('http://a.example/b/c.png', '')
    """
    if not href or len(href) > LONGEST_ADDRESS:
        return ""
    href = href.strip()
    if not href or href[0] == "#" or href[:2] == "_:":  # a fragment, or a blank node
        return ""
    found = join(base, href)
    if found is None or len(found.text) > LONGEST_ADDRESS:
        return ""
    text = found.text
    # Only pages read from files may refer to files.
    return text if text.startswith(("http://", "https://")) or found.scheme == base.scheme else ""


def number(text: str | None, most: float) -> float | None:
    """Return the first number in a text if it is between 0 and ``most``.

    >>> number("1,200.50 EUR", 10_000), number("-", 10)
    (1200.5, None)
    """
    if not text:
        return None
    found = _NUMBER.search(text[:40].replace(",", ""))
    if found is None:
        return None
    value = float(found[0])
    return value if value <= most else None


def side(text: str | None) -> int | None:
    """Return a width or height in pixels.

    >>> side("640px"), side("100%"), side("0")
    (640, None, None)
    """
    if not text or "%" in text:
        return None
    value = number(text, LARGEST_SIDE)
    return int(value) if value and value >= 1 else None


def plausible_date(text: str | None) -> datetime | None:
    """Return a date between 1970 and 2100; other years come from empty fields and wrong clocks.

    >>> str(plausible_date("5 March 2024")), plausible_date("0001-01-01")
    ('2024-03-05 00:00:00+00:00', None)
    """
    date = parse_date(text)
    return date if date is not None and EARLIEST_YEAR <= date.year <= LATEST_YEAR else None


def first_date(texts: Iterable[str]) -> datetime | None:
    """Return the first plausible date."""
    return next(filter(None, map(plausible_date, texts)), None)


def image(url: str, alt: str | None, width: str | None, height: str | None, kind: str = "") -> Image | None:
    """Return an image with clean values; ``None`` without a URL."""
    if not url:
        return None
    return Image(
        url=url,
        alt=clean(alt or "", LONGEST_TITLE),
        width=side(width),
        height=side(height),
        media_type=media_type(kind),
    )


def language(text: str | None) -> str:
    """Return a language tag in its usual form; empty if it is not one.

    >>> language("en_us"), language("zh-hant-TW"), language("deu"), language("English, please")
    ('en-US', 'zh-Hant-TW', 'de', '')
    """
    if not text:
        return ""
    text = text[:100].strip().partition(".")[0]  # the locale en_GB.UTF-8
    if _LANGUAGE.fullmatch(text) is None or len(text) > 35:
        return ""
    first, *rest = text.replace("_", "-").split("-")
    return "-".join((shortest(first.lower()), *(_subtag(part) for part in rest)))


def media_type(text: str | None) -> str:
    """Return a media type without parameters; empty if it is not one."""
    if not text:
        return ""
    found = text[:200].partition(";")[0].strip().lower()
    return found if _MEDIA_TYPE.fullmatch(found) else ""


def colour(text: str) -> str:
    """Return a CSS colour; empty if it is not one."""
    found = clean(text, LONGEST_WORD).lower()
    return found if _COLOUR.fullmatch(found) else ""


def words(values: Iterable[str]) -> tuple[str, ...]:
    """Split texts into keywords, each once.

    >>> words(["seals, terns", "Seals;gulls"])
    ('seals', 'terns', 'gulls')
    >>> words(["海豹，燕鸥、海鸥", "Q&amp;A"])
    ('海豹', '燕鸥', '海鸥', 'Q&A')
    """
    found: dict[str, str] = {}
    for value in values:
        text = value[: 2 * MOST_KEYWORDS * LONGEST_WORD]
        if "&" in text:
            text = html.unescape(text)  # before splitting: an entity ends in a semicolon
        for piece in _COMMAS.split(text):
            word = strip_markup(piece, LONGEST_WORD)
            if word:
                found.setdefault(word.casefold(), word)
        if len(found) >= MOST_KEYWORDS:
            break
    return tuple(found.values())[:MOST_KEYWORDS]


def authors(found: Iterable[Author]) -> tuple[Author, ...]:
    """Return authors, each once, without those whose name is a URL."""
    kept: dict[str, Author] = {}
    for author in found:
        name = _BY.sub("", author.name, count=1) if author.name[:1] in "bBwWpP" else author.name
        if not name or name.startswith(("http://", "https://", "www.")):
            continue
        key = name.casefold()
        if key not in kept or (author.url and not kept[key].url):
            kept[key] = Author(name=name, url=author.url)
        if len(kept) >= MOST_AUTHORS:
            break
    return tuple(kept.values())


def split_authors(values: Iterable[str]) -> tuple[Author, ...]:
    """Return the authors in texts, which may hold several separated by semicolons."""
    return authors(
        Author(name=strip_markup(name, LONGEST_NAME))
        for value in values
        for name in html.unescape(value[:5_000]).split(";")
    )


def distinct(found: Iterable[Media]) -> tuple[Media, ...]:
    """Return the first media, each URL once."""
    kept: dict[str, Media] = {}
    for media in found:
        kept.setdefault(media.url, media)
        if len(kept) == MOST_MEDIA:
            break
    return tuple(kept.values())


def _tag_replacement(markup: re.Match[str]) -> str:
    """Replace block-level tags by a space, and comments and text-level tags by nothing."""
    name = markup[1]
    return "" if name is None or name.lower() in TEXT_LEVEL else " "


def _subtag(part: str) -> str:
    if len(part) == 2 and part.isalpha():
        return part.upper()
    return part.title() if len(part) == 4 and part.isalpha() else part.lower()
