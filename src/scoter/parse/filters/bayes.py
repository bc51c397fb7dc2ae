"""A naive Bayes classifier of texts into relevant and irrelevant ones.

Multinomial, with Laplace smoothing: every word of the training texts counts once more than it was seen. Words that were
never seen say nothing. The model is the logarithm of how much likelier each word is in a relevant text, so that a text
is classified by one look-up a word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from math import fsum, log
from typing import Final

import regex  # type: ignore[import-untyped]
from msgspec import Struct

MOST_WORDS: Final = 100_000
"""Words that a model knows: the commonest of its training texts."""
LONGEST_TEXT: Final = 20_000
"""Characters of a text that are looked at."""

# In these scripts words stand without spaces between them; they are taken in pairs of characters instead.
_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_ASCII_WORDS: Final = re.compile("[a-z]+")  # six times as fast as the other, on pages that need no more
_WORDS: Final = regex.compile(rf"([{_UNSPACED}]+)|([[\p{{L}}\p{{M}}]--[{_UNSPACED}]]+)", regex.V1)


class Classifier(Struct, frozen=True):
    """A trained model: how much likelier a relevant text is, before it is read and for each word in it."""

    prior: float
    weights: Mapping[str, float]

    def score(self, text: str) -> float:
        """Return the logarithm of how much likelier it is that a text is relevant than that it is not.

        >>> model = train([(True, "grey seals and walruses"), (False, "bonus and casino")])
        >>> model.score("A walrus among seals") > 0, model.score("Casino!") < 0, model.score("Penguins")
        (True, True, 0.0)
        """
        weights = self.weights
        known = [weights[word] for word in words_of(text) if word in weights]
        return fsum((self.prior, *known))

    def relevant(self, text: str) -> bool:
        """Tell whether a text is at least as likely to be relevant as not."""
        return self.score(text) >= 0


def train(examples: Iterable[tuple[bool, str]], most_words: int = MOST_WORDS) -> Classifier:
    """Return the model that examples teach, each a text and whether it is relevant.

    ``ValueError`` when all of them are of one kind.
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
    """Return the words of a text, without regard to case; figures are none.

    >>> words_of("Grey SEALS (12)"), words_of("灰海豹")
    (['grey', 'seals'], ['灰海', '海豹'])
    """
    folded = text[:LONGEST_TEXT].casefold()
    if folded.isascii():
        return _ASCII_WORDS.findall(folded)
    found: list[str] = []
    for unspaced, word in _WORDS.findall(folded):
        if word:
            found.append(word)
        elif len(unspaced) == 1:
            found.append(unspaced)
        else:
            found += [unspaced[at : at + 2] for at in range(len(unspaced) - 1)]
    return found
