"""The embedded index: what queries find, in which order, and what a run leaves behind."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.index.indexes import document, search, urls, write, writer

import scoter
from scoter.errors import UsageError, UserError
from scoter.plugins import IndexRun


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("crawl")
    write(
        found,
        document(
            "http://a.org/seals",
            "Grey seals",
            "Grey seals were running along the beach.",
            date=datetime(2026, 3, 1, tzinfo=UTC),
        ),
        document("http://a.org/zoo", "The zoo", "A seal and a walrus live in the zoo. Beach parties are loud."),
        document("http://b.de/robben", "Kegelrobben", "Die Häuser am Strand und die Robben.", lang="de"),
        document("http://c.fr/phoque", "Le phoque gris", "Les phoques mangeaient à l’été.", lang="fr"),
        document("http://d.jp/", "東京タワー", "東京タワーは東京にあります。", lang="ja"),
        document("http://e.th/", "แมวน้ำ", "แมวน้ำสีเทาอยู่ที่ชายหาด", lang="th"),
        document(
            "http://sub.a.org/report", "Report", "Annual numbers.", type=["application/pdf", "application", "pdf"]
        ),
        document("http://f.org/linked", "Untitled", "Nothing here.", anchor=["walrus pictures", "tusks"]),
    )
    return found


QUERIES = [
    ("seals", ["http://a.org/seals", "http://a.org/zoo"]),
    ("run", ["http://a.org/seals"]),
    ('"grey seals"', ["http://a.org/seals"]),
    ('"seals grey"', []),
    ("seal -zoo", ["http://a.org/seals"]),
    ("seal -intitle:zoo", ["http://a.org/seals"]),
    ("haus", ["http://b.de/robben"]),
    ("hauser", ["http://b.de/robben"]),
    ("ete", ["http://c.fr/phoque"]),
    ("été lang:fr", ["http://c.fr/phoque"]),
    ("été lang:en", []),
    ("東京", ["http://d.jp/"]),
    ("タワー", ["http://d.jp/"]),
    ("塔", []),
    ("東", ["http://d.jp/"]),
    ("にあります", ["http://d.jp/"]),
    ("京東", []),
    ("す", ["http://d.jp/"]),
    ("ชายหาด", ["http://e.th/"]),
    ("intitle:report", ["http://sub.a.org/report"]),
    ("inurl:linked", ["http://f.org/linked"]),
    ("site:a.org annual", ["http://sub.a.org/report"]),
    ("site:sub.a.org", ["http://sub.a.org/report"]),
    ("host:a.org annual", []),
    ("type:pdf", ["http://sub.a.org/report"]),
    ("tusks", ["http://f.org/linked"]),
    ("after:2026-02 before:2026-04", ["http://a.org/seals"]),
    ("after:2026-04", []),
    ("GREY SEALS", ["http://a.org/seals"]),
    ('"seal"', ["http://a.org/zoo"]),
    ('"walrus pictures"', ["http://f.org/linked"]),
    ('"walrus picture"', []),
    ('seals -"grey seal"', ["http://a.org/seals", "http://a.org/zoo"]),
    ('seals -"grey seals"', ["http://a.org/zoo"]),
    ("site:a.org/zoo", ["http://a.org/zoo"]),
    ("site:a.org/z", []),
    ("site:https://www.a.org/ seal", ["http://a.org/seals", "http://a.org/zoo"]),
    ("filetype:pdf", ["http://sub.a.org/report"]),
    ("inurl:sub.a.org", ["http://sub.a.org/report"]),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_query_finds_pages(folder: Path, query: str, expected: list[str]) -> None:
    found = search(folder, query)

    assert sorted(hit.url for hit in found.hits if not found.corrected) == sorted(expected)


def test_title_counts_more_than_text(folder: Path) -> None:
    assert urls(folder, "zoo")[0] == "http://a.org/zoo"


def test_words_that_are_near_each_other_rank_first(tmp_path: Path) -> None:
    apart = "A clone of a plant that fills a pond which nobody would call shallow."
    write(
        tmp_path,
        document("http://a.org/", "Ponds", apart),
        document("http://b.org/", "Depth", "A plant fills a pond. Make a shallow and quick clone of a repository now."),
        document("http://c.org/", "Others", "Nothing of this."),
    )

    assert [hit.url for hit in search(tmp_path, "shallow clone").hits] == ["http://b.org/", "http://a.org/"]


def test_snippet_shows_the_passage_with_marks(folder: Path) -> None:
    (hit,) = search(folder, "walrus -tusks").hits

    assert "<b>walrus</b>" in hit.snippet


def test_snippet_escapes_markup(tmp_path: Path) -> None:
    write(tmp_path, document("http://a.org/", "x", "The <script> element & seals"))

    (hit,) = search(tmp_path, "seals").hits

    assert hit.snippet == "The &lt;script&gt; element &amp; <b>seals</b>"


def test_a_higher_link_score_ranks_first_among_equals(tmp_path: Path) -> None:
    write(
        tmp_path,
        document("http://a.org/", "Seals", "Seals.", boost=0.1),
        document("http://b.org/", "Seals", "Seals.", boost=30.0),
    )

    assert urls(tmp_path, "seals") == ["http://b.org/", "http://a.org/"]


def test_few_results_of_one_host_are_shown(tmp_path: Path) -> None:
    write(
        tmp_path,
        *(document(f"http://a.org/{n}", f"Seals {n}", "Seals.") for n in range(5)),
        document("http://b.org/", "Seals", "x"),
    )

    found = search(tmp_path, "seals")

    assert [hit.url for hit in found.hits].count("http://b.org/") == 1
    assert len(found.hits) == 3
    assert sorted(hit.more_from_host for hit in found.hits) == [0, 0, 3]
    assert len(urls(tmp_path, "seals site:a.org")) == 5


def test_sort_by_date_shows_the_newest_first(tmp_path: Path) -> None:
    days = (3, 1, 2)
    write(tmp_path, *(document(f"http://a{n}.org/", "Seals", "x", date=datetime(2026, 1, n, tzinfo=UTC)) for n in days))

    assert urls(tmp_path, "seals sort:date") == ["http://a3.org/", "http://a2.org/", "http://a1.org/"]


def test_pages_of_results_do_not_overlap(tmp_path: Path) -> None:
    write(tmp_path, *(document(f"http://h{n:02}.org/", "Seals", f"Number {n}.") for n in range(25)))

    first, second = urls(tmp_path, "seals"), urls(tmp_path, "seals", offset=10)

    assert len({*first, *second}) == 20


def test_writing_a_document_again_replaces_it(tmp_path: Path) -> None:
    write(tmp_path, document("http://a.org/", "Seals", "old"), document("http://b.org/", "Walrus", "x"))
    write(tmp_path, document("http://a.org/", "Otters", "new"), delete=("http://b.org/",), number=2)

    assert urls(tmp_path, "otters") == ["http://a.org/"]
    assert search(tmp_path, "old").total == 0
    assert search(tmp_path, "walrus").total == 0


def test_a_rebuild_starts_empty(tmp_path: Path) -> None:
    write(tmp_path, document("http://a.org/", "Seals", "x"))
    write(tmp_path, document("http://b.org/", "Walrus", "x"), number=2, rebuild=True)

    assert search(tmp_path, "seals").total == 0
    assert urls(tmp_path, "walrus") == ["http://b.org/"]


def test_what_is_not_committed_is_not_found(tmp_path: Path) -> None:
    write(tmp_path, document("http://a.org/", "Seals", "x"))
    target = writer()
    target.open(IndexRun(directory=tmp_path, number=2))
    target.write([document("http://b.org/", "Walrus", "x")])
    target.close()

    assert search(tmp_path, "walrus").total == 0


def test_a_removed_index_is_not_current(tmp_path: Path) -> None:
    target = writer()
    assert target.is_current(IndexRun(directory=tmp_path, number=1))
    assert not target.is_current(IndexRun(directory=tmp_path, number=2))
    write(tmp_path, document("http://a.org/", "Seals", "x"), number=2)
    assert target.is_current(IndexRun(directory=tmp_path, number=3))
    assert not target.is_current(IndexRun(directory=tmp_path, number=4))


def test_a_damaged_index_is_reported_and_can_be_rebuilt(tmp_path: Path) -> None:
    write(tmp_path, document("http://a.org/", "Seals", "x"))
    next((tmp_path / "index").glob("*/meta.json")).write_text("{")

    with pytest.raises(UserError, match="damaged"):
        search(tmp_path, "seals")
    write(tmp_path, document("http://a.org/", "Seals", "x"), number=2, rebuild=True)
    assert urls(tmp_path, "seals") == ["http://a.org/"]


def test_an_index_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    write(tmp_path, document("http://a.org/", "Seals", "x"))
    (tmp_path / "index" / "scoter.json").write_text('{"format": 99}')

    with pytest.raises(UserError, match="newer version"):
        search(tmp_path, "seals")


def test_without_an_index_the_command_to_build_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as told:
        search(tmp_path, "seals")

    assert "scoter index" in told.value.hint


STRANGE = ["a" * 10_000, '-"seals"', "", "site:", "after:yesterday", "sort:size", "site:-a-", "->", "x " * 40]


@pytest.mark.parametrize("query", STRANGE)
def test_a_query_without_meaning_is_refused(folder: Path, query: str) -> None:
    with pytest.raises(UsageError):
        search(folder, query)


UNUSUAL = [
    '"',
    '"seals',
    "(seals",
    "sea*ls",
    "http://a.org/seals",
    "12:30",
    "\0seals",
    "🦭",
    "a:b:c",
    "-",
    'intitle:"" seals',
]


@pytest.mark.parametrize("query", UNUSUAL)
def test_an_unusual_query_is_answered_or_refused(folder: Path, query: str) -> None:
    with suppress(UsageError):
        search(folder, query)


def test_search_from_python_returns_the_results_of_the_command(folder: Path) -> None:
    found = scoter.search(folder, "seals", limit=1, explain=True)

    assert [hit.url for hit in found.hits] == urls(folder, "seals", limit=1)
    assert found.hits[0].explanation is not None
    assert [hit.url for hit in scoter.search(str(folder), "seals", offset=1).hits] == urls(folder, "seals")[1:]
    with pytest.raises(UserError, match="no index yet"):
        scoter.search(folder / "nowhere", "seals")


def test_import_of_the_package_loads_nothing_else() -> None:
    code = "import sys, scoter; print(*(name for name in sys.modules if name.startswith(('scoter.', 'tantivy'))))"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
    assert all(hasattr(scoter, name) for name in scoter.__all__)
