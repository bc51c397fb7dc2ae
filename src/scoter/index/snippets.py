"""Passages of a page's text that show why it matches a query."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any, Final

from scoter.index.languages import code_of, unspaced_runs

LENGTH: Final = 200
_UNSPACED_LENGTH: Final = 100  # letters of scripts without spaces take twice the room
_MOST_MATCHES: Final = 1_000


class Snippets:
    """Finds the best passage of a text for a query."""

    def __init__(self, searcher: Any, query: Any, schema: Any, words: Sequence[str]) -> None:
        """``words`` are those of the query, as they were typed."""
        self._searcher, self._query, self._schema = searcher, query, schema
        self._generators: dict[str, Any] = {}
        self._unspaced = _pattern(words)

    def of(self, text: str, language: str) -> str:
        """Return a passage as HTML, its matches marked with ``<b>``."""
        passage = "" if self._unspaced is None else _passage(text, self._unspaced)
        return " ".join((passage or self._spaced(text, language) or html.escape(text[:LENGTH])).split())

    def _spaced(self, text: str, language: str) -> str:
        """Return a passage of text whose words are separated by spaces."""
        import tantivy

        name = f"content_{code_of(language)}"
        if name not in self._generators:
            made = tantivy.SnippetGenerator.create(self._searcher, self._query, self._schema, name)
            made.set_max_num_chars(LENGTH)
            self._generators[name] = made
        document = tantivy.Document()
        document.add_text(name, text)
        found: str = self._generators[name].snippet_from_doc(document).to_html()
        return found


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern for the runs of letters without spaces, and for their pairs, which pages may have apart."""
    runs = {run for word in words for run in unspaced_runs(word)}
    pairs = {run[at : at + 2] for run in runs for at in range(len(run) - 1)}
    wanted = sorted(runs | pairs, key=lambda each: (-len(each), each))
    return re.compile("|".join(map(re.escape, wanted))) if wanted else None


def _passage(text: str, pattern: re.Pattern[str]) -> str:
    """Return the passage with the longest matches; empty if there is none."""
    found = [match.span() for match, _ in zip(pattern.finditer(text), range(_MOST_MATCHES), strict=False)]
    if not found:
        return ""
    start, end = max(found, key=lambda span: (span[1] - span[0], -span[0]))
    first = max(0, min(start - _UNSPACED_LENGTH // 3, len(text) - _UNSPACED_LENGTH))
    last = max(end, first + _UNSPACED_LENGTH)
    parts, at = [], first
    for begin, stop in found:
        if begin >= at and stop <= last:
            parts += [html.escape(text[at:begin]), "<b>", html.escape(text[begin:stop]), "</b>"]
            at = stop
    return "".join([*parts, html.escape(text[at:last])])
