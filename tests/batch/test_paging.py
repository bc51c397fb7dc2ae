"""The rows of pages: typed columns, and documents inside others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batch.making import NOW, crawldb_of, fetch, known, link, make_crawl, make_segment, page

from scoter.batch.crawldir import schemas
from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import Segment
from scoter.batch.jobs.invertlinks import invertlinks
from scoter.batch.jobs.readseg import entry_json, entry_lines, find_entries
from scoter.batch.jobs.sql import sql
from scoter.batch.jobs.updatedb import updatedb
from scoter.batch.worker.pages import PageProcessor
from scoter.batch.worker.records import PageRows
from scoter.batch.worker.segment_part import ParsedPart, _struct_lists
from scoter.config import load
from scoter.core.datum import CrawlDatum, DbStatus
from scoter.core.metadata import Author, Image, PageMetadata
from scoter.core.page import Alternate, Content, Heading, Outlink, Page, PageSection
from scoter.core.url import canonical
from scoter.engine import Engine
from scoter.parse.content_parser import ContentParser
from scoter.store.tables import PartSet

CONFIG = load(None, {})
A, B, C = "http://a.org/", "http://a.org/b", "http://c.org/"
DAY = datetime(2026, 11, 3, tzinfo=UTC)
ABOUT = PageMetadata(
    title="Seals",
    description="All about seals",
    image=Image(url="http://a.org/seal.png", width=640),
    site_name="Seal Watch",
    authors=(Author(name="Ida"), Author(name="Ole", url="http://a.org/ole")),
    published=DAY,
    modified=datetime(2026, 11, 4, 5),  # noqa: DTZ001 - as pages tell times
    type="article",
    keywords=("seals", "sea"),
    sources={"title": "opengraph"},
)
FULL = Page(
    url=canonical(A),
    title="Grey seals",
    text="all of it",
    main_text="it",
    markdown="# it",
    language="en",
    noarchive=True,
    nosnippet=True,
    unavailable_after=DAY,
    headings=(Heading(1, "Grey"), Heading(2, "Seals")),
    sections=(PageSection(2, "Seals", "seals"),),
    alternates=(Alternate(url=canonical(C), language="da"),),
    about=ABOUT,
    doubt="it ends in the middle",
    outlinks=(Outlink(target=canonical(B)), Outlink(target=canonical(C), kind="img", rel="me")),
)


class Fake:
    """A parser that finds the same pages in everything."""

    media_types: tuple[str, ...] = ("text/html",)

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = pages

    def parse(self, content: Content) -> Sequence[Page]:
        return self._pages


def rows(*pages: Page, score: float = 1.0, settings: Sequence[str] = ()) -> list[PageRows]:
    """Return the rows of a content in which these pages are found."""
    config = load(None, {}, settings)
    paging = PageProcessor(config)
    paging.parsing = ContentParser(config, [("fake", Fake(pages))])
    content = Content(url=pages[0].url, media_type="text/html", body=b"<p>")
    try:
        return asyncio.run(paging.rows(CrawlDatum(status=DbStatus.UNFETCHED, score=score), content))
    finally:
        paging.close()


def written(segment: Segment, pages: Iterable[PageRows]) -> Segment:
    """Write pages as a fetch does."""
    segment.path.mkdir(parents=True, exist_ok=True)
    part = ParsedPart(segment, "part-00001", ())
    for each in pages:
        part.add(each)
    part.finish()
    return segment


def all_of(parts: PartSet) -> list[dict[str, Any]]:
    return [each for batch in parts.scan() for each in batch.to_pylist()]


@pytest.mark.parametrize("name", ["text-md5", "text-profile"])
def test_signature_of_a_text_depends_on_the_title(tmp_path: Path, name: str) -> None:
    pages = [Page(url=canonical(A), title=title, text="Nothing yet.") for title in ("Seals", "Walruses", "Seals")]

    parsed = [rows(page, settings=[f"db.signature={name}"]) for page in pages]
    found = [written(Segment(tmp_path / str(at)), each) for at, each in enumerate(parsed)]

    one, other, again = (all_of(segment.parse_data())[0]["signature"] for segment in found)
    assert one == again != other


def test_page_metadata_is_stored_in_typed_columns(tmp_path: Path) -> None:
    segment = written(Segment(tmp_path / "1"), rows(FULL))

    (data,) = all_of(segment.parse_data())
    (text,) = all_of(segment.parse_text())
    links = all_of(segment.crawl_parse())

    assert (data["parse_status"], data["title"], data["language"]) == ("success", "Grey seals", "en")
    assert data["doubt"] == "it ends in the middle"
    assert (data["noindex"], data["noarchive"], data["nosnippet"]) == (False, True, True)
    assert data["unavailable_after"] == DAY
    assert data["headings"] == [{"level": 1, "text": "Grey"}, {"level": 2, "text": "Seals"}]
    assert data["sections"] == [{"level": 2, "text": "Seals", "anchor": "seals"}]
    assert data["alternates"] == [{"url": C, "language": "da", "media_type": "", "title": "", "rel": "alternate"}]
    assert (data["description"], data["image"], data["site_name"]) == (
        "All about seals",
        "http://a.org/seal.png",
        "Seal Watch",
    )
    assert (data["authors"], data["keywords"], data["type"]) == (["Ida", "Ole"], ["seals", "sea"], "article")
    assert (data["published"], data["modified"]) == (DAY, datetime(2026, 11, 4, 5, tzinfo=UTC))
    assert msgspec.json.decode(data["about"], type=PageMetadata) == ABOUT
    assert (text["text"], text["main_text"], text["markdown"], text["part_of"]) == ("all of it", "it", "# it", None)
    assert [(each["url"], each["rel"], each["kind"]) for each in links] == [(B, "", "a"), (C, "me", "img")]


def test_columns_are_empty_if_metadata_is_turned_off(tmp_path: Path) -> None:
    segment = written(Segment(tmp_path / "1"), rows(Page(url=canonical(A), text="x")))

    (data,) = all_of(segment.parse_data())
    (text,) = all_of(segment.parse_text())

    empty = {name for name, value in data.items() if value is None}
    assert empty >= {"doubt", "part_of", "description", "image", "authors", "published", "keywords", "about"}
    assert (data["headings"], data["alternates"]) == ([], [])
    assert (text["main_text"], text["markdown"]) == (None, None)


def test_links_to_one_target_keep_their_own_kind_and_rel(tmp_path: Path) -> None:
    first = Page(url=canonical(A), outlinks=(Outlink(target=canonical(C), kind="img", anchor="one"),))
    second = Page(url=canonical(B), outlinks=(Outlink(target=canonical(C), rel="me", anchor="two"),))

    segment = written(Segment(tmp_path / "1"), [*rows(first), *rows(second)])

    found = all_of(segment.crawl_parse())
    told = [(each["source"], each["url"], each["anchor"], each["rel"], each["kind"]) for each in found]
    assert told == [(A, C, "one", "", "img"), (B, C, "two", "me", "a")]


@given(st.lists(st.lists(st.tuples(st.integers(1, 6), st.text(max_size=5)), max_size=4), max_size=6))
def test_lists_of_records_are_converted_as_arrow_does(lists: list[list[tuple[int, str]]]) -> None:
    kind = schemas.PARSE_DATA.field("headings").type
    column = [tuple(Heading(level, text) for level, text in each) for each in lists]

    found = _struct_lists(column, kind, lambda each: (each.level, each.text))

    found.validate(full=True)
    plain = [[{"level": level, "text": text} for level, text in each] for each in lists]
    assert found.equals(pa.array(plain, kind))


def entry(url: str, **fields: Any) -> Page:
    return Page(url=canonical(url), **fields)


def test_inner_documents_have_their_own_urls_and_distribute_no_score() -> None:
    feed = entry(A, outlinks=(Outlink(target=canonical(B), kind="feed"),))
    inside = entry(B, title="Entry", text="words", outlinks=(Outlink(target=canonical(C)),), media_type="text/plain")

    own, found = rows(feed, inside, settings=["parse.simhash=true"])

    told = dict(zip(schemas.PARSE_DATA.names, found.data, strict=True))
    assert (told["url"], told["parse_status"], told["part_of"], told["title"]) == (B, "entry", A, "Entry")
    assert (told["content_type"], told["signature"], told["simhash"]) == ("text/plain", None, None)
    assert found.text is not None
    assert dict(zip(schemas.PARSE_TEXT.names, found.text, strict=True))["part_of"] == A
    assert [each.score for each in own.links] == [1.0]
    assert [(each.target.text, each.score) for each in found.links] == [(C, 0.0)]


def test_inner_document_is_written_only_if_the_link_rules_keep_its_url() -> None:
    pages = [entry(A), entry(A), entry(f"{A}x.jpg"), entry(C), entry("http://a.org//d?jsessionid=7")]

    found = rows(*pages, settings=["db.ignore_external_links=true"])

    urls = [each.data[0] for each in found]
    assert urls[:1] == [A]
    assert f"{A}x.jpg" not in urls
    assert C not in urls
    assert len(urls) == 2


class Failing(Fake):
    """A parser that always fails."""

    def parse(self, content: Content) -> Sequence[Page]:
        raise ValueError("more than 7 tags")


@pytest.mark.parametrize("marked", ["true", "false"])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, ("failed", "broken_plugin: failing: ValueError: more than 7 tags")),
        ({"truncated": True}, ("skipped", "truncated")),
        ({"media_type": "model/gltf"}, ("skipped", "no_parser: model/gltf")),
    ],
    ids=["failed", "truncated", "of no parser"],
)
def test_parse_error_is_failed_and_unsupported_content_is_skipped_unless_failures_are_deleted(
    marked: str, content: dict[str, Any], expected: tuple[str, str]
) -> None:
    config = load(None, {}, [f"parse.delete_failed_parse={marked}"])
    paging = PageProcessor(config)
    paging.parsing = ContentParser(config, [("failing", Failing(()))])
    body = Content(**{"url": canonical(A), "media_type": "text/html", "body": b"<p>", **content})
    try:
        (found,) = asyncio.run(paging.rows(CrawlDatum(status=DbStatus.UNFETCHED), body))
    finally:
        paging.close()

    status, reason = expected
    if marked == "true" and reason.startswith("no_parser"):
        status = "failed"
    assert found.data[2:4] == (status, reason)


@pytest.mark.parametrize(("marked", "status"), [("false", "fetched"), ("true", "parse_failed")])
def test_delete_failed_parse_decides_the_crawldb_status_of_a_failed_parse(
    engine: Engine, tmp_path: Path, marked: str, status: str
) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, fetches=[fetch(A)], pages=[page(A, "failed", signature=b"new")])

    updatedb(crawl, engine, load(overrides=[f"parse.delete_failed_parse={marked}"]), [segment], now=NOW)

    found = crawldb_of(crawl)[A]
    assert (found["status"], found["signature"]) == (status, b"new" if status == "fetched" else None)


def feed_segment(crawl: CrawlDir, *, own: Sequence[dict[str, Any]], fetches: Sequence[dict[str, Any]]) -> Segment:
    """Make a segment in which the feed A has B as an entry; optionally B itself was fetched."""
    inside = page(B, "entry", part_of=A, title="Entry")
    return make_segment(
        crawl,
        fetches=[fetch(A), *fetches],
        pages=[page(A, signature=b"feed"), inside, *own],
        links=[link(A, B, 0.5, kind="feed"), link(B, C, 0.0)],
    )


def test_update_adds_an_entry_by_its_link_and_uses_its_links(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = feed_segment(crawl, own=[], fetches=[])

    updatedb(crawl, engine, CONFIG, [segment], now=NOW)

    found = crawldb_of(crawl)
    assert {url: each["status"] for url, each in found.items()} == {A: "fetched", B: "unfetched", C: "unfetched"}
    assert found[A]["signature"] == b"feed"
    assert found[B]["signature"] is None


@pytest.mark.parametrize(("said", "status"), [("success", "fetched"), ("failed", "parse_failed")])
def test_update_uses_the_fetched_page_not_an_entry_with_its_url(
    engine: Engine, tmp_path: Path, said: str, status: str
) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B)])
    segment = feed_segment(crawl, own=[page(B, said, signature=b"page")], fetches=[fetch(B)])

    updatedb(crawl, engine, load(overrides=["parse.delete_failed_parse=true"]), [segment], now=NOW)

    assert crawldb_of(crawl)[B]["status"] == status
    if status == "fetched":
        assert crawldb_of(crawl)[B]["signature"] == b"page"


def test_entry_does_not_remove_the_links_of_its_page_from_the_linkdb(engine: Engine, tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A), known(B)])
    before = make_segment(
        crawl, "20261114000000", fetches=[fetch(B)], pages=[page(B)], links=[link(B, "http://d.org/", anchor="d")]
    )
    segment = feed_segment(crawl, own=[], fetches=[])
    config = load(None, {}, ["linkdb.ignore_internal_links=false"])

    for each in (before, segment):
        invertlinks(crawl, engine, config, [each], now=NOW)

    with sql(crawl, memory_limit=2**28) as session:
        found = list(session.query("select url, inlinks[1].url as source from linkdb order by url").rows)
    assert {"url": "http://d.org/", "source": B} in found


def test_each_row_of_a_url_has_its_own_text_in_sql(tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, "20261115000000", fetches=[fetch(A), fetch(B)], steps=())
    for name in ("parse_data", "parse_text", "crawl_parse"):
        for file in (segment.path / name).glob("*.parquet"):
            file.unlink()
    written(segment, [*rows(entry(A), entry(B, text="in short")), *rows(entry(B, text="at length"))])
    segment.finish("FETCHED")

    with sql(crawl, memory_limit=2**28) as session:
        found = list(session.query(f"select parse_status, text from pages where url = '{B}' order by 1").rows)

    assert found == [{"parse_status": "entry", "text": "in short"}, {"parse_status": "success", "text": "at length"}]
    (held,) = find_entries(CONFIG, [segment], B)
    assert held.parse_data is not None
    assert held.parse_text is not None
    assert (held.parse_data["parse_status"], held.parse_text["text"]) == ("success", "at length")


def test_entry_that_was_never_fetched_is_found_in_its_segment(tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = feed_segment(crawl, own=[], fetches=[])

    (held,) = find_entries(CONFIG, [segment], B)

    assert held.fetch is None
    assert any("part_of" in line and A in line for line in entry_lines(held))
    assert entry_json(held)["parse_data"]["title"] == "Entry"


def test_page_metadata_is_an_object_in_json(tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path / "crawl", [known(A)])
    segment = make_segment(crawl, fetches=[fetch(A)], pages=[page(A, about='{"title":"Seals"}', published=DAY)])

    (held,) = find_entries(CONFIG, [segment], A)

    assert entry_json(held)["parse_data"]["about"] == {"title": "Seals"}
    assert any(line.split() == ["published", "2026-11-03T00:00:00Z"] for line in entry_lines(held))
