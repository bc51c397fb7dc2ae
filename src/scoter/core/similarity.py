"""Cosine similarity of texts: the angle between the vectors of their terms' frequencies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct


class TermVector(Struct, frozen=True):
    """How often each term occurs in a text, and the length of that vector."""

    counts: Mapping[str, int]
    length: float

    @classmethod
    def of(cls, terms: Iterable[str]) -> TermVector:
        """Count terms.

        >>> TermVector.of(["seal", "seal", "cod"]).counts["seal"]
        2
        """
        counts = Counter(terms)
        return cls(counts, math.sqrt(sum(count * count for count in counts.values())))

    def cosine(self, other: TermVector) -> float:
        """Return the similarity, from 0 to 1; a text without terms is similar to none.

        >>> seals, fish = TermVector.of(["seal", "cod"]), TermVector.of(["cod"])
        >>> round(seals.cosine(fish), 4), round(seals.cosine(seals), 4), fish.cosine(TermVector.of([]))
        (0.7071, 1.0, 0.0)
        """
        if not self.length or not other.length:
            return 0.0
        few, many = sorted((self.counts, other.counts), key=len)
        shared = sum(count * many.get(term, 0) for term, count in few.items())
        return min(shared / (self.length * other.length), 1.0)


def ngrams(words: Sequence[str], shortest: int, longest: int) -> Iterator[str]:
    """Yield every run of ``shortest`` to ``longest`` words.

    >>> list(ngrams(["a", "b", "c"], 1, 2))
    ['a', 'b', 'c', 'a b', 'b c']
    """
    for size in range(shortest, longest + 1):
        for at in range(len(words) - size + 1):
            yield words[at] if size == 1 else " ".join(words[at : at + size])
