"""Keep a crawl on its subject: drop the links of pages that a naive Bayes classifier finds irrelevant.

Each line of the training file is ``1`` (relevant) or ``0`` (irrelevant), a tab and a text:

    1	Grey seals give birth on the sandbanks in winter
    0	Get your casino bonus today

The word list has one word per line. In both files, blank lines and lines that begin with ``#`` are skipped.

The classifier is multinomial with Laplace smoothing: every word of the training texts counts one more than it occurs.
Unknown words are ignored. The model maps each word to the logarithm of how much likelier it is in a relevant text, so
classifying takes one lookup per word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import fsum, log
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import unquote

import regex  # type: ignore[import-untyped]
from msgspec import Struct, structs

from scoter.config import Setting
from scoter.config.named_files import lines_of
from scoter.core.page import Content, Outlink, Page
from scoter.core.pattern import PatternSet, compile_pattern
from scoter.core.rule_lines import rule_lines, shown
from scoter.errors import UsageError
from scoter.parse.filters.metadata_values import with_metadata
from scoter.plugins import Setup

RELEVANT_KEY: Final = "relevant"
MOST_LISTED_WORDS: Final = 1_000
LONGEST_WORD: Final = 100

_TRAIN_FILE: Final = "plugin.parsefilter-naivebayes.train_file"
_WORD_FILE: Final = "plugin.parsefilter-naivebayes.word_file"
MOST_WORDS: Final = 100_000
"""Size of a model's vocabulary: the most frequent words of its training texts."""
LONGEST_TEXT: Final = 20_000
"""Characters of a text that are examined."""
# These scripts put no spaces between words; pairs of characters count as words instead.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_ASCII_WORDS: Final = re.compile("[a-z]+")  # six times as fast as the general pattern
_WORDS: Final = regex.compile(rf"([{_UNSPACED}]+)|([[\p{{L}}\p{{M}}]--[{_UNSPACED}]]+)", regex.V1)


class NaiveBayesSettings(Struct, frozen=True):
    """Settings of the filter naivebayes."""

    train_file: Annotated[
        Path, Setting("Training texts, one per line: 1 (relevant) or 0 (irrelevant), a tab and the text.")
    ]
    word_file: Annotated[
        Path | None,
        Setting(
            "Words, one per line; a link whose URL contains one of them is kept even on an irrelevant page.",
            none="",
            example='"words.txt"',
        ),
    ] = None


class NaiveBayesFilter:
    """Removes the links of irrelevant pages, except those whose URL contains a listed word."""

    Settings = NaiveBayesSettings

    def __init__(self, setup: Setup) -> None:
        settings: NaiveBayesSettings = setup.settings
        self._classifier = classifier(lines_of(settings.train_file, _TRAIN_FILE), str(settings.train_file))
        words = settings.word_file
        self._words = None if words is None else word_set(lines_of(words, _WORD_FILE), str(words))

    def refine(self, content: Content, page: Page) -> Page:
        if self._classifier.relevant(f"{page.title}\n{page.text}"):
            return with_metadata(page, {RELEVANT_KEY: "true"})
        kept = tuple(link for link in page.outlinks if self._has_word(link))
        return with_metadata(structs.replace(page, outlinks=kept), {RELEVANT_KEY: "false"})

    def _has_word(self, link: Outlink) -> bool:
        if self._words is None:
            return False
        # Percent-escapes are decoded, so that non-ASCII words can be found.
        hit = self._words.first(unquote(link.target.text).casefold())
        return hit is not None and not hit.gave_up


def classifier(lines: Iterable[str], source: str) -> Classifier:
    """Train a classifier with the lines of a training file."""
    try:
        return train(_examples(lines, source))
    except ValueError as error:
        raise UsageError(
            f"{source} {error}",
            where=_TRAIN_FILE,
            hint="Add lines of both kinds: 1 or 0, a tab and a text.",
        ) from error


def word_set(lines: Iterable[str], source: str) -> PatternSet:
    """Return patterns for the words of a list."""
    words: dict[str, None] = {}
    for line in rule_lines(lines, source):
        if len(line.text) > LONGEST_WORD:
            raise line.error(f"{shown(line.text)} is longer than {LONGEST_WORD} characters")
        words[line.text.casefold()] = None
        if len(words) > MOST_LISTED_WORDS:
            raise line.error(f"too many words: at most {MOST_LISTED_WORDS:,} are allowed")
    quoted = (r"\Q" + word.replace(r"\E", r"\E\\E\Q") + r"\E" for word in words)
    return PatternSet(enumerate(map(compile_pattern, quoted)))


def _examples(lines: Iterable[str], source: str) -> Iterator[tuple[bool, str]]:
    for line in rule_lines(lines, source):
        label, tab, rest = line.text.partition("\t")
        if label not in ("0", "1") or not tab:
            hint = "Write 1 (relevant) or 0 (irrelevant), a tab and a text."
            raise line.error(f"{shown(line.text)} is not a training text", hint)
        yield label == "1", rest


class Classifier(Struct, frozen=True):
    """A trained model: the log-odds of relevance, a priori and for each word."""

    prior: float
    weights: Mapping[str, float]

    def score(self, text: str) -> float:
        """Return the log-odds that a text is relevant.

        >>> model = train([(True, "grey seals and walruses"), (False, "bonus and casino")])
        >>> model.score("A walrus among seals") > 0, model.score("Casino!") < 0, model.score("Penguins")
        (True, True, 0.0)
        """
        weights = self.weights
        known = [weights[word] for word in words_of(text) if word in weights]
        return fsum((self.prior, *known))

    def relevant(self, text: str) -> bool:
        """Tell whether a text is at least as likely relevant as not."""
        return self.score(text) >= 0


def train(examples: Iterable[tuple[bool, str]], most_words: int = MOST_WORDS) -> Classifier:
    """Train a model with examples, each a text and whether it is relevant.

    Raises ``ValueError`` if all of them are of one kind.
    """
    texts = {True: 0, False: 0}
    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for relevant, text in examples:
        texts[relevant] += 1
        counts[relevant].update(words_of(text))
    for relevant, name in ((True, "relevant"), (False, "irrelevant")):
        if not texts[relevant]:
            raise ValueError(f"has no {name} text")
    both = counts[True] + counts[False]
    known = sorted(both, key=lambda word: (-both[word], word))[:most_words]
    seen = {kind: sum(counts[kind][word] for word in known) + len(known) for kind in (True, False)}
    return Classifier(
        prior=log(texts[True] / texts[False]),
        weights={
            word: log((counts[True][word] + 1) / seen[True]) - log((counts[False][word] + 1) / seen[False])
            for word in known
        },
    )


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; digits are skipped.

    >>> words_of("Grey SEALS (12)"), words_of("灰海豹")
    (['grey', 'seals'], ['灰海', '海豹'])
    """
    folded = text[:LONGEST_TEXT].casefold()
    if folded.isascii():
        return _ASCII_WORDS.findall(folded)
    found: list[str] = []
    for unspaced, word in _WORDS.findall(folded):
        found += [word] if word else [unspaced[at : at + 2] for at in range(max(len(unspaced) - 1, 1))]
    return found
