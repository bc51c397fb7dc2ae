"""A chain of scoring filters as one: each hook runs through all the filters that have it, in their order.

A filter may lack any hook; what none of them has leaves the record as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from scoter.core.datum import CrawlDatum
from scoter.core.page import Content, Outlink, Page
from scoter.core.url import Url


class ScoringChain:
    """What the jobs ask about scores, answered by a chain of plug-ins."""

    def __init__(self, filters: Sequence[tuple[str, Any]]) -> None:
        self._filters = tuple(each for _, each in filters)
        self._hooks: dict[str, list[Any]] = {}

    def _with(self, hook: str) -> list[Any]:
        found = self._hooks.get(hook)
        if found is None:
            found = self._hooks[hook] = [getattr(each, hook) for each in self._filters if hasattr(each, hook)]
        return found

    def injected(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        """Score a seed."""
        for hook in self._with("injected"):
            datum = hook(url, datum)
        return datum

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        """Score a URL that was just found."""
        for hook in self._with("initial"):
            datum = hook(url, datum)
        return datum

    def sort_value(self, url: Url, datum: CrawlDatum, value: float = 1.0) -> float:
        """Return how early a URL should be fetched."""
        for hook in self._with("sort_value"):
            value = hook(url, datum, value)
        return value

    def before_parsing(self, url: Url, datum: CrawlDatum, content: Content) -> Content:
        """Hand on to a page what is known of its URL."""
        for hook in self._with("before_parsing"):
            content = hook(url, datum, content)
        return content

    def after_parsing(self, url: Url, content: Content, page: Page) -> Page:
        """Hand on to the parsed page what its content carries."""
        for hook in self._with("after_parsing"):
            page = hook(url, content, page)
        return page

    def distribute(self, url: Url, datum: CrawlDatum, targets: Sequence[Outlink], found: int) -> Sequence[Outlink]:
        """Share a page's score among the targets of its links; a filter may drop targets."""
        for hook in self._with("distribute"):
            targets = hook(url, datum, targets, found)
        return targets

    def update(
        self, url: Url, old: CrawlDatum | None, new: CrawlDatum, links: Sequence[CrawlDatum], now: datetime
    ) -> CrawlDatum:
        """Score a record after a round."""
        for hook in self._with("update"):
            new = hook(url, old, new, links, now)
        return new

    def index(self, url: Url, datum: CrawlDatum, boost: float = 1.0) -> float:
        """Return a document's boost."""
        for hook in self._with("index"):
            boost = hook(url, datum, boost)
        return boost

    def orphaned(self, url: Url, datum: CrawlDatum, now: datetime) -> CrawlDatum:
        """Look at a record that a round did not mention."""
        for hook in self._with("orphaned"):
            datum = hook(url, datum, now)
        return datum
