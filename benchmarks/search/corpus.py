"""Pages in five languages, generated from a seed.

Words follow Zipf's law, are inflected, and are made of the syllables of their language; the most frequent ones are its
real function words. A page has a subject: some words that it uses often. Its title has two to six words of the subject.
Two names occur on few pages. Other pages link to it with its title, with words that it does not have itself, or with
words that say nothing. Chinese text has no spaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from msgspec import Struct

SHARES = {"en": 0.5, "de": 0.14, "fr": 0.12, "ru": 0.12, "zh": 0.12}
"""The languages, and the share of pages in each."""
PAGE_BYTES = 5_000
_WORDS = 60_000
_FORMS = 4
_SUBJECT = 40
_OF_SUBJECT = 0.25
_COMMON = 0.55  # of the other words
_PAGES_PER_HOST = 100

_FUNCTION_WORDS = {
    "en": "the of and to in a is that for it was on with as be at by this have from or had not are but what all were"
    " when we there can an your which their if do will each how them then she many some so these would into has more",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er"
    " hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur",
    "fr": "de la le et les des en un du une que est pour qui dans par plus pas au sur ne se ce il sont avec mais comme"
    " ou si leur y dont aux son cette ses être même ces où sans nous tout entre après deux aussi bien fait peut",
    "ru": "и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой что-то для от так о"
    " же все год такой тот или если как его до мочь один время тоже сказать другой только себя можно первый",
    "zh": "的 是 不 了 在 人 有 我 他 这 中 大 来 上 国 个 到 说 们 为 子 和 你 地 出 道"
    " 也 时 年 得 就 那 要 下 以 生 会 自 着 去 之 过 家 学 对 可 她 里 后",
}
_STARTS = {
    "en": "b bl br c ch cl cr d dr f fl fr g gl gr h j k l m n p pl pr qu r s sh sl sp st str t th tr v w",
    "de": "b br d dr f fl fr g gr h j k kl kn kr l m n p pf r s sch schl schm schw sp st t tr v w z",
    "fr": "b bl br c ch cl cr d dr f fl fr g gl gr j l m n p pl pr qu r s t tr v",
    "ru": "б в вр г гр д др ж з к кл кр л м н п пр р с ск сл ст стр т тр х ц ч ш",
}
_MIDDLES = {
    "en": "a e i o u ai ea ee oa oo ou",
    "de": "a e i o u ä ö ü ei ie au eu",
    "fr": "a e i o u é è ai eau oi ou eu",
    "ru": "а е и о у ы я ю",
}
_ENDS = {
    "en": "b ck d f g l ll m n nd ng nt p r rd rk s st t x",
    "de": "b ch ck d f g l ll m n nd ng nt r rd rk s ß st t z",
    "fr": "c f l ll m n nt r rd s t",
    "ru": "б в г д ж к л м н нк р с ст т х ч",
}
_ENDINGS = {
    "en": ("", "s", "ed", "ing"),
    "de": ("", "e", "en", "er"),
    "fr": ("", "s", "e", "es"),
    "ru": ("", "а", "ы", "ов"),
}
_GENERIC = {
    "en": ("read more", "home", "here"),
    "de": ("mehr lesen", "Startseite", "hier"),
    "fr": ("lire la suite", "accueil", "ici"),
    "ru": ("читать далее", "главная", "здесь"),
    "zh": ("阅读更多", "首页", "这里"),
}


class SourcePage(Struct, frozen=True, kw_only=True):
    """A page. ``names`` occur on few pages; ``nickname`` is what some links call it, in words that it does not have.

    ``title_words`` are the numbers of the title's words and of their forms.
    """

    number: int
    url: str
    lang: str
    title: str
    text: str
    headings: tuple[str, ...]
    anchors: tuple[str, ...]
    score: float
    names: tuple[str, ...]
    nickname: str
    title_words: tuple[tuple[int, int], ...]


class Vocabulary:
    """The words of a language by frequency, each in several forms."""

    def __init__(self, lang: str, seed: int) -> None:
        self.lang = lang
        self.gap = "" if lang == "zh" else " "
        self._parts = tuple(parts.get(lang, "").split() for parts in (_STARTS, _MIDDLES, _ENDS))
        chance = np.random.default_rng([seed, sum(map(ord, lang))])
        common = _FUNCTION_WORDS[lang].split()
        made = dict.fromkeys(common)
        while len(made) < _WORDS:
            made.setdefault(self._word(chance, len(made)))
        words = list(made)
        endings = _ENDINGS.get(lang, ("",) * _FORMS)
        self.forms = np.array(
            [
                [word if number < len(common) else word + ending for ending in endings]
                for number, word in enumerate(words)
            ],
            dtype=object,
        )
        self._common = len(common)
        weights = 1 / np.arange(2.7, _WORDS + 2.7)
        weights[: self._common] *= _COMMON / weights[: self._common].sum()
        weights[self._common :] *= (1 - _COMMON) / weights[self._common :].sum()
        self._chances = np.cumsum(weights)
        self.length = float(np.dot(weights, [len(word.encode()) for word in words])) + len(self.gap)

    def _word(self, chance: Any, rank: int) -> str:
        """Return a new word; frequent ones are short."""
        least, most = (1, 1) if rank < 300 else (1, 2) if rank < 3_000 else (2, 3)
        size = int(chance.integers(least, most + 1))
        if self.lang == "zh":
            # The characters of a language are about as uneven as its words.
            return "".join(chr(0x4E00 + int(2_800 * each**2.5)) for each in chance.random(size))
        return "".join(self._syllable(chance) for _ in range(size))

    def _syllable(self, chance: Any) -> str:
        starts, middles, ends = self._parts
        start, middle, end, *is_short = chance.random(5).tolist()
        # Most syllables are open, and single consonants are the most frequent beginnings.
        first = starts[int(start * len(starts))][: 1 if is_short[0] < 0.5 else 3]
        return first + middles[int(middle * len(middles))] + (ends[int(end * len(ends))] if is_short[1] < 0.3 else "")

    def draw(self, chance: Any, count: int) -> Any:
        """Return the numbers of random words, as frequent as in running text."""
        return np.searchsorted(self._chances, chance.random(count))

    def subject(self, chance: Any, count: int) -> Any:
        """Return the numbers of words that a page may be about: neither the most frequent ones nor the rarest."""
        return np.exp(chance.uniform(np.log(100), np.log(_WORDS / 2), count)).astype(int)

    def name(self, number: int) -> str:
        """Return a name; every number has its own."""
        if self.lang == "zh":
            return "".join(chr(0x4E00 + 2_800 + number // 1_000**place % 1_000) for place in range(3))
        starts, middles = self._parts[0][:20], self._parts[1][:5]
        digits = [number // 100**place % 100 for place in range(4)]
        return "".join(starts[digit % 20] + middles[digit // 20] for digit in digits).capitalize()

    def say(self, ids: Any, forms: Any) -> list[str]:
        """Return words in their forms."""
        found: list[str] = self.forms[ids, forms].tolist()
        return found


@cache
def vocabulary(lang: str, seed: int) -> Vocabulary:
    """Return the vocabulary of a language."""
    return Vocabulary(lang, seed)


class Corpus:
    """The pages of a seed."""

    def __init__(self, pages: int, seed: int = 1) -> None:
        self.pages = pages
        self.seed = seed
        self._bounds = np.cumsum(list(SHARES.values()))

    def page(self, number: int, version: int = 0) -> SourcePage:
        """Return a page; another version has another text, but the same title, names and links."""
        chance = np.random.default_rng([self.seed, number])
        lang = list(SHARES)[int(np.searchsorted(self._bounds, chance.random()))]
        words = vocabulary(lang, self.seed)
        subject = words.subject(chance, _SUBJECT)
        size = int(chance.integers(2, 7))
        title_words = [
            (int(word), int(form)) for word, form in zip(subject[:size], self._forms(chance, size), strict=True)
        ]
        names = tuple(words.name(int(each)) for each in chance.integers(0, max(1, self.pages), 2))
        title = [str(words.forms[word, form]) for word, form in title_words]
        if chance.random() < 0.3:
            title.append(names[0])
        nickname = words.gap.join(words.say(words.subject(chance, 2), self._forms(chance, 2)))
        shown = words.gap.join(title)
        inlinks = min(200, int(chance.pareto(1.2) * 2) + 1)
        kinds = (shown, nickname, *_GENERIC[lang])
        anchors = [kinds[int(each)] for each in chance.integers(0, len(kinds), inlinks - 1)]
        headings = tuple(
            words.gap.join(words.say(chance.choice(subject, 4), self._forms(chance, 4))).capitalize() for _ in range(3)
        )
        score = float(np.exp(chance.normal(0, 1.5)))
        if version:
            chance = np.random.default_rng([self.seed, number, version])
        host = f"www.site{number % max(1, self.pages // _PAGES_PER_HOST)}.example"
        return SourcePage(
            number=number,
            url=f"http://{host}/{['news', 'blog', 'shop', 'about'][number % 4]}/page-{number}.html",
            lang=lang,
            title=shown[:1].upper() + shown[1:],
            text=self._text(chance, words, subject, names, headings),
            headings=headings,
            anchors=(nickname, *anchors),
            score=score,
            names=names,
            nickname=nickname,
            title_words=tuple(title_words),
        )

    def range(self, numbers: Sequence[int], version: int = 0) -> Iterator[SourcePage]:
        """Yield pages."""
        return (self.page(number, version) for number in numbers)

    def _forms(self, chance: Any, count: int) -> Any:
        return np.where(chance.random(count) < 0.55, 0, chance.integers(0, _FORMS, count))

    def _text(self, chance: Any, words: Vocabulary, subject: Any, names: Sequence[str], headings: Sequence[str]) -> str:
        size = int(PAGE_BYTES / (words.length * 1.25) * chance.lognormal(0, 0.25))
        ids = words.draw(chance, size)
        own = chance.random(size) < _OF_SUBJECT
        # A page uses the first words of its subject more often than the last.
        ids[own] = subject[(chance.random(int(own.sum())) ** 2 * len(subject)).astype(int)]
        found = words.say(ids, self._forms(chance, size))
        for name in names:
            for place in chance.integers(0, size, int(chance.integers(1, 4))):
                found[place] = name
        stops = ("，", "。") if words.lang == "zh" else (",", ".")
        for place in range(6, size, 7):
            found[place] += stops[place % 3 == 0]
        third = max(1, size // 3)
        parts = [words.gap.join(found[start : start + third]) for start in range(0, size, third)]
        return "\n".join(line for pair in zip(headings, parts, strict=False) for line in pair)
