"""Links only from pages on the subject: what a crawl that keeps to one subject follows.

The training file has a text a line, after ``1`` (relevant) or ``0`` (irrelevant) and a tab:

    1	Grey seals give birth on the sandbanks in winter
    0	Get your casino bonus today

The word list has a word a line. In both, blank lines and lines that begin with ``#`` are skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import unquote

from msgspec import Struct, structs

from scoter.config import Setting
from scoter.config.named_files import lines_of
from scoter.core.page import Content, Outlink, Page
from scoter.core.pattern import PatternSet, compile_pattern
from scoter.core.rule_lines import rule_lines, shown
from scoter.core.url import Url
from scoter.errors import RuleError, UsageError
from scoter.parse.filters.bayes import Classifier, train
from scoter.parse.filters.values import with_metadata
from scoter.plugins import Setup

KEY: Final = "relevant"
MOST_WORDS: Final = 1_000
LONGEST_WORD: Final = 100

_TRAIN_FILE: Final = "plugin.parsefilter-naivebayes.train_file"
_WORD_FILE: Final = "plugin.parsefilter-naivebayes.word_file"


class NaiveBayesSettings(Struct, frozen=True):
    """What a page is compared with."""

    train_file: Annotated[
        Path, Setting("Texts to learn from, one a line after 1 (relevant) or 0 (irrelevant) and a tab.")
    ]
    word_file: Annotated[
        Path | None,
        Setting(
            "Words, one a line; a link whose URL has one of them is kept even on an irrelevant page.",
            none="",
            example='"words.txt"',
        ),
    ] = None


class NaiveBayesFilter:
    """Takes the links from pages that a naive Bayes classifier finds irrelevant, but for URLs with a listed word."""

    Settings = NaiveBayesSettings

    def __init__(self, setup: Setup) -> None:
        settings: NaiveBayesSettings = setup.settings
        self._classifier = classifier(lines_of(settings.train_file, _TRAIN_FILE), str(settings.train_file))
        self._words = (
            None
            if settings.word_file is None
            else word_set(lines_of(settings.word_file, _WORD_FILE), str(settings.word_file))
        )

    def refine(self, content: Content, page: Page) -> Page:
        if self._classifier.relevant(f"{page.title}\n{page.text}"):
            return with_metadata(page, {KEY: "true"})
        kept = tuple(link for link in page.outlinks if self._has_word(link))
        return with_metadata(structs.replace(page, outlinks=kept), {KEY: "false"})

    def _has_word(self, link: Outlink) -> bool:
        if self._words is None:
            return False
        hit = self._words.first(_spelt(link.target))
        return hit is not None and not hit.gave_up


def classifier(lines: Iterable[str], source: str) -> Classifier:
    """Return what a training file teaches."""
    try:
        return train(_examples(lines, source))
    except ValueError as error:
        raise UsageError(
            f"{source} {error}",
            where=_TRAIN_FILE,
            hint="Give it lines of both kinds, after 1 and a tab and 0 and a tab.",
        ) from error


def word_set(lines: Iterable[str], source: str) -> PatternSet:
    """Return the words of a list, to be looked for in URLs."""
    words: dict[str, None] = {}
    for number, text in rule_lines(lines):
        if len(text) > LONGEST_WORD:
            raise RuleError(f"{shown(text)} is longer than {LONGEST_WORD} characters", file=source, line=number)
        words[text.casefold()] = None
        if len(words) > MOST_WORDS:
            raise RuleError(f"is the word after the first {MOST_WORDS:,}", file=source, line=number)
    quoted = (r"\Q" + word.replace(r"\E", r"\E\\E\Q") + r"\E" for word in words)
    return PatternSet(enumerate(map(compile_pattern, quoted)))


def _examples(lines: Iterable[str], source: str) -> Iterator[tuple[bool, str]]:
    for number, text in rule_lines(lines):
        label, tab, rest = text.partition("\t")
        if label not in ("0", "1") or not tab:
            raise RuleError(
                f"{shown(text)} is no training text",
                file=source,
                line=number,
                hint="A line is 1 (relevant) or 0 (irrelevant), a tab and a text.",
            )
        yield label == "1", rest


def _spelt(target: Url) -> str:
    """Return a URL as readers write it, so that words beyond ASCII can be found in it."""
    return unquote(target.text).casefold()
