"""In which order the sources of page metadata are believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from scoter.config import Config
from scoter.errors import ConfigError

SOURCES: Final = (
    *("opengraph", "twitter", "jsonld", "microdata", "rdfa", "dublincore", "microformats"),
    *("link", "meta", "html", "content"),
)

# What is written to be shown elsewhere comes before what is written for machines, and that before what is found on the
# page. Of times and authors, schema.org's are the ones that publishers keep right; of language, the page's own.
_DEFAULT: Final = {
    "title": "opengraph twitter jsonld microdata rdfa microformats dublincore html meta",
    "description": "opengraph twitter meta jsonld microdata rdfa dublincore microformats content",
    "image": "opengraph twitter jsonld microdata rdfa link microformats meta content",
    "canonical": "link opengraph twitter jsonld microdata rdfa microformats dublincore",
    "site_name": "opengraph jsonld microdata rdfa meta dublincore",
    "authors": "jsonld microdata rdfa meta opengraph dublincore microformats html link twitter content",
    "published": "jsonld opengraph microdata rdfa meta dublincore microformats html content",
    "modified": "jsonld opengraph microdata rdfa meta dublincore microformats html",
    "language": "html jsonld opengraph microdata rdfa dublincore meta",
    "type": "opengraph jsonld microdata rdfa microformats dublincore",
    "keywords": "meta jsonld opengraph microdata rdfa dublincore microformats html",
    "icon": "link meta",
    "theme_color": "meta",
    "media": "opengraph twitter jsonld microdata rdfa html",
    "embeds": "link",
    "feeds": "link",
    "license": "link jsonld microdata rdfa dublincore html",
    "product": "jsonld microdata rdfa opengraph microformats",
}
DEFAULT_ORDER: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {name: tuple(sources.split()) for name, sources in _DEFAULT.items()}
)
FIELDS: Final = tuple(DEFAULT_ORDER)


class MetadataOptions(Struct, frozen=True):
    """For each field of the record, the sources in the order they are believed; one that is not named is not heard.

    >>> MetadataOptions.of_lines(["title=html,opengraph"]).order["title"]
    ('html', 'opengraph')
    """

    order: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: dict(DEFAULT_ORDER))

    @classmethod
    def of(cls, config: Config) -> MetadataOptions:
        """Return what the configuration says."""
        return cls.of_lines(config.parse.metadata_order)

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> MetadataOptions:
        """Return the built-in order, changed by lines such as ``title=jsonld,html``."""
        changed: dict[str, tuple[str, ...]] = {}
        for line in lines:
            name, sign, rest = line.partition("=")
            name = name.strip()
            sources = tuple(source.strip() for source in rest.split(",") if source.strip())
            if not sign or name not in DEFAULT_ORDER:
                raise _mistake(f"{line!r} names no field")
            if name in changed:
                raise _mistake(f"{name} has two orders")
            for source in sources:
                if source not in SOURCES:
                    raise _mistake(f"{line!r} names the source {source!r}, which there is not")
            changed[name] = sources
        return cls({**DEFAULT_ORDER, **changed})


def _mistake(what: str) -> ConfigError:
    return ConfigError(
        what,
        where="parse.metadata_order",
        hint=f"Write field=source,source. Fields: {', '.join(FIELDS)}. Sources: {', '.join(SOURCES)}.",
    )
