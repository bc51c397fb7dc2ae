"""Queries of which the right page is known."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from benchmarks.search.corpus import Corpus, SourcePage, vocabulary

KINDS: Final = ("title", "name", "anchor", "form", "typo")
"""The title; a word that few pages have; what links call the page; the title in other forms; one letter wrong."""
_LONG: Final = 5


class KnownItem(Struct, frozen=True):
    """A query and the page that it is for."""

    kind: str
    lang: str
    text: str
    url: str


def known_items(corpus: Corpus, count: int, seed: int = 1) -> Iterator[KnownItem]:
    """Yield queries of every kind for ``count`` random pages, where a page has such a query."""
    chance = random.Random(seed)
    for number in chance.sample(range(corpus.pages), min(count, corpus.pages)):
        page = corpus.page(number)
        texts = {
            "title": page.title,
            "name": page.names[0],
            "anchor": page.nickname,
            "form": _other_forms(corpus, page, chance),
            "typo": _misspelt(page, chance),
        }
        for kind in KINDS:
            if texts[kind]:
                yield KnownItem(kind, page.lang, texts[kind], page.url)


def _other_forms(corpus: Corpus, page: SourcePage, chance: random.Random) -> str:
    """Return the title's words with other endings; Chinese words have none."""
    words = vocabulary(page.lang, corpus.seed)
    if not words.gap:
        return ""
    forms = len(words.forms[0])
    return " ".join(
        str(words.forms[word, chance.choice([n for n in range(forms) if n != form])]) for word, form in page.title_words
    )


def _misspelt(page: SourcePage, chance: random.Random) -> str:
    """Return the title with one letter of a long word wrong, missing, doubled or swapped with the next one."""
    words = page.title.split()
    if page.lang == "zh":
        place = chance.randrange(len(page.title))
        return page.title[:place] + chr(0x4E00 + chance.randrange(2_800)) + page.title[place + 1 :]
    long = [number for number, word in enumerate(words) if len(word) >= _LONG]
    if not long:
        return ""
    number = chance.choice(long)
    word = words[number]
    place = chance.randrange(1, len(word) - 1)
    wrong = (
        word[:place] + word[place + 1 :],
        word[:place] + word[place] + word[place:],
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
        word[:place] + chance.choice(page.text[0].lower() + word) + word[place + 1 :],
    )
    words[number] = chance.choice(wrong)
    return " ".join(words)
