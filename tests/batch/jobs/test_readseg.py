"""readseg: the state of segments, one URL, and whole segments."""

from __future__ import annotations

import gzip
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.batch.crawls import NOW, crawl_at, datum, link, named, page, write_crawldb, write_segment

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, Segment
from scoter.batch.jobs.readseg import (
    SegmentParts,
    entries,
    entry_json,
    entry_lines,
    find_entries,
    select_segments,
    summarize_segments,
)
from scoter.config import load
from scoter.core.reply import Exchange
from scoter.core.url import canonical
from scoter.engine import Engine
from scoter.errors import UserError
from scoter.store.tables import Table
from scoter.store.warc import ArchiveInfo, WarcPart

CONFIG = load(None, {})
A, B = "http://a.org/", "http://b.org/"
BODY = "<p>naïve</p>".encode("latin-1")


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def archived(crawl: CrawlDir, name: str, body: bytes = BODY, **fields: str) -> dict[str, Any]:
    """Archive a page for a segment that does not exist yet, and return its fetch."""
    folder = crawl.segments / name / "content"
    folder.mkdir(parents=True)
    headers = tuple((key.replace("_", "-"), value) for key, value in fields.items())
    head = "HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers) + "\r\n"
    part = WarcPart(folder, "part", ArchiveInfo(software="test"), opened=NOW)
    place = part.append(
        Exchange(
            url=canonical(A),
            started=NOW,
            request_head=b"GET / HTTP/1.1\r\n\r\n",
            response_head=head.encode(),
            status=200,
            headers=headers,
            body=body,
        )
    )
    part.finish()
    where = {"warc_file": place.file, "warc_offset": place.offset, "warc_length": place.length}
    return {**datum(A, "success", fetch_time=NOW), "http_status": 200, **where}


def whole(crawl: CrawlDir) -> Segment:
    fetch = archived(crawl, "draft", Content_Type="text/html; charset=iso-8859-1")
    segment = write_segment(
        crawl,
        "1",
        generates=[datum(A, "unfetched"), datum(B, "unfetched")],
        fetches=[datum(B, "gone"), fetch],
        pages=[page(A, title="A title")],
        texts=[{**named(A), "text": "naïve"}],
        links=[link(A, "http://c.org/", "see"), link(A, B)],
    )
    (crawl.segments / "draft" / "content").rename(segment.content)
    (crawl.segments / "draft").rmdir()
    return segment


def test_summary_ignores_a_crawldb_without_a_finished_version(crawl: CrawlDir) -> None:
    write_segment(crawl, "1", fetches=[datum(A, "success")], pages=[page(A)])

    with Table.write(crawl.crawldb, schemas.CRAWLDB):
        (only,) = summarize_segments(crawl, crawl.all_segments())

    assert (only.segment, only.fetched) == ("1", 1)


def test_summary_shows_the_state_of_each_segment(crawl: CrawlDir) -> None:
    write_crawldb(crawl, [datum(A)], applied=["1"])
    early = {**datum(B, "gone"), "fetch_time": NOW - timedelta(minutes=5)}
    late = {**datum(A, "success"), "fetch_time": NOW}
    pages = [page(A), page(B, "failed")]
    write_segment(crawl, "1", fetches=[late, early], pages=pages)
    write_segment(crawl, "2", fetches=[late], done=[FETCHED])
    write_segment(crawl, "3", generates=[datum(A, "unfetched")] * 3, fetches=[late], done=[])
    write_segment(crawl, "4", generates=[datum(A, "unfetched")], done=[])

    first, *others = summarize_segments(crawl, crawl.all_segments())

    assert (first.segment, first.state, first.fetched, first.parsed) == ("1", "applied", 2, 1)
    assert (first.fetch_start, first.fetch_end) == (NOW - timedelta(minutes=5), NOW)
    assert first.statuses == {"gone": 1, "success": 1}
    assert first.size > 1_000
    assert [(each.state, each.generated, each.fetched) for each in others] == [
        ("fetched", 1, 1),
        ("fetching", 3, 1),
        ("generated", 1, 0),
    ]


def test_entry_holds_all_rows_of_a_url_and_its_archived_bytes(crawl: CrawlDir) -> None:
    whole(crawl)

    (found,) = find_entries(CONFIG, crawl.all_segments(), "HTTP://a.org")

    assert (found.segment, found.url) == ("1", A)
    assert found.generate is not None
    assert found.fetch is not None
    assert found.parse_data is not None
    assert found.parse_data["title"] == "A title"
    assert found.parse_text is not None
    assert found.parse_text["text"] == "naïve"
    assert [row["url"] for row in found.outlinks] == ["http://c.org/", B]
    assert found.content is not None
    assert (found.content.status, found.content.body) == (200, BODY)


def test_recode_converts_a_page_to_utf_8(crawl: CrawlDir) -> None:
    whole(crawl)

    (found,) = find_entries(CONFIG, crawl.all_segments(), A, recode=True)

    assert found.content is not None
    assert found.content.body == "<p>naïve</p>".encode()


def test_content_codings_are_removed(crawl: CrawlDir) -> None:
    fetch = archived(crawl, "1", gzip.compress(b"hello"), Content_Encoding="gzip", Content_Type="text/plain")
    (crawl.segments / "1").rename(crawl.path / "aside")
    segment = write_segment(crawl, "1", fetches=[fetch])
    (crawl.path / "aside" / "content").rename(segment.content)

    (found,) = find_entries(CONFIG, [segment], A)

    assert found.content is not None
    assert found.content.body == b"hello"


def test_archive_name_cannot_lead_out_of_the_segment(crawl: CrawlDir, tmp_path: Path) -> None:
    fetch = archived(crawl, "1", Content_Type="text/html")
    (crawl.segments / "1").rename(tmp_path / "aside")
    segment = write_segment(crawl, "1", fetches=[{**fetch, "warc_file": f"{tmp_path}/aside/content/part.warc.gz"}])

    with pytest.raises(UserError, match="cannot read the archive"):
        list(find_entries(CONFIG, [segment], A))


def test_url_is_found_in_every_segment_that_has_it(crawl: CrawlDir) -> None:
    write_segment(crawl, "1", fetches=[datum(A, "retry")])
    write_segment(crawl, "2", fetches=[datum(B, "success")])
    write_segment(crawl, "3", generates=[datum(A, "unfetched")], done=[])

    assert [found.segment for found in find_entries(CONFIG, crawl.all_segments(), A)] == ["1", "3"]
    assert list(find_entries(CONFIG, crawl.all_segments(), "http://nobody.org/")) == []


def test_dump_has_every_url_once_with_all_its_parts(crawl: CrawlDir, engine: Engine) -> None:
    segment = whole(crawl)

    first, second = entries(crawl, engine, CONFIG, segment, SegmentParts(), recode=True)

    assert (first.url, second.url) == (A, B)
    same = next(find_entries(CONFIG, [segment], A, recode=True))
    assert first == replace(same, outlinks=tuple(sorted(same.outlinks, key=lambda link: str(link["url"]))))
    assert second.fetch is not None
    assert (second.fetch["status"], second.content, second.parse_data) == ("gone", None, None)
    assert not list(crawl.scratch.glob("readseg-*"))


@pytest.mark.parametrize("turn", [1, -1])
def test_last_of_two_fetches_of_a_url_is_shown(crawl: CrawlDir, engine: Engine, turn: int) -> None:
    fetches = [datum(A, "retry", fetch_time=NOW - timedelta(hours=1)), datum(A, "success", fetch_time=NOW)]
    segment = write_segment(crawl, "1", fetches=fetches[::turn])

    (shown,) = find_entries(CONFIG, [segment], A)
    (dumped,) = entries(crawl, engine, CONFIG, segment, SegmentParts())

    assert [found.fetch["status"] for found in (shown, dumped) if found.fetch] == ["success", "success"]


def test_dump_omits_unwanted_parts(crawl: CrawlDir, engine: Engine) -> None:
    segment = whole(crawl)

    (only_content, _) = entries(
        crawl,
        engine,
        CONFIG,
        segment,
        SegmentParts(fetch=False, generate=False, outlinks=False, parse_data=False, parse_text=False),
    )
    assert (only_content.fetch, only_content.generate, only_content.outlinks) == (None, None, ())
    assert only_content.content is not None

    (no_content, _) = entries(crawl, engine, CONFIG, segment, SegmentParts(content=False))
    assert no_content.content is None
    assert no_content.fetch is not None


def test_entry_is_written_as_text_and_as_json(crawl: CrawlDir) -> None:
    (found,) = find_entries(CONFIG, [whole(crawl)], A, recode=True)

    lines = list(entry_lines(found))
    shown = entry_json(found)

    assert lines[0] == "http://a.org/  (segment 1)"
    assert "  http://c.org/  see" in lines
    assert "  <p>naïve</p>" in lines
    assert shown["content"]["body"] == "<p>naïve</p>"
    assert shown["parse_data"]["title"] == "A title"


def test_binary_body_is_not_shown_as_text(crawl: CrawlDir) -> None:
    fetch = archived(crawl, "draft", b"\x89PNG\x00\x00", Content_Type="image/png")
    (crawl.segments / "draft").rename(crawl.path / "aside")
    segment = write_segment(crawl, "1", fetches=[fetch])
    (crawl.path / "aside" / "content").rename(segment.content)
    (found,) = find_entries(CONFIG, [segment], A)

    assert entry_json(found)["content"]["body_base64"] == "iVBORwAA"
    assert not any("PNG" in line for line in entry_lines(found))


def test_segments_are_selected_by_name_or_newest(crawl: CrawlDir) -> None:
    with pytest.raises(UserError, match="no segments"):
        select_segments(crawl, None)
    write_segment(crawl, "1")
    write_segment(crawl, "2")

    assert [each.name for each in select_segments(crawl, None)] == ["1", "2"]
    assert [each.name for each in select_segments(crawl, None, newest=True)] == ["2"]
    assert [each.name for each in select_segments(crawl, "1")] == ["1"]
    with pytest.raises(UserError, match="no such segment: 9"):
        select_segments(crawl, "9")
