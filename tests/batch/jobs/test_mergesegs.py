"""mergesegs: which fetch of a page is kept, with which rows, and that its bytes can be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.batch.crawls import NOW, Row, crawl_at, datum, link, named, page, write_segment
from tests.cli.conftest import Run, run

from scoter.batch.crawldir.directory import CrawlDir
from scoter.batch.crawldir.segment import FETCHED, Segment
from scoter.batch.jobs.mergesegs import mergesegs
from scoter.config import load
from scoter.core.reply import Exchange
from scoter.core.url import canonical
from scoter.engine import Engine
from scoter.errors import UsageError
from scoter.store.tables import PartSet
from scoter.store.warc import ArchiveInfo, Location, WarcPart, WarcReader
from scoter.store.warc.reader import records

__all__ = ["run"]

CONFIG = load(None, {}, [])
A, B, C, D = "http://a.org/", "http://b.org/", "http://c.org/", "http://d.org/"


@pytest.fixture
def crawl(tmp_path: Path) -> CrawlDir:
    return crawl_at(tmp_path / "crawl")


def segment_of(crawl: CrawlDir, name: str, bodies: dict[str, bytes], **more: Any) -> Segment:
    """Write a segment of pages that are fetched, archived, parsed, and link to D under their segment's name."""
    places = archived(crawl.segments / name / "content", bodies)
    (crawl.segments / name / "content").rename(crawl.path / "content")
    (crawl.segments / name).rmdir()
    fetches = [fetch(url, "success", places[url]) for url in bodies]
    segment = write_segment(
        crawl,
        name,
        fetches=[*fetches, *more.get("fetches", ())],
        pages=[*(page(url, title=name) for url in bodies), *more.get("pages", ())],
        texts=[*({**named(url), "text": name} for url in bodies), *more.get("texts", ())],
        links=[*(link(url, D, name) for url in bodies), *more.get("links", ())],
        generates=[datum(url, "unfetched", list=0) for url in bodies],
    )
    (crawl.path / "content").rename(segment.content)
    return segment


def archived(folder: Path, bodies: dict[str, bytes]) -> dict[str, Location]:
    part = WarcPart(folder, "part-00001", ArchiveInfo(software="test"), opened=NOW)
    places = {url: part.append(exchange(url, body), facts=(("k", url),)) for url, body in bodies.items()}
    part.finish()
    return places


def exchange(url: str, body: bytes) -> Exchange:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
    return Exchange(
        url=canonical(url),
        started=NOW,
        request_head=b"GET / HTTP/1.1\r\n\r\n",
        response_head=head,
        status=200,
        headers=(("Content-Type", "text/html"), ("Content-Length", str(len(body)))),
        body=body,
    )


def fetch(url: str, status: str, place: Location | None = None, **columns: Any) -> Row:
    where = {"warc_file": place.file, "warc_offset": place.offset, "warc_length": place.length} if place else {}
    return datum(url, status, **{"http_status": 200, **where, **columns})


def rows(parts: PartSet) -> list[Row]:
    found = [row for batch in parts.scan() for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row.get("source", ""), row["url"]))


def bodies_in(segment: Segment) -> dict[str, bytes]:
    """Return the body of each page, read from the location in its fetch."""
    found = {}
    for row in rows(segment.crawl_fetch()):
        if row["warc_file"] is not None:
            with WarcReader(segment.content / row["warc_file"]) as reader:
                capture = reader.at(row["warc_offset"])
                assert capture.url == row["url"]
                found[row["url"]] = capture.body
    return found


def merge(
    crawl: CrawlDir, segments: Sequence[Segment], engine: Engine, *settings: str, **options: Any
) -> list[Segment]:
    out = crawl_at(crawl.path.parent / "out")
    mergesegs(out, segments, engine, load(None, {}, settings), now=NOW, **options)
    return out.all_segments()


def test_newest_fetch_of_a_page_is_kept_with_its_text_links_and_bytes(crawl: CrawlDir, engine: Engine) -> None:
    newer = segment_of(crawl, "2", {A: b"a2", C: b"c2"})
    older = segment_of(crawl, "1", {A: b"a1", B: b"b1" * 900})

    (made,) = merge(crawl, [newer, older], engine)

    assert (made.name, made.is_fetched, made.is_parsed, made.info().urls) == ("2-001", True, True, 3)
    assert bodies_in(made) == {A: b"a2", B: b"b1" * 900, C: b"c2"}
    assert [row["title"] for row in rows(made.parse_data())] == ["2", "1", "2"]
    assert [row["text"] for row in rows(made.parse_text())] == ["2", "1", "2"]
    assert [(row["source"], row["anchor"]) for row in rows(made.crawl_parse())] == [(A, "2"), (B, "1"), (C, "2")]
    assert [row["url"] for row in rows(made.crawl_generate())] == [A, B, C]


def test_documents_inside_a_page_are_kept_or_dropped_with_it(crawl: CrawlDir, engine: Engine) -> None:
    def inside(url: str, name: str) -> Row:
        return {**named(url), "part_of": A, "text": name}

    segments = [
        segment_of(
            crawl,
            name,
            {A: b"feed", **more},
            pages=[page(url, "entry", title=f"entry {name}", part_of=A) for url in entries],
            texts=[inside(url, f"entry {name}") for url in entries],
            links=[link(url, D, f"entry {name}") for url in entries if url not in more],
        )
        for name, entries, more in (("1", (B,), {}), ("2", (C, D), {C: b"c"}))
    ]

    (made,) = merge(crawl, segments, engine)

    told = [(row["url"], row["title"], row["part_of"]) for row in rows(made.parse_data())]
    assert sorted(told, key=str) == [(A, "2", None), (C, "2", None), (C, "entry 2", A), (D, "entry 2", A)]
    assert sorted(row["text"] for row in rows(made.parse_text())) == ["2", "2", "entry 2", "entry 2"]
    found = [(row["source"], row["anchor"]) for row in rows(made.crawl_parse())]
    assert found == [(A, "2"), (C, "2"), (D, "entry 2")]


def test_retries_and_unmodified_pages_are_dropped(crawl: CrawlDir, engine: Engine) -> None:
    silent = [fetch(A, "notmodified"), fetch(B, "retry"), fetch(D, "retry"), fetch(C, "gone")]
    segments = [segment_of(crawl, "1", {A: b"a", B: b"b", C: b"c"}), segment_of(crawl, "2", {}, fetches=silent)]

    (made,) = merge(crawl, segments, engine)

    assert [(row["url"], row["status"]) for row in rows(made.crawl_fetch())] == [
        (A, "success"),
        (B, "success"),
        (C, "gone"),
    ]
    assert bodies_in(made) == {A: b"a", B: b"b"}
    assert [row["url"] for row in rows(made.parse_data())] == [A, B]


def test_duplicate_body_is_readable_if_its_first_copy_is_dropped(crawl: CrawlDir, engine: Engine) -> None:
    body = bytes(range(256)) * 20
    older = segment_of(crawl, "1", {A: body, B: body, C: body, D: b"d"})
    newer = segment_of(crawl, "2", {A: b"other"})

    (made,) = merge(crawl, [older, newer], engine)

    assert bodies_in(made) == {A: b"other", B: body, C: body, D: b"d"}
    (file,) = made.content.glob("*.warc.gz")
    with WarcReader(file) as reader:
        captures = [found.url for found in reader]
    assert sorted(captures) == [A, A, B, C, D]
    lines = [line for file in made.content.glob("*.cdxj") for line in file.read_bytes().splitlines()]
    assert len(lines) == 4
    assert lines == sorted(lines)


def test_request_and_metadata_records_are_copied_with_their_responses(crawl: CrawlDir, engine: Engine) -> None:
    segments = [segment_of(crawl, "1", {A: b"a" * 99, B: b"a" * 99}), segment_of(crawl, "2", {A: b"new"})]

    (made,) = merge(crawl, segments, engine)

    (file,) = made.content.glob("*.warc.gz")
    with file.open("rb") as opened:
        kinds = [str(record.record_type) for record in records(opened)]
    capture = ["request", "metadata"]
    assert kinds == ["warcinfo", "response", *capture, "revisit", *capture, "response", *capture]


def test_slices_hold_the_given_number_of_pages_with_all_their_rows(crawl: CrawlDir, engine: Engine) -> None:
    body = b"same" * 500
    segment = segment_of(crawl, "1", {A: body, B: b"b", C: body, D: b"d", "http://e.org/": body})

    made = merge(crawl, [segment], engine, slice=2)

    assert [each.name for each in made] == ["1-001", "1-002", "1-003"]
    assert [bodies_in(each) for each in made] == [{A: body, B: b"b"}, {C: body, D: b"d"}, {"http://e.org/": body}]
    assert [[row["source"] for row in rows(each.crawl_parse())] for each in made] == [[A, B], [C, D], ["http://e.org/"]]


def test_redirect_targets_are_normalised_and_filtered(crawl: CrawlDir, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("-^http://b\n+.\n")
    settings = (
        "urlfilter.filters=['regex']",
        f"urlfilter.regex_file={str(tmp_path / 'rules.txt')!r}",
        "urlnormalizer.normalizers=['querystring']",
    )

    def moved(url: str, target: str) -> Row:
        to = canonical(target)
        return fetch(url, "redir_perm", redirect_to=to.text, redirect_key=to.key, redirect_host=to.host)

    segment = segment_of(
        crawl, "1", {}, fetches=[moved(A, B), moved(C, f"{C}?y=1&x=2"), moved(D, f"{D}x"), fetch(f"{D}x", "gone")]
    )

    (made,) = merge(crawl, [segment], engine, *settings, filter=True, normalize=True)

    normal = canonical(f"{C}?x=2&y=1")
    found = [[row[f"redirect_{name}"] for name in ("to", "key", "host")] for row in rows(made.crawl_fetch())]
    assert found[:2] == [[None] * 3, [normal.text, normal.key, normal.host]]
    assert found[2:] == [[f"{D}x", canonical(f"{D}x").key, "d.org"], [None] * 3]
    assert [row["detail"] for row in rows(made.crawl_fetch())] == [f"target not kept: filtered: {B}", None, None, None]


def test_urls_are_normalised_and_filtered_if_requested(crawl: CrawlDir, engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "rules.txt").write_text("-^http://[cd]\n+.\n")
    settings = [
        "urlfilter.filters=['regex']",
        f"urlfilter.regex_file={str(tmp_path / 'rules.txt')!r}",
        "urlnormalizer.normalizers=['querystring']",
    ]
    untidy, tidy = f"{A}?b&a", f"{A}?a&b"
    older = segment_of(crawl, "1", {tidy: b"1", B: b"b"})
    newer = segment_of(crawl, "2", {untidy: b"2", C: b"c"})

    (made,) = merge(crawl, [older, newer], engine, *settings, filter=True, normalize=True)

    assert [(row["url"], row["title"]) for row in rows(made.parse_data())] == [(tidy, "2"), (B, "1")]
    assert [row["url"] for row in rows(made.crawl_fetch())] == [tidy, B]
    assert rows(made.crawl_parse()) == []  # they all led to D


def test_segments_that_cannot_be_merged_are_rejected_before_anything_is_written(
    crawl: CrawlDir, engine: Engine
) -> None:
    parsed = segment_of(crawl, "1", {A: b"a"})
    fetched = write_segment(crawl, "2", fetches=[fetch(A, "success")], done=[FETCHED])
    unfinished = write_segment(crawl, "3", done=[])

    for segments, message in (
        ([parsed, fetched], "not parsed"),
        ([unfinished], "not completely fetched"),
        ([], "no segments to merge"),
    ):
        with pytest.raises(UsageError, match=message):
            merge(crawl, segments, engine)
    with pytest.raises(UsageError, match="--slice"):
        merge(crawl, [parsed], engine, slice=0)
    with pytest.raises(UsageError, match="already has segments"):
        mergesegs(crawl, [parsed], engine, CONFIG, now=NOW)
    assert crawl_at(crawl.path.parent / "out").all_segments() == []


def test_unparsed_segments_are_merged_without_texts(crawl: CrawlDir, engine: Engine) -> None:
    segment = write_segment(crawl, "1", fetches=[fetch(A, "success")], done=[FETCHED])

    (made,) = merge(crawl, [segment], engine)

    assert (made.is_fetched, made.is_parsed) == (True, False)
    assert [row["url"] for row in rows(made.crawl_fetch())] == [A]


def test_command_merges_crawls_and_single_segments(crawl: CrawlDir, tmp_path: Path, run: Run) -> None:
    segment_of(crawl, "1", {A: b"a"})
    write_segment(crawl, "9", done=[])
    other = segment_of(crawl_at(tmp_path / "other"), "2", {B: b"b"})

    done = run("mergesegs", "out", crawl.path, other.path)
    nothing = run("mergesegs", "out2", crawl.segments / "9")

    assert (done.code, done.out) == (0, "Merged 2 segments into 2-001: 2 pages\n")
    assert "not completely fetched" in done.err
    assert nothing.code == 1
    assert not (tmp_path / "out2").exists()
    assert bodies_in(CrawlDir.open(tmp_path / "out").segment("2-001")) == {A: b"a", B: b"b"}
