"""Small indexes for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scoter.config import load
from scoter.core.document import Document
from scoter.index.search import Searcher, SearchPage
from scoter.index.writers.embedded import TantivyIndexWriter
from scoter.plugins import POINTS, IndexRun, find


def document(
    url: str, title: str = "", content: str = "", *, lang: str = "en", boost: float = 1.0, **fields: Any
) -> Document:
    host = url.partition("://")[2].partition("/")[0]
    made = Document(id=url, boost=boost).with_fields(
        title=[title], content=[content], lang=[lang], host=[host], domain=[".".join(host.split(".")[-2:])]
    )
    return made.with_fields({name: value if isinstance(value, list) else [value] for name, value in fields.items()})


def writer() -> TantivyIndexWriter:
    made: TantivyIndexWriter = find(POINTS["indexwriter"], "tantivy").make(load())
    return made


def write(
    folder: Path, *documents: Document, delete: tuple[str, ...] = (), number: int = 1, rebuild: bool = False
) -> None:
    target = writer()
    try:
        target.open(IndexRun(directory=folder, number=number, rebuild=rebuild))
        target.delete(delete)
        target.write(documents)
        target.commit()
    finally:
        target.close()


def search(folder: Path, query: str, **options: Any) -> SearchPage:
    return Searcher(folder / "index").search(query, **options)


def urls(folder: Path, query: str, **options: Any) -> list[str]:
    return [hit.url for hit in search(folder, query, **options).hits]
