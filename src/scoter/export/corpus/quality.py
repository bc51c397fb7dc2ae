"""How good a text is for a language model: numbers about it, and the rules that it must meet.

The rules are those of Gopher, C4 and FineWeb; ``config/sections/corpus.py`` names the sources. Texts in scripts without
spaces have no words that can be counted so simply: two of their letters count as one word, and the rules about words
do not apply to them. A stop-word rule needs a list for the language; without one it does not apply either.

Reference documentation repeats itself and has code, tables and lists, in which few lines end with punctuation. What
tells it from menus and indexes is that it also has sentences, so ``prose`` measures these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import xxhash
from msgspec import Struct, structs

from scoter.config.sections.corpus import CorpusSettings

# Han, Hiragana, Katakana, Thai, Lao, Khmer and Myanmar letters; Korean has spaces.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNSPACED_LETTER: Final = re.compile(f"[{_UNSPACED}]")
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_LETTER: Final = re.compile(r"[^\W\d_]")
_ELLIPSES: Final = ("...", "…")
_BULLETS: Final = ("•", "‣", "◦", "●", "▪", "- ", "* ", "– ", "— ")
_ENDS: Final = (".", "!", "?", '"', "'", "”", "’", "»", "。", "！", "？", "」", "…", ";", ":", "।", "؟")
_SHORT_LINE: Final = 30
_SENTENCE_WORDS: Final = 6  # of a line that may be a sentence
_SENTENCE_STOP_WORDS: Final = 2
_UNSPACED_SHARE: Final = 0.3
_PLACEHOLDER: Final = "lorem ipsum"
_KNOWN_WORDS: Final = 200_000
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)

STOP_WORDS: Final[Mapping[str, frozenset[str]]] = {
    language: frozenset(words.split())
    for language, words in {
        # The words of Gopher; the other lists have as frequent ones.
        "en": "the be to of and that have with",
        "cs": "a je se na že to s z do i",
        "da": "og i at det er en til på som med",
        "de": "der die und in das ist zu den mit von",
        "el": "και το να η της του που με για είναι",
        "es": "de la que el en y los se con por",
        "fi": "ja on että se ei oli ovat kun joka mutta",
        "fr": "de la le et les des en que est pour",
        "hu": "a az és hogy nem is egy van meg ez",
        "id": "yang dan di itu dengan untuk dari ini pada adalah",
        "it": "di che e la il un per non con una",
        "nl": "de het een en van is dat in op met",
        "no": "og i det er en til på som med av",
        "pl": "w i na z się nie do że to jest",
        "pt": "de que e o a do da em para com",
        "ro": "de și în a la cu pe nu este care",
        "ru": "и в не на что с по как это из",
        "sv": "och i att det som en på är med av",
        "tr": "ve bir bu için da de ile çok en olarak",
        "uk": "і в не на що з до як це та",
        "vi": "và của là có cho không được trong một với",
    }.items()
}

# Gopher's eight English words are too few to tell a sentence by.
_MORE_ENGLISH: Final = "a in is for it this as by or on are an if not can"
_FUNCTION_WORDS: Final[Mapping[str, frozenset[str]]] = {
    **STOP_WORDS,
    "en": STOP_WORDS["en"].union(_MORE_ENGLISH.split()),
}
_ANY_LANGUAGE: Final = frozenset().union(*_FUNCTION_WORDS.values())


class QualitySignals(Struct, frozen=True, kw_only=True):
    """Numbers about a text; ``None`` if one makes no sense for its language or script."""

    words: int
    characters: int
    word_length: float | None
    symbol_ratio: float
    bullet_lines: float
    ellipsis_lines: float
    alphabetic_words: float | None
    stop_words: int | None
    stop_word_ratio: float | None
    duplicate_lines: float
    duplicate_line_characters: float
    top_2gram: float | None
    top_3gram: float | None
    top_4gram: float | None
    duplicate_5grams: float | None
    duplicate_10grams: float | None
    placeholders: int
    punctuated_lines: float
    short_lines: float
    prose: float | None


class MeasuredText(Struct, frozen=True):
    """The signals of a text, and the hashes of its words, from which near-duplicates are found."""

    signals: QualitySignals
    tokens: Any


class QualityRule(Struct, frozen=True):
    """A rule: the setting that it comes from, the signal, and the bound."""

    name: str
    signal: str
    bound: float
    is_minimum: bool

    @property
    def reason(self) -> str:
        """What is wrong with a text that breaks the rule."""
        is_share = self.name in _SHARES
        return _REASONS[self.name].format(f"{self.bound * 100:g} %" if is_share else f"{self.bound:,g}")

    def is_broken(self, signals: QualitySignals) -> bool:
        """Return whether a text breaks the rule."""
        value = getattr(signals, self.signal)
        if value is None:
            return False
        return bool(value < self.bound if self.is_minimum else value > self.bound)


def rules_of(settings: CorpusSettings) -> tuple[QualityRule, ...]:
    """Return the rules that are on, in the order of the settings."""
    found = []
    for name, bound in structs.asdict(settings).items():
        kind, _, signal = name.partition("_")
        if signal in QualitySignals.__struct_fields__ and kind in ("min", "max") and bound is not None:
            found.append(QualityRule(name, signal, bound, kind == "min"))
    return tuple(found)


_REASONS: Final = {
    "min_words": "fewer than {} words",
    "max_words": "more than {} words",
    "min_word_length": "words of less than {} letters on average",
    "max_word_length": "words of more than {} letters on average",
    "max_symbol_ratio": "more than {} # or ellipses per word",
    "max_bullet_lines": "more than {} of lines have a bullet",
    "max_ellipsis_lines": "more than {} of lines end with an ellipsis",
    "min_alphabetic_words": "less than {} of words have a letter",
    "min_stop_words": "fewer than {} different stop words",
    "min_prose": "less than {} of words are in sentences",
    "max_duplicate_lines": "more than {} of lines are repeated",
    "max_duplicate_line_characters": "more than {} of text is in repeated lines",
    "max_top_2gram": "more than {} of text is one sequence of 2 words",
    "max_top_3gram": "more than {} of text is one sequence of 3 words",
    "max_top_4gram": "more than {} of text is one sequence of 4 words",
    "max_duplicate_5grams": "more than {} of text repeats 5 words",
    "max_duplicate_10grams": "more than {} of text repeats 10 words",
    "max_placeholders": "has a placeholder text (lorem ipsum)",
    "min_punctuated_lines": "less than {} of lines end with punctuation",
    "max_short_lines": "more than {} of lines are short",
}
_COUNTED: Final = {"min_words", "max_words", "min_word_length", "max_word_length", "max_symbol_ratio", "min_stop_words"}
_SHARES: Final = _REASONS.keys() - _COUNTED


class TextMeter:
    """Measures texts. It remembers the hashes of frequent words, so use one for many texts."""

    def __init__(self) -> None:
        self._hashes = _WordHashes()

    def tokens(self, text: str) -> Any:
        """Return the hashes of the words of a text, in lower case and without punctuation."""
        return self._hashes.of(_TOKEN.findall(text.lower()))

    def measure(self, text: str, language: str = "") -> MeasuredText:
        """Return the signals of a text and the hashes of its words in lower case, without punctuation."""
        words = text.split()
        lines = [line for line in map(str.strip, text.splitlines()) if line]
        lowered = _TOKEN.findall(text.lower())
        hashes = self._hashes.of(lowered)
        unspaced = 0 if text.isascii() else len(_UNSPACED_LETTER.findall(text))
        is_spaced = unspaced < _UNSPACED_SHARE * max(len(text), 1)
        stops = _stop_words(lowered, language) if is_spaced else (None, None)
        sequences: Mapping[str, Any] = _sequences(lowered, hashes) if is_spaced else _NO_SEQUENCES
        signals = QualitySignals(
            words=len(words) if is_spaced else len(words) + unspaced // 2,
            characters=len(text),
            word_length=sum(map(len, words)) / len(words) if is_spaced and words else None,
            symbol_ratio=_symbols(text, lines) / max(len(words), 1) if is_spaced else 0.0,
            bullet_lines=_share(line.startswith(_BULLETS) for line in lines),
            ellipsis_lines=_share(line.endswith(_ELLIPSES) for line in lines),
            alphabetic_words=sum(map(_has_letter, words)) / len(words) if is_spaced and words else None,
            stop_words=stops[0],
            stop_word_ratio=stops[1],
            placeholders=text.lower().count(_PLACEHOLDER),
            punctuated_lines=_share(line.endswith(_ENDS) for line in lines),
            short_lines=_share(len(line) <= _SHORT_LINE for line in lines),
            prose=_prose(lines, language) if is_spaced else None,
            **_repeated_lines(lines),
            **sequences,
        )
        return MeasuredText(signals, hashes)


def _has_letter(word: str) -> bool:
    return word.isalpha() or _LETTER.search(word) is not None


def _share(found: Iterable[bool]) -> float:
    answers = list(found)
    return sum(answers) / len(answers) if answers else 0.0


def _symbols(text: str, lines: Sequence[str]) -> int:
    """Count ellipses, and number signs except those that begin a line: of comments, directives and headings."""
    begun = sum(len(line) - len(line.lstrip("#")) for line in lines) if "#" in text else 0
    return text.count("#") - begun + sum(text.count(each) for each in _ELLIPSES)


def _prose(lines: Sequence[str], language: str) -> float:
    """Return the share of words in lines that read like sentences: six words, two of them different stop words."""
    known = _FUNCTION_WORDS.get(_base(language), _ANY_LANGUAGE)
    inside = total = 0
    for line in lines:
        words = line.split()
        total += len(words)
        if len(words) >= _SENTENCE_WORDS and len(known.intersection(map(str.lower, words))) >= _SENTENCE_STOP_WORDS:
            inside += len(words)
    return inside / max(total, 1)


def _stop_words(words: Sequence[str], language: str) -> tuple[int | None, float | None]:
    known = STOP_WORDS.get(_base(language))
    if known is None:
        return None, None
    return len(known.intersection(words)), sum(map(known.__contains__, words)) / max(len(words), 1)


def _base(language: str) -> str:
    return language.partition("-")[0].lower()


def _repeated_lines(lines: Sequence[str]) -> dict[str, float]:
    seen: set[str] = set()
    repeated = characters = 0
    for line in lines:
        if line in seen:
            repeated, characters = repeated + 1, characters + len(line)
        seen.add(line)
    return {
        "duplicate_lines": repeated / max(len(lines), 1),
        "duplicate_line_characters": characters / max(sum(map(len, lines)), 1),
    }


_TOP, _DUPLICATE = (2, 3, 4), (5, 10)
_NO_SEQUENCES: Final[Mapping[str, float | None]] = {
    **{f"top_{size}gram": None for size in _TOP},
    **{f"duplicate_{size}grams": None for size in _DUPLICATE},
}


def _sequences(words: Sequence[str], hashes: Any) -> dict[str, float]:
    """Return how much of a text is in its most frequent sequences of words, and in repeated sequences."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    whole = max(int(lengths.sum()), 1)
    ends = np.concatenate(([0], np.cumsum(lengths)))
    found: dict[str, float] = {}
    for size in _TOP:
        found[f"top_{size}gram"] = 0.0
        if len(words) > size:
            _, first, counts = np.unique(shingles(hashes, size), return_index=True, return_counts=True)
            best = int(counts.argmax())
            if counts[best] > 1:
                at = int(first[best])
                found[f"top_{size}gram"] = min(1.0, int(counts[best]) * int(ends[at + size] - ends[at]) / whole)
    for size in _DUPLICATE:
        found[f"duplicate_{size}grams"] = 0.0
        if len(words) > size:
            ids = shingles(hashes, size)
            _, first = np.unique(ids, return_index=True)
            if len(first) < len(ids):
                again = np.ones(len(ids), bool)
                again[first] = False
                covered = np.convolve(again, np.ones(size, np.int64)) > 0
                found[f"duplicate_{size}grams"] = float(lengths[covered].sum()) / whole
    return found


def shingles(hashes: Any, size: int) -> Any:
    """Return the hash of every sequence of ``size`` words."""
    number = len(hashes) - size + 1
    if number <= 0:
        return hashes[:0]
    found = hashes[:number].copy()
    for at in range(1, size):
        found *= _FACTOR
        found ^= found >> np.uint64(29)
        found += hashes[at : at + number]
    return found


class _WordHashes(dict[str, int]):
    """The hashes of words, computed once for those seen lately."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _KNOWN_WORDS:
            self.clear()
        made = self[word] = xxhash.xxh3_64_intdigest(word.encode("utf-8", "replace"))
        return made

    def of(self, words: Sequence[str]) -> Any:
        return np.fromiter(map(self.__getitem__, words), np.uint64, len(words))
