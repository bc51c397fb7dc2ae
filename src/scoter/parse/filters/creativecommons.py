"""The Creative Commons licence of a page, recognised by its address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from scoter.core.page import Content, Page
from scoter.parse.filters.metadata_values import join_values, with_metadata
from scoter.plugins import Setup

URL: Final = "License-Url"
LOCATION: Final = "License-Location"
FEATURES: Final = "License-Features"
VERSION: Final = "License-Version"
JURISDICTION: Final = "License-Jurisdiction"
HOSTS: Final = frozenset({"creativecommons.org", "www.creativecommons.org"})
_LONGEST: Final = 200
# Elements of all licences that Creative Commons has published, including retired ones.
_ELEMENTS: Final = frozenset({"by", "nc", "nd", "sa", "sampling", "sampling+", "devnations"})
_DEDICATIONS: Final = frozenset({("publicdomain", "zero"), ("publicdomain", "mark"), ("licenses", "publicdomain")})
_PATH: Final = re.compile(
    r"/(licenses|publicdomain)/([a-z+-]+)(?:/([0-9]\.[0-9]))?(?:/([a-z]{2,3}|scotland))?(?:/(?:deed|legalcode)[^/]*)?/?"
)


class CreativeCommonsFilter:
    """Copies the Creative Commons licence of a page to License-Url and related keys.

    Sources in order of precedence: links with ``rel=license``, the page's metadata, any link to a licence.
    """

    def __init__(self, setup: Setup) -> None: ...

    def refine(self, content: Content, page: Page) -> Page:
        for location, url in _candidates(page):
            licence = licence_at(url)
            if licence is not None:
                found = {
                    URL: licence.url,
                    LOCATION: location,
                    FEATURES: join_values(licence.features),
                    VERSION: licence.version,
                    JURISDICTION: licence.jurisdiction,
                }
                return with_metadata(page, found)
        return page


def _candidates(page: Page) -> Iterator[tuple[str, str]]:
    for link in page.outlinks:
        if link.rel and "license" in link.rel.lower().split():
            yield "rel", link.target.text
    if page.about is not None:
        yield "about", page.about.license
    for link in page.outlinks:
        # An image or style sheet from creativecommons.org is not a licence.
        if link.kind in ("a", "area") and link.target.host in HOSTS:
            yield "a", link.target.text


class Licence(Struct, frozen=True):
    """A licence: its address and its conditions (``by``, ``nc``, ``nd``, ``sa``) or dedication (``zero``, ``mark``)."""

    url: str
    features: tuple[str, ...]
    version: str = ""
    jurisdiction: str = ""


def licence_at(url: str) -> Licence | None:
    """Return the Creative Commons licence at an address, or ``None``.

    >>> found = licence_at("http://creativecommons.org/licenses/by-nc/3.0/de/deed.en")
    >>> found.url, found.features, found.version, found.jurisdiction
    ('https://creativecommons.org/licenses/by-nc/3.0/de/', ('by', 'nc'), '3.0', 'de')
    """
    scheme, _, rest = url[:_LONGEST].partition("://")
    host, slash, path = rest.partition("/")
    if scheme not in ("http", "https") or host.lower() not in HOSTS:
        return None
    found = _PATH.fullmatch(slash + re.split("[?#]", path)[0].lower())
    if found is None:
        return None
    kind, code, version, jurisdiction = found.groups("")
    features = tuple(code.split("-"))
    if (kind, code) not in _DEDICATIONS and not (kind == "licenses" and _ELEMENTS.issuperset(features)):
        return None
    parts = "/".join(filter(None, (kind, code, version, jurisdiction)))
    return Licence(f"https://creativecommons.org/{parts}/", features, version, jurisdiction)
