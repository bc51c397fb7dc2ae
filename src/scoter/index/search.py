"""Searching the embedded index: ranked results with snippets, near-copies folded, and suggestions for typos."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from scoter.errors import UsageError
from scoter.index.clauses import BuiltQuery, QueryClauses
from scoter.index.damage import reading
from scoter.index.explanation import ScoreExplanation, score_parts
from scoter.index.extracts import PageExtract, PageExtracts
from scoter.index.languages import PLAIN, code_of
from scoter.index.near_duplicates import are_alike
from scoter.index.phrases import MOST_CHECKED, ExactPhrases
from scoter.index.query import SearchQuery, parse_search
from scoter.index.snippets import beginning
from scoter.index.suggestions import SpellingSuggestions
from scoter.index.text_index import HOST_HASH, ShownFields, TextIndex

MOST_RESULTS: Final = 100
DEEPEST: Final = 1_000
_PER_HOST: Final = 2
_CANDIDATES: Final = 4  # ranked again for each result shown
_LEAST_CANDIDATES: Final = 100
_MOST_BOOST: Final = 0.25
_MOST_COPIES: Final = 10  # named in an explanation
_FRAGMENT: Final = "!$&'()*+,;=:@/?-._~%"
_FEW: Final = 2  # results, with which a better spelling is suggested


class SearchHit(Struct, frozen=True, kw_only=True):
    """A result. In ``snippet``, matches are between ``<b>`` and ``</b>``, and everything else is escaped for HTML.

    ``link`` leads to the section of the page that answers the query best, and ``section`` has its heading, after that
    of the section around it; if there is none, they are the ``url`` and empty.
    """

    url: str
    title: str
    snippet: str
    link: str = ""
    section: tuple[str, ...] = ()
    score: float
    date: datetime | None = None
    lang: str = ""
    type: str = ""
    site: str = ""
    more_from_host: int = 0
    explanation: ScoreExplanation | None = None


class SearchPage(Struct, frozen=True, kw_only=True):
    """A page of results. ``total`` counts all pages that match; ``suggestion`` is a better spelling of the query.

    ``corrected``: nothing matched the query, and the results are those of the suggestion. ``partial``: no page has all
    of the words, and the results have most of them. ``notices`` say which parts of the query did not mean what they
    seemed to.
    """

    query: str
    total: int
    hits: tuple[SearchHit, ...]
    suggestion: str = ""
    corrected: bool = False
    partial: bool = False
    notices: tuple[str, ...] = ()


class _ShownRange(NamedTuple):
    """Which results to show, and whether to explain their scores."""

    limit: int
    offset: int
    explain: bool


class _RankedHit(NamedTuple):
    """A result before its snippet is made.

    ``more`` results of its host are not shown. ``copies`` are the addresses of pages that are nearly the same.
    """

    score: float
    factor: float
    address: Any
    stored: Any
    fields: ShownFields
    more: int = 0
    copies: Sequence[Any] = ()


class Searcher:
    """Answers queries over the index of a crawl, as it is when the searcher is made."""

    @classmethod
    def of_crawl(cls, directory: str | Path) -> Searcher:
        """Open the index of a crawl directory."""
        return cls(Path(directory) / "index")

    def __init__(self, folder: Path) -> None:
        self._index = TextIndex.open(folder)
        self._schema = self._index.index.schema
        with reading(folder):
            self._searcher = self._index.index.searcher()
        codes = self._index.state.languages or (PLAIN,)
        self._clauses = QueryClauses(self._schema, codes)
        self._spelling = SpellingSuggestions(self._index, self._searcher, codes)

    @property
    def pages(self) -> int:
        """The number of pages in the index."""
        found: int = self._searcher.num_docs
        return found

    def completed(self, query: str) -> str:
        """Return a query whose last word is still being typed with that word completed, or nothing."""
        with reading(self._index.folder):
            return self._spelling.completion(query)

    def search(self, query: str, *, limit: int = 10, offset: int = 0, explain: bool = False) -> SearchPage:
        """Return the best pages for a query."""
        if not 1 <= limit <= MOST_RESULTS:
            raise UsageError(f"the number of results must be 1 to {MOST_RESULTS}, not {limit}")
        if not 0 <= offset <= DEEPEST:
            raise UsageError(f"results can be shown up to number {DEEPEST}, not from {offset}")
        wanted = parse_search(query)
        shown = _ShownRange(limit, offset, explain)
        with reading(self._index.folder):
            page = self._page(query, wanted, self._clauses.all_words(wanted), shown)
            notices = wanted.notices
            if not page.total:
                page = self._second_try(query, wanted, page, shown)
                notices += wanted.doubts
            elif page.total <= _FEW:
                page = replace(page, suggestion=self._more_frequent(query, wanted))
            return replace(page, notices=notices)

    def _more_frequent(self, query: str, wanted: SearchQuery) -> str:
        """Return a spelling that finds more pages, or nothing."""
        suggestion = self._spelling.suggestion(wanted, query, of_rare=True)
        if not suggestion:
            return ""
        found = self._searcher.search(self._clauses.all_words(parse_search(suggestion)).query, limit=1)
        return suggestion if found.count > _FEW else ""

    def _second_try(self, query: str, wanted: SearchQuery, page: SearchPage, shown: _ShownRange) -> SearchPage:
        """Return the results of a better spelling, or else pages with most of the words."""
        suggestion = self._spelling.suggestion(wanted, query)
        if suggestion:
            other = parse_search(suggestion)
            better = self._page(query, other, self._clauses.all_words(other), shown)
            if better.total:
                return replace(better, suggestion=suggestion, corrected=True)
        built = self._clauses.most_words(wanted)
        if built is None:
            return page
        partial = self._page(query, wanted, built, shown)
        return replace(partial, partial=partial.total > 0)

    def _page(self, text: str, wanted: SearchQuery, built: BuiltQuery, shown: _ShownRange) -> SearchPage:
        import tantivy

        limit, offset, explain = shown
        phrases = ExactPhrases(self._index, self._searcher, self._clauses, wanted)
        checked = MOST_CHECKED if phrases else 0
        if wanted.by_date:
            found = self._searcher.search(
                built.query, limit=max(checked, offset + limit), order_by_field="date", order=tantivy.Order.Desc
            )
            hits, total = phrases.kept(found.hits, found.count) if phrases else (found.hits, found.count)
            ranked = [self._loaded(0.0, 1.0, address) for _, address in hits[offset : offset + limit]]
        else:
            depth = math.ceil((offset + limit) * _CANDIDATES / _LEAST_CANDIDATES) * _LEAST_CANDIDATES
            found = self._searcher.search(built.query, limit=max(checked, depth))
            hits, total = phrases.kept(found.hits, found.count) if phrases else (found.hits, found.count)
            ranked = self._folded(self._boosted(hits), wanted, offset + limit)[offset:]
        extracts = PageExtracts(
            self._searcher, [term for term in built.scored if term.place not in ("url", "heading", "near")]
        )
        results = [self._hit(each, extracts) for each in ranked]
        if explain:
            results = [
                replace(hit, explanation=self._explanation(each, wanted, built))
                for hit, each in zip(results, ranked, strict=True)
            ]
        return SearchPage(query=text, total=total, hits=tuple(results))

    def _boosted(self, hits: Sequence[tuple[float, Any]]) -> list[tuple[float, float, Any]]:
        """Return scores, factors and addresses in the order of the scores, which link scores change by a quarter."""
        addresses = [address for _, address in hits]
        factors = [link_factor(boost) for boost in self._boosts(addresses)]
        found = [(score * factor, factor, address) for (score, address), factor in zip(hits, factors, strict=True)]
        return sorted(found, key=lambda each: (-each[0], each[2].segment_ord, each[2].doc))

    def _boosts(self, addresses: Sequence[Any]) -> Sequence[Any]:
        return self._searcher.fast_field_values("boost", addresses) if addresses else []

    def _folded(self, hits: Sequence[tuple[float, float, Any]], wanted: SearchQuery, count: int) -> list[_RankedHit]:
        """Return the first hits without copies and with few of each host, unless all are of one.

        The last one of a host is told how many more there are, and each one which copies it has.
        """
        hosts = self._searcher.fast_field_values(HOST_HASH, [address for *_, address in hits]) if hits else []
        totals = Counter(hosts)
        is_one = len(totals) == 1 or any(each.field in ("site", "host") for each in wanted.filters)
        per_host = len(hits) if is_one else _PER_HOST
        shown: list[_RankedHit] = []
        used: Counter[Any] = Counter()
        for hit, host in zip(hits, hosts, strict=True):
            if used[host] >= per_host:
                continue
            found = self._loaded(*hit)
            copied = next((each for each in shown if _is_copy(found.fields, each.fields)), None)
            if copied is not None:
                shown[shown.index(copied)] = copied._replace(copies=(*copied.copies, found.address))
                continue
            used[host] += 1
            more = totals[host] - per_host if used[host] == per_host else 0
            shown.append(found._replace(more=more))
            if len(shown) == count:
                break
        return shown

    def _loaded(self, score: float, factor: float, address: Any) -> _RankedHit:
        stored = self._searcher.doc(address)
        return _RankedHit(score, factor, address, stored, self._index.shown_of(stored))

    def _hit(self, hit: _RankedHit, extracts: PageExtracts) -> SearchHit:
        stored, fields = hit.stored, hit.fields
        url = stored.get_first("id")
        if fields.nosnippet:
            found = PageExtract(html.escape(fields.description))
        else:
            found = extracts.of(fields, *self._index.content_of(stored))
        return SearchHit(
            url=url,
            title=fields.title or url,
            snippet=found.snippet or beginning(fields.description),
            link=f"{url}#{quote(found.anchor, safe=_FRAGMENT)}" if found.anchor else url,
            section=found.path,
            score=round(hit.score, 4),
            date=fields.date,
            lang=fields.lang,
            type=fields.type,
            site=fields.site,
            more_from_host=hit.more,
        )

    def _explanation(self, hit: _RankedHit, wanted: SearchQuery, built: BuiltQuery) -> ScoreExplanation:
        code = code_of(hit.fields.lang)
        parts = tuple(score_parts(self._clauses, built.scored, self._searcher, hit.address, code))
        copies = [self._searcher.doc(address).get_first("id") for address in hit.copies[:_MOST_COPIES]]
        return ScoreExplanation(
            text_score=round(sum(part.score for part in parts), 4),
            link_score=round(self._boosts([hit.address])[0] or 0.0, 4),
            link_factor=round(hit.factor, 4),
            parts=parts,
            filters=wanted.restrictions,
            order="date" if wanted.by_date else "score",
            copies=tuple(copies),
            hidden_copies=len(hit.copies),
        )


def search(directory: str | Path, query: str, *, limit: int = 10, offset: int = 0, explain: bool = False) -> SearchPage:
    """Search the index of a crawl directory.

    Returns ``limit`` results after the first ``offset``. With ``explain``, every result says how its score was
    computed. For several queries, keep a ``Searcher``.
    """
    return Searcher.of_crawl(directory).search(query, limit=limit, offset=offset, explain=explain)


def link_factor(boost: float | None) -> float:
    """Return the factor for a score: 1 for a boost of 1, bounded in both directions."""
    if not boost or boost <= 0:
        return 1 - _MOST_BOOST
    return 1 + _MOST_BOOST * max(-1.0, min(1.0, math.log10(boost) / 2))


def _is_copy(one: ShownFields, two: ShownFields) -> bool:
    """Return whether two pages are nearly the same: in their sentences, or in title and description."""
    if are_alike(one.sketch, two.sketch):
        return True
    return bool(one.title and one.description) and (one.title, one.description) == (two.title, two.description)
