"""The configured URL normalisers and filters, applied to single URLs and to columns of URLs.

Commands that normalise and filter known URLs again find that most do not change. So each distinct URL goes through the
chains once, and only the changes are joined back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

import pyarrow as pa
from msgspec import Struct

from scoter.config import Config
from scoter.core.chain import Scope, UrlFilter, UrlNormalizer, keeps, rewrite
from scoter.core.url import Url, canonical
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.errors import UrlError
from scoter.plugins import chain


class UrlChains(Struct, frozen=True):
    """The normalisers and filters for one purpose; either chain may be empty."""

    filters: Sequence[tuple[str, UrlFilter]]
    normalizers: Sequence[tuple[str, UrlNormalizer]]
    scope: Scope
    loops: int = 1

    @classmethod
    def from_config(cls, config: Config, scope: Scope, *, filter: bool, normalize: bool) -> Self:
        """Return the configured chains."""
        return cls(
            chain("urlfilter", config) if filter else (),
            chain("urlnormalizer", config) if normalize else (),
            scope,
            config.urlnormalizer.loop_count,
        )

    def apply(self, text: str) -> Url | None:
        """Return the URL to store, or ``None`` if it is dropped; raise ``UrlError`` if the text is not a URL."""
        found = rewrite(text, self.normalizers, self.scope, self.loops) if self.normalizers else text
        if found is None:
            canonical(text)  # normalisers also drop what is not a URL: raise for that
            return None
        url = canonical(found)
        return url if keeps(url, self.filters) else None


CHANGES_SCHEMA = pa.schema([(name, pa.utf8()) for name in ("changed", "becomes", "its_key", "its_host")])
"""A URL that changes and what it becomes; null if it is dropped."""
DERIVED = {"key": "its_key", "host": "its_host"}
"""The columns that are derived from a URL, and their names in ``CHANGES_SCHEMA``."""


def url_changes(engine: Engine, texts: Rows, chains: UrlChains) -> Rows:
    """Return the URLs of a column ``url`` that the chains change or drop."""
    return engine.map_batches(texts.select("url").distinct(), partial(_changes, chains), CHANGES_SCHEMA)


def rewrite_urls(rows: Rows, changes: Rows, url: str = "url", derived: Mapping[str, str] | None = None) -> Rows:
    """Return rows with their URLs changed, without the dropped ones.

    ``derived`` names the columns that change with the URL: name → ``its_key`` or ``its_host``.
    """
    columns = tuple(rows.columns)
    joined = rows.left_join(changes, rows[url] == changes.changed)
    kept = joined.filter(joined.changed.isnull() | joined.becomes.notnull())
    new = {url: "becomes", **(derived or {})}
    return kept.select(
        **{name: kept[new[name]].fill_null(kept[name]) if name in new else kept[name] for name in columns}
    )


def _changes(chains: UrlChains, batch: Any) -> Any:
    found = []
    for text in batch.column("url").to_pylist():
        url = _applied(text, chains)
        if url is None:
            found.append({"changed": text})
        elif url.text != text:
            found.append({"changed": text, "becomes": url.text, "its_key": url.key, "its_host": url.host})
    return pa.RecordBatch.from_pylist(found, schema=CHANGES_SCHEMA)


def _applied(text: str, chains: UrlChains) -> Url | None:
    try:
        return chains.apply(text)
    except UrlError:
        return None
