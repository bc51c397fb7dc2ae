"""Creative Commons licences by their addresses: what they grant, in which version, under whose law."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

HOSTS: Final = frozenset({"creativecommons.org", "www.creativecommons.org"})
_LONGEST: Final = 200
# The elements of every licence that Creative Commons has published, retired ones included.
_ELEMENTS: Final = frozenset({"by", "nc", "nd", "sa", "sampling", "sampling+", "devnations"})
_DEDICATIONS: Final = frozenset({("publicdomain", "zero"), ("publicdomain", "mark"), ("licenses", "publicdomain")})
_PATH: Final = re.compile(
    r"/(licenses|publicdomain)/([a-z+-]+)(?:/([0-9]\.[0-9]))?(?:/([a-z]{2,3}|scotland))?(?:/(?:deed|legalcode)[^/]*)?/?"
)


class Licence(Struct, frozen=True):
    """A licence: its own address, what it asks for (``by``, ``nc``, ``nd``, ``sa``) or grants (``zero``, ``mark``)."""

    url: str
    features: tuple[str, ...]
    version: str = ""
    jurisdiction: str = ""


def licence_at(url: str) -> Licence | None:
    """Return the licence that an address names; nothing when it is no Creative Commons licence.

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
