"""The scoring filters that carry metadata from a page to the pages it links to: metadata and urlmeta.

A value travels from the record in the crawldb to the content, from there to the parsed page, and from there to the
links. A URL that a link adds to the crawldb starts with the values of its best link; a known URL keeps its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from scoter.core.datum import CrawlDatum
from scoter.core.page import Content, Outlink, Page, split_values
from scoter.core.url import Url
from scoter.plugins import Setup

LONGEST_VALUE: Final = 4_096
"""Characters of a value that a link carries: each link of the page has a copy."""


class MetadataScoring:
    """Carries chosen metadata from a page to its links, by way of its content and its parse."""

    carries_metadata = True
    reads_text = False

    def __init__(self, setup: Setup) -> None:
        scoring = setup.config.scoring
        self._set_keys(scoring.db_md, scoring.content_md, scoring.parse_md)

    def _set_keys(self, db: Sequence[str], content: Sequence[str], parse: Sequence[str]) -> None:
        self._db, self._content, self._parse = tuple(db), tuple(content), tuple(parse)

    def before_parsing(self, url: Url, datum: CrawlDatum, content: Content) -> Content:
        found = _chosen(datum.metadata, self._db)
        return replace(content, metadata={**content.metadata, **found}) if found else content

    def after_parsing(self, url: Url, content: Content, page: Page) -> Page:
        found = _chosen(content.metadata, self._content)
        # As in Nutch, links also get what only the content has.
        missing = [key for key in self._parse if key not in page.metadata]
        found |= _chosen(content.metadata, missing)
        return replace(page, metadata={**page.metadata, **found}) if found else page

    def distribute(
        self, url: Url, datum: CrawlDatum, page: Page, targets: Sequence[Outlink], found: int
    ) -> Sequence[Outlink]:
        carried = {key: split_values(value)[0] for key, value in _chosen(page.metadata, self._parse).items()}
        carried = {key: value[:LONGEST_VALUE] for key, value in carried.items()}
        if not carried:
            return targets
        return [replace(link, metadata={**link.metadata, **carried}) for link in targets]


class UrlmetaScoring(MetadataScoring):
    """Carries the metadata that scoring.urlmeta_tags names from seeds to all pages that they lead to."""

    def __init__(self, setup: Setup) -> None:
        tags = setup.config.scoring.urlmeta_tags
        self._set_keys(tags, tags, tags)


def _chosen(metadata: Mapping[str, str], keys: Sequence[str]) -> dict[str, str]:
    return {key: metadata[key] for key in keys if metadata.get(key)}
