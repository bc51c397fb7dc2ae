"""Generate text: sentences in seven languages, and words for paths and domains."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any
from urllib.parse import quote

from scoter.simweb.rng import mix, random_ints

LANGUAGES = ("en", "de", "fr", "ru", "zh", "ja", "ko")

#: Sentences per language, shared by all pages, as pages of one site share phrases.
_POOL = 512
#: Number of them that occur in one page.
_SUBJECT = 24
#: Languages that put no space between sentences.
_UNSPACED = frozenset({"zh", "ja"})
_NATIVE_SLUGS = frozenset({"ru", "zh", "ja", "ko"})


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def words(name: str) -> tuple[str, ...]:
    """Return a word list: ``sections``, ``first``, ``second``, ``domains`` or ``international``."""
    return tuple(_lexicon()["names"][name])


class Phrasebook:
    """The sentences of one language for one seed."""

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
        """Return the sentences selected by the numbers, each preceded by a place name, as in a news digest.

        The bits select the subject of a page: two dozen sentences and the place names. If every page drew from all
        sentences, pages of one language would contain the same phrases in the same proportions, and a fingerprint of
        phrases would take them for near-duplicates.
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
        """Return a title."""
        return self.titles[bits % len(self.titles)]

    def slug(self, bits: int) -> str:
        """Return a path segment in this language, percent-encoded as in canonical URLs."""
        return quote(self.titles[bits % len(self.titles)].lower().replace(" ", "-"), safe="-")

    @property
    def native_slugs(self) -> bool:
        """Tell whether sites in this language use paths in their own script."""
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
    """Return the phrasebook of a language, cached."""
    return Phrasebook(language, seed)


def slug(bits: int) -> str:
    """Return two words for a path.

    >>> slug(0)
    'amber-anchor'
    """
    first, second = _slug_words()
    return f"{first[bits % len(first)]}-{second[(bits >> 8) % len(second)]}"


@lru_cache(maxsize=1)
def _slug_words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    return words("first"), words("second")


def domain(seed: int, number: int, international: bool) -> str:
    """Return the registered domain with this number, in ASCII form."""
    pool = words("international" if international else "domains")
    word = pool[mix(seed, number, 0xD0) % len(pool)]
    label = f"{word}{number}"
    return f"{label.encode('idna').decode('ascii')}.test"
