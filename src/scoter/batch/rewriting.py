"""URLs that a command normalises and filters once more: which of them change, and which go.

Most do neither, since they were normalised and filtered when they were found. So each distinct URL goes through the
chains once, and only what changed is joined back.
"""
# mypy: disable-error-code="import-untyped"

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from scoter.batch.sift import Sieve
from scoter.core.url import Url
from scoter.engine import Engine
from scoter.engine.port import Rows
from scoter.errors import UrlError

CHANGES = pa.schema([("changed", pa.utf8()), ("becomes", pa.utf8()), ("its_key", pa.utf8()), ("its_host", pa.utf8())])
"""A URL that changes, and what it becomes: nothing when it is dropped."""


def changes_of(engine: Engine, texts: Rows, sieve: Sieve) -> Rows:
    """Return the URLs that the chains change or drop, of rows with a column ``url``."""
    return engine.map_batches(texts.select("url").distinct(), partial(_changes, sieve), CHANGES)


def rewritten(rows: Rows, changes: Rows, url: str = "url", beside: Mapping[str, str] | None = None) -> Rows:
    """Return rows whose URLs are what they become, without those that are dropped.

    ``beside`` says which columns follow the URL: name → ``its_key`` or ``its_host``.
    """
    columns = tuple(rows.columns)
    joined = rows.left_join(changes, rows[url] == changes.changed)
    kept = joined.filter(joined.changed.isnull() | joined.becomes.notnull())
    new = {url: "becomes", **(beside or {})}
    return kept.select(
        **{name: kept[new[name]].fill_null(kept[name]) if name in new else kept[name] for name in columns}
    )


def _changes(sieve: Sieve, batch: Any) -> Any:
    found = []
    for text in batch.column("url").to_pylist():
        url = _sifted(text, sieve)
        if url is None:
            found.append({"changed": text})
        elif url.text != text:
            found.append({"changed": text, "becomes": url.text, "its_key": url.key, "its_host": url.host})
    return pa.RecordBatch.from_pylist(found, schema=CHANGES)


def _sifted(text: str, sieve: Sieve) -> Url | None:
    try:
        return sieve.sift(text)
    except UrlError:
        return None
