"""Pages with their expected metadata: the source and value of each field."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, json
from selectolax.lexbor import LexborHTMLParser

from scoter.core.metadata import PageMetadata
from scoter.core.url import canonical
from scoter.parse.metadata import MetadataOptions, PageMetadataReader

URL = "https://a.example/news/seals.html"


class Case(Struct, frozen=True):
    """A page and its expected fields as ``field=(source, value)``."""

    name: str
    page: str
    expected: dict[str, tuple[str, Any]]
    order: tuple[str, ...] = ()
    header_language: str = ""


def case(name: str, page: str, **expected: tuple[str, Any]) -> Case:
    return Case(name, page, expected)


def ld(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


def read(page: str | bytes, order: tuple[str, ...] = (), header_language: str = "") -> PageMetadata:
    url = canonical(URL)
    reader = PageMetadataReader(MetadataOptions.of_lines(order))
    return reader.read(LexborHTMLParser(page), url, url, header_language=header_language)


def as_expected_fields(found: PageMetadata) -> dict[str, tuple[str, Any]]:
    """Return a record in the form of the expected fields."""
    record = json.decode(json.encode(found))
    sources = record.pop("sources", {})
    return {name: (sources.get(name, ""), value) for name, value in record.items()}
