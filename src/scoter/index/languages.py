"""How text is cut into terms: words are folded and stemmed by language; scripts without spaces are cut into letters.

A term has no accents and no upper case. A language with a stemmer has fields of its own, because an index analyses all
text of a field alike. Chinese, Japanese, Korean and Thai words are found without a dictionary: titles and anchor texts
are cut into overlapping pairs of characters, and the content of pages into single ones, in which a word is a phrase.
Pairs are faster to search, but so many different terms that the content would take twice the time and space.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import add
from typing import Any, Final

PLAIN: Final = "xx"
"""The code for all languages without a stemmer."""

STEMMERS: Final = {
    "ar": "arabic",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hu": "hungarian",
    "it": "italian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""The languages with a stemmer, and their names in tantivy."""
_SAME: Final = {"nb": "no", "nn": "no"}

LONGEST_TERM: Final = 60

# Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer and Myanmar letters.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_RUNS: Final = re.compile(f"([{_UNSPACED}]+)")
# All bytes in UTF-8 but those with which these letters begin. Typographic quotes begin with another one (0xe2).
_OTHER_BYTES: Final = bytes({*range(256)} - {0xE0, 0xE1, *range(0xE3, 0xF5)})


def code_of(language: str) -> str:
    """Return the code of the fields for a language.

    >>> code_of("en-GB"), code_of("nb"), code_of("ja"), code_of("")
    ('en', 'no', 'xx', 'xx')
    """
    code = language.replace("_", "-").partition("-")[0].lower()
    code = _SAME.get(code, code)
    return code if code in STEMMERS else PLAIN


def spaced(text: str) -> str:
    """Return a text in which runs of letters that are written without spaces are cut into overlapping pairs.

    >>> spaced("東京タワー in Tokyo").split(), spaced("grey seals")
    (['東京', '京タ', 'タワ', 'ワー', 'in', 'Tokyo'], 'grey seals')
    """
    if not is_unspaced(text):
        return text
    parts = _RUNS.split(text)  # every second one is a run
    for number in range(1, len(parts), 2):
        run = parts[number]
        if len(run) > 1:
            parts[number] = " ".join(map(add, run, run[1:]))
    return " ".join(parts)


def spread(text: str) -> str:
    """Return a text in which letters that are written without spaces stand alone.

    >>> spread("東京タワー in Tokyo").split(), spread("grey seals")
    (['東', '京', 'タ', 'ワ', 'ー', 'in', 'Tokyo'], 'grey seals')
    """
    if not is_unspaced(text):
        return text
    parts = _RUNS.split(text)  # every second one is a run
    parts[1::2] = map(" ".join, parts[1::2])
    return " ".join(parts)


def is_unspaced(text: str) -> bool:
    """Return whether a text has letters of a script without spaces."""
    if text.isascii():
        return False
    # Deleting bytes is much faster than a search, and decides for most languages.
    if not text.encode("utf-8", "surrogatepass").translate(None, _OTHER_BYTES):
        return False
    return _RUNS.search(text) is not None


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of letters of scripts without spaces.

    >>> unspaced_runs("東京 tower 塔")
    ['東京', '塔']
    """
    found: list[str] = _RUNS.findall(text)
    return found


@lru_cache(maxsize=32)
def analyzer(code: str) -> Any:
    """Return tantivy's analyser for the fields of a code."""
    import tantivy

    builder = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(LONGEST_TERM))
        .filter(tantivy.Filter.lowercase())
    )
    if code in STEMMERS:
        # Stemmers know accents, so folding comes last.
        builder = builder.filter(tantivy.Filter.stemmer(STEMMERS[code]))
    return builder.filter(tantivy.Filter.ascii_fold()).build()
