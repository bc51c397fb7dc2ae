"""Scoring: the chain of scoring filters, and the rules of the two built-in ones, OPIC and depth."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.chain import takes
from scoter.core.datum import CrawlDatum
from scoter.core.document import CrawledPage, Document
from scoter.core.page import Content, Outlink, Page
from scoter.core.url import Url

DEPTH = "depth"
MAX_DEPTH = "max_depth"
SEED_DEPTH = 1
DEFAULT_MAX_DEPTH = 1000
_WITH_DOCUMENT = 5
"""How many arguments the hook ``index`` takes if it wants to see the document."""


class ScoringChain:
    """Runs each hook through all the filters that have it, in order.

    A filter may lack any hook. A hook that no filter has leaves its value unchanged.
    """

    def __init__(self, filters: Sequence[tuple[str, Any]]) -> None:
        self._filters = tuple(each for _, each in filters)
        self._hooks: dict[str, list[Any]] = {}
        self._by_document: tuple[list[Any], list[Any]] | None = None

    def _hooks_named(self, hook: str) -> list[Any]:
        found = self._hooks.get(hook)
        if found is None:
            found = self._hooks[hook] = [getattr(each, hook) for each in self._filters if hasattr(each, hook)]
        return found

    def injected(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        """Score a seed."""
        for hook in self._hooks_named("injected"):
            datum = hook(url, datum)
        return datum

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        """Score a newly found URL."""
        for hook in self._hooks_named("initial"):
            datum = hook(url, datum)
        return datum

    def sort_value(self, url: Url, datum: CrawlDatum, value: float = 1.0) -> float:
        """Return how early a URL should be fetched."""
        for hook in self._hooks_named("sort_value"):
            value = hook(url, datum, value)
        return value

    def before_parsing(self, url: Url, datum: CrawlDatum, content: Content) -> Content:
        """Pass what is known about a URL on to its content."""
        for hook in self._hooks_named("before_parsing"):
            content = hook(url, datum, content)
        return content

    def after_parsing(self, url: Url, content: Content, page: Page) -> Page:
        """Pass what the content carries on to the parsed page."""
        for hook in self._hooks_named("after_parsing"):
            page = hook(url, content, page)
        return page

    def distribute(
        self, url: Url, datum: CrawlDatum, page: Page, targets: Sequence[Outlink], found: int
    ) -> Sequence[Outlink]:
        """Distribute a page's score among its link targets; a filter may drop targets."""
        for hook in self._hooks_named("distribute"):
            targets = hook(url, datum, page, targets, found)
        return targets

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        """Score a record after a round."""
        for hook in self._hooks_named("update"):
            new = hook(url, old, new, links, now)
        return new

    def index(self, url: Url, datum: CrawlDatum, boost: float = 1.0) -> float:
        """Return a document's boost before its fields are known, by the filters that need only the record."""
        for hook in self._index_hooks()[0]:
            boost = hook(url, datum, boost)
        return boost

    def index_document(self, document: Document, crawled: CrawledPage) -> float:
        """Return the boost of a document with all its fields, by the filters that want to see it."""
        boost = document.boost
        for hook in self._index_hooks()[1]:
            boost = hook(crawled.page.url, crawled.datum, boost, document, crawled)
        return boost

    def _index_hooks(self) -> tuple[list[Any], list[Any]]:
        """Return the hooks that need only the record, and those that want to see the document."""
        if self._by_document is None:
            hooks = self._hooks_named("index")
            late = [hook for hook in hooks if takes(hook, _WITH_DOCUMENT)]
            self._by_document = [hook for hook in hooks if hook not in late], late
        return self._by_document

    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        """Update a record that nothing in a round links to."""
        for hook in self._hooks_named("orphaned"):
            datum = hook(url, datum, now)
        return datum


class OpicRules(Struct, frozen=True, kw_only=True):
    """OPIC: a page distributes its score among the pages it links to (Abiteboul, Preda and Cobena 2003, as in Nutch).

    A target that a page links to twice gets two shares. ``internal`` and ``external`` are the factors for links to the
    same host and to others. ``count_filtered`` divides the score by all links of the page instead of those that were
    kept.
    """

    internal: float = 1.0
    external: float = 1.0
    count_filtered: bool = False
    index_power: float = 0.5

    def distribute(self, score: float, host: str, targets: Sequence[Outlink], found: int) -> Sequence[Outlink]:
        """Return the targets with their shares; ``found`` is the number of links before filtering."""
        count = found if self.count_filtered else sum(link.count for link in targets)
        if not targets or count <= 0:
            return targets
        share = score / count
        return [
            replace(link, score=share * link.count * (self.internal if link.target.host == host else self.external))
            for link in targets
        ]

    def boost(self, score: float, value: float) -> float:
        """Return the index boost; a negative score gives none."""
        return float(max(score, 0.0) ** self.index_power) * value


def opic_score(old: CrawlDatum | None, new: CrawlDatum, links: Iterable[CrawlDatum]) -> float:
    """Return the score after a round: the previous score plus what the inlinks contribute.

    The sum is exact, so it does not depend on the order of the links. Infinities and NaN are ignored.
    """
    scores = [score for score in ((old or new).score, *(link.score for link in links)) if math.isfinite(score)]
    try:
        return math.fsum(scores)
    except OverflowError:
        return sys.float_info.max


class SeedDistance(Struct, frozen=True):
    """A page's distance from its seed in links, and the largest distance that the seed allows."""

    depth: int = DEFAULT_MAX_DEPTH
    limit: int = DEFAULT_MAX_DEPTH

    def distribute(self, targets: Sequence[Outlink], limit: int | None = None) -> Sequence[Outlink]:
        """Return the targets one step deeper, or none if the page is at its limit.

        ``limit`` overrides the page's limit, both for the page itself and for the targets, which inherit it.
        """
        limit = self.limit if limit is None else limit
        if self.depth >= limit:
            return ()
        below = {DEPTH: self.depth + 1, MAX_DEPTH: limit}
        return [replace(link, extra={**link.extra, **below}) for link in targets]

    def sort_value(self, value: float) -> float:
        """Return the sort value: shallow pages come first."""
        return value * (1 + self.limit - self.depth)


def closest(old: SeedDistance | None, links: Iterable[SeedDistance]) -> SeedDistance | None:
    """Return the shortest distance and the largest limit among the old record and the inlinks."""
    known = [each for each in (old, *links) if each is not None]
    if not known:
        return None
    return SeedDistance(min(each.depth for each in known), max(each.limit for each in known))
