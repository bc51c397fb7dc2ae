"""Recall and rank of the right pages, next to SQLite FTS5 on the same documents."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks.search.corpus import SHARES, Corpus
from benchmarks.search.queries import KINDS, KnownItem
from scoter import Searcher

DEPTH: Final = 10
TITLE_RECALL: Final = 0.95

Answer = Callable[[str, str], Sequence[str]]
"""From a query and its language to the URLs of the first results."""

# The best of its tokenizers for each language.
_TOKENIZERS: Final = {
    "en": "porter unicode61 remove_diacritics 2",
    "zh": "trigram",
}
_OTHER: Final = "unicode61 remove_diacritics 2"
_WEIGHTS: Final = "0.0, 2.5, 1.0, 1.5"


class Figures(Struct):
    """The queries of a kind, how many were answered within the first ten results, and the sum of reciprocal ranks."""

    queries: int = 0
    found: int = 0
    ranks: float = 0.0

    def add(self, url: str, results: Sequence[str]) -> None:
        self.queries += 1
        if url in results:
            self.found += 1
            self.ranks += 1 / (results.index(url) + 1)

    @property
    def recall(self) -> float:
        return self.found / self.queries if self.queries else 0.0

    @property
    def mrr(self) -> float:
        return self.ranks / self.queries if self.queries else 0.0


def fill_fts5(file: Path, corpus: Corpus) -> None:
    """Write the same documents to SQLite, one table per language."""
    draft = file.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with closing(sqlite3.connect(draft)) as database:
        for lang in SHARES:
            columns = "url UNINDEXED, title, content, anchor"
            tokenizer = _TOKENIZERS.get(lang, _OTHER)
            database.execute(f"CREATE VIRTUAL TABLE {lang} USING fts5({columns}, tokenize='{tokenizer}')")
        for page in corpus.range(range(corpus.pages)):
            anchors = "\n".join(dict.fromkeys((*page.anchors, *page.headings)))
            row = (page.url, page.title, page.text, anchors)
            database.execute(f"INSERT INTO {page.lang} VALUES (?, ?, ?, ?)", row)
        database.commit()
    draft.replace(file)


def of_fts5(file: Path) -> Answer:
    """Return how FTS5 answers: pages with all words, ranked by BM25 with our weights; it is told the language."""
    database = sqlite3.connect(file)

    def answer(query: str, lang: str) -> Sequence[str]:
        asked = " ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        rows = database.execute(
            f"SELECT url FROM {lang} WHERE {lang} MATCH ? ORDER BY bm25({lang}, {_WEIGHTS}) LIMIT ?", (asked, DEPTH)
        )
        return [url for (url,) in rows]

    return answer


def of_index(folder: Path) -> Answer:
    """Return how Scoter answers, as people ask it: without naming the language."""
    searcher = Searcher(folder)
    return lambda query, _: [hit.url for hit in searcher.search(query, limit=DEPTH).hits]


def judged(items: Iterable[KnownItem], answer: Answer) -> Mapping[tuple[str, str], Figures]:
    """Return the figures by language and kind."""
    found: dict[tuple[str, str], Figures] = defaultdict(Figures)
    for item in items:
        found[item.lang, item.kind].add(item.url, answer(item.text, item.lang))
    return found


def together(found: Mapping[tuple[str, str], Figures], *, lang: str = "", kind: str = "") -> Figures:
    """Return the figures of a language or kind together."""
    chosen = [each for place, each in found.items() if lang in ("", place[0]) and kind in ("", place[1])]
    return Figures(
        sum(each.queries for each in chosen), sum(each.found for each in chosen), sum(each.ranks for each in chosen)
    )


def report(ours: Mapping[tuple[str, str], Figures], theirs: Mapping[tuple[str, str], Figures]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"{'':<10}{'queries':>8}{'recall@10':>11}{'MRR':>7}{'   FTS5: recall@10':>19}{'MRR':>7}"
    for kind in KINDS:
        for lang in SHARES:
            mine, other = ours.get((lang, kind)), theirs.get((lang, kind))
            if mine is not None and other is not None:
                yield _line(f"{kind} {lang}", mine, other)
    for lang in SHARES:
        yield _line(f"all {lang}", together(ours, lang=lang), together(theirs, lang=lang))


def _line(name: str, mine: Figures, other: Figures) -> str:
    return f"{name:<10}{mine.queries:>8}{mine.recall:>11.3f}{mine.mrr:>7.3f}{other.recall:>19.3f}{other.mrr:>7.3f}"


def missed(ours: Mapping[tuple[str, str], Figures], theirs: Mapping[tuple[str, str], Figures]) -> Iterator[str]:
    """Yield the targets that are missed."""
    recall = together(ours, kind="title").recall
    if recall < TITLE_RECALL:
        yield f"recall@10 of titles is {recall:.3f}, not {TITLE_RECALL}"
    for lang in SHARES:
        mine, other = together(ours, lang=lang).mrr, together(theirs, lang=lang).mrr
        if mine < other:
            yield f"MRR in {lang} is {mine:.3f}, FTS5's {other:.3f}"
