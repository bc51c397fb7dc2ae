"""Pages with the truth beside each: every field that is there, with its source and its value, and no other."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, json
from selectolax.lexbor import LexborHTMLParser

from scoter.core.metadata import PageMetadata
from scoter.core.url import canonical
from scoter.parse.metadata import MetadataOptions, PageMetadataReader

URL = "https://a.example/news/seals.html"


class Case(Struct, frozen=True):
    """A page, and what it says: the fields as ``field=(source, value)``."""

    name: str
    page: str
    truth: dict[str, tuple[str, Any]]
    order: tuple[str, ...] = ()
    header_language: str = ""


def case(name: str, page: str, **truth: tuple[str, Any]) -> Case:
    return Case(name, page, truth)


def ld(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


def read(page: str | bytes, order: tuple[str, ...] = (), header_language: str = "") -> PageMetadata:
    url = canonical(URL)
    reader = PageMetadataReader(MetadataOptions.of_lines(order))
    return reader.read(LexborHTMLParser(page), url, url, header_language=header_language)


def told(found: PageMetadata) -> dict[str, tuple[str, Any]]:
    """Return a record in the form of the truth."""
    record = json.decode(json.encode(found))
    sources = record.pop("sources", {})
    return {name: (sources.get(name, ""), value) for name, value in record.items()}
