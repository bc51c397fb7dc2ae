"""Exports are the same on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, write_linkdb
from tests.engine.engines import ENGINES, open_by_name
from tests.export.crawls import A, B, C, content_of, crawl_with_archive

from scoter.batch.crawldir.directory import CrawlDir
from scoter.config import load
from scoter.export.fields import FIELDS
from scoter.export.job import ExportOptions, export
from scoter.export.page_rows import ExportSource
from scoter.export.selection import PageFilter

_EXPORTS: dict[str, dict[str, Any]] = {
    "jsonl": {"fields": tuple(FIELDS), "filter": PageFilter(duplicates=True)},
    "csv": {"filter": PageFilter(where="title =~ 'org' and score >= 1")},
    "warc": {"filter": PageFilter(sql=f"select url from pages where url <> '{B}'")},
    "files": {},
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    made = crawl_with_archive(tmp_path_factory.mktemp("crawl") / "crawl")
    write_linkdb(made, {A: [(B, "a page"), (C, "the page")], C: [(A, "see also")]})
    return made


def exported(crawl: CrawlDir, engine: str, folder: Path) -> dict[str, bytes]:
    with open_by_name(engine, folder / "engine") as opened:
        for form, options in _EXPORTS.items():
            source = ExportSource(crawl, opened, load(None, {}, []))
            export(source, folder / form, ExportOptions(format=form, **options), now=NOW)
    return {f"{form}/{name}": data for form in _EXPORTS for name, data in content_of(folder / form).items()}


@pytest.mark.parametrize("engine", [each for each in ENGINES if each != "duckdb"])
def test_an_export_is_the_same_on_every_engine(crawl: CrawlDir, tmp_path: Path, engine: str) -> None:
    expected = exported(crawl, "duckdb", tmp_path / "duckdb")

    assert {"jsonl/pages-00000.jsonl", "csv/pages-00000.csv", "warc/pages-00000.warc.gz"} <= expected.keys()
    assert exported(crawl, engine, tmp_path / "other") == expected
