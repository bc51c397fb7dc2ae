"""Text that reads like text: sentences in seven languages, and the words that paths are made of."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from scoter.simweb.rng import mix, random_ints

LANGUAGES = ("en", "de", "fr", "ru", "zh", "ja", "ko")

#: Sentences kept ready for each language. Pages share them, as pages of one site share phrases.
_POOL = 512
#: So many of them occur in one page.
_SUBJECT = 24
#: Languages that put no space between sentences.
_UNSPACED = frozenset({"zh", "ja"})
_NATIVE_SLUGS = frozenset({"ru", "zh", "ja", "ko"})


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def words(name: str) -> tuple[str, ...]:
    """A list of names: ``sections``, ``first``, ``second``, ``domains`` or ``international``."""
    return tuple(_lexicon()["names"][name])


class Phrasebook:
    """The sentences of one language under one seed."""

    def __init__(self, language: str, seed: int) -> None:
        self.language = language
        table = _lexicon()[language]
        self.gap = "" if language in _UNSPACED else " "
        self._colon = "：" if language in _UNSPACED else ": "
        self._syllables: tuple[str, ...] = tuple(table["syllables"])
        self.titles: tuple[str, ...] = tuple(table["titles"])
        self.sentences = tuple(_sentence(table, language, seed, number) for number in range(_POOL))

    def __repr__(self) -> str:
        return f"Phrasebook({self.language!r}, {len(self.sentences)} sentences)"

    def sayings(self, numbers: Sequence[int], bits: int) -> tuple[str, ...]:
        """Sentences that the numbers choose, each with the place it comes from, as in a newspaper's digest.

        The bits choose what a page is about: two dozen sentences, and the names of its places. If every page drew
        from all sentences, pages of one language would have the same phrases in the same proportions, and a
        fingerprint of phrases would take them for near duplicates.
        """
        rolls = random_ints(_SUBJECT + 16, bits)
        pool, syllables = self.sentences, self._syllables
        said = [pool[roll % _POOL] for roll in rolls[:_SUBJECT]]
        places = [
            (syllables[roll & 15] + syllables[roll >> 4 & 15] + syllables[roll >> 8 & 15]).capitalize() + self._colon
            for roll in rolls[_SUBJECT:]
        ]
        return tuple([places[number & 15] + said[(number >> 4) % _SUBJECT] for number in numbers])

    def title(self, bits: int) -> str:
        """A title."""
        return self.titles[bits % len(self.titles)]

    def slug(self, bits: int) -> str:
        """A word for a path in the language itself, percent-encoded as canonical URLs are."""
        return quote(self.titles[bits % len(self.titles)].lower().replace(" ", "-"), safe="-")

    @property
    def native_slugs(self) -> bool:
        """Whether this language's sites like paths in their own script."""
        return self.language in _NATIVE_SLUGS


def _sentence(table: dict[str, Any], language: str, seed: int, number: int) -> str:
    rolls = random_ints(8, seed, LANGUAGES.index(language), number, 0x5E27)
    patterns: list[str] = table["patterns"]
    parts = {
        name: table[name][rolls[place] % len(table[name])]
        for place, name in enumerate(("who", "does", "what", "where", "time"), start=1)
    }
    if "last" in table:
        parts["last"] = table["last"][rolls[2] % len(table["last"])]
    text = patterns[rolls[0] % len(patterns)].format(**parts)
    return text[0].upper() + text[1:]


@lru_cache(maxsize=64)
def prose(language: str, seed: int) -> Phrasebook:
    """The prose of a language, made once and kept."""
    return Phrasebook(language, seed)


def slug(bits: int) -> str:
    """Two words for a path.

    >>> slug(0)
    'amber-anchor'
    """
    first, second = _slug_words()
    return f"{first[bits % len(first)]}-{second[(bits >> 8) % len(second)]}"


@lru_cache(maxsize=1)
def _slug_words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    return words("first"), words("second")


def domain(seed: int, number: int, international: bool) -> str:
    """The registered domain with this number, in its ASCII form."""
    pool = words("international" if international else "domains")
    word = pool[mix(seed, number, 0xD0) % len(pool)]
    label = f"{word}{number}"
    return f"{label.encode('idna').decode('ascii')}.test"
