"""Results of the index as a search box shows them: text without markup, and addresses as the site has them."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Final

from scoter.errors import UsageError
from scoter.index.search import SearchHit, SearchPage
from scoter.sitesearch.records import SiteHit, SiteResults

_MATCH: Final = re.compile(r"<b>(.*?)</b>", re.DOTALL)


class AddressMap:
    """Replaces the start of addresses, for a site that was crawled elsewhere than its readers see it.

    >>> AddressMap([("http://localhost:8000/", "https://docs.example/")]).apply("http://localhost:8000/guide.html")
    'https://docs.example/guide.html'
    """

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        for old, _ in pairs:
            if "://" not in old:
                raise UsageError(
                    f"{old!r} is not the start of an address",
                    where="--map-url",
                    hint="Give it as the crawl has it, such as http://localhost:8000/.",
                )
        self._pairs = sorted(pairs, key=lambda pair: -len(pair[0]))

    def apply(self, url: str) -> str:
        """Return the address that readers use."""
        for old, new in self._pairs:
            if url.startswith(old):
                return new + url[len(old) :]
        return url


def site_results(found: SearchPage, addresses: AddressMap) -> SiteResults:
    """Return what a search found, for a search box."""
    return SiteResults(
        query=found.query,
        total=found.total,
        hits=tuple(_site_hit(hit, addresses) for hit in found.hits),
        suggestion=found.suggestion,
        corrected=found.corrected,
        partial=found.partial,
        notices=found.notices,
    )


def _site_hit(hit: SearchHit, addresses: AddressMap) -> SiteHit:
    return SiteHit(
        url=addresses.apply(hit.link or hit.url),
        title=hit.title,
        path=hit.section,
        excerpt=excerpt_parts(hit.snippet),
    )


def excerpt_parts(snippet: str) -> tuple[str, ...]:
    """Return the parts of a snippet as plain text: every second one matches.

    >>> excerpt_parts("Grey <b>seals</b> &amp; gulls")
    ('Grey ', 'seals', ' & gulls')
    """
    return tuple(html.unescape(part) for part in _MATCH.split(snippet)) if snippet else ()
