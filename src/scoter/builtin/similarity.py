"""The scoring filter similarity: links of pages that resemble a model text come first.

Words are compared in lower case and by their English stems, without stop words. Nutch uses Porter's first stemmer and
Lucene's tokenizer; here both are tantivy's, so single words may differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from scoter.config.named_files import lines_of
from scoter.core.datum import CrawlDatum
from scoter.core.page import Content, Outlink, Page
from scoter.core.similarity import TermVector, ngrams
from scoter.core.url import Url
from scoter.errors import ConfigError
from scoter.plugins import Setup

SIMILARITY_KEY: Final = "similarity"
"""Parse metadata key of a page's similarity, from 0 to 1."""
LONGEST_TEXT: Final = 1_000_000
"""Characters of a page that are compared."""
_LONGEST_WORD: Final = 255
# Lucene's English stop words, which Nutch always removes.
_STOP_WORDS: Final = (
    *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of"),
    *("on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will"),
    "with",
)
_MODEL: Final = "scoring.cosine_goldstandard_file"
_NGRAMS: Final = "scoring.similarity_ngrams"
_STOPPED: Final = "scoring.similarity_stopword_file"


class SimilarityScoring:
    """Gives the links of a page the page's cosine similarity to a model text as their score."""

    def __init__(self, setup: Setup) -> None:
        scoring = setup.config.scoring
        self._ngrams = _range(scoring.similarity_ngrams)
        stopped: Sequence[str] = ()
        if scoring.similarity_stopword_file is not None:
            stopped = lines_of(scoring.similarity_stopword_file, _STOPPED)
        self._words = WordAnalyzer(stopped)
        file = scoring.cosine_goldstandard_file
        if file is None:
            raise ConfigError(
                "is empty, but the scoring filter similarity compares pages with its text",
                where=_MODEL,
                hint="Name a text file, or remove 'similarity' from scoring.filters.",
            )
        self._model = self._vector("\n".join(lines_of(file, _MODEL)))
        if not self._model.length:
            raise ConfigError(f"{file} has no words to compare", where=_MODEL, hint="Name a file with a longer text.")

    def after_parsing(self, url: Url, content: Content, page: Page) -> Page:
        metas = [value for name in ("description", "keywords") for value in page.metas.get(name, ())]
        score = self._vector(" ".join((page.text, *metas))).cosine(self._model)
        return replace(page, metadata={**page.metadata, SIMILARITY_KEY: repr(score)})

    def distribute(
        self, url: Url, datum: CrawlDatum, page: Page, targets: Sequence[Outlink], found: int
    ) -> Sequence[Outlink]:
        score = float(page.metadata.get(SIMILARITY_KEY, "0"))
        return [replace(link, score=score) for link in targets]

    def sort_value(self, url: Url, datum: CrawlDatum, value: float) -> float:
        return datum.score * value

    def sort_value_columns(self, table: Any) -> Any:
        return table.sort_value * table.score

    def _vector(self, text: str) -> TermVector:
        return TermVector.of(ngrams(self._words.words(text[:LONGEST_TEXT]), *self._ngrams))


class WordAnalyzer:
    """Splits texts into stemmed words.

    >>> WordAnalyzer(["grey"]).words("The grey seals are SWIMMING")
    ['seal', 'swim']
    """

    def __init__(self, stop_words: Sequence[str] = ()) -> None:
        from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

        stopped = [word for each in stop_words if (word := each.strip().lower())]
        builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(_LONGEST_WORD))
        builder = builder.filter(Filter.lowercase()).filter(Filter.custom_stopword([*_STOP_WORDS, *stopped]))
        self._analyzer = builder.filter(Filter.stemmer("english")).build()

    def words(self, text: str) -> list[str]:
        """Return the words of a text in order."""
        return self._analyzer.analyze(text)


def _range(sizes: Sequence[int]) -> tuple[int, int]:
    """Return the shortest and longest n-gram; one number stands for both."""
    if len(sizes) not in (1, 2) or sizes[0] > sizes[-1]:
        raise ConfigError(
            f"{list(sizes)} is not a minimum and a maximum", where=_NGRAMS, hint="Write, for example, [1, 2]."
        )
    return sizes[0], sizes[-1]
