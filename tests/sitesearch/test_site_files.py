"""The index in files: what is written, within which bounds, and what a failure leaves behind."""

from __future__ import annotations

import gzip
import json
import re
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.indexes import document
from tests.sitesearch.servers import GUIDE, make_index

from scoter.errors import UsageError, UserError
from scoter.sitesearch import site_files
from scoter.sitesearch.box_files import box_file
from scoter.sitesearch.hits import AddressMap
from scoter.sitesearch.site_files import write_site_files
from scoter.sitesearch.site_pages import SitePages
from scoter.sitesearch.term_shards import LEVELS, MOST_POSTINGS, encoded_postings

MANY = [
    document(f"http://docs.test/{number:03}.html", f"Page {number}", f"All pages share words; word{number} is rare.")
    for number in range(60)
]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def terms_of(folder: Path) -> dict[str, dict[int, int]]:
    """Return the pages and levels of all stems, as the script reads them."""
    found: dict[str, dict[int, int]] = {}
    for path in folder.glob("*/terms/*.bin"):
        data = gzip.decompress(path.read_bytes())
        size = int.from_bytes(data[:4], "little")
        head = json.loads(data[4 : 4 + size])
        at = 4 + size
        for term, length in zip(head["terms"].split("\n"), head["sizes"], strict=True):
            found[term] = decoded(data[at : at + length])
            at += length
    return found


def decoded(data: bytes) -> dict[int, int]:
    numbers, number, power = [], 0, 0
    for byte in data:
        number |= (byte & 127) << power
        power += 7
        if byte < 128:
            numbers.append(number)
            number = power = 0
    levels, at = {}, 1
    while at < len(numbers):
        level, count = numbers[at : at + 2]
        page = 0
        for difference in numbers[at + 2 : at + 2 + count]:
            page += difference
            levels[page] = level
        at += 2 + count
    return levels


def packs_of(folder: Path) -> list[Any]:
    paths = sorted(folder.glob("*/pages/*/*.bin"), key=lambda path: int(path.stem))
    return [page for path in paths for page in json.loads(gzip.decompress(path.read_bytes()))]


def test_pages_come_in_the_order_of_their_addresses_with_their_words(tmp_path: Path) -> None:
    mapped = AddressMap([("http://docs.test/", "/docs/")])

    done = write_site_files(make_index(tmp_path), tmp_path / "site", addresses=mapped)

    directory = json.loads((tmp_path / "site" / "search.json").read_bytes())
    terms = terms_of(tmp_path / "site")
    assert (done.pages, directory["pages"]) == (4, 4)
    assert [page[:2] for page in packs_of(tmp_path / "site")] == [
        ["/docs/guide.html", "Guide"],
        ["/docs/gulls.html", "Gulls"],
        ["/docs/seals.html", "Grey seals"],
        ["/docs/walrus.html", "The walrus"],
    ]
    assert terms["seal"].keys() == {2, 3}
    assert terms["seal"][2] > terms["seal"][3]  # the title counts more
    assert terms["seals"] == {}  # a word that stands for its stem
    assert done.bytes == sum(map(len, contents(tmp_path / "site").values()))


def test_sections_are_where_scripts_find_them(tmp_path: Path) -> None:
    write_site_files(make_index(tmp_path, [GUIDE]), tmp_path / "site")

    ((_, _, _, text, sections),) = packs_of(tmp_path / "site")
    units = text.encode("utf-16-le")
    assert [
        (units[2 * start : 2 * (start + length)].decode("utf-16-le"), anchor) for start, length, _, anchor in sections
    ] == [("Care", "care"), ("The coat", "coat"), ("Food", "food")]


def test_same_index_gives_the_same_files_however_little_memory_there_is(tmp_path: Path) -> None:
    index = make_index(tmp_path, MANY)
    other = make_index(tmp_path / "again", reversed(MANY))

    write_site_files(index, tmp_path / "one")
    write_site_files(other, tmp_path / "two", memory=500)

    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert list(tmp_path.glob(".*")) == []


def test_earlier_site_is_replaced_as_a_whole_and_other_folders_are_not(tmp_path: Path) -> None:
    index, out = make_index(tmp_path), tmp_path / "site"
    first = write_site_files(index, out)
    make_index(tmp_path, MANY, number=2)

    second = write_site_files(index, out)

    assert (first.pages, second.pages) == (4, 64)
    assert len([each for each in out.iterdir() if each.is_dir()]) == 1
    other = tmp_path / "public"
    other.mkdir()
    (other / "index.html").write_text("mine")
    with pytest.raises(UsageError, match="not one that scoter search-site made"):
        write_site_files(index, other)
    assert contents(other) == {"index.html": b"mine"}


def test_failure_leaves_the_earlier_site_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, out = make_index(tmp_path), tmp_path / "site"
    write_site_files(index, out)
    before = contents(out)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(site_files, "sync_tree", full)
    with pytest.raises(UserError, match="No space left"):
        write_site_files(index, out)

    assert contents(out) == before
    assert list(tmp_path.glob(".*")) == []


def test_index_without_pages_and_index_with_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = make_index(tmp_path / "empty", [])
    assert write_site_files(empty, tmp_path / "site").pages == 0

    monkeypatch.setattr("scoter.sitesearch.site_pages.MOST_PAGES", 2)
    with pytest.raises(UsageError, match="search-server"):
        SitePages(make_index(tmp_path))


def test_text_of_a_page_with_nosnippet_is_found_but_not_published(tmp_path: Path) -> None:
    secret = document("http://docs.test/a", "A", "hidden words", nosnippet="true", description="What it is.")

    write_site_files(make_index(tmp_path, [secret]), tmp_path / "site")

    assert packs_of(tmp_path / "site") == [["http://docs.test/a", "A", "What it is.", ""]]
    assert "hidden" in terms_of(tmp_path / "site")


def test_files_that_a_search_loads_are_bounded(tmp_path: Path) -> None:
    long = document(
        "http://docs.test/long", "Long", " ".join(f"w{number * 7919 % 100_003}" for number in range(20_000))
    )

    write_site_files(make_index(tmp_path, [*MANY, long]), tmp_path / "site")

    largest = max(path.stat().st_size for path in (tmp_path / "site").rglob("*.bin"))
    assert largest < 40_000
    assert len(list((tmp_path / "site").glob("*/terms/*.bin"))) > 1


@given(st.sets(st.tuples(st.integers(0, 2**20), st.integers(0, LEVELS - 1)), max_size=50))
def test_postings_are_read_as_they_were_written(found: set[tuple[int, int]]) -> None:
    levels = dict(sorted(found))

    data = encoded_postings(array("I", [page << 4 | level for page, level in levels.items()]))

    assert decoded(data) == levels


def test_only_the_best_pages_of_a_very_frequent_word_are_listed() -> None:
    postings = array("I", [page << 4 | (5 if page % 2 else 3) for page in range(3 * MOST_POSTINGS)])

    levels = decoded(encoded_postings(postings))

    assert len(levels) == MOST_POSTINGS
    assert set(levels.values()) == {5}


def test_scripts_are_small_need_nothing_else_and_never_turn_text_into_markup() -> None:
    assert len(box_file("search-box.js")) < 20_000
    assert len(box_file("search-files.js")) < 20_000
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|srcdoc"
        r"|cookie[^s]|localStorage|sessionStorage|\bimport .* from|https?://(?!search\.example|…)"
    )
    for name in ("search-box.js", "search-files.js", "page.js"):
        assert not forbidden.search(box_file(name).decode()), name
    for name in ("server.html", "files.html"):
        assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|style=", box_file(name).decode()), name
