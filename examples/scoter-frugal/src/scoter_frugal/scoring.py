"""A scoring filter with a crawldb column and one hook implemented by row and by columns."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from scoter.core.datum import CrawlDatum
from scoter.core.url import Url
from scoter.plugins import Column, Setup


class WordsInUrl:
    """Fetches URLs with given words in their path first."""

    columns = (Column("words_found", "int32", default=0, merge="max"),)

    class Settings(Struct, frozen=True):
        words: tuple[str, ...] = ("news",)
        factor: float = 2.0

    def __init__(self, setup: Setup) -> None:
        self._words: tuple[str, ...] = setup.settings.words
        self._factor: float = setup.settings.factor

    def injected(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        return self._counted(url, datum)

    def initial(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        return self._counted(url, datum)

    # sort_value scores one URL, sort_value_columns a whole crawldb; both must give the same result.
    def sort_value(self, url: Url, datum: CrawlDatum, value: float) -> float:
        return value * float(self._factor ** datum.extra.get("words_found", 0))

    def sort_value_columns(self, table: Any) -> Any:
        return table.sort_value * self._factor**table.words_found

    def _counted(self, url: Url, datum: CrawlDatum) -> CrawlDatum:
        found = sum(word in url.path for word in self._words)
        return replace(datum, extra={**datum.extra, "words_found": found})
