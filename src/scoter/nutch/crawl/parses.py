"""Nutch's ParseData as a row of ``parse_data``."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from scoter.core.language_tags import language_tag
from scoter.core.page import VALUE_SEPARATOR
from scoter.core.url import Url
from scoter.nutch.crawl.records import NutchParse

SUCCESS, REDIRECT, FAILED, SKIPPED = "success", "redirect", "failed", "skipped"
_MAJOR: Final = {0: SKIPPED, 1: SUCCESS, 2: FAILED}
_SUCCESS_REDIRECT, _FAILED_TRUNCATED = 100, 202
_MINOR: Final = {
    200: "exception",
    202: "truncated",
    203: "invalid_format",
    204: "missing_parts",
    205: "missing_content",
}
_DIGEST, _ROBOTS, _CACHING, _LANGUAGE = "nutch.content.digest", "robots", "caching.forbidden", "language"
_ENCODINGS: Final = ("CharEncodingForConversion", "OriginalCharEncoding")
_NOTHING_ABOUT: Final = (None,) * 9


def page_status(parse: NutchParse) -> str:
    """Return the status of a page: ``success``, ``redirect``, ``failed`` or ``skipped``."""
    if parse.major == 1 and parse.minor == _SUCCESS_REDIRECT:
        return REDIRECT
    return SKIPPED if parse.minor == _FAILED_TRUNCATED else _MAJOR.get(parse.major, FAILED)


def page_row(url: Url, parse: NutchParse, links: int) -> tuple[Any, ...]:
    """Return a page as a row; the headers of its response are in the archive."""
    status = page_status(parse)
    robots = _value(parse, _ROBOTS).lower()
    caching = _value(parse, _CACHING).lower()
    words = set(robots.replace(",", " ").split())
    metadata = [(name, VALUE_SEPARATOR.join(values)) for name, values in parse.parse_metadata.items()]
    return (
        url.text,
        url.key,
        status,
        None if status == SUCCESS else _reason(parse),
        None,
        None,
        parse.title or None,
        language_tag(_value(parse, _LANGUAGE)) or _value(parse, _LANGUAGE) or None,
        _header(parse, "content-type").partition(";")[0].strip().lower() or None,
        next(filter(None, (_value(parse, name) for name in _ENCODINGS)), None),
        None,
        bool(words & {"noindex", "none"}),
        bool(words & {"nofollow", "none"}),
        caching in ("all", "content") or "noarchive" in words,
        "nosnippet" in words,
        None,
        links,
        _signature(parse),
        None,
        None,
        None,
        metadata or None,
        (),
        (),
        (),
        *_NOTHING_ABOUT,
    )


def _reason(parse: NutchParse) -> str | None:
    name = _MINOR.get(parse.minor, "")
    return ": ".join(filter(None, (name, parse.message))) or None


def _signature(parse: NutchParse) -> bytes | None:
    with suppress(ValueError):
        return bytes.fromhex(_value(parse, _DIGEST)) or None
    return None


def _value(parse: NutchParse, name: str) -> str:
    values = parse.parse_metadata.get(name) or parse.content_metadata.get(name)
    return values[0] if values else ""


def _header(parse: NutchParse, name: str) -> str:
    return next((values[0] for key, values in parse.content_metadata.items() if key.lower() == name and values), "")
