"""Which pages are exported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import crawl_at, datum, named, page, write_crawldb, write_segment
from tests.export.crawls import EXPORTED, HIDDEN, TWIN, A, B, C, add_segment, crawl_with_archive, exported, lines, urls

from scoter.batch.crawldir.directory import CrawlDir
from scoter.errors import UserError
from scoter.export.selection import PageFilter


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    return crawl_with_archive(tmp_path_factory.mktemp("crawl") / "crawl")


def selected(crawl: CrawlDir, out: Path, **choices: Any) -> list[str]:
    exported(crawl, out, "jsonl", filter=PageFilter(**choices), fields=("url",))
    return urls(out)


def test_newest_version_of_each_page_is_exported_without_duplicates_and_noindex(
    crawl: CrawlDir, tmp_path: Path
) -> None:
    exported(crawl, tmp_path / "out", "jsonl", fields=("url", "content", "segment"))

    assert [(row["url"], row["content"], row["segment"][-1]) for row in lines(tmp_path / "out")] == [
        (A, "New text of A", "2"),
        (B, f"Text of {B}", "1"),
        (C, f"Text of {C}", "1"),
    ]


def test_duplicates_and_noindex_pages_can_be_included(crawl: CrawlDir, tmp_path: Path) -> None:
    assert selected(crawl, tmp_path / "one", duplicates=True) == [*EXPORTED, TWIN]
    assert selected(crawl, tmp_path / "two", noindex=True) == [A, B, C, HIDDEN]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("host == 'b.org'", [B]),
        ("segment == '20261115000002'", [A]),
        ("startswith(content, 'New') or title =~ 'c[.]org'", [A, C]),
        ("http_status == 200 and score >= 1 and fetched >= '2026-11-15'", EXPORTED),
        ("language == 'de'", []),
    ],
)
def test_expression_selects_pages_by_any_field(
    crawl: CrawlDir, tmp_path: Path, expression: str, expected: list[str]
) -> None:
    assert selected(crawl, tmp_path / "out", where=expression) == expected


def test_sql_selects_pages_by_url(crawl: CrawlDir, tmp_path: Path) -> None:
    query = "SELECT url, count(*) FROM fetches GROUP BY url HAVING count(*) > 1"

    assert selected(crawl, tmp_path / "out", sql=query) == [A]


@pytest.mark.parametrize(("types", "expected"), [(("text/*",), EXPORTED), (("application/pdf", "image/*"), [])])
def test_content_types_select_pages(
    crawl: CrawlDir, tmp_path: Path, types: tuple[str, ...], expected: list[str]
) -> None:
    assert selected(crawl, tmp_path / "out", types=types) == expected


@pytest.mark.parametrize("form", ["warc", "files"])
def test_captures_are_selected_like_pages(crawl: CrawlDir, tmp_path: Path, form: str) -> None:
    chosen = PageFilter(where="host == 'b.org'", types=("text/html",))

    assert exported(crawl, tmp_path / "all", form).pages == 3
    assert exported(crawl, tmp_path / "one", form, filter=chosen).pages == 1


def test_text_cannot_select_captures(crawl: CrawlDir, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be selected by content"):
        exported(crawl, tmp_path / "out", "warc", filter=PageFilter(where="length(content) > 1"))

    assert not (tmp_path / "out").exists()


def test_entry_of_a_feed_counts_only_if_its_page_was_not_fetched(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    feed, other = "http://feed.org/", "http://feed.org/other"
    write_crawldb(crawl, [datum(feed), datum(A)])
    add_segment(crawl, "20261115000001", {A: "The page"})
    write_segment(
        crawl,
        "20261115000002",
        fetches=[datum(feed, "success")],
        pages=[page(feed), page(A, part_of=feed), page(other, part_of=feed)],
        texts=[
            {**named(feed), "text": "The feed"},
            {**named(A), "text": "Entry of A", "part_of": feed},
            {**named(other), "text": "Other entry", "part_of": feed},
        ],
    )

    exported(crawl, tmp_path / "out", "jsonl", fields=("url", "part_of", "host", "content"))

    assert [tuple(row.values()) for row in lines(tmp_path / "out")] == [
        (A, None, "a.org", "The page"),
        (feed, None, "feed.org", "The feed"),
        (other, feed, "feed.org", "Other entry"),
    ]
