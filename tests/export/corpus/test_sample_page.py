"""The sample report: what a person sees of the texts, and what hostile texts cannot do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.batch.crawls import crawl_at, datum, write_crawldb
from tests.export.corpus.test_job import written
from tests.export.corpus.test_quality import prose
from tests.export.crawls import add_segment

from scoter.batch.crawldir.directory import CrawlDir
from scoter.export.corpus.files import SAMPLE_FILE

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">\u202eevil\u202c \x1b[2J & "quoted"'
PAGES = {f"http://host.org/{number:02d}": f"{HOSTILE}\n{prose(400, number)}" for number in range(1, 9)}
NEAR = "http://host.org/near"


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> CrawlDir:
    crawl = crawl_at(tmp_path_factory.mktemp("crawl") / "crawl")
    texts = {**PAGES, NEAR: f"{prose(700, 1)}\nThe last line is new."}
    texts |= {"http://host.org/original": prose(700, 1), "http://host.org/short": "Short."}
    write_crawldb(crawl, [datum(url, score=2.0 if url.endswith("original") else 1.0) for url in texts])
    add_segment(crawl, "20261115000001", texts)
    return crawl


def page_of(crawl: CrawlDir, out: Path, sample: int) -> str:
    written(crawl, out, sample=sample)
    return (out / SAMPLE_FILE).read_text("utf-8")


@pytest.fixture(scope="module")
def page(crawl: CrawlDir, tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(crawl, tmp_path_factory.mktemp("out") / "out", 5)


def test_texts_of_strangers_are_text(page: str) -> None:
    tree = LexborHTMLParser(page)

    assert not tree.css("script, img, iframe, link, object, form")
    assert not [node for node in tree.css("*") if any(name.startswith("on") for name in node.attributes)]
    assert "default-src 'none'" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e]", page)
    assert all(re.match("#|https?://", node.attributes["href"] or "") for node in tree.css("a"))


def test_every_group_has_a_heading_and_at_most_the_wanted_number_of_pages(page: str) -> None:
    tree = LexborHTMLParser(page)

    sections = {node.attributes["id"]: len(node.css("article")) for node in tree.css("section[id]")}
    assert sections == {
        "rules": 0,
        "kept": 5,
        "min_words": 1,
        "min_stop_words": 1,
        "min_prose": 1,
        "near_duplicate": 1,
    }
    assert [node.text() for node in tree.css("h1, h2")][:3] == ["Corpus of crawl", "Dropped", "Kept"]
    linked = {node.attributes["href"] for node in tree.css("#rules td a")}
    assert linked == {f"#{name}" for name in sections if name not in {"rules", "kept"}}


def test_near_duplicate_names_its_original_and_what_is_new(page: str) -> None:
    section = page.partition('<section id="near_duplicate">')[2]

    assert re.search(r'Repeats <a href="http://host.org/original"[^>]*>[^<]*</a>, with which it shares 9\d%', section)
    assert "<li>The last line is new.</li>" in section


def test_long_text_is_folded_and_its_middle_left_out(tmp_path: Path) -> None:
    crawl = crawl_at(tmp_path / "crawl")
    write_crawldb(crawl, [datum(NEAR)])
    add_segment(crawl, "20261115000001", {NEAR: f"{prose(5_000)}\nThe very end of it."})

    page = page_of(crawl, tmp_path / "out", 5)

    assert re.search(r"… [\d,]+ characters left out …", page)
    assert "The very end of it." in page
    assert len(page) < 20_000


def test_same_corpus_gives_the_same_sample_and_zero_gives_none(crawl: CrawlDir, page: str, tmp_path: Path) -> None:
    assert page_of(crawl, tmp_path / "again", 5) == page

    manifest = written(crawl, tmp_path / "none", sample=0)
    assert SAMPLE_FILE not in {file.name for file in manifest.files}
